# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a CPU has its role, in words: one line for all CPUs with the same reason, and one for all
regions that are alike."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import RoleReason
from lowlat.plan.regions import Region


@dataclass(frozen=True)
class Why:
    """A reason. In that of a ``region``, ``{}`` stands for the place, and ``share`` is how much of
    it the system keeps ("2 of 64 cores"); ``step`` orders reasons."""

    text: str
    step: int = 0
    share: str = ""
    region: Optional[Region] = None


def housekeeping(reasons: Iterable[tuple[CpuSet, Why]], named: bool) -> Iterator[RoleReason]:
    """The reasons of housekeeping CPUs, regions in ascending order; ``named``: the machine has
    several nodes, so the place is said."""
    cpus: dict[tuple[int, str, str], set[int]] = {}
    places: dict[tuple[int, str, str], dict[CpuSet, Region]] = {}
    for found, why in reasons:
        key = (why.step, why.text, why.share)
        cpus.setdefault(key, set()).update(found.ids)
        if why.region is not None:
            places.setdefault(key, {})[why.region.nodes] = why.region
    lowest = {key: min(min(nodes.ids) for nodes in at) for key, at in places.items()}
    for key in sorted(cpus, key=lambda key: (key[0], lowest.get(key, 0))):
        _, text, share = key
        where = _where([*places.get(key, {}).values()], share, named)
        yield RoleReason(CpuSet.of(cpus[key]), "housekeeping", text.replace("{}", where))


def _where(regions: list[Region], share: str, named: bool) -> str:
    each = " each" if len(regions) > 1 else ""
    place = f" on {_names(regions)}" if named and regions else ""
    return f"{place} ({share}{each})" if share else place


def _names(regions: list[Region]) -> str:
    nodes = CpuSet.of(node for region in regions for node in region.nodes.ids)
    together = len(nodes) > len(regions) > 1
    return f"{Region(nodes, nodes).name}{f' in {len(regions)} groups' if together else ''}"


def merged(reasons: Iterable[RoleReason]) -> tuple[RoleReason, ...]:
    """One reason for all CPUs with the same role and the same words."""
    found: dict[tuple[str, str], set[int]] = {}
    for reason in reasons:
        found.setdefault((reason.role, reason.why), set()).update(reason.cpus.ids)
    return tuple(RoleReason(CpuSet.of(ids), role, why) for (role, why), ids in found.items() if ids)
