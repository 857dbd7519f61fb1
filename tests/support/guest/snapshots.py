# SPDX-License-Identifier: GPL-2.0-or-later
"""What a cut of the power leaves of a working guest: copies of its disk, its EFI partition and its
firmware's variables, made whenever one of them has changed. The emulator stands still meanwhile, so
a copy is all that the guest had written by then; what it holds in memory is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support import waits
from support.guest.boots import FILES, Guest, copy_file

_LOOK_S = 0.005

#: More copies of a disk fill the host's: then every second one goes, and fewer are made.
_AT_MOST = 8


@dataclass
class SnapshotRecorder:
    """The states of one boot from the moment when its console shows ``since``. ``states`` has the
    machine at some of the moments, ``partitions`` the EFI partition at all when it had changed."""

    folder: Path
    since: str
    states: list[Guest] = field(default_factory=list)
    partitions: list[Path] = field(default_factory=list)
    seen: int = 0
    _every: int = 1

    @contextlib.contextmanager
    def recording(self, guest: Guest) -> Iterator[None]:
        """Record the machine while it runs."""
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(guest, ended))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def forget(self) -> None:
        """Begin anew: the boot is repeated."""
        for path in self.folder.iterdir():
            shutil.rmtree(path)
        self.states, self.partitions, self.seen, self._every = [], [], 0, 1

    def _watch(self, guest: Guest, ended: threading.Event) -> None:
        known = _written(guest)
        while not ended.wait(_LOOK_S):
            now = _written(guest)
            if now != known and self.since in guest.tail:
                with contextlib.suppress(ProcessLookupError), _stopped(guest):
                    self._take(guest, esp=now["esp"] != known.get("esp"))
                    now = _written(guest)
            known = now

    def _take(self, guest: Guest, *, esp: bool) -> None:
        self.seen += 1
        if esp:
            self.partitions.append(self._folder() / "esp")
            copy_file(guest.folder / "esp", self.partitions[-1])
        if self.seen % self._every:
            return
        self.states.append(Guest(self._folder()))
        for name in FILES:
            copy_file(guest.folder / name, self.states[-1].folder / name)
        if len(self.states) > _AT_MOST:
            for state in self.states[::2]:
                shutil.rmtree(state.folder)
            del self.states[::2]
            self._every *= 2

    def _folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="state-", dir=self.folder))


def _written(guest: Guest) -> dict[str, int]:
    """When each of the machine's files was written last."""
    paths = {name: guest.folder / name for name in FILES}
    return {name: path.stat().st_mtime_ns for name, path in paths.items() if path.exists()}


@contextlib.contextmanager
def _stopped(guest: Guest) -> Iterator[None]:
    """Stop the emulator. Raises ProcessLookupError if it has ended."""
    pid = int(guest.pidfile.read_text()) if guest.pidfile.exists() else 0
    if not pid:
        raise ProcessLookupError
    os.kill(pid, signal.SIGSTOP)
    try:
        waits.until(lambda: _state(pid) in ("T", "Z", ""), f"{pid} does not stop")
        if _state(pid) != "T":
            raise ProcessLookupError
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _state(pid: int) -> str:
    """The letter of proc_pid_stat(5); "" if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
