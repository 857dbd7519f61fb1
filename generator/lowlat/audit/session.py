# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program and audits it: who observes, from when to when, and what comes of it."""

import math
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Optional

from lowlat.audit import accounts, audit_text, counting, kinds, lines, result
from lowlat.audit.counting import Counts, Scope
from lowlat.audit.kinds import Sight
from lowlat.audit.recording import PerfRecording
from lowlat.audit.result import Audit, AuditRow, Most
from lowlat.base import process
from lowlat.base.errors import Refused
from lowlat.base.user import User, asking
from lowlat.host.root import Root
from lowlat.model.launch import Launch
from lowlat.runtime import launch

#: In seconds: a machine under load reads a large program from its disk.
_ANSWER_S = 60.0


@dataclass(frozen=True)
class Wish:
    """From when on to audit: ``mark_fd`` is the program's descriptor for its mark, ``after_s`` the
    time after its start; else from its start on."""

    mark_fd: Optional[int] = None
    after_s: Optional[float] = None
    limits: tuple[Most, ...] = ()

    @property
    def since(self) -> str:
        if self.mark_fd is not None:
            return "mark"
        return "start" if self.after_s is None else "after"


def run(command: Sequence[str], place: Launch, wish: Wish, root: Root) -> Audit:
    """Run the program, audited. Raises Refused if a limit cannot be judged here or perf cannot
    record, and as launch.run_and_keep()."""
    perf, sight = observer(root)
    _refuse_unseen(wish, sight)
    user = asking()
    recorder = PerfRecording(perf, sight, user) if perf else None
    with recorder or nullcontext():
        session = _Session(recorder, sight, wish, user)
        session.run(command, place)
        return session.audit(command, place)


def observer(root: Root) -> tuple[str, Sight]:
    """perf's path and what it sees; "" if only the kernel's accounts are there."""
    perf = process.find("perf")
    if perf is None:
        return "", kinds.blind(f"perf is not installed: {process.package_hint('perf')}")
    tried = process.run((perf, "version"), timeout=_ANSWER_S)
    if tried.status != 0:
        late = f"no answer within {_ANSWER_S:.0f} s" if tried.timed_out else tried.last_words
        return "", kinds.blind(f"perf does not work: {late}")
    sight = kinds.sight(root)
    if not sight.events:
        return "", sight
    return perf, sight if process.find("addr2line") else sight.without_lines()


def _refuse_unseen(wish: Wish, sight: Sight) -> None:
    for limit in wish.limits:
        why = kinds.why_unseen(limit.name, sight.unseen)
        if why:
            raise Refused(f"--limit {limit.name}: this cannot be seen here", hint=why)


class _Session:
    """From the held program to its end. The mark comes from another thread."""

    def __init__(
        self, recorder: Optional[PerfRecording], sight: Sight, wish: Wish, user: Optional[User]
    ) -> None:
        self._recorder, self._sight, self._wish, self._user = recorder, sight, wish, user
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._pid = self._status = 0
        #: By CLOCK_MONOTONIC, as perf's times.
        self._begin_ns: Optional[int] = None
        self._end_ns: Optional[int] = None
        self._before: accounts.Account = {}
        self._counted: accounts.Account = {}
        self._problems: list[str] = []

    def run(self, command: Sequence[str], place: Launch) -> None:
        ours, theirs = socket.socketpair()
        fd = self._wish.mark_fd
        handed = {} if fd is None else {fd: theirs.fileno()}
        children = accounts.of_children()

        def before(pid: int) -> None:
            self._pid = pid
            if self._recorder:
                self._recorder.start(pid)
            if self._wish.since == "start":
                self._begin()
            else:
                threading.Thread(target=self._wait_for_mark, args=(ours,), daemon=True).start()

        with ours, theirs:
            self._status = launch.run_and_keep(
                command, place, before, user=self._user, handed=handed
            )
            self._ended.set()
            self._end(accounts.difference(accounts.of_children(), children))
        if self._recorder:
            self._recorder.stop()

    def _wait_for_mark(self, ours: socket.socket) -> None:
        if self._wish.after_s is not None:
            if not self._ended.wait(self._wish.after_s):
                self._begin()
            return
        with suppress(OSError):
            while message := ours.recv(1):
                if message == b"1":
                    self._begin()
                elif message == b"0":
                    self._end(accounts.read(self._pid))
                ours.send(message, socket.MSG_NOSIGNAL)

    def _begin(self) -> None:
        with self._lock:
            if self._begin_ns is not None or self._ended.is_set():
                return
            if self._recorder and not self._recorder.enable():
                self._problems.append("perf did not begin")
            self._before = accounts.read(self._pid)
            self._begin_ns = time.monotonic_ns()

    def _end(self, counted: accounts.Account) -> None:
        with self._lock:
            if self._begin_ns is None or self._end_ns is not None:
                return
            self._end_ns = time.monotonic_ns()
            self._counted = accounts.difference(counted, self._before)
            if self._recorder and not self._ended.is_set():
                self._recorder.disable()

    def audit(self, command: Sequence[str], place: Launch) -> Audit:
        begin, end = self._begin_ns or 0, self._end_ns or 0
        tally = self._tally(command, place)
        frames = (frame for site in tally.sites for frame in site.callers)
        rows = result.rows_of(tally, lines.resolve(frames, self._user))
        return Audit(
            command=tuple(command),
            cpus=str(place.cpus),
            user=self._user.name if self._user else None,
            observer=audit_text.observer(self._recorder is not None),
            since=self._wish.since,
            begun=begin > 0,
            observed_s=(end - begin) / 1e9,
            status=self._status,
            counts=self._counts(rows),
            rows=rows,
            elsewhere=dict(tally.elsewhere),
            unseen=dict(self._sight.unseen),
            problems=tuple(self._told(tally)),
        )

    def _tally(self, command: Sequence[str], place: Launch) -> Counts:
        if not self._recorder or not self._begin_ns:
            return Counts()
        begin, end, since = self._begin_ns, self._end_ns or 0, self._wish.since
        scope = Scope(
            cpus=place.cpus,
            pid=self._pid,
            machine=os.uname().machine,
            executable=os.path.realpath(shutil.which(command[0]) or command[0]),
            begin_ns=begin,
            end_ns=end if since == "mark" else math.inf,
            from_start=since == "start",
            mark_fd=self._wish.mark_fd,
        )
        return counting.count(self._recorder.records(), scope)

    def _told(self, tally: Counts) -> Iterator[str]:
        yield from self._problems
        lost = max(tally.lost, self._recorder.lost() if self._recorder else 0)
        if lost:
            yield f"{lost} events found no room in perf's buffers"
        if self._recorder and self._recorder.is_cut:
            yield "the recording became too large and was ended"

    def _counts(self, rows: Sequence[AuditRow]) -> Mapping[str, int]:
        """The totals by kind. Without rights they are the kernel's own, of all CPUs together."""
        counts = {kind: 0 for kind in kinds.TITLES if kind not in self._sight.unseen}
        for row in rows:
            counts[row.kind] += row.count
        counts.update({kind: self._counted.get(kind, 0) for kind in self._sight.accounted})
        return counts
