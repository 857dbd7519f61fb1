# SPDX-License-Identifier: GPL-2.0-or-later
"""``run --audit`` of a program that does known things at known lines, by this kernel and its perf:
n of n. The counts do not depend on time or load."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import needs
from support.cli import GEN, lowlat
from support.ordinary_user import AS_NOBODY, NOBODY, OrdinaryUser
from support.planted import FLUSHES, PLANTED, Planted, build, by_comment
from support.waits import GUARD_S

pytest_plugins = ["support.ordinary_user"]
pytestmark = [
    pytest.mark.harness,
    pytest.mark.root,
    needs.root("perf of all events"),
    needs.two_cpus(),
    needs.program("perf", "linux-perf"),
    needs.program("cc"),
]

TRACING = Path("/sys/kernel/tracing")
CPUS = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))


@pytest.fixture(scope="module", autouse=True)
def tracing() -> Iterator[None]:
    """tracefs, for the time of these tests where nothing mounted it: a container, a small guest."""
    if (TRACING / "events").is_dir():
        yield
        return
    mounted = subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], timeout=GUARD_S)
    if mounted.returncode:
        needs.absent("needs tracefs, which cannot be mounted here")
    yield
    subprocess.run(["umount", TRACING], check=True, timeout=GUARD_S)


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    with tempfile.TemporaryDirectory(prefix="lowlat-test-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o777)
        yield build(Path(folder))


def audit(*words: str, gen: tuple[str, ...] = GEN, **how: Any) -> subprocess.CompletedProcess[str]:
    argv = (*gen, "run", "--cpus", CPUS, "--audit", *words)
    return subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, **how)


def test_everything_is_found_at_its_line(planted: Planted, tmp_path: Path) -> None:
    """Under a real-time policy, so that the sibling runs when it is sent interrupts."""
    out = tmp_path / "audit.json"
    words = ("--policy", "fifo:1", "--mark-fd", "9", "--limit", "signals=4", "--out", str(out))
    env = {**os.environ, "SUDO_UID": str(NOBODY)}
    done = audit(*words, "--", *planted.words, env=env)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    document = json.loads(out.read_text())
    assert document["problems"] == []
    found = by_comment(document, planted)
    expected = PLANTED if has_no_flush_interrupts() else {**PLANTED, **FLUSHES}
    assert {key: found.get(key) for key in expected} == {
        key: [one] for key, one in expected.items()
    }
    barriers = found.get(("ipis", "barrier"), [(0, "syscall")])
    unseen = "interrupts sent by membarrier" in document["unseen"]
    assert barriers == [(0 if unseen else 8, "syscall")]
    # All that the program did for the mark itself is left out.
    rows = [row for row in document["rows"] if row["place"]["function"] == "mark"]
    assert rows == []
    assert document["user"] == "nobody"
    assert (planted.program.parent / "file").stat().st_uid == NOBODY
    assert document["limits"] == [{"name": "signals", "most": 4, "count": 4, "kept": True}]
    total = document["counts"]["entries"]
    first = f"37 of {total} kernel entries after the mark are page faults of its own at planted.c:"
    assert document["sentence"].startswith(first)
    assert "limit signals=4: kept (4)\n" in done.stderr
    assert done.stderr.endswith(lowlat("report", out).out)


def has_no_flush_interrupts() -> bool:
    return os.uname().machine != "x86_64" or "invlpgb" in Path("/proc/cpuinfo").read_text()


def test_an_ordinary_user_sees_his_page_faults(
    planted: Planted, ordinary_user: OrdinaryUser
) -> None:
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    needs_perf = "kernel.perf_event_paranoid is above 2: perf is for root only here"
    if paranoid > 2:
        needs.absent(needs_perf)
    out = planted.program.parent / "nobody.json"
    gen = (ordinary_user.gen,)
    words = ("--mark-fd", "9", "--limit", "page-faults=1", "--out", str(out))
    done = audit(*words, "--", *planted.words, gen=gen, **AS_NOBODY)
    assert done.returncode == 1, done.stderr
    document = json.loads(out.read_text())
    assert by_comment(document, planted)["minor-faults", "fault"] == [(37, "")]
    assert document["counts"]["entries"] is None
    assert document["counts"]["switches"] >= 5
    assert "system calls were not seen" in document["sentence"]
    assert "needs root, or CAP_PERFMON" in document["unseen"]["calls"]
    refused = audit("--limit", "entries=0", "--", "true", gen=gen, **AS_NOBODY)
    assert refused.returncode == 2
    assert "--limit entries: this cannot be seen here (needs root" in refused.stderr


def test_from_the_start_and_until_a_signal(tmp_path: Path) -> None:
    """What came before the program's start is no part of it: Python, which held it."""
    out = tmp_path / "audit.json"
    done = audit("--out", str(out), "--limit", "calls=1", "--", "sh", "-c", "kill -TERM $$")
    document = json.loads(out.read_text())
    assert (done.returncode, document["status"]) == (1, 143)
    assert document["sentence"].endswith(".") and "from its start on" in document["sentence"]
    objects = {row["place"]["object"] for row in document["rows"]}
    assert not any("python" in name for name in objects)
    assert any(row["what"] == "kill" for row in document["rows"])
