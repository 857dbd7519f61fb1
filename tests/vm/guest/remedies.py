# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in a guest: does what lowlat calls the remedy of a cause, on all that the guest has.

    python3 remedies.py OUT CAUSES

CAUSES is a JSON list of [class, cause]; OUT gets what the kernel refused. Masks are written here
without lowlat.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lowlat.catalogue.remedies import Remedies, threads
from lowlat.host.root import Root
from lowlat.verbs import host_remedies

_LIMIT_S = 300.0

#: Where the machine's noise goes.
_CPU = 0

ISOLATED = "2-3"


def lowlat(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-B", "-m", "lowlat", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_LIMIT_S)


def moved(known: Remedies) -> Iterator[tuple[str, str, str]]:
    """Of each interrupt and thread whose remedy is a mask: the remedy, who it is, and why the
    kernel refused it, or ""."""
    rows = Path("/proc/interrupts").read_text().splitlines()[1:]
    for number, _, rest in (row.partition(":") for row in rows):
        who = f"irq {number.strip()} {rest.split()[-1]}"
        if number.strip().isdecimal() and known.of("irq", who) == "irq.smp_affinity":
            yield "irq.smp_affinity", who, _interrupt(int(number))
    for path in Path("/proc").glob("[0-9]*"):
        name = _read(path / "comm")
        if name and known.of("thread", name) == "kthread.affinity":
            yield "kthread.affinity", name, _thread(int(path.name))


def _interrupt(number: int) -> str:
    try:
        Path(f"/proc/irq/{number}/smp_affinity_list").write_text(str(_CPU))
    except OSError as error:
        return error.strerror or "refused"
    shown = _read(Path(f"/proc/irq/{number}/smp_affinity_list"))
    return "" if shown == str(_CPU) else f"shows {shown}"


def _thread(pid: int) -> str:
    try:
        os.sched_setaffinity(pid, {_CPU})
    except ProcessLookupError:
        return ""  # it has ended
    except OSError as error:
        return error.strerror or "refused"
    shown = os.sched_getaffinity(pid)
    return "" if shown == {_CPU} else f"shows {shown}"


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def settings(names: set[str]) -> dict[str, Any]:
    """A plan with these settings: which it has, which it cannot have, and what became of those that
    are set at run time."""
    words = ["plan", "--isolate", ISOLATED, "--json"]
    for name in sorted(names):
        words += ["--enable", name]
    planned = lowlat(*words)
    if planned.returncode:
        return {"refused": planned.stderr}
    # Others could write the shared folder, and lowlat-gen takes no plan from there.
    path = Path("/run/plan.json")
    path.write_text(planned.stdout)
    started = lowlat("runtime", "start", "--plan", str(path))
    plan = json.loads(planned.stdout)
    return {
        "boot": [row["name"] for row in plan["cmdline"]["parameters"]],
        "runtime": sorted({row["name"] for row in plan["runtime"]}),
        "skipped": {row["name"]: row["why"] for row in plan["skipped"]},
        "started": [started.returncode, started.stdout + started.stderr],
    }


def main(out: Path, causes: list[tuple[str, str]]) -> None:
    root = Root()
    read = host_remedies.read(root)
    names = {f"{kind}: {cause}": read.of(kind, cause) for kind, cause in causes}
    # What is in effect already is no remedy any more; here masks are tried all the same.
    tried = [list(one) for one in moved(replace(read, useless=frozenset()))]
    found = {
        "kernel": os.uname().release,
        "threads": len(threads(root)),
        "moved": tried,
        "names": names,
        "settings": settings({*filter(None, names.values())}),
    }
    out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
