# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts of the isolated CPUs other than the tick, by the counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.catalogue import remedy
from lowlat.host.root import CPU, Root
from lowlat.measure.causes.context import PARTS, row_name
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.plan.interrupt_movers import on_host
from lowlat.verify import counters, ticks, traced
from lowlat.verify.counters import Counted
from lowlat.verify.finding import Finding, Standing, of_setting

#: Interrupts per second from which a row is a finding. Devices should not interrupt isolated CPUs,
#: but one may once more after it was moved. The fair server and the system's start cause some calls
#: between CPUs: their limit is that of a tick.
_DEVICE, _OTHER = 0.2, ticks.LIMIT

#: Softirqs that a tick raises.
_OF_THE_TICK = ("TIMER", "SCHED", "RCU", "HRTIMER")

_PLANNED = "nothing interrupts the CPU"


@dataclass(frozen=True)
class UnexpectedInterrupts:
    """``settings`` are the rows of all settings."""

    plan: Plan
    counted: Counted
    settings: Iterable[Finding]

    def rows(self) -> Iterator[Finding]:
        """A row for each source that interrupts an isolated CPU too often."""
        for cpu in self.plan.isolated:
            rates = self.counted.rates(cpu)
            timer = counters.tick(rates) or ("", 0.0)
            for label, rate in sorted(rates.items(), key=lambda item: -item[1]):
                if label not in (timer[0], *PARTS) and self._too_often(label, rate):
                    yield self._row(cpu, label, *row_name(label), rate)
            # The tick's softirqs belong to the finding of the tick.
            ticks_on = timer[1] >= ticks.LIMIT
            for name, rate in self.counted.softirqs(cpu).items():
                if rate >= _OTHER and not (ticks_on and name in _OF_THE_TICK):
                    yield self._row(cpu, name, "softirq", name, rate)

    def _too_often(self, label: str, rate: float) -> bool:
        if ":" in label and "timer" not in label:
            return rate >= _DEVICE and rate * self.counted.seconds > 1.5
        return rate >= _OTHER

    def _row(self, cpu: int, label: str, kind: str, who: str, rate: float) -> Finding:
        name = remedy(f"{kind}: {who}{traced.origin(self.counted.traced, cpu, label)}")
        setting = of_setting(self.settings, name)
        state = setting.state if setting and setting.state.bad else Standing.IGNORED
        own = cpu in self.counted.watching and ":" not in label
        sender = self._sender(cpu, label)
        softirq = kind == "softirq"
        why = _OWN if own else self._why(label, name, setting)
        often = f"{'softirq ' if softirq else ''}{who} {rate:.1f} per second"
        return Finding(
            name or "interrupts",
            f"/proc/{'softirqs' if softirq else 'interrupts'} CPU {cpu}",
            _PLANNED,
            often,
            Standing.UNVERIFIABLE if own else state,
            None,
            f"CPU {cpu}: {often}; {why}{sender}",
        )

    def _why(self, label: str, name: Optional[str], setting: Optional[Finding]) -> str:
        """The setting that should have stopped it, and the remedy."""
        number, colon, _ = label.partition(":")
        mend = f"; mend: echo {self.plan.housekeeping.mask()} >/proc/irq/{number}/smp_affinity"
        if name is None:
            return "no setting stops it"
        if setting is None or setting.state is Standing.NOT_PLANNED:
            return f"{name} would stop it and is not planned: 'lowlat-gen plan --enable {name}'"
        evidence = f": {setting.evidence}" if setting.state.bad else ""
        return (
            f"{name} should stop it and is {setting.state.value}{evidence}{mend if colon else ''}"
        )

    def _sender(self, cpu: int, label: str) -> str:
        """The sender of an interrupt between CPUs, from the kernel's trace."""
        if label not in traced.SENT:
            return "" if ":" in label else "; 'lowlat-gen measure --causes' names what raises it"
        return f"; {traced.sender_words(self.counted.traced, cpu, label)}"


def movers(plan: Plan, root: Root) -> list[Finding]:
    """A row for each program that may move interrupts to isolated CPUs in this boot."""
    shown = [root.read_cpus(f"{CPU}/{name}") or CpuSet() for name in ("isolated", "nohz_full")]
    return [
        Finding("interrupts", "/proc/irq", _PLANNED, None, Standing.UNVERIFIABLE, None, why)
        for why in on_host(plan, shown[0] | shown[1], root).warnings()
    ]


_OWN = "it may come from the work that runs there"
