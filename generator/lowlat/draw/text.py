# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of a machine in plain characters, for the terminal.

A core shows its CPU numbers in brackets: [1 17] isolated, (0 16) housekeeping.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from lowlat.base.terminal import columns, paint, printable
from lowlat.draw.picture import Cell, MachinePart, Picture
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Device

#: A row with more cores than this becomes a sentence.
_MANY = 32
_MOST_DEVICES = 6

#: The longest list of CPUs on a line, in characters.
WIDE = 56

#: The levels of the drawing, from the outside.
NOUNS = ("package", "node", "cache", "cluster")

_COLOURS = {"isolated": "32", "housekeeping": "33"}


def draw(picture: Picture, *, colour: bool = False) -> Iterator[str]:
    """The lines of the drawing, no wider than the terminal unless names are too long."""
    pen = _Pen(colour)
    yield from map(printable, picture.shared)
    for package in picture.packages:
        yield from pen.part(package)
    yield from pen.devices(picture.devices, "")
    yield from absent_lines(picture)
    yield pen.legend(picture)


class _Pen:
    def __init__(self, colour: bool) -> None:
        self._colour = colour
        self._width = columns()

    def _paint(self, text: str, code: str) -> str:
        return paint(text, code) if self._colour and code else printable(text)

    def part(self, part: MachinePart, depth: int = 0, indent: str = "") -> Iterator[str]:
        """A package, or a node of it, with its content."""
        if NOUNS[depth] == "cache":
            yield from self._domain(part, indent)
            return
        if part.title:
            yield indent + self._paint(part.title, "1")
            indent += "  "
        for inner in part.parts:
            yield from self.part(inner, depth + 1, indent)
        yield from self.devices(part.devices, indent)
        yield from (indent + line for line in more(part, NOUNS[depth]))

    def _domain(self, domain: MachinePart, indent: str) -> Iterator[str]:
        title = domain.title
        wide = max(len(row.title) for row in domain.parts)
        for row in domain.parts:
            label = printable("  ".join(filter(None, (title, row.title.ljust(wide)))))
            lead = indent + (f"{label}  " if label else "")
            yield from self._row(row, lead)
            title = " " * len(title)
            yield from (" " * len(lead) + line for line in more(row, "cluster"))
        yield from (indent + line for line in more(domain, "cache"))

    def _row(self, row: MachinePart, lead: str) -> Iterator[str]:
        parts = [self._cell(cell) for cell in row.cells]
        if len(row.cells) > _MANY:
            parts = [self._summary(run) for run in runs(row.cells)]
        line, used = lead, len(lead)
        for position, (text, size) in enumerate(parts):
            if position and used + size > self._width:
                yield line.rstrip()
                line, used = " " * len(lead), len(lead)
            line += f"{text} "
            used += size + 1
        yield line.rstrip()

    def _cell(self, cell: Cell) -> tuple[str, int]:
        text = _bracket(cell.role, names(cell.cpus))
        return self._paint(text, _COLOURS.get(cell.role, "")), len(text)

    def _summary(self, run: Sequence[Cell]) -> tuple[str, int]:
        text = _bracket(run[0].role, shorten(_cpus(run)))
        return self._paint(text, _COLOURS.get(run[0].role, "")) + f" {_count(run)}", self._width

    def devices(self, devices: Sequence[Device], indent: str) -> Iterator[str]:
        yield from (f"{indent}{line}"[: self._width] for line in device_lines(devices))

    def legend(self, picture: Picture) -> str:
        if not picture.roles:
            summed = any(len(row) > _MANY for row in picture.rows())
            of = "the cores that the line counts" if summed else "a core"
            return f"A bracket has the numbers of the online CPUs of {of}."
        shown = {cell.role for row in picture.rows() for cell in row}
        roles = (("isolated", "[ ]", "an isolated"), ("housekeeping", "( )", "a housekeeping"))
        return "   ".join(
            f"{self._paint(sign, _COLOURS[role])} {word} core"
            for role, sign, word in roles
            if role in shown
        )


def absent_lines(picture: Picture, limit: int = WIDE) -> Iterator[str]:
    """Parts without a place in the drawing: nodes without online CPUs, and offline CPUs."""
    for nodes, memory in picture.bare:
        each = " each" if len(nodes) > 1 and memory[:1].isdigit() else ""
        words = f" ({memory}{each})" if memory else ""
        yield f"Without online CPUs: NUMA node {shorten(nodes, limit)}{words}"
    if picture.offline:
        yield f"Offline: CPU {shorten(picture.offline, limit)}"


def device_lines(devices: Sequence[Device]) -> Iterator[str]:
    """The first devices, and the number of further ones."""
    yield from map(_described, devices[:_MOST_DEVICES])
    if len(devices) > _MOST_DEVICES:
        yield f"and {len(devices) - _MOST_DEVICES} more devices"


def more(part: MachinePart, what: str, limit: int = WIDE) -> Iterator[str]:
    """A line in place of the parts that look like this one; nothing if there are none."""
    if part.times > 1:
        kept = sum(cell.role == "housekeeping" for row in part.rows() for cell in row)
        plural, each = ("s", "each ") if part.times > 2 else ("", "")
        roles = f", {each}with {kept} housekeeping" if kept else ""
        cpus = shorten(part.more, limit)
        yield f"and {part.times - 1} more {what}{plural} like it{roles}: CPU {cpus}"


def _described(device: Device) -> str:
    """A device in one line: its kind, names, driver and interrupts."""
    count = len(device.interrupts)
    words = (
        device.kind if device.kind != "other" else "device",
        " ".join(device.names),
        device.address,
        device.driver or "",
        f"{count} interrupt{'s' if count != 1 else ''}" if count else "",
        device.model or "",
    )
    return printable("  ".join(filter(None, words)))


def runs(row: Sequence[Cell]) -> Iterator[list[Cell]]:
    """The cores of a row by role and number of threads, as far as they stand side by side."""
    for _, run in groupby(row, lambda cell: (cell.role, len(cell.cpus))):
        yield list(run)


def summary(run: Sequence[Cell], limit: int) -> str:
    """Equal cores in words."""
    role = f"{run[0].role}, " if run[0].role else ""
    return f"CPU {shorten(_cpus(run), limit)}: {role}{_count(run)}"


def _cpus(run: Sequence[Cell]) -> CpuSet:
    return CpuSet.of(cpu for cell in run for cpu in cell.cpus.ids)


def names(cpus: CpuSet) -> str:
    """The CPUs of one core: single numbers, or ranges if there are many."""
    return str(cpus) if len(cpus) > 4 else " ".join(map(str, cpus))


def shorten(cpus: CpuSet, limit: int = WIDE) -> str:
    """A CPU list that fits on a line; if it is cut, the number of CPUs follows."""
    text = str(cpus)
    if len(text) <= limit:
        return text
    parts = text.split(",")
    kept = parts[:1]
    while len(",".join([*kept, parts[len(kept)], "…", parts[-1]])) + 14 <= limit:
        kept.append(parts[len(kept)])
    return f"{','.join(kept)},…,{parts[-1]} ({len(cpus)} CPUs)"


def _count(cells: Sequence[Cell]) -> str:
    threads = len(cells[0].cpus)
    each = f" of {threads} threads" if threads > 1 else ""
    return f"{len(cells)} core{'s' if len(cells) > 1 else ''}{each}"


def _bracket(role: str, text: str) -> str:
    return f"({text})" if role == "housekeeping" else f"[{text}]"
