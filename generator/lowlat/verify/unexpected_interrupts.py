# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts of the isolated CPUs other than the tick, by the counts."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.catalogue import remedy
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding, Standing, of_setting
from lowlat.model.plan import Plan
from lowlat.plan.interrupt_movers import on_host
from lowlat.trace.context import PARTS, row_name
from lowlat.verify import clock_events, ticks, traced
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.ticks import TickCounts

#: Interrupts per second and events from which a row is told: once more after it was moved, a device
#: may come. A row of fewer than so many events blames no setting.
_TOLD, _TWO, _BLAMES = 0.2, 2, 3

#: Softirqs that a tick raises.
_OF_THE_TICK = ("TIMER", "SCHED", "RCU", "HRTIMER")

_PLANNED = "nothing interrupts the CPU"


@dataclass(frozen=True)
class UnexpectedInterrupts:
    """``settings`` are the rows of all settings, ``only_boot`` the parameters that this boot cannot
    have."""

    behaviour: Behaviour
    counts: TickCounts
    settings: Iterable[Finding]
    only_boot: Container[str] = ()

    def rows(self) -> Iterator[Finding]:
        """A row for each source that interrupts an isolated CPU. The rows of a CPU and that of its
        tick add up to its interrupts, less what came once or hardly ever."""
        counted = self.counts.counted
        for cpu in self.behaviour.plan.isolated:
            rates = counted.rates(cpu)
            timers = {label: rate for label, rate in rates.items() if clock_events.is_row(label)}
            ticks_on = self._ticks or sum(timers.values()) >= ticks.LIMIT
            skipped = {*PARTS, *(timers if ticks_on else ())}
            for label, rate in sorted(rates.items(), key=lambda item: -item[1]):
                if label not in skipped and self._is_told(rate):
                    yield self._row(cpu, label, *row_name(label), rate)
            # The tick's softirqs belong to the finding of the tick.
            for name, rate in counted.softirqs(cpu).items():
                if rate >= ticks.LIMIT and not (ticks_on and name in _OF_THE_TICK):
                    yield self._row(cpu, name, "softirq", name, rate)

    @property
    def _ticks(self) -> bool:
        """Whether the plan lets the tick run."""
        return all(item.name != "nohz_full" for item in self.behaviour.plan.parameters)

    def _events(self, rate: float) -> int:
        return round(rate * self.counts.counted.seconds)

    def _is_told(self, rate: float) -> bool:
        return rate >= _TOLD and self._events(rate) >= _TWO

    def _row(self, cpu: int, label: str, kind: str, who: str, rate: float) -> Finding:
        traced_now = self.counts.counted.traced
        name = remedy(f"{kind}: {who}{traced.origin(traced_now, cpu, label)}")
        softirq = kind == "softirq"
        often = f"{'softirq ' if softirq else ''}{who} {rate:.1f} per second"
        state, why = self._judge(cpu, label, name, rate)
        return Finding(
            name if name and state is not Standing.NO_SETTING else "interrupts",
            f"/proc/{'softirqs' if softirq else 'interrupts'} CPU {cpu}",
            _PLANNED,
            often,
            state,
            None,
            f"CPU {cpu}: {often}; {why}{self._sender(cpu, label)}",
        )

    def _judge(
        self, cpu: int, label: str, name: Optional[str], rate: float
    ) -> tuple[Standing, str]:
        """The state, and the setting that should have stopped it with the remedy."""
        number, colon, _ = label.partition(":")
        setting = of_setting(self.settings, name)
        if clock_events.is_row(label):
            return Standing.NO_SETTING, _LEFT
        if cpu in self.counts.counted.watching and not colon:
            return Standing.UNVERIFIABLE, "it may come from the work that runs there"
        if colon and number in self.behaviour.kept:
            return Standing.NO_SETTING, "the kernel keeps it there: only fewer queues avoid it"
        if name is None:
            return Standing.NO_SETTING, "no setting stops it"
        if self._events(rate) < _BLAMES:
            return Standing.UNVERIFIABLE, f"too few to tell whether {name} fails"
        if setting is None or setting.state is Standing.NOT_PLANNED:
            if name in self.only_boot:
                return Standing.NO_SETTING, f"only a boot gives {name}, which would stop it"
            left_out = self.behaviour.plan.why_skipped(name)
            how = left_out or f"add '--enable {name}' to the options of the plan"
            why = f"{name} would stop it and is not planned: {how}"
            return Standing.NOT_APPLIED, why
        if setting.state.lost:
            why = f"{name} should stop it and is {setting.state.value}: {setting.evidence}"
            return setting.state, f"{why}{self._mend(name, number)}"
        if colon:
            why = f"{name} is {setting.state.value}, and yet it comes{self._mend(name, number)}"
            return Standing.IGNORED, why
        if setting.state is Standing.EFFECTIVE:
            return Standing.NO_SETTING, f"{name} is in effect and does not stop it"
        return Standing.UNVERIFIABLE, f"{name} would stop it and is {setting.state.value}"

    def _mend(self, name: str, number: str) -> str:
        if name != "irq.smp_affinity":
            return ""
        path = f"/proc/irq/{number}/smp_affinity"
        there = self.behaviour.root.exists(path)
        return f"; mend: echo {self.behaviour.plan.housekeeping.mask()} >{path}" if there else ""

    def _sender(self, cpu: int, label: str) -> str:
        """The sender of an interrupt between CPUs, from the kernel's trace."""
        if label not in traced.SENT:
            return "" if ":" in label else "; 'lowlat-gen measure --causes' names what raises it"
        return f"; {traced.sender_words(self.counts.counted.traced, cpu, label)}"


def movers(plan: Plan, root: Root) -> list[Finding]:
    """A row for each program that may move interrupts to isolated CPUs in this boot."""
    shown = [root.read_cpus(f"{CPU}/{name}") or CpuSet() for name in ("isolated", "nohz_full")]
    return [
        Finding("interrupts", "/proc/irq", _PLANNED, None, Standing.UNVERIFIABLE, None, why)
        for why in on_host(plan, shown[0] | shown[1], root).warnings()
    ]


_LEFT = "a timer of the fair server, of a task or of a driver, which the tick leaves"
