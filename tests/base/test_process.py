# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs are started, and ended together with all processes that they started."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.boot import programs
from support import procs, waits

#: The leader ends at the first signal; its child ignores that signal.
STUBBORN = "(trap '' TERM; exec sleep 300) & echo $!; wait"


def test_output_and_status_come_through() -> None:
    script = "cat; printf ä; printf '\\377' >&2; exit 3"
    done = process.run(["sh", "-c", script], timeout=waits.GUARD_S)
    assert (done.status, done.stdout, done.stderr) == (3, "ä", "\ufffd")
    assert not done.timed_out


@pytest.mark.security
def test_of_long_output_the_end_is_kept() -> None:
    script = "head -c 9000000 /dev/zero | tr '\\0' a; echo end; yes | head -c 9000000 >&2"
    done = process.run(["sh", "-c", script], timeout=waits.GUARD_S, keep=1000)
    assert (done.stdout, done.stderr) == (f"{'a' * 996}end\n", "y\n" * 500)


@pytest.mark.parametrize(
    ("said", "why"), [("no\n  such file \n\n", "such file"), ("\n", "exit status 3")]
)
def test_why_a_program_failed_is_the_last_line_it_said(said: str, why: str) -> None:
    assert process.Finished(3, "", said).last_words == why


def test_what_takes_too_long_is_ended_with_all_it_started() -> None:
    limit, told = 0.5, ""
    while not told:  # the shell may not have come so far yet
        done = process.run(["sh", "-c", STUBBORN], timeout=limit)
        assert done.timed_out and done.status == -signal.SIGTERM
        limit, told = 2 * limit, done.stdout
    assert not procs.alive(int(told))


def test_what_ends_at_the_first_signal_is_not_waited_for() -> None:
    child = process.start(["sleep", "300"])
    end = threading.Thread(target=process.end_group, args=(child, math.inf), daemon=True)
    end.start()
    waits.until(lambda: not end.is_alive(), "it waits for the end of its grace")
    assert child.returncode == -signal.SIGTERM


def test_a_child_that_was_waited_for_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    child = process.start(["true"])
    child.wait(waits.GUARD_S)
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("its number may be another's by now"))
    process.end_group(child)


def test_a_program_that_is_not_there_is_one_line() -> None:
    with pytest.raises(LowlatError, match="cannot run /nonexistent: No such file"):
        process.run(["/nonexistent"], timeout=waits.GUARD_S)


def test_who_waits_sleeps_until_the_end() -> None:
    """Each wake-up of the waiting program would add load beside a measurement."""
    own = threading.get_native_id()
    child = process.start(["cat"], stdin=subprocess.PIPE, stdout=process.NOWHERE)
    soon_s = 0.2
    assert process.wait(child, soon_s) is None
    child.communicate()
    assert process.wait(child, waits.GUARD_S) == 0
    child = process.start(["sleep", "1"], stdout=process.NOWHERE, stderr=process.NOWHERE)
    before = procs.sleeps(own)
    assert process.wait(child, waits.GUARD_S) == 0
    # A poll every 50 ms would make 20 or more.
    assert procs.sleeps(own) - before < 12


def test_processes_that_end_while_all_are_looked_at_disturb_nobody(tmp_path: Path) -> None:
    """A file below /proc/PID fails with ESRCH if the process ends between two reads."""
    busy = process.start(["sh", "-c", "while :; do /bin/true & /bin/true & /bin/true; done"])
    try:
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            assert not programs.has_output(str(tmp_path))
    finally:
        process.end_group(busy, grace=30)


def test_the_last_words_of_a_program_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program says them, and ends, just after a look that found nothing."""
    go, log, real, looks = tmp_path / "go", tmp_path / "log", process.read, [0]
    os.mkfifo(go)

    def look(child: process.Child, seconds: float) -> bytes:
        looks[0] += 1
        if looks[0] > 1:
            return real(child, seconds)
        with waits.reader(go):
            pass
        waits.until(lambda: procs.state(child.pid) == "Z")
        return b""

    monkeypatch.setattr(process, "read", look)
    argv = ["sh", "-c", f"read -r _ <{go}; echo done"]
    status = process.follow(argv, os.environ, log, waits.GUARD_S, threading.Event())
    assert (status, log.read_text().splitlines()[1:]) == (0, ["done"])


def test_a_held_program_gets_each_descriptor_that_is_handed_to_it() -> None:
    """Whatever its number is, also that which this process has for it, and the highest one."""
    ours, theirs = os.pipe()
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1
    numbers = (*range(3, theirs + 8), min(highest, 1023))
    with os.fdopen(ours, "rb") as told:
        for number in numbers:
            script = f"import os; os.write({number}, b'{number} ')"
            held = process.hold([sys.executable, "-c", script], handed={number: theirs})
            held.release()
            assert os.waitstatus_to_exitcode(os.waitpid(held.pid, 0)[1]) == 0, number
        os.close(theirs)
        assert told.read().split() == [str(number).encode() for number in numbers]
