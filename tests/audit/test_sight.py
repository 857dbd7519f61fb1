# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be seen of a program, by kernel and rights; and what ``run --audit`` does without perf,
or with one that fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lowlat.audit import kinds
from lowlat.base import user
from lowlat.base.errors import Refused
from lowlat.host.root import Root
from support import machines, needs
from support.cli import GEN
from support.waits import GUARD_S

ALL, NONE = "CapEff:\t000001ffffffffff\n", "CapEff:\t0000000000000000\n"
PERFMON = "CapEff:\t0000004000000000\n"
EVENTS = "sys/kernel/tracing/events"
CPU = str(max(os.sched_getaffinity(0)))

IN_6_1 = [event.name for event in kinds.EVENTS if event.traced and not event.name.startswith("ipi")]


def host(tmp_path: Path, status: str, *events: str, paranoid: int = 2) -> kinds.Sight:
    files = {f"{EVENTS}/{name.replace(':', '/')}/id": "7\n" for name in events}
    files |= {"proc/self/status": f"Name:\tx\n{status}", "sys/devices/system/cpu/online": "0-3\n"}
    files |= {"proc/sys/kernel/perf_event_paranoid": f"{paranoid}\n"}
    return kinds.sight(Root(str(machines.write_tree(tmp_path / "host", files))))


def test_root_sees_all_that_the_kernel_has(tmp_path: Path) -> None:
    sight = host(tmp_path, ALL, *IN_6_1)
    assert sight.kernel and sight.accounted == ()
    assert sight.unseen == {
        "interrupts sent by membarrier": "this kernel has no event ipi:ipi_send_cpumask (Linux 6.4)"
    }


def test_a_kernel_without_events_of_calls(tmp_path: Path) -> None:
    sight = host(tmp_path, PERFMON, "sched:sched_switch", "ipi:ipi_send_cpumask")
    assert {"calls", "futex-waits", "signals"} == set(sight.unseen)
    assert (
        kinds.why_unseen("entries", sight.unseen)
        == "this kernel has no event raw_syscalls:sys_enter"
    )
    assert kinds.why_unseen("page-faults", sight.unseen) is None


def test_root_without_tracefs(tmp_path: Path) -> None:
    sight = host(tmp_path, ALL)
    assert [event.name for event in sight.events] == ["minor-faults", "major-faults", "migrations"]
    assert sight.accounted == ("switches",)
    assert "mount -t tracefs tracefs /sys/kernel/tracing" in sight.unseen["calls"]


@pytest.mark.parametrize(("paranoid", "faults"), [(2, True), (3, False), (-1, True)])
def test_an_ordinary_user(paranoid: int, faults: bool, tmp_path: Path) -> None:
    sight = host(tmp_path, NONE, *IN_6_1, paranoid=paranoid)
    assert bool(sight.events) is faults and not sight.kernel
    assert sight.accounted == kinds.ACCOUNTED
    assert "needs root, or CAP_PERFMON" in sight.unseen["calls"]


# ------------------------------------------------------- without a good perf


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The folder of all programs that the tests use, without perf."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "true", "addr2line", "readelf"):
        (folder / name).symlink_to(shutil.which(name) or "/nowhere")
    return folder


def audit(programs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = (*GEN, "run", "--cpus", CPU, "--audit", *words)
    env = {**os.environ, "PATH": str(programs)}
    return subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, env=env)


def stand_in(programs: Path, recorded: str, *, lost: int = 0) -> None:
    """A perf that answers, and "prints" what it was given."""
    text = f"""#!{Path(sys.executable).resolve()}
import os, sys, time
words = sys.argv[1:]
if words[:1] == ["version"]: sys.exit(print("perf version 6.1"))
if words[:1] == ["script"]:
    pid, now = open(words[2]).read().split()
    sys.exit(print({recorded!r}.format(pid=pid, now=now)))
if words[:1] == ["report"]:
    sys.exit(print("Aggregated stats:\\n LOST_SAMPLES events: 1\\nminor-faults stats:\\n"
                   "  LOST_SAMPLES events: {lost}"))
commands, answers = map(int, words[-1][3:].split(","))
for line in os.fdopen(commands):
    os.write(answers, b"ack\\n")
    if line == "stop\\n": break
pid, now = words[words.index("-p") + 1], int(time.monotonic()) + 1
open(words[words.index("--output") + 1], "w").write(f"{{pid}} {{now}}")
"""
    write(programs / "perf", text)


def write(program: Path, text: str) -> None:
    program.write_text(text)
    program.chmod(0o755)


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_without_perf_the_kernels_accounts_remain(programs: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    done = audit(programs, "--out", str(out), "--", "sh", "-c", "exit 3")
    assert (done.returncode, done.stdout) == (3, "")
    found = document(out)
    assert found["observer"] == "the kernel's accounts (all CPUs)"
    assert found["counts"]["minor-faults"] > 10 and found["counts"]["calls"] is None
    assert found["unseen"]["calls"].startswith(
        "perf is not installed: install the package linux-perf"
    )
    assert f"{found['counts']['page-faults']} page faults from its start on" in done.stderr
    foreseen = audit(programs, "--dry-run", "--", "true")
    assert "It would be audited by the kernel's accounts (all CPUs).\nNot seen: " in foreseen.stdout
    refused = audit(programs, "--limit", "calls=0", "--", "true")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--limit calls: this cannot be seen here (perf is not installed" in refused.stderr


def test_a_perf_that_does_not_work(programs: Path) -> None:
    perf = programs / "perf"
    write(perf, "#!/bin/sh\necho WARNING: perf not found for kernel 6.8 >&2; exit 2\n")
    done = audit(programs, "--", "true")
    assert done.returncode == 0
    told = " ".join(done.stderr.split())
    assert "perf does not work: WARNING: perf not found for kernel 6.8" in told
    # One that works, but cannot record: the program does not run.
    write(perf, "#!/bin/sh\n[ $1 = version ] || { echo no room >&2; exit 1; }\n")
    done = audit(programs, "--", "sh", "-c", "echo ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lowlat-gen: perf cannot record: no room (")


RECORDED = f"""
{{pid}}/{{pid}} [{CPU}] {{now}}.000000001: PERF_RECORD_COMM exec: sh:{{pid}}/{{pid}}
{{pid}}/{{pid}} [{CPU}] {{now}}.000000002: minor-faults:
\t 1369 fee\x1b[2Jd+0x1 (/no/such/feed\x07)
"""


def test_lost_events_make_lower_bounds_and_keep_no_limit(programs: Path, tmp_path: Path) -> None:
    stand_in(programs, RECORDED)
    kept = audit(programs, "--limit", "page-faults=100000", "--", "true")
    assert kept.returncode == 0, kept.stderr
    assert "\x1b" not in kept.stderr and "fee?[2Jd in feed?" in kept.stderr
    stand_in(programs, RECORDED, lost=5)
    out = tmp_path / "audit.json"
    done = audit(programs, "--limit", "page-faults=100000", "--out", str(out), "--", "true")
    assert done.returncode == 1
    assert document(out)["problems"] == ["5 events found no room in perf's buffers"]
    assert "limit page-faults=100000: NOT kept (" in done.stderr


def test_a_mark_that_never_came(programs: Path) -> None:
    stand_in(programs, RECORDED)
    never = audit(programs, "--mark-fd", "7", "--limit", "page-faults=9", "--", "true")
    assert never.returncode == 1
    assert "Nothing was observed: the program ended before it set the mark." in never.stderr
    assert audit(programs, "--after", "1h", "--", "sh", "-c", "exit 4").returncode == 4
    missing = audit(programs, "--", "/no/such/program")
    assert (missing.returncode, missing.stdout) == (127, "")
    assert missing.stderr.count("\n") == 1


@needs.root("root's rights to give up")
def test_a_user_whom_nobody_knows_does_not_become_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "3999999999")
    with pytest.raises(Refused, match="no user is known by SUDO_UID=3999999999"):
        user.asking()
    monkeypatch.setenv("SUDO_UID", "0")
    assert user.asking() is None
