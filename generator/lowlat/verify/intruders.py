# SPDX-License-Identifier: GPL-2.0-or-later
"""What else than the tick interrupts the isolated CPUs, by what was counted there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.measure.causes.context import row_name
from lowlat.measure.causes.remedy import remedy
from lowlat.model.cpuset import CpuSet
from lowlat.verify import counters, ticks
from lowlat.verify.counters import Counted
from lowlat.verify.finding import Finding, Standing

#: Interrupts per second from which a row is a finding. A device has no business on an isolated CPU,
#: but one that was told to go may come once more. Of the calls between CPUs the fair server and the
#: system's start leave some: the limit is that of a tick.
_DEVICE, _OTHER = 0.2, ticks.LIMIT

#: Counted again in another row: TLB shoot-downs are function calls.
_PARTS = ("TLB",)

_PLANNED = "nothing interrupts the CPU"


@dataclass(frozen=True)
class Intruders:
    """``settings`` are the rows of all settings, ``isolated`` the CPUs that were planned."""

    isolated: CpuSet
    counted: Counted
    settings: Iterable[Finding]

    def rows(self) -> Iterator[Finding]:
        """A row for each source that interrupts an isolated CPU too often."""
        for cpu in self.isolated:
            rates = self.counted.rates(cpu)
            timer = counters.tick(rates) or ("", 0.0)
            for label, rate in sorted(rates.items(), key=lambda item: -item[1]):
                if label not in (timer[0], *_PARTS) and self._too_often(label, rate):
                    yield self._row(cpu, label, rate)

    def _too_often(self, label: str, rate: float) -> bool:
        if ":" in label and "timer" not in label:
            return rate >= _DEVICE and rate * self.counted.seconds > 1.5
        return rate >= _OTHER

    def _row(self, cpu: int, label: str, rate: float) -> Finding:
        kind, who = row_name(label)
        name = remedy(kind, who)
        setting = self._setting(name)
        state = setting.state if setting and setting.state.bad else Standing.IGNORED
        own = cpu in self.counted.watching and ":" not in label
        often = f"{who} {rate:.1f} per second"
        return Finding(
            name or "interrupts",
            f"/proc/interrupts CPU {cpu}",
            _PLANNED,
            often,
            Standing.UNVERIFIABLE if own else state,
            None,
            f"CPU {cpu}: {often}; {_OWN if own else _why(name, setting)}",
        )

    def _setting(self, name: Optional[str]) -> Optional[Finding]:
        """The row of a setting; of several the one that is not as planned."""
        rows = [row for row in self.settings if row.name == name]
        return max(rows, key=lambda row: row.state.bad, default=None)


_OWN = "it may be the doing of the work that runs there"


def _why(name: Optional[str], setting: Optional[Finding]) -> str:
    if name is None:
        return "no setting stops it; 'lowlat-gen measure --causes' names who sends it"
    if setting is None or setting.state is Standing.NOT_PLANNED:
        return f"{name} would stop it and is not planned: 'lowlat-gen explain {name}'"
    if setting.state.bad:
        return f"{name} should stop it and is {setting.state.value}: {setting.evidence}"
    return (
        f"{name} should stop it and is {setting.state.value}; 'lowlat-gen measure --causes' names "
        "who sends it"
    )
