# SPDX-License-Identifier: GPL-2.0-or-later
"""Every verb speaks of the plan that ``status`` shows, or says that it does not; and every verb
that uses a plan tells its warnings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowlat.host.archive import open_root
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.plan import current
from lowlat.probe import probe
from lowlat.verbs import VERBS
from support import needs
from support.cli import Answer, lowlat, lowlat_process
from support.machines import CONFIG, CPU, machine, write_tree

FIELD = Path(__file__).parents[1] / "machines" / "field"

RELEASE = "6.12.107-test"
FEW = settings(max_examples=max(settings().max_examples // 12, 2))

WARNING = "the kernel is built without CONFIG_NO_HZ_FULL"
ANOTHER = "this is not the applied plan, which has "

Words = tuple[str, ...]

PROFILES = ("lowlat", "lowlat-poll", "lowlat-hpc", "lowlat-rt")
LISTS = ("2-3", "4-7", "a=2-3,b=6-7")


def host(folder: Path) -> Path:
    """A machine of 8 CPUs that boots by an unknown loader, with lowlat-gen."""
    files = {
        **machine(8, threads=2, config=CONFIG.replace("CONFIG_NO_HZ_FULL=y\n", "")),
        "etc/os-release": "ID=test\n",
        "proc/sys/kernel/random/boot_id": "boot-0\n",
        "usr/bin/lowlat-gen": "#!/bin/sh\n",
    }
    root = write_tree(folder, files)
    (root / "usr/bin/lowlat-gen").chmod(0o755)
    return root


def boot(root: Path) -> None:
    """Imitate a boot with the applied plan."""
    plan = json.loads((root / f"var/lib/lowlat/plans/{RELEASE}.json").read_text())
    line = f"BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro quiet {plan['cmdline']['text']}"
    cpus = plan["cpus"]["isolated"]
    write_tree(
        root,
        {"proc/cmdline": f"{line} lowlat.plan={plan['id']}\n", f"{CPU}/isolated": f"{cpus}\n"},
    )


def done(verb: str, root: Path, *words: object) -> Answer:
    answer = lowlat(verb, "--root", root, *words)
    assert answer.status == 0, answer
    return answer


def both(answer: Answer) -> str:
    """Both outputs as one line."""
    return " ".join((answer.out + answer.err).split())


def applied(root: Path) -> tuple[str, CpuSet]:
    """The profile and the isolated CPUs that ``status`` shows."""
    made = done("status", root, "--json").json()["decision"]
    return made["profile"], CpuSet.parse_list(made["isolated"])


def isolated(line: str) -> str:
    """The CPUs that a boot line isolates."""
    return cmdline.values(line, "isolcpus")[0].rpartition("domain,")[2]


def housekeeping(text: str) -> str:
    return str(CpuSet.parse_list("0-7") - CpuSet.parse_list(text.strip()))


def by_pattern(pattern: str) -> Callable[[str], str]:
    def found(text: str) -> str:
        match = re.search(pattern, text, re.MULTILINE)
        assert match, text
        return match[1]

    return found


#: Command lines that print CPUs or a boot line, and the isolated CPUs in what they print.
SPEAKERS: dict[Words, Callable[[str], str]] = {
    ("cpus", "isolated", "--planned"): str.strip,
    ("cpus", "housekeeping", "--planned"): housekeeping,
    ("run", "--systemd-drop-in"): by_pattern(r"^CPUAffinity=(\S+)"),
    ("run", "--dry-run", "--", "engine"): by_pattern(r"on CPU (\S+) "),
    ("plan", "--json"): lambda text: str(json.loads(text)["cpus"]["isolated"]),
    ("plan", "--brief"): by_pattern(r"isolated CPU (\S+),"),
    ("plan", "--svg", "plan.svg"): by_pattern(r"isolcpus=managed_irq,domain,(\S+)"),
    ("apply", "--dry-run", "--json"): lambda text: isolated(json.loads(text)["after"]),
}

#: Command lines that ask for another plan.
OTHERS: dict[Words, Callable[[str], str]] = {
    ("cpus", "isolated", "--profile", "lowlat-nfv"): str.strip,
    ("plan", "--brief", "--isolate", "6-7"): by_pattern(r"isolated CPU (\S+),"),
    ("plan", "--json", "--profile", "lowlat-nfv"): SPEAKERS["plan", "--json"],
}


def check_one_plan(root: Path, out: Path) -> None:
    profile, cpus = applied(root)
    for words, find in SPEAKERS.items():
        answer = done(words[0], root, *words[1:])
        assert find(answer.out) == str(cpus), (words, answer)
        assert ANOTHER not in both(answer), (words, answer)
    for words, find in OTHERS.items():
        answer = done(words[0], root, *words[1:])
        if find(answer.out) != str(cpus):
            told = f"{ANOTHER}profile {profile}, isolated CPUs {cpus}"
            assert told in both(answer), (words, answer)
    assert isolated(rendered(root, out)) == str(cpus)
    fleet = lowlat("fleet", "plan", root, "--json").json()["classes"][0]
    assert fleet["isolated"] == str(cpus)
    (kernel,) = done("status", root, "--json").json()["kernels"]
    verified = lowlat("verify", "--root", root, "--duration", "0s").out
    assert verified.startswith(f"Plan {kernel['plan']}: profile {profile},")
    compared = done("plan", root, "--diff").out
    assert compared.startswith(f"Plan {kernel['plan']}: profile {profile},")


def rendered(root: Path, out: Path) -> str:
    """The boot line that ``render`` writes."""
    assert ANOTHER not in done("render", root, "--out", out).err
    return (out / "etc/lowlat/cmdline").read_text()


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def again(root: Path, *words: str) -> None:
    """Assert that the same request changes nothing, and says so."""
    profile, cpus = applied(root)
    before = files(root)
    answer = done("apply", root, *words, "--json").json()
    assert (answer["changed"], files(root)) == (False, before)
    assert answer["said"][0] == f"unchanged: profile {profile}, isolated CPUs {cpus}"


asked = st.tuples(st.sampled_from(PROFILES), st.sampled_from([None, *LISTS]))


@FEW
@given(first=asked, second=asked)
def test_all_verbs_speak_of_the_applied_plan(
    first: tuple[str, Optional[str]],
    second: tuple[str, Optional[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("host")
    root = host(folder / "tree")
    with pytest.MonkeyPatch.context() as inside:
        inside.chdir(folder)
        for number, (profile, listed) in enumerate((first, second)):
            words = ("--profile", profile, *(("--isolate", listed) if listed else ()))
            before = applied(root) if number else None
            said = done("apply", root, "--runtime", "none", *words).out
            if before and before != applied(root):
                told = "profile {}, isolated CPUs {} is replaced by profile {}, isolated CPUs {}"
                assert told.format(*before, *applied(root)) in said
            check_one_plan(root, folder / "out")
            again(root, *words)
            again(root)
            if number == 0:
                boot(root)
                check_one_plan(root, folder / "out")


def test_a_set_that_was_named_to_apply_has_its_name(tmp_path: Path) -> None:
    root = host(tmp_path)
    done("apply", root, "--runtime", "none", "--isolate", "a=2-3,b=4-5")
    assert done("cpus", root, "b", "--planned").out == "4-5\n"
    assert "on CPU 2-3 " in done("run", root, "--dry-run", "--set", "a", "--", "engine").out
    assert "the options of profile lowlat, isolated CPUs 2-5 are replaced" in (
        done("apply", root, "--isolate", "2-5").out
    )


def test_the_plan_of_a_machine_that_has_grown_is_the_one_that_apply_makes(tmp_path: Path) -> None:
    root = host(tmp_path)
    done("apply", root, "--runtime", "none")
    _, few = applied(root)
    write_tree(root, machine(16, threads=2))
    shown = json.loads(done("plan", root, "--profile", "lowlat", "--json").out)
    done("apply", root, "--profile", "lowlat")
    assert str(applied(root)[1]) == shown["cpus"]["isolated"] != str(few)


def test_after_a_rollback_the_plan_is_that_of_this_boot(tmp_path: Path) -> None:
    root = host(tmp_path / "tree")
    done("apply", root, "--runtime", "none", "--isolate", "4-5")
    boot(root)
    in_use = (root / "var/lib/lowlat/plan.json").read_text()
    assert lowlat("rollback", "--root", root).status == 1  # the line is a person's
    assert done("cpus", root, "isolated", "--planned").out == "4-5\n"
    write_tree(root, {"run/lowlat/plan.json": in_use, f"{CPU}/isolated": "\n"})
    assert done("cpus", root, "isolated", "--planned").out == "4-5\n"
    assert done("plan", root, "--json").json()["cpus"]["isolated"] == "4-5"
    write_tree(root, {"proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz quiet\n"})
    assert done("plan", root, "--json").json()["cpus"]["isolated"] == "2-7"


def test_damaged_state_stops_only_what_needs_it(tmp_path: Path) -> None:
    root = host(tmp_path)
    write_tree(root, {"var/lib/lowlat/decision.json": "{"})
    for words in (("plan",), ("cpus", "isolated"), ("run", "--systemd-drop-in")):
        refused = lowlat(*words, "--root", root).refused()
        assert "decision.json is damaged ('lowlat-gen rollback'" in refused
    assert done("plan", root, "--isolate", "2-3").err == ""


# ------------------------------------------------------------------ its warnings

#: ``tune`` prints what ``apply`` does: tests/tune/test_tune.py.
ELSEWHERE = {"tune"}

#: Verbs that use no plan, that compare a plan with what is, or that plan for another machine.
SILENT = {
    *("boot", "capture", "doctor", "explain", "lint", "measure", "probe", "profile", "promote"),
    *("rehearse", "report", "rollback", "runtime", "status", "top", "trial", "verify", "watch"),
}


def warned(root: Path, out: Path) -> Iterator[tuple[str, Answer]]:
    """The answer of each verb that makes or shows a plan, in each of its forms."""
    for words in ((), ("--all",), ("--brief",), ("--diff",), ("--json",)):
        yield "plan", done("plan", root, *words)
    for form in ("list", "docker", "systemd"):
        yield "cpus", done("cpus", root, "isolated", "--planned", "--as", form)
    yield "run", done("run", root, "--dry-run", "--", "engine")
    yield "run", done("run", root, "--systemd-drop-in")
    yield "render", done("render", root, "--out", out)
    yield "render", done("render", root, "--out", out, "--format", "kubelet")
    yield "fleet", lowlat("fleet", "plan", root)
    yield "fleet", lowlat("fleet", "plan", root, "--json")
    for dry in ((), ("--dry-run",)):
        yield "apply", done("apply", root, "--runtime", "none", *dry)


def test_every_verb_that_uses_a_plan_tells_its_warnings(tmp_path: Path) -> None:
    root, told = host(tmp_path / "tree"), set()
    for verb, answer in warned(root, tmp_path / "out"):
        assert WARNING in both(answer), (verb, answer)
        told.add(verb)
    assert told | SILENT | ELSEWHERE == set(VERBS) and not told & SILENT
    # A boot with the plan was warned of: what starts programs there says nothing more.
    boot(root)
    assert done("cpus", root, "isolated").err == ""
    assert done("run", root, "--systemd-drop-in").err == ""


def test_warnings_come_before_what_they_warn_of(tmp_path: Path) -> None:
    rows = done("plan", host(tmp_path)).out.splitlines()
    assert rows[1].split()[:4] == ["Warning", "the", "kernel", "is"]


@needs.two_cpus()
@needs.that(not Path("/", CPU, "isolated").read_text().strip(), "this host isolates CPUs")
def test_a_program_on_cpus_that_others_use_too_is_told_of() -> None:
    answer = lowlat_process("run", "--", "true")
    assert (answer.status, answer.out) == (0, "")
    assert "not isolated in this boot, other tasks run there too" in answer.err


# ------------------------------------------------ CPUs that are offline only now


@pytest.mark.parametrize(
    "name",
    ["e5-2660-oddeven-off0", "epyc-7742-32n-off255", "power8-lpar-smt4"],
)
def test_every_verb_names_the_cpus_of_the_planned_boot(name: str, tmp_path: Path) -> None:
    root = FIELD / f"{name}.txt.gz"
    planned = lowlat("plan", "--root", root, "--json")
    if planned.status == 2:
        assert lowlat("cpus", "isolated", "--root", root).refused() == planned.refused()
        return
    cpus = planned.json()["cpus"]
    for which in ("isolated", "housekeeping"):
        for profile in ((), ("--profile", "lowlat")):
            assert lowlat("cpus", which, "--root", root, *profile).out.strip() == cpus[which]
    now = probe(open_root(str(root))).cpus.online
    place = lowlat("run", "--root", root, "--dry-run", "--", "true").out
    assert f"run on CPU {CpuSet.parse_list(cpus['isolated']) & now} (" in place
    lowlat("render", "--root", root, "--out", tmp_path / "files")
    assert f"domain,{cpus['isolated']} " in (tmp_path / "files/etc/lowlat/cmdline").read_text()


def test_run_time_settings_are_those_of_the_plan_that_can_be_set_now() -> None:
    root = FIELD / "epyc-7742-32n-off255.txt.gz"
    planned = current.plan("lowlat", open_root(str(root)))
    made = current.settings("lowlat", open_root(str(root)))
    assert planned.isolated == made.isolated
    assert planned.housekeeping - made.housekeeping == CpuSet.of([255])
