# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts that depend on the release of a kernel: who has them, and that every fact has a source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lowlat.catalogue.names import NEVER
from lowlat.kernel.facts import FACTS, has
from lowlat.kernel.release import Release
from support.cli import lowlat
from support.machines import machine, write_tree

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "generator" / "lowlat"

STALLS = [
    (words[1], words[0] == "stalls")
    for line in (Path(__file__).parent / "workqueue_stall.txt").read_text().splitlines()
    if (words := line.partition("#")[0].split())
]


def flat(text: str) -> str:
    return " ".join(text.split())


MASK = "sys/devices/virtual/workqueue/cpumask"


def test_no_affected_release_is_taken_for_a_safe_one_nor_the_reverse() -> None:
    assert len(STALLS) == 62
    wrong = [name for name, stalls in STALLS if has("workqueue stall", name) is not stalls]
    assert wrong == []


@pytest.mark.parametrize(
    ("fact", "release", "known"),
    [
        # A pre-release comes before its release, and behind the releases before it.
        ("preempt=none", "7.0-rc4", True),
        ("preempt=none", "7.0.0-0.rc7.20260405git.fc45.x86_64", True),
        ("preempt=none", "7.0.0-arch1-1", False),
        ("preempt=none", "7.0.0-070000rc7-generic", True),
        ("preempt=lazy", "6.14-rc1", True),
        # A stable branch has its own first release; a pre-release of it may lack the change.
        ("workqueue stall", "6.12.82-rc1", True),
        ("workqueue stall", "6.13.90", True),
        # A vendor's builds count for the vendor's own version alone.
        ("managed_irq in isolcpus", "4.18.0-193.el8.x86_64", True),
        ("managed_irq in isolcpus", "4.18.0-147.51.1.el8_1.x86_64", False),
        ("managed_irq in isolcpus", "4.19.0-27-amd64", False),
        ("unequal isolcpus and nohz_full", "5.14.0-70.13.1.el9_0.x86_64", False),
        ("unequal isolcpus and nohz_full", "5.14.0-162.el9.x86_64", True),
        ("workqueue stall", "6.8.12-1.el9.elrepo.x86_64", False),
        # Neither a row nor a version of Linux: not known.
        ("workqueue stall", "rockchip-rt", None),
        ("workqueue stall", "", None),
        ("preempt=none", "v7", None),
        ("workqueue stall", "5.15.167.4-microsoft-standard-WSL2", False),
    ],
)
def test_who_has_a_fact(fact: str, release: str, known: bool | None) -> None:
    assert has(fact, release) is known


def test_every_fact_is_used_and_has_its_source() -> None:
    sources = [path.read_text() for path in PRODUCT.rglob("*.py")]
    sources.append((PRODUCT / "catalogue/words.ini").read_text())
    sources.append((PRODUCT / "kernel/settings.ini").read_text().replace("\\", ""))
    for name, fact in FACTS.items():
        # A parameter's value is asked for by the name that the line has.
        asked = name.partition("=")[0].removeprefix("CONFIG_")
        assert any(asked in text for text in sources), name
        assert fact.source and fact.checked, name
        assert all(Release.parse(first) for first in (*fact.since, *fact.until)), name
        assert bool(fact.what) == bool(fact.hits) == bool(fact.mend), name
        assert re.fullmatch(r"\d\.\d+", fact.bound), name


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("isolcpus=nohz", "isolcpus=nohz equals nohz_full"),
        ("preempt=none", "preempt=none"),
        ("kvm.lapic_timer_advance_ns", "kvm.lapic_timer_advance_ns"),
        ("tsc=watchdog", "clock watchdog on the boot CPU"),
    ],
)
def test_a_reason_in_words_names_the_release_of_the_fact(name: str, fact: str) -> None:
    assert re.findall(r"\d\.\d+", NEVER[name]) == [FACTS[fact].bound]


def test_no_module_compares_versions_of_linux_by_itself() -> None:
    """The versions of programs may be compared: QEMU's, a boot loader's."""
    compared = re.compile(r"[<>]=? \(\d, \d+\)")
    found = {
        str(path.relative_to(PRODUCT)): match[0]
        for path in PRODUCT.rglob("*.py")
        if (match := compared.search(path.read_text()))
    }
    assert found == {"rehearse/qemu.py": ">= (9, 1)"}


AFFECTED = "5.14.0-611.54.1.el9_7.x86_64"


@pytest.fixture
def affected(tmp_path: Path) -> Path:
    """A machine that booted an affected kernel, with a plan that was made for another one."""
    host = write_tree(tmp_path / "host", {**machine(release="7.0.14"), MASK: "f\n"})
    plan = tmp_path / "plan.json"
    plan.write_text(lowlat("plan", "--root", host, "--json").out)
    assert "workqueue.cpumask" in plan.read_text()
    write_tree(host, {"proc/sys/kernel/osrelease": f"{AFFECTED}\n"})
    return host


def test_the_masks_of_an_affected_kernel_stay_as_they_are(affected: Path) -> None:
    plan = ("--plan", affected.parent / "plan.json", "--root", affected)
    start = lowlat("runtime", "start", *plan)
    told = f"changing workqueue masks can stall devices forever on kernel {AFFECTED}"
    assert start.status == 1
    assert f"{MASK} is 0-3, planned 0: {told}" in start.out
    assert (affected / MASK).read_text() == "f\n"
    # It is not even foreseen.
    assert "workqueue" not in lowlat("runtime", "start", "--dry-run", *plan).out
    assert told in lowlat("verify", "--json", *plan).out


def test_undoing_leaves_what_would_bring_the_stall_out(affected: Path) -> None:
    """Such values come from a version that knew less about this kernel."""
    group = "sys/fs/cgroup/lowlat.slice"
    tree = {
        MASK: "1\n",
        f"{group}/cpuset.cpus": "1-3\n",
        f"{group}/cpuset.cpus.partition": "isolated\n",
        "proc/sys/vm/stat_interval": "120\n",
    }
    old = {
        "cgroup:/sys/fs/cgroup/lowlat.slice": "folder",
        f"/{group}/cpuset.cpus": "",
        f"/{group}/cpuset.cpus.partition": "member",
        f"/{MASK}": "f",
        "/proc/sys/vm/stat_interval": "1",
    }
    journal = str(old).replace("'", '"')
    tree["run/lowlat/runtime.json"] = f'{{"schema": "lowlat.runtime/1", "old": {journal}}}'
    write_tree(affected, tree)
    for stop in (("stop", "--dry-run"), ("stop",), ("stop",)):
        said = lowlat("runtime", *stop, "--root", affected)
        assert said.status == 0
        for path in (f"/{MASK}", f"/{group}/cpuset.cpus.partition", f"/{group} "[:-1]):
            assert f"{path} stays until the next boot: changing workqueue masks" in said.out
    assert (affected / MASK).read_text() == "1\n"
    assert (affected / group / "cpuset.cpus.partition").read_text() == "isolated\n"
    assert (affected / "proc/sys/vm/stat_interval").read_text() == "1"


def test_a_plan_without_masks_says_what_the_kernel_has(affected: Path) -> None:
    plan = affected.parent / "own.json"
    plan.write_text(lowlat("plan", "--root", affected, "--json").out)
    assert '"/sys/devices/virtual/workqueue/cpumask"' not in plan.read_text()
    verify = lowlat("verify", "--json", "--plan", plan, "--root", affected)
    assert f"changing workqueue masks can stall devices forever on kernel {AFFECTED}" in verify.out
    linted = lowlat("lint", "--root", affected, "--all", "workqueue.cpumask=1").out
    assert "leave it alone: changing workqueue masks can stall" in flat(linted)


def test_an_unknown_kernel_is_not_taken_for_a_safe_one(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**machine(release="custom-rt"), MASK: "f\n"})
    assert "workqueue/cpumask = " not in lowlat("plan", "--root", host).out


def test_a_fact_is_explained() -> None:
    told = flat(lowlat("explain", "workqueue", "stall").out)
    assert "5.14.0-464.el9" in told and "inactive works" in told and "firedancer" in told
