# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in a guest: kills ``apply --now``, or its rollback, before one of its writes, and takes back
what was done; again and again.

    python3 now_cuts.py FOLDER apply|rollback EVERY

Tries every so many writes from the first on. FOLDER/cuts.json has for each kill the write, and what
differed after the rollback.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable

from now import BALANCED_S, changes, run, snapshot

from lowlat.base import process
from lowlat.host.root import Root
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options
from lowlat.runtime import now
from lowlat.verbs import chosen_plan
from lowlat.verbs.options import PlanChoice

#: All that changes something, in lowlat's run time and in its journal.
_WRITES: tuple[tuple[Any, str], ...] = (
    *((os, name) for name in ("write", "rename", "unlink", "mkdir", "rmdir")),
    *((os, name) for name in ("sched_setaffinity", "sched_setscheduler")),
    (socket.socket, "sendmsg"),
    (process, "run"),
)

#: The status of a child that did not end as it should.
_FAILED = 99


def die_at(number: int, told: Path) -> None:
    """Let this process be killed before its write of that number; 0 for none. Each write adds a
    line."""
    count = 0

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def write(*words: Any, **more: Any) -> Any:
            nonlocal count
            if [b"setup"] in words:  # a question to irqbalance
                return call(*words, **more)
            count += 1
            with told.open("a") as file:
                print(name, *map(_short, words), file=file)
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*words, **more)

        return write

    for owner, name in _WRITES:
        setattr(owner, name, counted(name, getattr(owner, name)))


def _short(word: object) -> str:
    return str(word)[:60].replace("\n", " ")


def forked(action: Callable[[], object], number: int = 0) -> tuple[int, list[str]]:
    """The status of a child that does this, and its writes."""
    told = Path("writes")
    told.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            die_at(number, told)
            action()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(_FAILED)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, told.read_text().splitlines() if told.exists() else []


def main(folder: Path, verb: str, every: int) -> None:
    os.chdir(folder)
    installed = run("sh", "-c", "dpkg -i packages/*.deb")
    run("systemctl", "start", "irqbalance.service")
    time.sleep(BALANCED_S)
    root, before = Root(), snapshot({})
    choice = PlanChoice(wanted=Options(request=CpuRequest(isolate="2-3")))
    _, plan = chosen_plan.make_now(choice, root)

    def apply() -> object:
        return now.start(plan, root)

    def rollback() -> None:
        problems, _ = now.stop(root)
        assert not problems, problems

    rows, number, status = [], 1, -9
    while status == -9:
        if verb == "rollback":
            assert forked(apply)[0] == 0
        begun = time.monotonic()
        status, writes = forked(apply if verb == "apply" else rollback, number)
        back = forked(rollback)[0]
        row = {"number": number, "status": status, "write": writes[-1:], "back": back}
        rows.append({**row, "left": changes(before, snapshot({}))})
        print(verb, row, f"{time.monotonic() - begun:.1f} s", flush=True)
        number += every
    found = {"kernel": os.uname().release, "rows": rows, "writes": writes, "installed": installed}
    Path("cuts.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
