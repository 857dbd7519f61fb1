# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot parameters: on the command line, taken by the kernel, and seen to work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, Optional

from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Sign
from lowlat.host.kmsg import (
    CLOCK_BECAME_UNSTABLE,
    MALFORMED_PARAMETER,
    UNKNOWN_PARAMETERS,
    UNSTABLE_CLOCK,
    Messages,
)
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.machine import Kernel
from lowlat.model.plan import Plan, PlannedParameter
from lowlat.runtime import settings
from lowlat.runtime.kthreads import SCHEME, Threads
from lowlat.verify import ticks
from lowlat.verify.counters import Counted
from lowlat.verify.diff import CMDLINE, unplanned
from lowlat.verify.finding import Finding, Standing

#: kernel/sched/isolation.c says it of isolcpus or of nohz_full: what holds its list is not meant.
_EITHER = "Housekeeping:"


class Judged(NamedTuple):
    state: Standing
    effective: Optional[str]
    evidence: str


class BootFindings:
    """The boot half of one plan on one machine."""

    def __init__(
        self, plan: Plan, root: Root, messages: Optional[Messages], counted: Optional[Counted]
    ) -> None:
        self._plan = plan
        self._root = root
        self._messages = messages
        self._counted = counted
        self._line = root.read("/proc/cmdline")

    def rows(self) -> list[Finding]:
        """A row for each planned parameter, then one for each of ours that nobody planned."""
        return [*self._planned.values(), *self._not_planned()]

    def row(self, name: str) -> Optional[Finding]:
        """The row of a planned parameter."""
        return self._planned.get(name)

    @cached_property
    def unstable_clock(self) -> Optional[str]:
        """The kernel message that calls the clock unstable."""
        return next(iter(self._said(UNSTABLE_CLOCK)), None)

    @cached_property
    def _planned(self) -> dict[str, Finding]:
        return {item.name: self._row(item) for item in self._plan.parameters}

    def _row(self, item: PlannedParameter) -> Finding:
        state, held, evidence = self._judge(item)
        return Finding(item.name, CMDLINE, item.value, held, state, None, evidence)

    def _not_planned(self) -> Iterator[Finding]:
        for entry, (*_, given) in unplanned(self._plan, self._line or ""):
            why = f"/proc/cmdline has {entry.parameter(given)}, the plan does not"
            yield Finding(entry.name, CMDLINE, "", given, Standing.NOT_PLANNED, None, why)

    def _judge(self, parameter: PlannedParameter) -> Judged:
        if self._line is None:
            return Judged(Standing.UNVERIFIABLE, None, "/proc/cmdline cannot be read")
        given = cmdline.values(self._line, parameter.name)
        if parameter.value not in given:
            return Judged(Standing.NOT_APPLIED, given[-1] if given else None, self._missing(given))
        if len(set(given)) > 1:
            return Judged(
                Standing.NOT_APPLIED, ", ".join(given), "/proc/cmdline has it more than once"
            )
        judged = self._shown(parameter, lookup(parameter.name).sign)
        return self._by_clock(judged) if parameter.name == "nohz_full" else judged

    def _missing(self, given: list[str]) -> str:
        if given:
            return f"/proc/cmdline has it with the value {given[-1] or '(none)'}"
        marker = f"{cmdline.MARKER}={self._plan.id}"
        words = cmdline.parse(self._line or "")
        names = {cmdline.name_of(word) for word in words}
        planned = {parameter.name.replace("-", "_") for parameter in self._plan.parameters}
        if marker in words or names & planned:
            return "/proc/cmdline does not have it"
        return f"the boot half is missing: this boot does not carry {marker}"

    # ------------------------------------------------- what shows that it works

    def _shown(self, parameter: PlannedParameter, sign: Sign) -> Judged:
        """Of a parameter that is on the command line."""
        shown = self._by_file(parameter, sign)
        holds = shown is not None and shown.state is Standing.EFFECTIVE
        for complaint in self._complaints(parameter, sign):
            if not (holds and _EITHER in complaint):
                held = shown.effective if shown else None
                return Judged(Standing.IGNORED, held, f"kernel message: {complaint}")
        return shown or self._by_message(parameter, sign)

    def _by_file(self, parameter: PlannedParameter, sign: Sign) -> Optional[Judged]:
        """By the file that shows it; None where there is none, or it is not there."""
        held = self._root.read(sign.path) if sign.path else None
        if held is not None and sign.part:
            found = re.search(sign.part, held, re.MULTILINE)
            held = found[1] if found else None
        if held is None:
            return None
        expected = sign.expected(parameter.value)
        if expected is None:
            why = f"/proc/cmdline has it; {sign.path} does not show this value"
            return Judged(Standing.UNVERIFIABLE, None, why)
        if not settings.equal(sign.reads, held, expected):
            return Judged(
                Standing.IGNORED, held, f"{sign.path} is {held or 'empty'}, not {expected}"
            )
        shown = [
            f"{sign.path} is {held}",
            *map("kernel message: {}".format, self._said(sign.proof)),
        ]
        return Judged(Standing.EFFECTIVE, held, "; ".join(shown))

    def _by_message(self, parameter: PlannedParameter, sign: Sign) -> Judged:
        """By the kernel's messages and its threads: no file shows it, or it cannot be read."""
        proof = self._said(sign.proof)
        if proof:
            return Judged(Standing.EFFECTIVE, parameter.value, f"kernel message: {proof[0]}")
        complete = self._messages is not None and self._messages.complete
        if sign.proof and complete:
            return Judged(Standing.IGNORED, None, "the kernel message that confirms it is missing")
        if sign.thread and self._threads:
            return self._by_thread(parameter, sign.thread)
        if not complete:
            why = "the kernel messages of the start of this boot are gone"
        elif sign.path is not None:
            why = f"{sign.path}, which would show it, cannot be read"
        elif not self._reports_unknown():
            why = "this kernel does not report unknown parameters"
        else:
            why = "/proc/cmdline has it; the kernel did not complain"
            return Judged(Standing.EFFECTIVE, parameter.value, why)
        return Judged(Standing.UNVERIFIABLE, None, f"/proc/cmdline has it; {why}")

    def _by_thread(self, parameter: PlannedParameter, pattern: str) -> Judged:
        made = [name for name in self._threads if re.match(pattern, name)]
        if not made:
            return Judged(Standing.IGNORED, None, f"there is no kernel thread named {pattern}…")
        return Judged(Standing.EFFECTIVE, parameter.value, f"the kernel thread {made[0]} exists")

    @cached_property
    def _threads(self) -> list[str]:
        """Names of the kernel threads; empty where they cannot be seen."""
        found = Threads(self._root).matching(f"{SCHEME}*:affinity")
        return [thread.comm for thread, _ in found]

    def _reports_unknown(self) -> bool:
        """init/main.c, print_unknown_bootoptions(): in 6.1, not in 5.10."""
        version = Kernel(self._root.read("/proc/sys/kernel/osrelease")).version
        return version is not None and version >= (5, 14)

    def _complaints(self, parameter: PlannedParameter, sign: Sign) -> Iterator[str]:
        """What the kernel says against it."""
        text = self._messages.text if self._messages else ""
        # The kernel also names parameters that its earliest code has read by itself.
        unknown = None if self._said(sign.proof) else UNKNOWN_PARAMETERS.search(text)
        name = parameter.name.replace("-", "_")
        # First: the kernel hands a list that it refuses on as if it were unknown.
        yield from self._said(sign.contradiction)
        if unknown and name in {cmdline.name_of(item) for item in unknown[1].split()}:
            yield unknown[0]
        for malformed in MALFORMED_PARAMETER.finditer(text):
            if cmdline.name_of(malformed[1]) == name:
                yield malformed[0]

    def _said(self, pattern: Optional[str]) -> list[str]:
        """The kernel's messages that match, each once."""
        if not pattern or not self._messages:
            return []
        found = re.finditer(f"^.*(?:{pattern}).*$", self._messages.text, re.MULTILINE)
        return list(dict.fromkeys(match[0].strip() for match in found))

    def _by_clock(self, judged: Judged) -> Judged:
        """A clock that becomes unstable keeps every tick running, but where CPUs were seen without
        it: the clock of an emulated machine may be called unstable in any boot."""
        if judged.state is not Standing.EFFECTIVE or not self.unstable_clock:
            return judged
        if self._counted and ticks.all_stop(self._plan, self._counted):
            seen = f"the tick stops all the same, though the kernel said: {self.unstable_clock}"
            return judged._replace(evidence=f"{judged.evidence}; {seen}")
        if not self._counted and not self._said(CLOCK_BECAME_UNSTABLE):
            seen = f"unstable from its start, the clock keeps no tick: {self.unstable_clock}"
            return judged._replace(evidence=f"{judged.evidence}; {seen}")
        why = f"the tick never stops, kernel message: {self.unstable_clock}"
        return Judged(Standing.IGNORED, judged.effective, why)
