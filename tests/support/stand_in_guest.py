# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for virtme-run and its guest: a guest of four CPUs with known figures.

This guest plans like a real one and writes the same files, within a second. Real guests are in
tests/vm.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn, Optional
from zlib import crc32

import lowlat
from lowlat.base import process
from lowlat.base.typed_json import encode, read_value, write_value
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine
from lowlat.rehearse import guest_plan, guest_tuned
from lowlat.rehearse.exchange import FACTS, TASK, VERIFY, Facts, GuestTask
from support.runs import cpu_run, document
from support.synthetic import Kind, Shape

#: Interrupts per second on each isolated CPU.
STOCK, QUIET = 250.0, 2.0

RUNNER = "virtme-run"

#: Variables of a guest: the file where each boot is noted, the boots that panic, those that panic
#: at power-off, and those that never end.
NOTES, PANICS, LATE, HANGS = "GUEST_NOTES", "GUEST_PANICS", "GUEST_PANICS_LATE", "GUEST_HANGS"


def program(folder: Path) -> Path:
    """Write the program that replaces virtme-run."""
    path = folder / RUNNER
    # An editable install finds the package by a hook, which this Python does not have.
    folders = [
        str(Path(__file__).resolve().parents[1]),
        str(Path(lowlat.__file__).parents[1]),
        *sys.path,
    ]
    # Not the virtual environment's Python: its path may contain a space.
    python = Path(sys.executable).resolve()
    path.write_text(
        f"#!{python}\nimport sys\nsys.path[:0] = {folders!r}\n"
        "from support import stand_in_guest\nsys.exit(stand_in_guest.main(sys.argv))\n"
    )
    path.chmod(0o755)
    return path


def forked(
    argv: Sequence[str], environment: Mapping[str, str], log: Path, limit: float,
    stop: threading.Event,
) -> Optional[int]:  # fmt: skip
    """Takes the place of process.follow: the guest is a child of this process, which has imported
    all of it already, and nothing encloses it. The child runs the runner that argv names, for a
    test may have written its own."""
    child = os.fork()
    if not child:
        _act(argv, environment, log)
    ends, deadline = os.pidfd_open(child), time.monotonic() + limit
    try:
        while not select.select([ends], [], [], 0.05)[0]:
            if stop.is_set():
                raise process.StopRequested
            if time.monotonic() > deadline:
                return None
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(ends)
    return os.waitstatus_to_exitcode(status)


def _act(argv: Sequence[str], environment: Mapping[str, str], log: Path) -> NoReturn:
    status = 70
    try:
        with log.open("wb", buffering=0) as kept:
            os.dup2(kept.fileno(), 1)
            os.dup2(kept.fileno(), 2)
        sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
        os.environ.clear()
        os.environ.update(environment)
        (runner,) = (at for at, word in enumerate(argv) if Path(word).name == RUNNER)
        sys.argv = list(argv[runner:])
        # It ends by SystemExit, like any program.
        runpy.run_path(sys.argv[0])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def machine() -> Machine:
    """The machine that the guest's planner sees."""
    made = Shape(kinds=(Kind(4),)).model().machine()
    return replace(made, kernel=Kernel("6.12.1", None, None), hypervisor="qemu")


def main(argv: Sequence[str]) -> int:
    """Act as the guest; returns the exit status of its power-off."""
    folder = shared(argv)
    line = " ".join(word[7:] for word in argv if word.startswith("--kopt="))
    with Path(os.environ[NOTES]).open("a") as notes:
        notes.write(f"{folder.parents[1].name}/{folder.parent.name}\n")
    if _one_of(PANICS, folder):
        return _panic()
    if _one_of(HANGS, folder):
        signal.pause()
    if folder.parent.name == "scout":
        _scout(folder)
    else:
        _measure(folder, line)
    return _panic() if _one_of(LATE, folder) else 0


def shared(argv: Sequence[str]) -> Path:
    """The folder that the guest shares with the host."""
    (found,) = filter(None, (re.search(r"id=share,path=([^,]+)", word) for word in argv))
    return Path(found[1])


def _one_of(variable: str, folder: Path) -> bool:
    return folder.parent.name in os.environ.get(variable, "").split()


def _panic() -> int:
    print("[ 1.0] Kernel panic - not syncing: no init", file=sys.stderr)
    return 255


def _scout(folder: Path) -> None:
    vars(guest_plan)["probe"] = lambda root: machine()
    guest_tuned.apply_own = _apply
    guest_tuned.line = lambda root: "nohz_full=2-3"
    guest_plan.work(folder)


def _apply(root: Root, name: str, isolated: CpuSet, log: Path) -> tuple[str, list[str]]:
    refused = [guest_tuned.not_applied(name), "TuneD: no such profile"]
    return "TuneD", refused if name == "powersave" else []


def _measure(folder: Path, line: str) -> None:
    task: GuestTask = read_value(folder / TASK, GuestTask)
    # Boots differ a little, as real ones do.
    entries = (QUIET if "nohz_full=" in line else STOCK) * (
        1 + sum(folder.parent.name.encode()) % 7 / 100
    )
    noise = 100.0 + crc32(str(folder).encode()) / 2**32
    cpus = [cpu_run(2, entries, noise), cpu_run(3, entries, noise)]
    for asked in task.measure.set_ups():
        run = document(asked.label, entries, cpus=cpus, emulated=True, boot_id=folder.parent.name)
        run["cmdline"] = line
        run["policy"] = asked.policy or "other"
        run["started"] = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"
        run["campaign"], run["host"] = encode(asked.campaign), {"name": "rehearsal"}
        run["argv"] = asked.argv("harness")
        (folder / str(asked.out)).write_text(json.dumps(run))
    row = {"name": "a", "where": "boot", "planned": "1", "effective": "1", "by": None}
    rows = [{**row, "state": "effective", "evidence": ""}]
    if task.arm.verified:
        (folder / VERIFY).write_text(json.dumps({"schema": "lowlat.verify/1", "settings": rows}))
    isolated, nohz = (
        CpuSet.of([2, 3] if f"{name}=" in line else []) for name in ("isolcpus", "nohz_full")
    )
    facts = Facts(line, isolated, nohz, (), "", (), {"boot": 9.0}, "")
    write_value(folder / FACTS, facts)
