# SPDX-License-Identifier: GPL-2.0-or-later
"""Why the tick of a CPU goes on: the kernel's event timer:tick_stop (kernel/time/tick-sched.c),
recorded in an instance of the trace that nothing else uses and that is gone afterwards."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base import resources
from lowlat.model.cpuset import CpuSet

#: Where a system mounts tracefs.
_PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

#: For each CPU; older events give way.
_KIB = 16

_EVENT = re.compile(r"\[([0-9]{1,5})\].* tick_stop: success=0 dependency=(\w{1,40})$", re.M)
_TOLD = re.compile(r"([0-9]{1,5}):(\w{1,40})=([0-9]{1,9})", re.ASCII)

#: TICK_DEP_NAMES in include/trace/events/timer.h.
_WORDS = resources.texts("verify/tick_stops.ini")["words"]


@dataclass
class TickStops:
    """How often what kept the tick of which CPU, or why nobody could look; None before."""

    found: Optional[Mapping[tuple[int, str], int]] = None
    error: str = ""

    def text(self) -> str:
        """As one line; parse() reads it."""
        if self.found is None:
            return f"untraced {self.error}"
        return " ".join(("tick_stops", *(f"{c}:{w}={n}" for (c, w), n in self.found.items())))


def parse(told: Mapping[str, str]) -> TickStops:
    """What the lines say, by their first word."""
    if "tick_stops" not in told:
        return TickStops(error=told.get("untraced", "it was not recorded"))
    found = _TOLD.findall(told["tick_stops"])
    return TickStops({(int(cpu), what): int(count) for cpu, what, count in found})


def count(trace: str) -> Mapping[tuple[int, str], int]:
    """Of the kernel's text what kept the tick of which CPU, and how often."""
    return Counter((int(cpu), what) for cpu, what in _EVENT.findall(trace))


def words(stops: TickStops, cpu: int) -> str:
    """What kept the tick of this CPU, the most frequent first."""
    if stops.found is None:
        return f"why is not known: {stops.error}"
    own = Counter({what: n for (where, what), n in stops.found.items() if where == cpu})
    if not own:
        return "timer:tick_stop never came there: the kernel did not try to stop it"
    total = sum(own.values())
    each = (f"{_WORDS.get(what, what)} ({n} of {total})" for what, n in own.most_common())
    return f"timer:tick_stop names {', '.join(each)}"


@contextmanager
def recording(cpus: CpuSet, places: tuple[Path, ...] = _PLACES) -> Iterator[TickStops]:
    """Record on these CPUs meanwhile; what was found is there afterwards."""
    stops = TickStops()
    try:
        folder = _instance(cpus, places)
    except OSError as error:
        stops.error = f"{error.strerror} ({error.filename})"
        yield stops
        return
    try:
        yield stops
        (folder / "tracing_on").write_text("0")
        stops.found = count((folder / "trace").read_text())
    except OSError as error:
        stops.error = f"{error.strerror} ({error.filename})"
    finally:
        _remove(folder)


def _instance(cpus: CpuSet, places: tuple[Path, ...]) -> Path:
    """A new instance that records. Raises OSError."""
    mounted = [place / "instances" for place in places if (place / "instances").is_dir()]
    if not mounted:
        raise OSError(errno.ENOENT, "no tracefs is mounted", str(places[0]))
    (above, *_) = mounted
    for left in above.glob("lowlat-verify-*"):
        # Of one that was killed.
        if not Path("/proc", left.name.rpartition("-")[2]).exists():
            _remove(left)
    folder = above / f"lowlat-verify-{os.getpid()}"
    folder.mkdir(0o700)
    try:
        (folder / "buffer_size_kb").write_text(str(_KIB))
        (folder / "tracing_cpumask").write_text(cpus.mask())
        (folder / "events/timer/tick_stop/enable").write_text("1")
    except OSError:
        _remove(folder)
        raise
    return folder


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
