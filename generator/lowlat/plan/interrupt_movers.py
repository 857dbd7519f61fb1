# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether irqbalance and systemd leave interrupts off the isolated CPUs; if not, what to write."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Optional

from lowlat.host.daemons import read_managers
from lowlat.host.interrupt_movers import CONFIGS, read_ban_list, read_link_files
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import BanList, LinkFile
from lowlat.model.plan import Plan

#: From irqbalance 1.8 on (677b686e223c); the mask is read by all versions up to 1.9.5.
_LIST, _MASK = "IRQBALANCE_BANNED_CPULIST", "IRQBALANCE_BANNED_CPUS"
_PART = re.compile(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", re.ASCII)


@dataclass(frozen=True)
class InterruptMovers:
    """What could move interrupts on a machine. ``shown`` are the CPUs that the kernel shows in
    /sys/devices/system/cpu/isolated and nohz_full (of a cpuset partition none), which irqbalance
    leaves alone by itself; ``drivers`` those of the network cards, None if they are not known.
    ``told``: a setting of the plan tells irqbalance to leave the isolated CPUs alone too."""

    isolated: CpuSet
    housekeeping: CpuSet
    shown: CpuSet
    balances: bool
    bans: Optional[BanList]
    links: tuple[LinkFile, ...]
    drivers: Optional[frozenset[str]] = None
    told: bool = False

    def warnings(self) -> Iterator[str]:
        """A message for each that would move interrupts to isolated CPUs, with what to write."""
        if self.isolated and self.balances:
            yield from self._balanced()
        for link in self.links if self.isolated else ():
            goes = self._goes(link) & self.isolated
            if goes and self._applies(link):
                yield (
                    f"{link.file} has IRQAffinityPolicy={link.policy}: systemd would send "
                    f"interrupts of network cards to CPU {goes}; write "
                    f"IRQAffinity={self.housekeeping} there, without IRQAffinityNUMA="
                )

    def _balanced(self) -> Iterator[str]:
        banned, fault = self.banned()
        free = CpuSet() if self.told else self.isolated - banned
        kept = banned & self.housekeeping
        if not (free or kept or fault):
            return
        file = self.bans.file if self.bans else f"its environment file ({' or '.join(CONFIGS[:2])})"
        effects = [f"may move interrupts to CPU {free}, isolated" if free else ""]
        effects += [f"moves none to CPU {kept}, which serve the system" if kept else ""]
        other = "reads its ban list in part" if self.told else "may move interrupts to any CPU"
        told = ", and ".join(filter(None, effects)) or other
        yield (
            f"irqbalance {told}: {fault or self._reason()}; write {_LIST}={self.isolated} (before "
            f"irqbalance 1.8: {_MASK}={self.isolated.mask()}), and no other ban, into {file} and "
            "restart irqbalance"
        )

    def _reason(self) -> str:
        if self.bans and self.bans.name:
            return f"{self.bans.file} has {self.bans.name}={self.bans.value[:60]}"
        return "it leaves alone what isolcpus=domain and nohz_full name, and no partition"

    def banned(self) -> tuple[CpuSet, str]:
        """The CPUs that irqbalance leaves alone, and the fault of its ban list, or ""."""
        if self.bans is None or not self.bans.name:
            return self.shown, ""
        if self.bans.name != _LIST:
            try:
                return CpuSet.parse_mask(self.bans.value), ""
            except CpuSetError:
                return CpuSet(), f"{self._reason()}, which is no mask"
        if not self.bans.value:
            # Until 1.9.5 as if it were not set, later no ban (8929e4d7f0e4).
            return (
                self.shown,
                f"{self._reason()}, empty, which versions after 1.9.5 take for no ban",
            )
        return self._listed(self.bans.value)

    def _listed(self, text: str) -> tuple[CpuSet, str]:
        """As __bitmap_parselist() in irqbalance's bitmap.c: what stands before an error counts."""
        cpus = CpuSet()
        for part in text.split(","):
            match = _PART.fullmatch(part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if last < first:
                return cpus, f"{self._reason()}, of which it cannot read {part.strip()[:20]}"
            cpus |= CpuSet.of(range(first, last + 1))
        return cpus, ""

    def _applies(self, link: LinkFile) -> bool:
        if not link.drivers or self.drivers is None:
            return True
        return any(fnmatchcase(one, glob) for one in self.drivers for glob in link.drivers)

    def _goes(self, link: LinkFile) -> CpuSet:
        """The CPUs of IRQAffinity= and of a node together, by default all; "single" takes the first
        of them, else CPU 0 (systemd.link(5); github.com/systemd/systemd/pull/40304)."""
        everywhere = self.isolated | self.housekeeping
        given = _list(re.sub(r"[\s,]+", ",", link.affinity.strip()))
        if link.numa:
            return everywhere
        if link.policy == "single":
            return CpuSet.of([given.first if given else 0])
        return given or everywhere


def on_host(plan: Plan, shown: CpuSet, root: Root) -> InterruptMovers:
    """What could move interrupts on this host, where the kernel shows these CPUs as isolated."""
    told = any(setting.name == "irqbalance.banned_cpus" for setting in plan.runtime)
    return InterruptMovers(
        plan.isolated,
        plan.housekeeping,
        shown,
        "irqbalance" in read_managers(root),
        read_ban_list(root),
        read_link_files(root),
        told=told,
    )


def _list(text: str) -> CpuSet:
    try:
        return CpuSet.parse_list(text)
    except CpuSetError:
        return CpuSet()
