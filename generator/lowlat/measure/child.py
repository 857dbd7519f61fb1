# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds lowlat-measure and runs it: observed, bounded, and ended in good order."""

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Callable, Optional

import lowlat
from lowlat.base import files, process
from lowlat.base.process import Finished, find

PROGRAM = "lowlat-measure"

#: Seconds for the harness to end its children and write a partial result.
_GRACE_S = 30.0

_FORWARDED = {
    signal.SIGINT: signal.SIGINT,
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGHUP: signal.SIGTERM,
}


def find_harness() -> str:
    """The harness beside the running program, else in the package, else on PATH. Raises Refused if
    there is none or, for root, if others can change it."""
    beside = (str(path) for path in _beside() if path.is_file() and os.access(path, os.X_OK))
    harness = next(beside, None) or find(PROGRAM)
    if harness is None:
        hint = f"{process.package_hint(PROGRAM)}, or build it with 'make harness'"
        raise process.NotInstalled(PROGRAM, hint=hint)
    return process.judge_program(harness)


def _beside() -> Iterator[Path]:
    for program in (sys.argv[0], sys.executable):
        if program and os.sep in program:
            yield Path(program).absolute().parent / PROGRAM
    yield Path(lowlat.__file__).absolute().parent / "libexec" / PROGRAM


def execute(
    argv: Sequence[str],
    tick: Callable[[], None],
    answer: Callable[[], None],
    *,
    limit: float,
    every: float = 0.1,
    hear: Optional[Callable[[str], None]] = None,
) -> Finished:
    """Run the harness to its end, calling ``tick`` every so many seconds, and ``hear`` with each
    line of its phases; ended after ``limit``. A signal to end is forwarded and answered, and the
    harness gets time to write its partial result; a second signal ends it at once. Raises
    LowlatError if it cannot be started."""
    with _memory() as out, _memory() as err, _noted() as received, _lifeline() as (reader, end):
        child = process.start([*argv, f"--phases={end}"], stdout=out, stderr=err, handed=(end,))
        phases = _Lines(reader)

        def look() -> None:
            tick()
            if hear is not None:
                for line in phases.read():
                    hear(line)

        try:
            timed_out = not _watch(child, look, answer, received, limit, every)
        finally:
            # A harness that has ended, killed or not, leaves no process: its reapers ensure that.
            process.end_group(child)
        return Finished(child.returncode, _content(out), _content(err), timed_out)


@contextmanager
def _noted() -> Iterator[list[int]]:
    """The signals to end that come during the block; a SIGHUP ignored by nohup stays ignored."""
    received: list[int] = []
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    wanted = [number for number in _FORWARDED if not (nohup and number == signal.SIGHUP)]
    saved = {number: signal.signal(number, lambda n, _: received.append(n)) for number in wanted}
    try:
        yield received
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)


@contextmanager
def _lifeline() -> Iterator[tuple[int, int]]:
    """The ends of a pipe of which the harness gets the second; the first closes with this process,
    killed or not, and the harness then ends its run. Reading does not wait."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


class _Lines:
    """The lines that come through a pipe."""

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self._rest = b""

    def read(self) -> list[str]:
        """The lines that came since the last call."""
        with suppress(BlockingIOError):
            self._rest += os.read(self._reader, 1 << 16)
        *whole, self._rest = self._rest.split(b"\n")
        return [process.text(line) for line in whole]


def _watch(
    child: process.Child,
    tick: Callable[[], None],
    answer: Callable[[], None],
    received: Sequence[int],
    limit: float,
    every: float,
) -> bool:
    """Whether the harness ended on its own, in time and before a second signal."""
    deadline, handed_on = time.monotonic() + limit, False
    while process.wait(child, every) is None:
        if received and not handed_on:
            handed_on = True
            child.send_signal(_FORWARDED[signal.Signals(received[0])])
            answer()
            deadline = min(deadline, time.monotonic() + _GRACE_S)
        if len(received) > 1 or time.monotonic() > deadline:
            return False
        if not handed_on:
            tick()
    return True


def _memory() -> IO[bytes]:
    """A file in memory, which no full disk truncates."""
    return os.fdopen(os.memfd_create("lowlat"), "w+b")


def _content(file: Any) -> str:
    file.seek(0)
    return process.text(file.read())


#: A prefix that no user chooses for a folder.
_PREFIX = ".lowlat-causes-"

#: Seconds: more than passes between making a folder and locking it.
_NEW_S = 60.0


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder (mode 0700) below $TMPDIR or /tmp. Raises OSError if it cannot be made."""
    _sweep(Path(tempfile.gettempdir()))
    name = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        with files.locked(name, os.O_DIRECTORY):
            yield Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)


def _sweep(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _NEW_S:
                with files.locked(folder, os.O_DIRECTORY):
                    shutil.rmtree(folder)
