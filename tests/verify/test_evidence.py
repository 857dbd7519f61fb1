# SPDX-License-Identifier: GPL-2.0-or-later
"""Evidence that others judge: the sh script, ``capture --evidence``, and verify on the live machine
all agree."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

import pytest

from lowlat.catalogue import CATALOGUE
from lowlat.host.archive import Archive, open_root, parse
from lowlat.model.cpuset import CpuSet
from lowlat.verbs.capture import capture
from lowlat.verify import clock_events, counters, evidence
from support import needs, shells, waits
from support.cli import lowlat
from support.waits import GUARD_S

pytestmark = pytest.mark.slow

Wanted = TypeVar("Wanted")

#: All programs that the script needs.
APPLETS = "cat dmesg grep readlink sed sleep sort stat taskset tr xargs"


@pytest.fixture(params=["dash", "busybox", pytest.param("bash", marks=pytest.mark.proof)])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., bytes]:
    """Runs the evidence script, or a changed one, in one of the shells."""
    made = shells.make(request.param, tmp_path / "tools", APPLETS)

    def run(*options: str, text: Optional[str] = None) -> bytes:
        script = tmp_path / "evidence.sh"
        script.write_text(evidence.script() if text is None else text)
        done = made.run(script, *options)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        return done.stdout

    return run


def test_every_file_of_the_catalogue_is_in_it() -> None:
    known = evidence.script().split("\nfiles='\n")[1].split("\n'")[0].splitlines()
    for entry in CATALOGUE:
        sign = entry.sign.path
        assert sign is None or any(line.endswith(sign) for line in known), entry.name
    for name in ("timer_migration", "compaction_proactiveness"):
        assert any(line.endswith(f"/{name}") for line in known)
    assert "/sys/devices/system/cpu/cpu[0-9]*/power/pm_qos_resume_latency_us" in known
    assert set(counters.ISOLATED) <= set(known)


def test_the_verb_prints_it() -> None:
    answer = lowlat("capture", "--evidence-script")
    assert (answer.status, answer.out) == (0, evidence.script())
    first = answer.out.splitlines()[:5]
    assert first[0] == "#!/bin/sh"
    assert any("READ THAT FILE BEFORE YOU PASS IT ON" in line for line in first)


def test_a_capture_without_evidence_is_not_judged(tmp_path: Path) -> None:
    """What it did not save would be told as missing on the machine."""
    machine = Path(__file__).parents[1] / "machines/qemu-x86-2s4c-2n-devices.txt"
    plan = tmp_path / "plan.json"
    plan.write_text(lowlat("plan", "--root", machine, "--json").out)
    answer = lowlat("verify", "--root", machine, "--plan", plan)
    assert answer.status == 2 and "holds no evidence ('capture --evidence'" in answer.err


def test_shellcheck_has_nothing_to_say(tmp_path: Path) -> None:
    script = tmp_path / "evidence.sh"
    script.write_text(evidence.script())
    done = subprocess.run(
        [shells.found("shellcheck"), script], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""


NASTY = (
    "a\tb\\c \\x41 %s \\n $(id) `id` é \x7f\x1b[31m\n",
    "",
    "one line\n",
    "\n",
    "|first\n\n\\\n|last\n",
)


def test_any_text_comes_back(shell: Callable[..., bytes], tmp_path: Path) -> None:
    """The output without escape sequences that a terminal would obey, and without empty lines at
    the end."""
    folder = tmp_path / "files"
    folder.mkdir()
    for number, text in enumerate(NASTY):
        (folder / f"n{number}").write_text(text)
    script = evidence.script().replace("\n/proc/cmdline\n", f"\n/proc/cmdline\n{folder}/*\n", 1)
    contents = parse(shell("-d", "0", text=script))
    for number, text in enumerate(NASTY):
        kept = text.rstrip("\n").replace("\x7f\x1b", "??")
        assert contents.files[f"{folder}/n{number}"] == f"{kept}\n".encode() * bool(kept), number
    assert contents.files["/proc/cmdline"] == Path("/proc/cmdline").read_bytes()


def test_names_come_back(shell: Callable[..., bytes], tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    names = ["a b", "back\\x2dslash", "tab\there", "é"]
    for name in names:
        (folder / name).touch()
    script = evidence.script().replace("\nfolders='\n", f"\nfolders='\n{folder}\n", 1)
    contents = parse(shell("-d", "0", text=script))
    assert sorted(contents.folders[str(folder)]) == sorted(names)


def test_it_counts(shell: Callable[..., bytes]) -> None:
    own = CpuSet.of(os.sched_getaffinity(0))
    if len(own) < 2:
        needs.absent("needs two CPUs")
    cpu = max(own)
    root = Archive("script", parse(shell("-d", "1", "-c", str(cpu))))
    counted = counters.read(root, own, 1.0)
    assert counted is not None and 1 <= counted.seconds < 60
    # The CPU may be idle or busy here: the result is one of the two.
    assert counted.spinning | counted.watching == CpuSet.of([cpu])
    assert any(map(clock_events.is_row, counted.rates(cpu)))


def test_nothing_stays_behind_a_script_that_is_killed(tmp_path: Path) -> None:
    own = os.sched_getaffinity(0)
    if len(own) < 2:
        needs.absent("needs two CPUs")
    cpu = max(own)
    script = tmp_path / "evidence.sh"
    # Any CPU counts as idle, so at least one certainly spins.
    script.write_text(evidence.script().replace("-ge 90", "-ge 0"))
    argv = ["/bin/sh", str(script), "-d", "600", "-c", str(cpu)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, start_new_session=True) as child:
        try:
            waits.until(lambda: {cpu} in members(child.pid), "nothing spins")
        finally:
            child.kill()
    try:
        waits.until(lambda: not members(child.pid), "something is left")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def test_an_archive_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    script = tmp_path / "evidence.sh"
    script.write_text(evidence.script())
    with Path("/dev/full").open("wb") as full:
        argv = ["/bin/sh", str(script), "-d", "0"]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.DEVNULL, timeout=GUARD_S)
    assert done.returncode == 1


def members(session: int) -> list[set[int]]:
    """The CPUs that each process of a session may run on."""
    found = []
    for pid in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]:
        with suppress(ProcessLookupError):
            if os.getsid(pid) == session:
                found.append(os.sched_getaffinity(pid))
    return found


@pytest.mark.parametrize("option", ["-d x", "-d 1000000", "-c 1;2", "-z"])
def test_bad_options_are_refused(option: str, tmp_path: Path) -> None:
    script = tmp_path / "evidence.sh"
    script.write_text(evidence.script())
    done = subprocess.run(
        ["/bin/sh", script, *option.split()], capture_output=True, timeout=GUARD_S, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"usage:" in done.stderr


# ------------------------------------------------------------- judged elsewhere


def judged(plan: Path, root: object) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--plan", plan, "--root", root, "--duration", "0s", "--json")
    rows: list[dict[str, Any]] = json.loads(answer.out)["settings"]
    # Tasks and messages come and go from one reading to the next.
    passing = re.compile(r"/proc(/\d+)?$|kernel messages$")
    return [row for row in rows if not passing.match(row["where"])]


def test_live_script_and_capture_agree(shell: Callable[..., bytes], tmp_path: Path) -> None:
    plan, captured, gathered = (tmp_path / name for name in ("plan.json", "c.txt", "s.txt"))
    # Kernel threads come and go from one reading to the next.
    made = lowlat("plan", "--json", "--disable", "kthread.affinity")
    if made.status == 2:
        needs.absent(f"no plan is possible here: {made.refused()}")
    plan.write_text(made.out)
    live = judged(plan, "/")
    captured.write_text(capture(open_root("/"), 0.0))
    gathered.write_bytes(shell("-d", "0"))
    # Somebody may change this host meanwhile.
    again = judged(plan, "/")
    changed = [before["name"] for before, after in zip(live, again) if before != after]
    stages = {row["where"] == "cmdline" for row in live}
    assert stages == {True, False}
    for archive in (captured, gathered):
        told = judged(plan, archive)
        assert len(told) == len(live)
        assert [two for two in zip(live, told) if two[0] != two[1]
                and two[0]["name"] not in changed] == []  # fmt: skip


def test_kernel_threads_agree(shell: Callable[..., bytes], tmp_path: Path) -> None:
    root = Archive("script", parse(shell("-d", "0")))
    threads = [name for name in root.names("/proc") if name.isdigit()]
    if "2" not in threads:
        needs.absent("no kernel threads are visible here")
    assert "(kthreadd)" in (root.read("/proc/2/stat") or "")
    assert "Cpus_allowed:" in (root.read("/proc/2/status") or "")
    assert not root.exists(f"/proc/{os.getpid()}")
