# SPDX-License-Identifier: GPL-2.0-or-later
"""Where shared caches begin and end, while cores are taken for the system."""

from collections.abc import Mapping, Sequence

from lowlat.model.machine import Core, Machine
from lowlat.plan.caches import Level, levels

#: A sort key: what comes first is taken first.
Key = tuple[object, ...]


class Borders:
    """The shared caches of the cores, and in which of them the system has cores."""

    def __init__(self, machine: Machine) -> None:
        self.levels = levels(machine)
        self._group = [_groups(level) for level in self.levels]
        self._used: list[set[int]] = [set() for _ in self.levels]

    def take(self, first: int) -> None:
        for group, used in zip(self._group, self._used):
            if first in group:
                used.add(group[first])

    def is_cut(self, number: int, core: Core) -> bool:
        """Whether the system has a core in this core's group of a level."""
        return self._group[number].get(core.cpus.first) in self._used[number]

    def apart(self, core: Core) -> tuple[bool, ...]:
        """For each level, whether the system has no core in this core's group."""
        return tuple(not self.is_cut(number, core) for number in range(len(self.levels)))

    def in_order(self, keyed: Sequence[tuple[Key, Core]]) -> list[Core]:
        """The cores by their keys; those with equal keys follow each other group by group."""
        lowest: dict[tuple[Key, int, int], int] = {}
        for key, core in keyed:
            first = core.cpus.first
            for number, group in enumerate(self._group):
                at = (key, number, group.get(first, -1 - first))
                lowest[at] = min(lowest.get(at, first), first)
        made = ((self._completed(key, core.cpus.first, lowest), core) for key, core in keyed)
        return [core for _, core in sorted(made, key=lambda item: item[0])]

    def _completed(self, key: Key, first: int, lowest: Mapping[tuple[Key, int, int], int]) -> Key:
        groups = reversed([*enumerate(self._group)])
        position = (lowest[key, number, group.get(first, -1 - first)] for number, group in groups)
        return (key, *position, first)


def _groups(level: Level) -> Mapping[int, int]:
    """Each CPU's group, by its lowest CPU."""
    return {cpu: first for cpus in level.groups for first in (cpus.first,) for cpu in cpus.ids}
