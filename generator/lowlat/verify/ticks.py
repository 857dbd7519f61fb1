# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the tick stops on the isolated CPUs, by the counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

from lowlat.catalogue.scheduling import FAIR_SERVER
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding, Standing
from lowlat.model.plan import Plan
from lowlat.probe.kernel import read_running
from lowlat.verify import clock_events, counters, traced
from lowlat.verify.behaviour import RATES, TIMERS
from lowlat.verify.counters import Counted

#: Timer interrupts per second from which a tick runs. The slowest tick has 100 (HZ=100). A stopped
#: one leaves the fair server's 1 to 4 (kernel 6.12 and newer) and at times a timer of the task: a
#: quarter of the slowest tick is far from both.
LIMIT = 25.0

#: The share of HZ within which any row may count a tick.
_ALIKE = 0.1

_PLANNED = "the tick stops"


@dataclass(frozen=True)
class Tick:
    """What was counted on one busy CPU: ``rates`` of the rows of clock event devices, ``alike``
    those of other rows that come as often as a tick, per second. ``doubt`` tells why the rows of
    clock event devices show no tick of this CPU even if there is one, or is ""."""

    rates: Mapping[str, float]
    alike: Mapping[str, float]
    doubt: str

    @property
    def runs(self) -> bool:
        return sum(self.rates.values()) >= LIMIT

    @property
    def stops(self) -> bool:
        return not (self.runs or self.alike or self.doubt)


@dataclass(frozen=True)
class TickCounts:
    """The ticks of a machine in the time that was counted."""

    counted: Counted
    root: Root

    def of(self, cpu: int) -> Optional[Tick]:
        """None if the CPU was idle, since an idle CPU stops its tick anyway, or was not counted."""
        rates = self.counted.rates(cpu)
        if not rates or cpu not in self.counted.spinning | self.counted.watching:
            return None
        own = {label: rate for label, rate in rates.items() if clock_events.is_row(label)}
        others = {label: rate for label, rate in rates.items() if label not in own}
        alike = {label: rate for label, rate in others.items() if self._is_alike(rate)}
        return Tick(own, alike, self._doubt(cpu, list(own)))

    @cached_property
    def hertz(self) -> Optional[int]:
        """Ticks per second of this kernel (HZ)."""
        return read_running(self.root).hz

    def _is_alike(self, rate: float) -> bool:
        known = (self.hertz,) if self.hertz else RATES
        return any(abs(rate / hertz - 1) <= _ALIKE for hertz in known)

    def _doubt(self, cpu: int, labels: list[str]) -> str:
        device = self._devices.get(cpu)
        used = clock_events.rows_of(device, labels) if device else labels
        if not used:
            timer = f"{device}, the timer of CPU {cpu}," if device else "a timer"
            return f"/proc/interrupts has no row that is known to count {timer}"
        names = " or ".join(used)
        if not self._counting.intersection(used):
            return f"{names} counted on no CPU at all: the ticks of this machine count elsewhere"
        if not any(self.counted.after.interrupts[label][cpu] for label in used):
            return f"{names} never counted on CPU {cpu} since the boot: its tick counts elsewhere"
        return ""

    @cached_property
    def _counting(self) -> frozenset[str]:
        """The rows of clock event devices that counted on any CPU."""
        before, after = self.counted.before.interrupts, self.counted.after.interrupts
        known = (label for label in after if clock_events.is_row(label))
        return frozenset(label for label in known if after[label] != before.get(label))

    @cached_property
    def _devices(self) -> dict[int, str]:
        return clock_events.devices(self.root.read(TIMERS) or "")


def all_stop(plan: Plan, counts: TickCounts) -> bool:
    """Whether every isolated CPU was busy and none of them ticked."""
    ticks = [counts.of(cpu) for cpu in plan.isolated]
    return bool(ticks) and all(tick is not None and tick.stops for tick in ticks)


@dataclass(frozen=True)
class Ticks:
    """The counts, the row of nohz_full if it is planned, and the kernel message that calls the
    clock unstable, if there is one."""

    plan: Plan
    counts: TickCounts
    nohz_full: Optional[Finding]
    unstable_clock: Optional[str]

    @cached_property
    def rows(self) -> tuple[Finding, ...]:
        """A row for each isolated CPU."""
        return tuple(self._row(cpu) for cpu in self.plan.isolated)

    def of_parameter(self) -> Optional[Finding]:
        """The row of nohz_full itself: it is not in effect where the tick was seen to run, and not
        known to be where nothing shows the tick."""
        own = self.nohz_full
        if own is None or own.state is not Standing.EFFECTIVE:
            return own
        ticking = CpuSet.of(cpu for cpu, row in zip(self.plan.isolated, self.rows) if row.state.bad)
        if ticking:
            why = f"{own.evidence}, and yet the tick runs on CPU {ticking}"
            return replace(own, state=Standing.IGNORED, evidence=why)
        if not any(row.state is Standing.EFFECTIVE for row in self.rows):
            why = f"{own.evidence}; whether the tick stops was seen on no CPU"
            return replace(own, state=Standing.UNVERIFIABLE, evidence=why)
        return own

    @property
    def _counted(self) -> Counted:
        return self.counts.counted

    def _row(self, cpu: int) -> Finding:
        rates = self._counted.rates(cpu)
        state, evidence = self._judge(cpu)
        planned = _PLANNED if self.nohz_full else ""
        effective = counters.words(rates) if rates else None
        return Finding(
            "nohz_full", f"/proc/interrupts CPU {cpu}", planned, effective, state, None, evidence
        )

    def _judge(self, cpu: int) -> tuple[Standing, str]:
        how = f"CPU {cpu}, counted for {self._counted.seconds:.0f} s while {self._running(cpu)}"
        rates = self._counted.rates(cpu)
        if self.nohz_full is None:
            return Standing.NOT_PLANNED, f"{how}: {counters.words(rates)}"
        if not rates:
            return Standing.UNVERIFIABLE, f"/proc/interrupts counts nothing on CPU {cpu}"
        tick = self.counts.of(cpu)
        if tick is None:
            return Standing.UNVERIFIABLE, f"{how}: an idle CPU stops its tick anyway"
        rate = f"{how}: {clock_events.shown(tick.rates) or 'no timer'} per second"
        missing = self.nohz_full.state is Standing.NOT_APPLIED
        state = Standing.NOT_APPLIED if missing else Standing.IGNORED
        if tick.runs:
            return state, f"{rate}; {self._ticks}; {self._cause(self.nohz_full, cpu)}"
        if tick.alike:
            often = clock_events.shown(tick.alike)
            return state, f"{rate}, but {often}: it comes as often as a tick; {self._ticks}"
        if tick.doubt:
            return Standing.UNVERIFIABLE, f"{rate}; {tick.doubt}"
        return Standing.EFFECTIVE, rate

    def _running(self, cpu: int) -> str:
        if cpu in self._counted.spinning:
            return "one ordinary task spun there"
        return "a user's work ran there" if cpu in self._counted.watching else "it was idle"

    def _cause(self, nohz_full: Finding, cpu: int) -> str:
        """The kernel's reason why the tick goes on; without one, the facts at hand that would
        explain it: the clock's message, the parameter's own state, the fair server."""
        if self.unstable_clock:
            return f"kernel message: {self.unstable_clock}"
        if nohz_full.state.bad:
            return f"nohz_full is {nohz_full.state.value}: {nohz_full.evidence}"
        said = traced.stop_words(self._counted.traced, cpu)
        served = "" if self._counted.traced.of(cpu, traced.TICK) else self._fair_server(cpu)
        return f"{said}; {served}" if served else said

    def _fair_server(self, cpu: int) -> str:
        """Its timer can bring the tick back (dl_task_timer() in kernel/sched/deadline.c)."""
        path = f"{FAIR_SERVER}/cpu{cpu}/runtime"
        runtime = self.counts.root.read_int(path)
        return f"the fair server may keep it: {path} is {runtime}, not 0" if runtime else ""

    @cached_property
    def _ticks(self) -> str:
        hz = self.counts.hertz
        known = f"the tick of this kernel comes {hz} times (HZ)"
        told = known if hz else "a tick comes 100 or more"
        return f"{told}, a stopped one leaves less than {LIMIT:.0f}"
