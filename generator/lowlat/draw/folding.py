# SPDX-License-Identifier: GPL-2.0-or-later
"""Equal parts of a picture, drawn once with a count."""

from collections.abc import Sequence
from dataclasses import replace

from lowlat.draw.picture import MachinePart
from lowlat.model.cpuset import CpuSet

_Siblings = tuple[MachinePart, ...]


def folded(families: Sequence[_Siblings], few: int) -> list[_Siblings]:
    """The siblings of one level, by their parents, and all parts below them. If more than ``few``
    siblings are alike anywhere, those that are alike become one with a count everywhere."""
    if not any(families):
        return [*families]
    inner = iter(folded([part.parts for family in families for part in family], few))
    made = [tuple(replace(part, parts=next(inner)) for part in family) for family in families]
    alike = [_alike(family) for family in made]
    if all(len(parts) <= few for looks in alike for parts in looks):
        return made
    return [tuple(map(_counted, looks)) for looks in alike]


def _alike(family: _Siblings) -> list[list[MachinePart]]:
    looks: dict[object, list[MachinePart]] = {}
    for part in family:
        looks.setdefault(_looks(part), []).append(part)
    return [*looks.values()]


def _counted(parts: Sequence[MachinePart]) -> MachinePart:
    more = CpuSet.of(cpu for part in parts[1:] for cpu in _all_cpus(part))
    return replace(parts[0], times=len(parts), more=more)


def _all_cpus(part: MachinePart) -> set[int]:
    own = (cell.cpus.ids for cell in part.cells)
    return set(part.more.ids).union(*own, *map(_all_cpus, part.parts))


def _looks(part: MachinePart) -> object:
    """What two parts must have in common to be drawn as one: everything but the numbers."""
    cells = tuple((len(cell.cpus), cell.role) for cell in part.cells)
    return (part.look, part.times, part.devices, cells, tuple(map(_looks, part.parts)))
