# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of ``verify`` in words: one line a setting that is in effect, and equal rows once."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Callable, Optional

from lowlat.base.terminal import bold, columns, cut, filled, item, plain
from lowlat.host import tuned
from lowlat.host.kernel_threads import SCHEME
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding, Standing
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.verify.boot import is_stock

#: States by section.
_SECTIONS = (
    ("Findings", (Standing.IGNORED, Standing.NOT_APPLIED, Standing.UNDONE)),
    ("Overridden by a profile", (Standing.OVERRIDDEN,)),
    ("Seen, and no setting removes it", (Standing.NO_SETTING,)),
    ("Unverifiable", (Standing.UNVERIFIABLE,)),
    ("Not planned", (Standing.NOT_PLANNED,)),
    ("In effect", (Standing.EFFECTIVE,)),
)

_STOCK = (
    "This boot has none of the plan's boot parameters. 'lowlat-gen status' tells how to boot into "
    "the plan: verify there."
)

#: The longest name that gets its text on the same line.
_NAME = 30

#: The folders of a path, which say less than what its file shows.
_FOLDERS = re.compile(r"(?<!\S)/(?:[^/\s]+/)+")

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def describe(plan: Plan, rows: Sequence[Finding], root: Root) -> Iterator[str]:
    """The rows in words, findings first; the last line counts them. In a stock boot, which explains
    most of them, each setting has one line."""
    yield bold(f"Plan {plan.id}: profile {plan.profile}, planned against effective")
    stock = bool(plan.parameters) and is_stock(plan, root.read("/proc/cmdline") or plan.marker)
    if stock:
        yield from filled(_STOCK)
    for title, states in _SECTIONS:
        group = [row for row in rows if row.state in states]
        if group:
            yield from ("", bold(title))
        brief = stock or states == (Standing.EFFECTIVE,)
        yield from _briefly(group, _lacking if stock else _evidence) if brief else _in_full(group)
    advice = _advice(root) if any(map(_left_undone, rows)) else ""
    yield from (["", *filled(advice)] if advice else [])
    yield ""
    yield from filled(_counted([row.state for row in rows]))


def _counted(states: Sequence[Standing]) -> str:
    """How many settings are in which state, and how many rows are of no setting."""
    settings = [state.value for state in states if state is not Standing.NO_SETTING]
    told = ", ".join(f"{n} {state}" for state, n in Counter(settings).items())
    noise = len(states) - len(settings)
    seen = f"; {noise} rows of noise that no setting removes (only --limit judges interrupts)"
    return f"{len(settings)} settings: {told}{seen if noise else ''}"


def _advice(root: Root) -> str:
    if root.absent(store.NOW):
        return tuned.advice(root)
    return "'lowlat-gen apply --now' sets again what is undone"


def _in_full(rows: Iterable[Finding]) -> Iterator[str]:
    """A paragraph for rows that differ in numbers only; of several settings with one text, the
    names follow it."""
    said: dict[str, list[str]] = {}
    for group in _alike(rows):
        said.setdefault(_together(group, [row.told for row in group]), []).append(group[0].name)
    for text, (first, *more) in said.items():
        likewise = f"; likewise {', '.join(dict.fromkeys(more))}" if more else ""
        yield from item(first, f"{text}{likewise}")


def _evidence(row: Finding) -> str:
    return row.evidence


def _lacking(row: Finding) -> str:
    """The evidence in a stock boot: of what is not as planned, both values."""
    if not row.state.bad:
        return row.evidence
    return f"planned {row.planned}" + (f", is {row.effective}" if row.effective else "")


def _briefly(rows: Iterable[Finding], told: Callable[[Finding], str]) -> Iterator[str]:
    """A line for rows that differ in numbers only."""
    groups = list(_alike(rows))
    width = max((len(group[0].name) for group in groups if len(group[0].name) <= _NAME), default=0)
    for group in groups:
        name = plain(group[0].name)
        text = _together(group, [*map(told, group)])
        room = columns() - 4 - max(len(name), width)
        text = text if len(text) <= room else _FOLDERS.sub("…/", text)
        yield f"  {name.ljust(width)}  {cut(text, room)}".rstrip()


def _alike(rows: Iterable[Finding]) -> Iterable[list[Finding]]:
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for row in rows:
        key = (row.name, row.state, row.by, _NUMBER.sub("0", row.evidence))
        groups.setdefault(key, []).append(row)
    return groups.values()


def _together(group: Sequence[Finding], texts: Sequence[str]) -> str:
    """The text of rows that differ in numbers only, of their first one, with all their CPUs."""
    first, *more = texts
    cpus = [_cpu(row) for row in group]
    if not more:
        return first
    if None in cpus:
        return f"{first} (and {len(more)} more)"
    known = CpuSet.of(cpu for cpu in cpus if cpu is not None)
    named = {re.sub(rf"(?i)\bcpu ?{cpu}\b", "", text) for cpu, text in zip(cpus, texts)}
    figures = f"; figures of CPU {cpus[0]}" if len(named) > 1 else ""
    return f"{first.replace(f'CPU {cpus[0]}', f'CPU {known}', 1)}{figures}"


def _cpu(row: Finding) -> Optional[int]:
    """The CPU that a row is about."""
    match = re.search(r" CPU (\d+)$", row.where)
    return int(match[1]) if match else None


def _left_undone(row: Finding) -> bool:
    """Whether a run-time setting differs from the plan, so that it must be applied again."""
    return row.state in (Standing.NOT_APPLIED, Standing.UNDONE) and row.where.startswith(
        ("/sys/", "/proc/irq/", "/proc/sys/", SCHEME)
    )
