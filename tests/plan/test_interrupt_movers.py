# SPDX-License-Identifier: GPL-2.0-or-later
"""irqbalance and systemd's link files: what they would do to interrupts under a plan, and the line
that keeps them off the isolated CPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.host.root import Root
from lowlat.plan import profile
from lowlat.verbs import doctor_lacks
from support.cli import lowlat
from support.machines import CONFIG, machine, write_tree

CONF = "etc/default/irqbalance"
LIST = "IRQBALANCE_BANNED_CPULIST"
#: A plan isolates CPU 1-3 of these four.
HOST = {
    **machine(release="7.0.14", config=f"{CONFIG}CONFIG_CPUSETS=y\n"),
    "proc/7/comm": "irqbalance\n",
    "sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n",
}


def flat(text: str) -> str:
    return " ".join(text.split())


def warned(root: Path, *options: str) -> list[str]:
    plan = lowlat("plan", "--root", root, "--json", *options).json()
    return [text for text in plan["warnings"] if "irqbalance" in text or ".link" in text]


def ways() -> Iterator[tuple[str, ...]]:
    """Each profile, with each of the words that isolate left out."""
    for name in profile.packaged_names():
        yield ("--profile", name)
        for left_out in ("isolcpus", "nohz_full", "cpuset.partition"):
            yield ("--profile", name, "--disable", left_out)


def test_irqbalance_is_warned_of_where_the_line_does_not_tell_it_the_isolated_cpus(
    tmp_path: Path,
) -> None:
    root = write_tree(tmp_path, HOST)
    seen = set()
    for options in ways():
        plan = lowlat("plan", "--root", root, "--json", *options).json()
        line, isolated = plan["cmdline"]["text"], plan["cpus"]["isolated"]
        # What the kernel shows in /sys/devices/system/cpu/isolated and nohz_full.
        shown = "domain," in line or "nohz_full=" in line
        said = warned(root, *options)
        assert bool(said) is bool(isolated and not shown), options
        if said:
            assert f"may move interrupts to CPU {isolated}, isolated" in said[0]
            write_tree(root, {CONF: f"{LIST}={isolated}\n"})
            assert warned(root, *options) == []
            (root / CONF).unlink()
        seen.add((bool(isolated), shown))
    assert seen == {(True, True), (True, False), (False, False)}
    (root / "proc/7/comm").write_text("bash\n")
    assert warned(root, "--profile", "lowlat-bench") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# IRQBALANCE_BANNED_CPULIST=0\n", None),
        (f"{LIST}=1-3\n", None),
        (f'{LIST}="1,2,3"\nIRQBALANCE_BANNED_CPUS=\n', None),
        ("IRQBALANCE_BANNED_CPUS=e\n", None),
        (
            f"{LIST}=4-3\n",
            f"to CPU 1-3, isolated: /{CONF} has {LIST}=4-3, of which it cannot read 4-3",
        ),
        (f"{LIST}=1,2-N\n", "to CPU 2-3, isolated"),
        (f"{LIST}=1-3:1/2\n", "cannot read 1-3:1/2"),
        (f"{LIST}=\n", "empty, which versions after 1.9.5 take for no ban"),
        (f"{LIST}=2-3\n", f"to CPU 1, isolated: /{CONF} has {LIST}=2-3"),
        (f"{LIST}=0-3\n", "moves none to CPU 0, which serve the system"),
        (f"{LIST}=8-9\n", "to CPU 1-3, isolated"),
        # The mask counts before the list.
        (f"IRQBALANCE_BANNED_CPUS=1\n{LIST}=1-3\n", "has IRQBALANCE_BANNED_CPUS=1"),
        ("IRQBALANCE_BANNED_CPUS=cpu1\n", "which is no mask"),
    ],
)
def test_a_ban_list_that_is_stale_or_broken_is_named(
    text: str, said: str | None, tmp_path: Path
) -> None:
    root = write_tree(tmp_path, {**HOST, CONF: text})
    found = warned(root)
    if said is None:
        assert found == []
        return
    either = f"write {LIST}=1-3 (before irqbalance 1.8: IRQBALANCE_BANNED_CPUS=e)"
    assert said in found[0] and f"{either}, and no other ban, into /{CONF}" in found[0]
    for line in (f"{LIST}=1-3", "IRQBALANCE_BANNED_CPUS=e"):
        write_tree(root, {CONF: f"{line}\n"})
        assert warned(root) == []


LINK = "etc/systemd/network/10-nic.link"


@pytest.mark.parametrize(
    ("files", "goes"),
    [
        ({LINK: "[Link]\nMTUBytes=9000\n"}, None),
        ({LINK: "[Match]\nDriver=mlx5*\n[Link]\nIRQAffinityPolicy=spread\n"}, "1-3"),
        ({LINK: "[Link]\nIRQAffinityPolicy = spread\nIRQAffinity=0\nIRQAffinity=3\n"}, "3"),
        ({LINK: "[Link]\nIRQAffinityPolicy=spread\nIRQAffinity=0\n"}, None),
        ({LINK: "[Link]\nIRQAffinityPolicy=spread\nIRQAffinity=0\nIRQAffinityNUMA=0\n"}, "1-3"),
        ({LINK: "[Link]\nIRQAffinityPolicy=single\n"}, None),
        ({LINK: "[Link]\nIRQAffinityPolicy=single\nIRQAffinity=2-3\n"}, "2"),
        # Taken back by a drop-in, hidden by a file of its name, behind one that matches all.
        (
            {
                LINK: "[Link]\nIRQAffinityPolicy=spread\n",
                f"run/systemd/network/{LINK[20:]}.d/x.conf": "[Link]\nIRQAffinityPolicy=\n",
            },
            None,
        ),
        (
            {
                LINK: "[Link]\n",
                f"usr/lib/systemd/network/{LINK[20:]}": "[Link]\nIRQAffinityPolicy=spread\n",
            },
            None,
        ),
        (
            {
                "run/systemd/network/05-all.link": "[Match]\nOriginalName=*\n",
                LINK: "[Link]\nIRQAffinityPolicy=spread\n",
            },
            None,
        ),
    ],
)
def test_a_link_file_that_sends_interrupts_to_isolated_cpus_is_named(
    files: dict[str, str], goes: str | None, tmp_path: Path
) -> None:
    root = write_tree(tmp_path, {**HOST, **files})
    found = warned(root)
    assert bool(found) is (goes is not None)
    if goes is not None:
        assert f"/{LINK} has IRQAffinityPolicy=" in found[0]
        assert f"to CPU {goes}; write IRQAffinity=0 there" in found[0]
        kept = re.sub(r"IRQAffinity(NUMA)?=.*\n", "", files[LINK])
        write_tree(root, {LINK: f"{kept}IRQAffinity=0\n"})
        assert warned(root) == []


def test_a_capture_warns_alike_and_holds_no_more_of_the_files(tmp_path: Path) -> None:
    link = "[Match]\n# Ada's card\nMACAddress=02:00:5e:00:53:01\nDriver=*\n[Link]\nAlias=ada\n"
    files = {LINK: f"{link}IRQAffinityPolicy=spread\n", CONF: f"# Ada's list\n{LIST}=4-3\n"}
    root = write_tree(tmp_path / "host", {**HOST, **files})
    for more in ((), ("--evidence",)):
        archive = tmp_path / f"captured{len(more)}.txt"
        assert lowlat("capture", "--root", root, *more, archive).status == 0
        text = archive.read_text()
        assert f"{LIST}=4-3" in text and "IRQAffinityPolicy=spread" in text
        assert not re.search("(?i)ada|53:01", text)
        assert warned(archive) == warned(root) != []


def test_verify_and_doctor_name_them_too(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "host", {**HOST, CONF: f"{LIST}=4-3\n"})
    plan = tmp_path / "plan.json"
    plan.write_text(lowlat("plan", "--root", root, "--json").out)
    write_tree(root, {"sys/devices/system/cpu/isolated": "1-3\n"})
    verify = ("verify", "--json", "--root", root, "--plan", plan)
    said = lowlat(*verify).out
    assert f"may move interrupts to CPU 1-3, isolated: /{CONF} has {LIST}=4-3" in said
    lacking = [
        each.mend for each in doctor_lacks.find_gaps(Root(str(root))) if each.use == "isolated CPUs"
    ]
    assert len(lacking) == 1 and f"{LIST}=1-3 (before" in lacking[0]
    # Without a ban list, what the running kernel shows decides.
    (root / CONF).unlink()
    assert "may move interrupts" not in lowlat(*verify).out
    write_tree(root, {"sys/devices/system/cpu/isolated": "\n"})
    assert "to CPU 1-3, isolated" in lowlat(*verify).out


def test_explain_says_when_irqbalance_may_be_left_alone() -> None:
    assert "none from a partition" in flat(lowlat("explain", "irqbalance").out)
    assert "IRQAffinity=" in flat(lowlat("explain", "IRQAffinityPolicy").out)
