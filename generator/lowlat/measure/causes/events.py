# SPDX-License-Identifier: GPL-2.0-or-later
"""The events of a run by class: how many the kernel counted, and how many of them the trace has."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lowlat.trace.context import ARM_IPI, PARTS, Context, row_name

#: The class and the number of a row's events.
Rows = Mapping[str, tuple[str, int]]

_THREAD = "thread"


@dataclass(frozen=True)
class Recorded:
    """The events of a class that the kernel counted, and those of them in the trace."""

    counted: int = 0
    recorded: int = 0


def counted(item: Mapping[str, object], seconds: float) -> Rows:
    """What the kernel counted on a run's CPU: interrupts, arm64's IPIs as one row, and softirqs for
    so many seconds, and how often the detector was switched out."""
    rows: Counter[tuple[str, str]] = Counter()
    for label, rate in _rates(item, "interrupts_per_s"):
        number, colon, _ = label.partition(":")
        if label.startswith(ARM_IPI):
            rows["ipi", ARM_IPI] += round(rate * seconds)
        elif label not in ("total", *PARTS):
            rows[row_name(label)[0], f"{number}:" if colon else label] += round(rate * seconds)
    for label, rate in _rates(item, "softirqs_per_s"):
        rows["softirq", f"softirq {label}"] += round(rate * seconds)
    often, loop_ns = item.get("switches_per_s"), item.get("runtime_ns")
    if isinstance(often, (int, float)) and isinstance(loop_ns, (int, float)):
        rows[_THREAD, _THREAD] = round(often * loop_ns / 1e9)
    return {row: (kind, number) for (kind, row), number in rows.items()}


def _rates(item: Mapping[str, object], key: str) -> Iterable[tuple[str, float]]:
    rates = item.get(key)
    for label, rate in rates.items() if isinstance(rates, dict) else ():
        if isinstance(rate, (int, float)):
            yield label, rate


class Seen:
    """Counts the contexts of a trace that began in a span of time, in ticks, by the rows that the
    kernel counts; ``ipis`` are all interrupts from other CPUs, ``sent`` those with a sender."""

    def __init__(self, rows: Rows, span: tuple[int, int]) -> None:
        self._rows = rows
        self._begin, self._end = span
        self._seen: Counter[str] = Counter()
        self.ipis = self.sent = 0

    def add(self, context: Context) -> None:
        if self._begin <= context.begin <= self._end:
            self._seen[context.key if context.key in self._rows else context.row] += 1
            self.ipis += context.kind == "ipi"
            self.sent += context.kind == "ipi" and bool(context.origin)

    def classes(self, outs: int) -> dict[str, Recorded]:
        """By class: the events of the rows, and those in the trace; ``outs``: how often the trace
        has the detector switched out."""
        seen = {**self._seen, _THREAD: outs}
        classes: dict[str, Recorded] = {}
        for row, (kind, number) in self._rows.items():
            before = classes.get(kind, Recorded())
            own = min(seen.get(row, 0), number)
            classes[kind] = Recorded(before.counted + number, before.recorded + own)
        return classes


def lacking(classes: Mapping[str, Recorded]) -> str:
    """The classes of which the trace lacks events, in words."""
    parts = [
        f"{one.recorded:,} of {one.counted:,} of class {kind}"
        for kind, one in sorted(classes.items())
        if one.recorded < one.counted
    ]
    return f"the trace has {', '.join(parts)}" if parts else "each class is whole"
