# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the tick stops on the isolated CPUs, by the counts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Optional

from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.probe.kernel import read_running
from lowlat.verify import counters, traced
from lowlat.verify.counters import Counted
from lowlat.verify.finding import Finding, Standing

#: Timer interrupts per second from which a tick runs. The slowest tick has 100 (HZ=100). A stopped
#: one leaves the fair server's 1 to 4 (kernel 6.12 and newer) and at times a timer of the task: a
#: quarter of the slowest tick is far from both.
LIMIT = 25.0

_PLANNED = "the tick stops"


def all_stop(plan: Plan, counted: Counted) -> bool:
    """Whether every isolated CPU was busy and none of them ticked."""
    return bool(plan.isolated) and all(_stops(counted, cpu) for cpu in plan.isolated)


def _stops(counted: Counted, cpu: int) -> Optional[bool]:
    """None if the CPU was idle: an idle CPU stops its tick anyway."""
    tick = counters.tick(counted.rates(cpu))
    if tick is None or cpu not in counted.spinning | counted.watching:
        return None
    return tick[1] < LIMIT


@dataclass(frozen=True)
class Ticks:
    """The counts, the row of nohz_full if it is planned, and the kernel message that calls the
    clock unstable, if there is one."""

    plan: Plan
    counted: Counted
    nohz_full: Optional[Finding]
    unstable_clock: Optional[str]
    root: Root

    def rows(self) -> list[Finding]:
        """A row for each isolated CPU."""
        return [self._row(cpu) for cpu in self.plan.isolated]

    def _row(self, cpu: int) -> Finding:
        rates = self.counted.rates(cpu)
        state, evidence = self._judge(cpu)
        planned = _PLANNED if self.nohz_full else ""
        effective = counters.words(rates) if rates else None
        return Finding(
            "nohz_full", f"/proc/interrupts CPU {cpu}", planned, effective, state, None, evidence
        )

    def _judge(self, cpu: int) -> tuple[Standing, str]:
        how = f"CPU {cpu}, counted for {self.counted.seconds:.0f} s while {self._running(cpu)}"
        rates = self.counted.rates(cpu)
        tick = counters.tick(rates)
        if self.nohz_full is None:
            return Standing.NOT_PLANNED, f"{how}: {counters.words(rates)}"
        if tick is None:
            return (
                Standing.UNVERIFIABLE,
                f"/proc/interrupts shows no timer interrupts of CPU {cpu}",
            )
        stops = _stops(self.counted, cpu)
        if stops is None:
            return Standing.UNVERIFIABLE, f"{how}: an idle CPU stops its tick anyway"
        rate = f"{how}: {tick[0]} {tick[1]:.1f} per second"
        if stops:
            return Standing.EFFECTIVE, rate
        missing = self.nohz_full.state is Standing.NOT_APPLIED
        state = Standing.NOT_APPLIED if missing else Standing.IGNORED
        return state, f"{rate}; {self._ticks}; {self._cause(self.nohz_full, cpu)}"

    def _running(self, cpu: int) -> str:
        if cpu in self.counted.spinning:
            return "one ordinary task spun there"
        return "a user's work ran there" if cpu in self.counted.watching else "it was idle"

    def _cause(self, nohz_full: Finding, cpu: int) -> str:
        """The kernel's reason why the tick goes on."""
        if self.unstable_clock:
            return f"kernel message: {self.unstable_clock}"
        if nohz_full.state.bad:
            return f"nohz_full is {nohz_full.state.value}: {nohz_full.evidence}"
        return traced.stop_words(self.counted.traced, cpu)

    @cached_property
    def _ticks(self) -> str:
        hz = read_running(self.root).hz
        known = f"the tick of this kernel comes {hz} times (HZ)"
        told = known if hz else "a tick comes 100 or more"
        return f"{told}, a stopped one leaves less than {LIMIT:.0f}"
