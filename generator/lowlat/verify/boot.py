# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot parameters: on the command line, accepted by the kernel, and proved to work."""

from collections.abc import Iterator
from functools import cached_property
from typing import Optional

from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Evidence
from lowlat.host.kmsg import CLOCK_BECAME_UNSTABLE, UNSTABLE_CLOCK, Messages
from lowlat.host.root import Root
from lowlat.kernel.booting import End, Fate
from lowlat.kernel.line import Word
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding, Judged, Standing
from lowlat.model.plan import Plan, PlannedParameter
from lowlat.plan.online_cpus import ONLINE, difference, read_online
from lowlat.verify import ticks
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.diff import CMDLINE, unplanned
from lowlat.verify.effects import Effects
from lowlat.verify.readings import Readings
from lowlat.verify.ticks import TickCounts


def is_stock(plan: Plan, line: str) -> bool:
    """Whether a boot line has nothing of the plan's: neither its marker nor one of its names."""
    words = cmdline.parse(line)
    planned = {parameter.name for parameter in plan.parameters}
    return plan.marker not in words and not planned & {cmdline.name_of(word) for word in words}


class BootFindings:
    """The boot parameters of one plan on one machine."""

    def __init__(
        self, behaviour: Behaviour, messages: Messages, counts: Optional[TickCounts]
    ) -> None:
        self._plan = behaviour.plan
        self._messages = messages
        self._counts = counts
        self._line = behaviour.root.read("/proc/cmdline")
        self._readings = Readings.of(self._plan, behaviour.root, self._line or "")
        self._effects = Effects(behaviour, messages, self._readings)

    def rows(self) -> list[Finding]:
        """A row for each planned parameter, then one for each part of them that cannot be seen, and
        for each parameter that was not planned."""
        return [*self._planned.values(), *self._unseen(), *self._not_planned()]

    def row(self, name: str) -> Optional[Finding]:
        """The row of a planned parameter."""
        return self._planned.get(name)

    @cached_property
    def unstable_clock(self) -> Optional[str]:
        """The kernel message that calls the clock unstable."""
        return next((match[0].strip() for match in self._messages.said(UNSTABLE_CLOCK)), None)

    @cached_property
    def _planned(self) -> dict[str, Finding]:
        return {item.name: self._row(item) for item in self._plan.parameters}

    @cached_property
    def _judged(self) -> dict[str, Judged]:
        return {item.name: self._judge(item) for item in self._plan.parameters}

    def _row(self, item: PlannedParameter) -> Finding:
        state, held, evidence, _ = self._judged[item.name]
        return Finding(item.name, CMDLINE, item.value, held, state, None, evidence)

    def _unseen(self) -> Iterator[Finding]:
        for name, judged in self._judged.items():
            if judged.unseen:
                why = f"too few managed interrupts to tell what {name}={judged.unseen} does"
                yield Finding(
                    judged.unseen, CMDLINE, judged.unseen, None, Standing.UNVERIFIABLE, None, why
                )

    def _not_planned(self) -> Iterator[Finding]:
        for entry, (*_, given) in unplanned(self._plan, self._line or ""):
            why = f"/proc/cmdline has {entry.parameter(given)}, the plan does not"
            yield Finding(entry.name, CMDLINE, "", given, Standing.NOT_PLANNED, None, why)

    def _judge(self, parameter: PlannedParameter) -> Judged:
        if self._line is None:
            return Judged(Standing.UNVERIFIABLE, None, "/proc/cmdline cannot be read")
        given = cmdline.values(self._line, parameter.name)
        found = self._readings.word(parameter)
        if found is None:
            return Judged(Standing.NOT_APPLIED, given[-1] if given else None, self._missing(given))
        word, fate = found
        if fate.end in (End.OVERRIDDEN, End.NOT_READ):
            return Judged(Standing.NOT_APPLIED, ", ".join(given), self._passed_over(fate))
        judged = self._by_effect(parameter, word, fate, lookup(parameter.name).sign)
        return self._by_clock(judged) if parameter.name == "nohz_full" else judged

    def _by_effect(
        self, parameter: PlannedParameter, word: Word, fate: Fate, sign: Evidence
    ) -> Judged:
        """By what the kernel shows, and why it shows otherwise."""
        judged = self._effects.judge(parameter, sign)
        lost = self._readings.lost(sign.cpus) if sign.cpus else CpuSet()
        if fate.end is End.TAKEN and lost:
            why = fate.why or f"with this line the kernel leaves out CPU {lost}"
            return Judged(Standing.IGNORED, judged.effective, why)
        if fate.end is End.DROPPED and not fate.assumed and judged.state is not Standing.EFFECTIVE:
            seen = f"; {judged.evidence}" if judged.state is Standing.IGNORED else ""
            return Judged(Standing.IGNORED, judged.effective, f"{fate.why}{seen}")
        others = (item for item in self._readings.dropped(parameter.name) if item[0] != word)
        beside = "".join(f"; {other.text} is dropped: {why.why}" for other, why in others)
        return judged._replace(evidence=f"{judged.evidence}{beside}")

    def _passed_over(self, fate: Fate) -> str:
        if fate.by is None:
            return fate.why
        return f"/proc/cmdline has {self._readings.booted.words[fate.by].text} too: {fate.why}"

    def _missing(self, given: list[str]) -> str:
        if given:
            return f"/proc/cmdline has it with the value {given[-1] or '(none)'}"
        if is_stock(self._plan, self._line or ""):
            return f"the boot parameters are missing: this boot does not carry {self._plan.marker}"
        return "/proc/cmdline does not have it"

    def _by_clock(self, judged: Judged) -> Judged:
        """A clock that becomes unstable keeps every tick running, unless CPUs were seen without a
        tick: the clock of an emulated machine may be called unstable in any boot."""
        if judged.state is not Standing.EFFECTIVE or not self.unstable_clock:
            return judged
        if self._counts and ticks.all_stop(self._plan, self._counts):
            seen = f"the tick stops all the same, though the kernel said: {self.unstable_clock}"
            return judged._replace(evidence=f"{judged.evidence}; {seen}")
        if not self._counts and not self._messages.said(CLOCK_BECAME_UNSTABLE):
            seen = f"unstable from its start, the clock keeps no tick: {self.unstable_clock}"
            return judged._replace(evidence=f"{judged.evidence}; {seen}")
        why = f"the tick never stops, kernel message: {self.unstable_clock}"
        return Judged(Standing.IGNORED, judged.effective, why)


def online_cpus(plan: Plan, root: Root) -> Finding:
    online, expected = read_online(root), str(plan.cpus.online)
    if online is None:
        state, evidence = Standing.UNVERIFIABLE, f"{ONLINE} cannot be read"
    elif evidence := difference(plan, online):
        state = Standing.NOT_APPLIED
    else:
        state, evidence = Standing.EFFECTIVE, f"CPU {online} is online"
    return Finding("cpus", ONLINE, expected, str(online), state, None, evidence)
