# SPDX-License-Identifier: GPL-2.0-or-later
"""cyclictest (rt-tests): wake-up latency, as its lines for each thread (with and without
``--quiet``), its histogram (on standard output or in a file, ``--histogram`` and ``--histofall``)
and its JSON, in us or with ``--nsecs``.

Periods that it misses while delayed are skipped, not counted, so its percentiles leave out exactly
the worst times (coordinated omission).

No text names its unit, and only the JSON names CPUs and the command. Where the command stands
beside a text, CPUs and time follow from it: thread N runs on the Nth CPU of the list, in the order
of numbers (cpu_for_thread_sp()), and with a histogram every thread has the same interval.

The lines pad the average to 5 places in us and to 8 in ns. A histogram is in ns if its least
latency is above 1,000: no machine wakes a thread within 1 ns, nor takes 1 ms at best.

Sources: src/cyclictest/cyclictest.c, print_stat() and print_hist(), of rt-tests 2.4 to 2.10.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional

from lowlat.measure.tools import command, rt_tests
from lowlat.model.tool import ToolFile, ToolResult, ToolTimes

_LINE = re.compile(
    r"T: *(\d+) \( *\d+\) P: *(\d+) I: *(\d+) C: *(\d+) "
    r"Min: *(\d+) Act: *\d+ Avg:( *\d+) Max: *(\d+)"
)

#: From this least latency on a histogram is in ns.
_NS_FROM = 1000

#: The width of the average in lines in ns.
_NS_WIDTH = 8

#: A run whose cycles fill this share of the time that was asked for was not ended early.
_WHOLE = 0.99

_THREADS = "cyclictest's text names no CPUs: thread N is shown as CPU N"
_NO_TIME = (
    "cyclictest's histogram tells no time: put its command (cyclictest -D 12h -i 1000 ...) in a "
    "line above it, or use --json"
)


def read(text: str) -> Optional[ToolFile]:
    """Read cyclictest's text, with the command that stands beside it; None if it has no result."""
    found = _histogram(text) or _lines(text)
    return _on_cpus(_commanded(found, command.printed("cyclictest", text))) if found else None


def _commanded(file: ToolFile, line: str) -> ToolFile:
    """The file of a run that was started with this command line; "" if that is not known."""
    if not line:
        unknown = () if file.seconds else (_NO_TIME,)
        return replace(file, notes=(*file.notes, *unknown))
    interval = file.interval_us or command.interval_us(line)
    cycles = max(one.samples for one in file.result.times)
    ran, asked = file.seconds or cycles * interval / 1e6, command.seconds(line)
    return replace(
        file,
        command=line,
        options=command.settings("cyclictest", line),
        seconds=asked if asked and ran >= _WHOLE * asked else ran,
        interval_us=interval,
    )


def _on_cpus(file: ToolFile) -> ToolFile:
    """The file with the CPUs that its command names in place of threads."""
    given = command.value(file.command, "a", "affinity") or ""
    times = rt_tests.on_cpus(file.result.times, given)
    if times is None:
        return replace(file, threads=True, notes=(_THREADS, *file.notes))
    return replace(file, result=replace(file.result, times=times))


def _lines(text: str) -> Optional[ToolFile]:
    """The last line of each thread that has woken."""
    last = {one[1]: one for one in _LINE.finditer(text) if int(one[4])}
    if not last:
        return None
    unit = 1000.0 if all(len(one[6]) >= _NS_WIDTH for one in last.values()) else 1.0
    times = tuple(
        ToolTimes(
            int(one[1]),
            samples=float(one[4]),
            min_us=int(one[5]) / unit,
            avg_us=int(one[6]) / unit,
            max_us=int(one[7]) / unit,
        )
        for one in last.values()
    )
    interval = min(float(one[3]) for one in last.values())
    told = f"priority {max(int(one[2]) for one in last.values())}"
    lasted = max(float(one[3]) * float(one[4]) for one in last.values()) / 1e6
    return ToolFile(
        *("cyclictest", "text", ToolResult("", times=times)),
        options=told,
        seconds=lasted,
        interval_us=interval,
    )


def _histogram(text: str) -> Optional[ToolFile]:
    summary = {
        key: list(map(int, values.split()))
        for key, values in re.findall(
            r"^# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):([ \d]+)$",
            text,
            re.M,
        )
    }
    least, most = summary.get("Min Latencies"), summary.get("Max Latencies")
    if not least or not most:
        return None
    rows = [
        (int(edge), list(map(int, counts.split())))
        for edge, counts in re.findall(r"^(\d{6,}) ((?:\d{6,}[ \t]+)*\d{6,})[ \t]*$", text, re.M)
    ]
    unit = 1000.0 if min(least) >= _NS_FROM else 1.0
    named = "ns, for the least latency is above 1,000" if unit > 1 else "us"
    times = tuple(_thread(n, summary, rows, unit) for n in range(len(least)))
    file = ToolFile("cyclictest", "histogram", ToolResult("", times=times))
    return replace(file, notes=(f"cyclictest's histogram names no unit: taken as {named}",))


def _thread(
    n: int,
    summary: Mapping[str, Sequence[int]],
    rows: Sequence[tuple[int, Sequence[int]]],
    unit: float,
) -> ToolTimes:
    over = float(summary["Histogram Overflows"][n]) if "Histogram Overflows" in summary else 0.0
    counts = [(edge, counts[n]) for edge, counts in rows if counts[n]]
    averages = summary.get("Avg Latencies")
    return ToolTimes(
        n,
        samples=sum(count for _, count in counts) + over,
        min_us=summary["Min Latencies"][n] / unit,
        avg_us=averages[n] / unit if averages else None,
        max_us=summary["Max Latencies"][n] / unit,
        counts=_in_us(counts, unit),
        over=over,
        range_us=(max(edge for edge, _ in rows) + 1) / unit if rows else 0.0,
    )


def _in_us(
    counts: Sequence[tuple[int, float]], unit: float
) -> tuple[tuple[float, float, float], ...]:
    return tuple((edge / unit, (edge + 1) / unit, float(count)) for edge, count in counts)


def read_json(document: Mapping[str, Any]) -> ToolFile:
    """Read cyclictest's JSON. Raises ValueError, TypeError or KeyError if it is malformed."""
    line = rt_tests.command(document)
    unit = 1000.0 if document.get("resolution_in_ns") else 1.0
    given = command.value(line, "h", "histogram") or command.value(line, "H", "histofall")
    limit = float(given) if given and given.isdecimal() else 0.0
    times = tuple(
        _of_json(int(number), one, unit, limit) for number, one in document["thread"].items()
    )
    result = ToolResult(str(document["rt_test_version:"]), times=times)
    file = rt_tests.described(document, result)
    asked = command.seconds(line) or file.seconds
    return replace(
        file,
        seconds=min(asked, file.seconds or asked),  # a run may be ended early
        interval_us=command.interval_us(line),
    )


def _of_json(number: int, one: Mapping[str, Any], unit: float, limit: float) -> ToolTimes:
    counts = sorted((int(edge), float(count)) for edge, count in one["histogram"].items())
    cycles = float(one["cycles"])
    cpu = one.get("cpu", number)
    return ToolTimes(
        # A thread without an affinity has no CPU: -1 or missing.
        number if cpu is None or cpu < 0 else int(cpu),
        samples=cycles,
        min_us=one["min"] / unit,
        avg_us=one["avg"] / unit,
        max_us=one["max"] / unit,
        counts=_in_us(counts, unit),
        over=max(cycles - sum(count for _, count in counts), 0.0) if limit else 0.0,
        range_us=max(limit, counts[-1][0] + 1 if counts else 0.0) / unit,
    )
