# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's trace as printed (Documentation/trace/ftrace.rst), line by line."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Optional

from lowlat.trace.clock import ClockPair

# A task's name has 15 characters: the rest of this pattern does not fit into it.
_LINE = re.compile(r"-(\d+) +\[(\d+)\] \S+ +(\d+)(?:\.(\d{6}))?: (\w+(?=:)|<stack trace>):? ?(.*)")
_SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=\S+ prev_state=(\S+) ==> "
    r"next_comm=(.*) next_pid=(\d+) next_prio="
)
#: The name of the record that the trigger "stacktrace" adds to an event, with its functions.
STACK, _CALL = "<stack trace>", " => "
_SYMBOL = re.compile(r"\b(\w+)=([A-Za-z_][\w.]*)")


class TraceEvent(NamedTuple):
    """One event: ticks of the run's clock, the task it ran in, its CPU, name and fields."""

    time: int
    pid: int
    comm: str
    cpu: int
    name: str
    text: str

    def symbol(self, key: str) -> str:
        """A function among the fields, without offset; "" if there is none."""
        return next((value for name, value in _SYMBOL.findall(self.text) if name == key), "")

    @property
    def work(self) -> str:
        """The function that a workqueue's event names: "work struct …: function vmstat_update"."""
        match = re.search(r"\bfunction ([A-Za-z_][\w.]*)", self.text)
        return match[1] if match else ""

    @property
    def step(self) -> str:
        """The function of a step of CPU hotplug: "cpu: 0001 target: 42 step: 38 (function)"."""
        match = re.search(r"\(([A-Za-z_]\w*)", self.text)
        return match[1] if match else ""

    def field(self, key: str) -> str:
        """A field without blanks; "" if there is none."""
        match = re.search(rf"\b{key}=(\S+)", self.text)
        return match[1] if match else ""


class Switch(NamedTuple):
    """The fields of sched_switch that are used."""

    before: int
    after: int
    comm: str


def parse(lines: Iterable[str], clock: ClockPair) -> Iterator[TraceEvent]:
    """The events of a trace. A time with a dot is CLOCK_MONOTONIC_RAW in seconds, which the kernel
    truncates to microseconds; one without a dot is in ticks."""
    for line in lines:
        match = _LINE.search(line)
        if not match:
            continue
        pid, cpu, whole, part, name, text = match.groups()
        time = int(whole)
        if part:
            time = clock.ticks(time * 1_000_000_000 + int(part) * 1000)
        yield TraceEvent(time, int(pid), line[: match.start()].strip(), int(cpu), name, text)


def with_stacks(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a trace, the functions of a stack in one line with its head."""
    whole = ""
    for line in lines:
        if line.startswith(_CALL):
            whole += line.rstrip()
            continue
        if whole:
            yield whole
        whole = line.rstrip()
    if whole:
        yield whole


def calls(stack: TraceEvent) -> list[str]:
    """The functions of a stack, the innermost first, without the suffixes of the compiler."""
    return re.findall(r"=> ([A-Za-z_]\w*)", stack.text)


def parse_switch(text: str) -> Optional[Switch]:
    """The fields of a sched_switch event; None if they do not have the known form."""
    match = _SWITCH.search(text)
    return Switch(int(match[2]), int(match[5]), match[4]) if match else None
