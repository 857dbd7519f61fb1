# SPDX-License-Identifier: GPL-2.0-or-later
"""rtla's osnoise and timerlat, ``hist`` and ``top``, and ``rtla hwnoise``, in us or ns.

The title tells what was measured: hwnoise is osnoise with interrupts disabled.

osnoise's maximum in ``hist`` is computed from the lower edges of its buckets: too low by up to a
bucket; timerlat's is the tracer's own value, truncated to us. For both the upper limit is given.
From Linux 6.9 on timerlat adds a table over all CPUs, which is left out here. rtla prints neither
its version nor its options; a command line above the table tells these.

Sources: tools/tracing/rtla/src/osnoise_hist.c, osnoise_top.c, timerlat_hist.c, timerlat_top.c of
Linux 6.1 to 7.2.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.typed_json import Positive
from lowlat.measure.tools import command
from lowlat.model.tool import NoiseOfCpu, ToolFile, ToolResult, ToolTimes

#: What timerlat measures of a CPU, by the word of its column or table.
_PARTS = {"IRQ": "irq", "Thr": "thread", "Thread": "thread", "Usr": "user", "Ret user": "user"}

#: The tool by the title of its table.
_TITLES = {"Operating System Noise": "osnoise", "Hardware-related Noise": "hwnoise"}

#: The classes of interference in ``osnoise top``, in the order of its columns.
_CLASSES = ("HW", "NMI", "IRQ", "softirq", "thread")

_Row = tuple[str, Sequence[Optional[int]]]


def read(text: str) -> Optional[ToolFile]:
    """Read a histogram or the last table of ``top``; None without either."""
    found = _histogram(text) or _timerlat_top(text) or _osnoise_top(text)
    return found and replace(found, options=_options(found, text))


def _options(file: ToolFile, text: str) -> str:
    """The subcommand, and the options that change what is measured, as far as the text has them."""
    program = f"rtla {file.tool}"
    words = {"hist" if file.form == "histogram" else file.form}
    words.update(command.settings(program, command.printed(program, text)).split())
    if any(one.part == "user" for one in file.result.times):
        words.add("user-threads")
    return " ".join(sorted(words))


def _histogram(text: str) -> Optional[ToolFile]:
    title = re.search(r"^# RTLA (osnoise|timerlat) histogram", text, re.M)
    head = re.search(r"^Index((?:\s+(?:CPU|IRQ|Thr|Usr)-\d+)+)\s*$", text, re.M)
    if not title or not head:
        return None
    columns = re.findall(r"(\w+)-(\d+)", head[1])
    body = re.split(r"^ALL:", text[head.end() :], flags=re.M)[0]
    rows = dict(_rows(body, len(columns)))
    if not {"over", "count", "max"} <= set(rows):
        return None
    unit = 1000.0 if "(ns)" in text[: head.end()] else 1.0
    width = _width(rows)
    beyond = width if title[1] == "osnoise" else 1
    times = (
        _column(int(cpu), _PARTS.get(kind, ""), {key: row[n] for key, row in rows.items()},
                (unit, width, beyond))
        for n, (kind, cpu) in enumerate(columns)
    )  # fmt: skip
    result = ToolResult("", times=tuple(one for one in times if one.samples))
    return ToolFile(title[1], "histogram", result, seconds=_seconds(text))


def _column(
    cpu: int, part: str, cells: Mapping[str, Optional[int]], scale: tuple[float, int, int]
) -> ToolTimes:
    unit, width, beyond = scale
    edges = sorted(int(key) for key in cells if key.isdigit())
    low, mean, high = (cells.get(key) for key in ("min", "avg", "max"))
    return ToolTimes(
        cpu,
        part,
        samples=float(cells["count"] or 0),
        min_us=None if low is None else low / unit,
        avg_us=None if mean is None else mean / unit,
        max_us=None if high is None else (high + beyond) / unit,
        counts=tuple(
            (edge / unit, (edge + width) / unit, float(count))
            for edge in edges
            if (count := cells[str(edge)])
        ),
        over=float(cells["over"] or 0),
        # Rows of zeros are left out, and with them where the range ends.
        range_us=(edges[-1] + width) / unit if edges else 0.0,
    )


def _rows(body: str, width: int) -> Iterator[_Row]:
    """The table's rows by their first cell; "-" means that nothing was counted."""
    pattern = r"^(\d+|over:|count:|min:|avg:|max:)((?:[ \t]+[\d-]+)+)[ \t]*$"
    for key, line in re.findall(pattern, body, re.M):
        values = [None if cell == "-" else int(cell) for cell in line.split()]
        if len(values) == width:
            yield key.rstrip(":"), values


def _width(keys: Iterable[str]) -> int:
    """The width of a bucket in units. Rows of zeros are left out: it divides all steps."""
    edges = sorted(int(key) for key in keys if key.isdigit())
    steps = [upper - lower for lower, upper in zip(edges, edges[1:])]
    return math.gcd(*steps) if steps else 1


def _timerlat_top(text: str) -> Optional[ToolFile]:
    head = _last(r"^.*\| +IRQ Timer Latency \((us|ns)\).*$", text)
    if not head:
        return None
    parts = [_PARTS[one] for one in re.findall(r"(IRQ|Thread|Ret user) Timer Latency", head[0])]
    unit = 1000.0 if head[1] == "ns" else 1.0
    times = []
    for cpu, count, line in re.findall(r"^ *(\d+) #(\d+) +\|(.*)$", text[head.end() :], re.M):
        tables = zip(parts, (table.split() for table in line.split("|")))
        for part, cells in tables:
            if len(cells) == 4 and "-" not in cells:
                low, mean, high = (int(cell) / unit for cell in cells[1:])
                beyond = high + 1 / unit
                times.append(ToolTimes(int(cpu), part, float(count), low, mean, beyond))
    result = ToolResult("", times=tuple(times))
    return ToolFile("timerlat", "top", result, seconds=_seconds(head[0])) if times else None


def _osnoise_top(text: str) -> Optional[ToolFile]:
    head = _last(r"^duration: +(.*) \| time is in us\s*$", text)
    if not head:
        return None
    rows = re.findall(r"^ *(\d+) #\d+ +(\d+) +(\d+) +[\d.]+ +(\d+) +(\d+)((?: +\d+)+) *$",
                      text[head.end() :], re.M)  # fmt: skip
    noise = [
        NoiseOfCpu(int(cpu), Positive(ran), float(lost), _classes(counts))
        for cpu, ran, lost, _, _, counts in rows
    ]
    times = (ToolTimes(int(cpu), max_us=float(longest) + 1) for cpu, *_, longest, _ in rows)
    result = ToolResult("", times=tuple(times))
    title = _last("|".join(_TITLES), text[: head.start()])
    told = _TITLES[title[0]] if title else "osnoise" if "IRQ" in text[head.end() :] else "hwnoise"
    file = ToolFile(told, "top", result, seconds=_seconds(head[0]), noise=tuple(noise))
    return file if rows else None


def _classes(counts: str) -> Mapping[str, float]:
    return dict(zip(_CLASSES, map(float, counts.split())))


def _last(pattern: str, text: str) -> Optional["re.Match[str]"]:
    """The last match: without --quiet the table is printed again and again."""
    return max(re.finditer(pattern, text, re.M), key=lambda match: match.start(), default=None)


def _seconds(text: str) -> float:
    """The duration that rtla prints ("0 00:01:00"); 0.0 without one."""
    found = re.search(r"(\d+) (\d\d):(\d\d):(\d\d)", text)
    days, hours, minutes, seconds = map(int, found.groups()) if found else (0, 0, 0, 0)
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
