# SPDX-License-Identifier: GPL-2.0-or-later
"""Where lowlat-measure writes its result, and what happens if it cannot write there."""

from __future__ import annotations

import array
import fcntl
import json
import os
import resource
import signal
import subprocess
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from support import waits
from support.harness import (
    SHORT,
    Bench,
    Harness,
    Run,
    names,
    needs_root,
    needs_two_cpus,
    ran_for,
)

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus


def test_json_file_replaces_whole(harness: Harness, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    target.write_text("old")
    done = harness(*SHORT, "--json", str(target))
    assert "complete" in done.out
    assert json.loads(target.read_text())["schema"] == "lowlat.run/1"
    assert names(tmp_path) == ["run.json"]


def test_a_device_is_written_in_place(harness: Harness) -> None:
    assert harness(*SHORT, "--json", "/dev/null").status == 0
    assert Path("/dev/null").is_char_device()


def _is_full(reader: int) -> bool:
    """Whether the pipe has no room for another page."""
    waiting = array.array("i", [0])
    fcntl.ioctl(reader, termios.FIONREAD, waiting)
    return waiting[0] >= fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)


def test_a_slow_reader_of_a_pipe_gets_all(bench: Bench) -> None:
    pipe = bench.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    run = bench.start(*SHORT, "--json", str(pipe))
    waits.until(lambda: _is_full(reader))
    os.set_blocking(reader, True)
    with os.fdopen(reader) as file:
        document = json.load(file)
    assert run.ended()[0] == 0
    assert document["schema"] == "lowlat.run/1"


def test_a_descriptor_is_written_where_it_leads(program: str, tmp_path: Path) -> None:
    # The test avoids /dev/stdout: a harness that writes a file beside it and renames would replace
    # it.
    target = tmp_path / "run.json"
    for standard in (True, False):
        with target.open("w") as file:
            path = "/proc/self/fd/1" if standard else f"/dev/fd/{file.fileno()}"
            done = subprocess.run(
                [program, *SHORT, "--json", path],
                stdout=file if standard else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[file.fileno()],
                timeout=waits.GUARD_S,
                check=False,
            )
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(target.read_text())["schema"] == "lowlat.run/1"
        assert names(tmp_path) == ["run.json"]


def test_a_full_disk_is_said(harness: Harness) -> None:
    done = harness(*SHORT, "--json", "/dev/full")
    assert done.status == 1
    assert done.err.startswith("lowlat-measure: '/dev/full': can't be written")


@needs_root
@pytest.mark.root
def test_a_result_without_room_goes_to_standard_output(bench: Bench, small: Path) -> None:
    target = small / "run.json"
    run = bench.lingering("--json", str(target))
    with pytest.raises(OSError, match="No space"), (small / "filler").open("wb") as file:
        for _ in range(1000):
            file.write(b"x" * 4096)
            file.flush()
    bench.go()
    status, out, err = run.ended()
    assert status == 1
    assert not target.exists()
    assert "can't be written" in err.splitlines()[0]
    assert json.loads(out)["schema"] == "lowlat.run/1"


def test_a_result_too_large_for_a_file_goes_to_standard_output(bench: Bench) -> None:
    target = bench.folder / "runs" / "run.json"
    target.parent.mkdir()
    run = bench.start(
        *SHORT, "--json", str(target),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
    )  # fmt: skip
    status, out, err = run.ended()
    assert status == 1
    assert "can't be written (File too large)" in err
    assert json.loads(out)["schema"] == "lowlat.run/1"
    assert names(target.parent) == []


def test_a_reader_that_stops_does_not_keep_a_run_from_ending(bench: Bench) -> None:
    run = bench.start(*SHORT, "--json", "-")
    assert run.stdout is not None
    reader = run.stdout.fileno()
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    waits.until(lambda: _is_full(reader))
    run.send_signal(signal.SIGTERM)
    assert run.wait(waits.GUARD_S) == -signal.SIGTERM


# Second by second


def follow(bench: Bench, *words: str) -> Run:
    always = ("--cpus", "1", "--warmup", "0s", "--no-oslat", "--follow")
    return bench.start(*always, "--json", str(bench.json), *words)


def test_lines_without_room_end_and_the_run_goes_on(bench: Bench) -> None:
    with Path("/dev/full").open("w") as full:
        argv = [bench.program, "--cpus", "1", *SHORT, "--duration", "1500ms", "--follow"]
        done = subprocess.run(
            [*argv, "--json", str(bench.json)], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    run = json.loads(bench.json.read_text())
    assert (done.returncode, run["complete"]) == (1, False)
    assert "--follow ended early (No space left on device)" in run["problems"]
    assert ran_for(run, 1.5)
    assert "standard output: can't be written" in done.stderr and done.stderr.count("\n") == 1


@needs_root
@pytest.mark.root
def test_lines_that_cannot_begin_are_said_and_no_summary_takes_their_place(bench: Bench) -> None:
    hide = 'mount --bind /dev/null /proc/softirqs && exec "$@"'
    argv = ["unshare", "-m", "sh", "-c", hide, "sh", bench.program, "--cpus", "1", *SHORT]
    done = subprocess.run(
        [*argv, "--follow", "--json", str(bench.json)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    problems = json.loads(bench.json.read_text())["problems"]
    assert any("--follow ended early" in problem for problem in problems)


def test_a_second_has_one_line_even_after_a_stall(bench: Bench) -> None:
    run = follow(bench, "--duration", "60s")
    times = []
    for line in run.lines():
        times.append(line["time_s"])
        if len(times) == 1:
            run.send_signal(signal.SIGSTOP)
            bench.let_pass(2.3)
            run.send_signal(signal.SIGCONT)
        elif len(times) == 4:
            run.send_signal(signal.SIGINT)
    seconds = [int(time) for time in times]
    assert len(seconds) >= 2
    assert sorted(set(seconds)) == seconds


def test_lines_that_nobody_reads_do_not_hold_up_the_run(bench: Bench) -> None:
    run = follow(bench, "--duration", "60s")
    assert run.stdout is not None
    # Open the other end of the same pipe (proc_pid_fd(5)).
    writer = os.open(f"/proc/self/fd/{run.stdout.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.close(writer)
    waits.phase(run.phases, "measuring")
    bench.let_pass(2)  # a line is due meanwhile
    run.send_signal(signal.SIGINT)
    assert run.wait(waits.GUARD_S) == 130
    assert json.loads(bench.json.read_text())["complete"] is False


def test_events_that_cannot_be_written_are_told_in_the_result(bench: Bench) -> None:
    done = bench.call(*SHORT, "--events", "/dev/full")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("--events: can't be written")


@pytest.mark.parametrize(
    "words", [SHORT, (*SHORT, "--json"), ["--help"], ["--version"], ["--tools"], ["--check"]]
)
def test_a_full_standard_output_is_said(bench: Bench, words: Sequence[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [bench.program, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "can't be written (No space left on device)" in done.stderr


@needs_root
@pytest.mark.root
@pytest.mark.parametrize("why", ["No space left on device", "File exists"])
def test_a_capture_that_cannot_be_whole_leaves_nothing(bench: Bench, small: Path, why: str) -> None:
    folder = small / "capture"
    folder.mkdir()
    if why == "File exists":
        (folder / "switches.csv").write_text("mine")
    else:
        with pytest.raises(OSError, match="No space"):
            (small / "filler").write_bytes(b"x" * (1 << 20))
    before = names(folder)
    done = bench.call(*SHORT, "--capture", str(folder), "--observer", "switches")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said(f"--capture '{folder}': can't be written ({why})"), done.run["problems"]
    assert names(folder) == before
    assert not before or (folder / "switches.csv").read_text() == "mine"


@pytest.mark.parametrize("slash", ["", "/", "//"])
def test_a_capture_goes_into_its_folder(harness: Harness, tmp_path: Path, slash: str) -> None:
    assert harness(*SHORT, "--capture", f"{tmp_path}{slash}").status in (0, 1)
    assert "capture.json" in names(tmp_path)
