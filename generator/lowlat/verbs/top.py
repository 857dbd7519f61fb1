# SPDX-License-Identifier: GPL-2.0-or-later
"""``top``: each second, the interrupters of each isolated CPU, and their remedies."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

from lowlat.base import process
from lowlat.base.arguments import flag, option, seconds
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import Encoded, columns, is_screen, plain, say
from lowlat.base.typed_json import encode
from lowlat.host.root import Root
from lowlat.measure.child import find_harness
from lowlat.measure.follow import Account, AccountedSecond, Second, parse_line
from lowlat.measure.occupants import Look, Occupants
from lowlat.model.cpuset import CpuSet
from lowlat.runtime import partition
from lowlat.verbs import host_remedies

#: The harness's longest duration.
_FOREVER = "24h"

_COLUMNS = ("CPU", "gaps/s", "ppm", "longest", "who", "us/s", "times/s", "remedy")

#: Columns with text; the first one gets the remaining width.
_WHO = 4
_LEFT = (_WHO, 7)

_Row = tuple[str, ...]


@dataclass(frozen=True)
class TopArguments:
    cpus: Optional[str] = option("LIST", "CPUs to watch (default: the isolated ones)")
    threshold: Optional[str] = option("TIME", "the shortest gap that counts (100ns)")
    duration: Optional[str] = option("TIME", "end after this time (default: at Ctrl-C)")
    once: bool = flag("show one second and end")
    lines: int = option("N", "sources in the table for each CPU (%(default)s)", 8, type=int)
    json: bool = flag("one JSON document a line: the account of a second")


def main(args: TopArguments) -> int:
    if not 1 <= args.lines <= 100:
        raise Refused(f"--lines {args.lines}: not from 1 to 100", hint="such as 8")
    if args.duration:
        seconds("--duration", args.duration, (2.0, 86400.0, "2s to 24h, or --once"))
    # In place on a terminal, else each second below the last.
    begin, end = (Encoded("\033[H\033[J"), "") if is_screen(sys.stdout) else ("", "\n")
    remedies = host_remedies.read(Root())
    with _harness(args) as child:
        for second in _followed(child):
            account = second.accounted(remedies)
            if args.json:
                say(json.dumps(encode(account)))
            else:
                sys.stdout.write(begin)
                say(f"{table(account, args.lines)}{end}")
            if args.once:
                break
    return 0


@contextmanager
def _harness(args: TopArguments) -> Iterator[process.Child]:
    """The harness, which ends with the block; SIGTERM and Ctrl-C end the block."""
    options = [f"--duration={args.duration or _FOREVER}", "--warmup=0s", "--no-oslat", "--follow"]
    cpus, group = partition.joined(args.cpus, Root())
    given = (("cpus", cpus), ("group", group), ("threshold", args.threshold))
    options += [f"--{name}={value}" for name, value in given if value is not None]
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    child = process.start([find_harness(), *options])
    try:
        yield child
    except KeyboardInterrupt:
        say()  # the user ended it: no error
    finally:
        process.end_group(child)
        signal.signal(signal.SIGTERM, before)


def _followed(child: process.Child) -> Iterator[Second]:
    """Each second. Raises the error of a harness that ended by itself, if it had one."""
    occupants: Optional[Occupants] = None
    shown = False
    for line in child.stdout or ():
        second = parse_line(process.text(line), occupants.look() if occupants else Look())
        if occupants is None:
            cpus = CpuSet.of(cpu.cpu for cpu in second.cpus)
            process.keep_off(cpus)  # this process must not appear there
            occupants = Occupants(Root(), cpus, child.pid)
            continue  # threads are seen by comparison, so only the next line is complete
        yield second
        shown = True
    status, said = child.wait(), process.text(child.stderr.read() if child.stderr else b"")
    words = (
        process.last_line(said).removeprefix("lowlat-measure: ") or f"ended with status {status}"
    )
    if status == 2:
        raise Refused(words)
    if not shown or status < 0:
        raise LowlatError(f"lowlat-measure printed nothing: {words}")


def table(second: AccountedSecond, lines: int) -> str:
    """A second as a table that fits the terminal."""
    cpus = CpuSet.of(cpu.cpu for cpu in second.cpus)
    title = f"lowlat-gen top: CPU {cpus}, {second.time_s:.0f} s; Ctrl-C ends"
    rows = [_COLUMNS, *_rows(second, lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    others = sum(widths) - widths[_WHO] + 2 * (len(widths) - 1)
    widths[_WHO] = min(widths[_WHO], max(columns() - others, 16))
    return "\n".join([title, *(_padded(row, widths) for row in rows)])


def _padded(row: _Row, widths: list[int]) -> str:
    cells = [
        _cut(cell, width).ljust(width) if column in _LEFT else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths))
    ]
    return "  ".join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _rows(second: AccountedSecond, lines: int) -> Iterator[_Row]:
    for cpu in second.cpus:
        head = (
            *(str(cpu.cpu), f"{cpu.gaps_per_s:.0f}", f"{min(cpu.noise_ppm, 1e6):.1f}"),
            _duration(cpu.max_ns),
        )
        for number, one in enumerate(_sources(cpu, lines)):
            yield (*(head if number == 0 else ("",) * len(head)), *one)


def _sources(cpu: Account, lines: int) -> Iterator[_Row]:
    """The rows of a CPU, sorted by the time they take, which add up to the time lost; "~" marks an
    estimate."""
    for one in cpu.sources[:lines]:
        name = (
            f"{one.kind}: {one.name}" if one.task is None else f"{one.kind} {one.task}: {one.name}"
        )
        often = "" if one.times_per_s is None else f"{one.times_per_s:.0f}"
        took = f"{'' if one.times_per_s is None else '~'}{one.us_per_s:.0f}"
        yield plain(name), took, often, one.remedy or ""
    if more := cpu.sources[lines:]:
        yield f"… {len(more)} more", f"~{sum(one.us_per_s for one in more):.0f}", "", ""
    share = "" if cpu.explained is None else f" ({100 * (1 - cpu.explained):.0f} %)"
    yield f"not explained{share}", f"{cpu.not_explained_us_per_s:+.0f}", "", ""


def _duration(ns: int) -> str:
    for size, unit in ((1_000_000, "ms"), (1000, "us")):
        if ns >= size:
            return f"{ns / size:.1f} {unit}"
    return f"{ns} ns"
