# SPDX-License-Identifier: GPL-2.0-or-later
"""``perf record`` beside a program, and what it recorded. Its control is that of perf-record(1):
--control, Linux 5.9; "ping", 5.12."""

import os
import re
import select
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Optional

from lowlat.audit import perf_script
from lowlat.audit.kinds import Event, Sight
from lowlat.audit.perf_script import Record
from lowlat.base import bounds, process, reader
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.process import Child
from lowlat.base.user import User

#: How long perf may take to answer, and to read its own file, in seconds. On a machine with
#: hundreds of CPUs it opens thousands of events.
_ANSWER_S = 180.0
_READ_S = 600.0

#: Pages of each CPU's buffer: what an ordinary user may lock (kernel.perf_event_mlock_kb), and for
#: root up to 16 MiB, 256 MiB in all. Where a buffer is half full, perf is woken from the CPU.
_PAGES, _PAGES_AT_MOST, _PAGES_IN_ALL = 128, 4096, 65536

#: The losses of each event, in ``perf report --stats``: behind those of all together, which it
#: counts by records.
_LOST = re.compile(r"LOST_SAMPLES events:\s+(\d+)")


class PerfRecording:
    """Records the events of a program and its children, from enable() to disable(). A context: the
    file is removed at its end."""

    def __init__(self, perf: str, sight: Sight, user: Optional[User]) -> None:
        self._perf, self._sight, self._user = perf, sight, user
        self._folder = tempfile.TemporaryDirectory(prefix="lowlat-audit-")
        self._data = Path(self._folder.name, "perf.data")
        self._said = Path(self._folder.name, "said")
        self._child: Optional[Child] = None
        self._to_perf = self._from_perf = -1

    def __enter__(self) -> "PerfRecording":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def start(self, pid: int) -> None:
        """Open the events of a process without counting. Raises Refused if perf cannot."""
        (theirs, self._to_perf), (self._from_perf, answers) = os.pipe(), os.pipe()
        try:
            with self._said.open("wb") as said:
                argv = (*self._record(), "-p", str(pid), "--control", f"fd:{theirs},{answers}")
                self._child = _start(argv, said, (theirs, answers))
        finally:
            os.close(theirs)
            os.close(answers)
        if not self._tell("ping"):
            why = self._last_words() or "no answer"
            hint = "try 'perf record -e page-faults true'"
            raise Refused(f"perf cannot record: {why}", hint=hint)

    def _record(self) -> Iterator[str]:
        yield from (self._perf, "record", "--quiet", "--output", str(self._data), "--delay", "-1")
        yield from ("--no-buildid", "--no-buildid-cache", "--timestamp", "--sample-cpu")
        yield from ("--clockid", "monotonic")
        yield from ("--count", "1", "--mmap-pages", str(self._pages()))
        yield from ("--user-callchains", "--call-graph", f"dwarf,{bounds.STACK}")
        # Maps from before execve would stay with perf and spoil its unwinding; at the end there is
        # no process any more whose maps it could read.
        yield "--tail-synthesize"
        yield from ("--max-size", f"{bounds.RECORDED >> 20}M")
        for event in self._sight.events:
            yield from ("--event", self._named(event))
            if event.only:
                yield from ("--filter", event.only)

    def _named(self, event: Event) -> str:
        return event.name if self._sight.kernel else f"{event.name}:u"

    def _pages(self) -> int:
        if not self._sight.kernel:
            return _PAGES
        pages = _PAGES_AT_MOST
        while pages > _PAGES and pages * (os.cpu_count() or 1) > _PAGES_IN_ALL:
            pages //= 2
        return pages

    def enable(self) -> bool:
        """Count from now on; False if perf does not answer."""
        return self._tell("enable")

    def disable(self) -> None:
        """Count no longer. Only the events are named: what perf records of maps and of losses goes
        on, as losses are told with the next record."""
        for event in self._sight.events:
            self._tell(f"disable {self._named(event)}")

    def _tell(self, command: str) -> bool:
        try:
            os.write(self._to_perf, f"{command}\n".encode())
        except OSError:
            return False
        said, until = b"", time.monotonic() + _ANSWER_S
        while b"ack" not in said:
            left = max(0.0, until - time.monotonic())
            if not select.select([self._from_perf], [], [], left)[0]:
                return False
            data = os.read(self._from_perf, 64)
            if not data:
                return False
            said += data
        return True

    def stop(self) -> None:
        """Have perf finish its file. It may have done so: it ends with the program."""
        if self._child is not None:
            self._tell("stop")
            process.wait(self._child, _ANSWER_S)
            process.end_group(self._child)
            self._child = None
            os.close(self._to_perf)
            os.close(self._from_perf)
        if self._user and self._data.exists():
            Path(self._folder.name).chmod(0o711)
            os.chown(self._data, self._user.uid, self._user.gid)

    @property
    def is_cut(self) -> bool:
        """Whether the file became too large, so that perf recorded no more."""
        return self._data.exists() and self._data.stat().st_size >= bounds.RECORDED

    def records(self) -> Iterator[Record]:
        """What was recorded; to be called after stop(). perf reads the program's files with the
        rights of its user. Raises LowlatError if it cannot."""
        return perf_script.parse(self._lines())

    def lost(self) -> int:
        """How many events found no room, as the kernel counts them from Linux 6.0 on; to be called
        after stop(). A loss is among the records only if another one came later."""
        argv = (self._perf, "report", "--stats", "--input", str(self._data))
        said = process.run(argv, timeout=_READ_S, env=_environment(), user=self._user).stdout
        of_each = "".join(said.split(" stats:\n")[2:])
        return sum(map(int, _LOST.findall(of_each)))

    def _lines(self) -> Iterator[str]:
        until = time.monotonic() + _READ_S
        with self._said.open("wb") as said:
            child = _start(tuple(self._script()), said, user=self._user)
        with child:
            rest = b""
            try:
                while data := process.read(child, max(0.0, until - time.monotonic())):
                    *whole, rest = (rest + data).split(b"\n")
                    yield from map(process.text, whole)
                status = process.wait(child, max(0.1, until - time.monotonic()))
            finally:
                process.end_group(child)
        if status != 0:
            why = self._last_words() or "too slow"
            raise LowlatError(f"perf cannot read what it recorded: {why}")

    def _last_words(self) -> str:
        said = reader.read(self._said, bounds.OUTPUT, whole=False)
        return process.last_line(process.text(said))

    def _script(self) -> Iterator[str]:
        yield from (self._perf, "script", "--input", str(self._data), "--ns", "--no-inline")
        yield from ("--show-lost-events", "--show-task-events")
        yield from ("--fields", f"sw:{perf_script.FIELDS}")
        if any(event.traced for event in self._sight.events):
            yield from ("--fields", f"trace:{perf_script.FIELDS},trace")


def _start(
    argv: tuple[str, ...],
    said: IO[bytes],
    handed: tuple[int, ...] = (),
    user: Optional[User] = None,
) -> Child:
    return process.start(argv, env=_environment(), stderr=said, handed=handed, user=user)


def _environment() -> Mapping[str, str]:
    """Without the user's configuration of perf, and without fetching from the network."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PERF_CONFIG": "/dev/null", "HOME": "/"}
