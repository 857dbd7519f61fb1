# SPDX-License-Identifier: GPL-2.0-or-later
"""A rehearsal with stand-ins for its guests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import stand_in_guest
from support.waits import GUARD_S

_TESTS = str(Path(__file__).resolve().parents[1])

#: Runs the verb with stand-ins for programs that this machine may lack: virtme-run, QEMU, KVM. The
#: stand-ins write into folders that only root can enter.
_VERB = """\
import sys
from lowlat.rehearse import enclosure, qemu, ready, vm
enclosure.closed = lambda path: None
ready.check_programs = lambda: None
qemu.kvm_works = lambda image: False
vm.runner = lambda: {runner!r}
qemu.program = lambda: "/bin/true"
if {forked}:
    sys.path.append({tests!r})
    from support import stand_in_guest
    vm.process.follow = stand_in_guest.forked
from lowlat import cli
sys.exit(cli.main(sys.argv[1:]))
"""


@dataclass
class RehearsalBench:
    """Calls the verb in a separate process."""

    folder: Path
    #: Whether guests are children of the verb, which is quicker; else programs that it encloses.
    forked: bool = True

    def __post_init__(self) -> None:
        self.runner = stand_in_guest.program(self.folder)
        for release in ("6.6.1", "6.12.1"):
            (self.folder / f"vmlinuz-{release}").write_bytes(b"no kernel")
        self.notes = self.folder / "notes"
        self.out = self.folder / "out"

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        verb = _VERB.format(runner=str(self.runner), forked=self.forked, tests=_TESTS)
        argv = [sys.executable, "-c", verb, "rehearse", *words]
        environment = {
            **os.environ,
            "COLUMNS": "200",  # rows of tables are not wrapped
            stand_in_guest.NOTES: str(self.notes),
            **more,
        }
        return subprocess.Popen(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def call(self, *words: str, **more: str) -> tuple[int, str, str]:
        with self.start(*words, **more) as child:
            out, err = child.communicate(timeout=GUARD_S)
            return child.returncode, out, err

    def matrix(self, *words: str, **more: str) -> tuple[int, str, str]:
        return self.call("--out", str(self.out), "--kernel", self.kernel("6.12.1"), *words, **more)

    def kernel(self, release: str) -> str:
        return str(self.folder / f"vmlinuz-{release}")

    def booted(self) -> list[str]:
        return self.notes.read_text().split()

    def result(self) -> Any:
        return json.loads((self.out / "rehearsal.json").read_text())
