# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges whether a boot parameter has its effect, by its sign in the catalogue."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Optional

from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Evidence, EvidenceKind, ValueFormat
from lowlat.host.kmsg import MALFORMED_PARAMETER, UNKNOWN_PARAMETERS, Messages
from lowlat.host.root import Root, real_path
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.finding import Judged, Standing
from lowlat.model.plan import PlannedParameter
from lowlat.runtime import settings
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.readings import Readings

#: kernel/sched/isolation.c prints this for isolcpus or for nohz_full: the file of the list decides.
_EITHER = "Housekeeping:"

_GIVEN = "/proc/cmdline has it"

#: Files that exist unless a parameter holds.
GONE = tuple(sorted(entry.sign.gone for entry in CATALOGUE if entry.sign.gone))


def gone(root: Root) -> frozenset[str]:
    """The files among GONE that certainly do not exist."""
    said = root.answer("gone", lambda tree: "\n".join(path for path in GONE if tree.absent(path)))
    return frozenset(said.split())


class Effects:
    """The effects of one boot's line on one machine."""

    def __init__(self, behaviour: Behaviour, messages: Messages, readings: Readings) -> None:
        self._behaviour = behaviour
        self._root = behaviour.root
        self._messages = messages
        self._readings = readings

    def judge(self, parameter: PlannedParameter, sign: Evidence) -> Judged:
        """The state of a parameter that is on the command line, by what the kernel shows."""
        value = parameter.value
        held = self._by_file(value, sign)
        holds = held is not None and held.state is Standing.EFFECTIVE
        for complaint in self._complaints(parameter, sign):
            if not (holds and _EITHER in complaint):
                return Judged(Standing.IGNORED, held.effective if held else None, complaint)
        if held is not None:
            held = self._own(sign, held) if holds else held
            if sign.shows is EvidenceKind.STATE or held.state is not Standing.EFFECTIVE:
                return held
        if sign.gone:
            return self._by_absence(value, sign.gone)
        shown = self._by_message(value, sign)
        shown = shown or self._behaviour.look(sign.shows, value, self._planned(sign))
        if shown is None:
            return self._unseen(sign, held)
        evidence = f"{held.evidence}; {shown.evidence}" if held else shown.evidence
        effective = shown.effective or (held.effective if held else None)
        return Judged(shown.state, effective, evidence)

    def _by_file(self, value: str, sign: Evidence) -> Optional[Judged]:
        """By the file that shows it; None if no file does, or if it does not exist."""
        held = self._root.read(sign.path) if sign.path else None
        if held is not None and sign.part:
            match = re.search(sign.part, held, re.MULTILINE)
            held = match[1] if match else None
        if sign.cpus:
            return None if held is None else self._by_list(held, sign)
        expected = sign.expected(value)
        if held is None or expected is None:
            return None
        same = settings.equal(sign.reads, held, expected)
        return _compared(sign, held, expected, same)

    def _by_list(self, held: str, sign: Evidence) -> Optional[Judged]:
        """By a file that has CPUs, which may also list those that stay offline."""
        planned = self._planned(sign)
        parse = CpuSet.parse_mask if sign.reads is ValueFormat.MASK else CpuSet.parse_list
        try:
            cpus = parse(held)
        except CpuSetError:  # "(null)" is what kernels print for none
            cpus = CpuSet()
        if not planned:
            return None
        same = cpus & self._readings.planned.online == planned
        return _compared(sign, sign.reads.listed(held), str(planned), same)

    def _planned(self, sign: Evidence) -> CpuSet:
        """The CPUs of a planned list."""
        return sign.cpus(self._readings.planned) if sign.cpus else CpuSet()

    def _own(self, sign: Evidence, held: Judged) -> Judged:
        """A file's value, unless another writer may have set it."""
        path = sign.path or ""
        record = self._behaviour.journal
        real = partial(real_path, self._root)
        old = {real(target): value for target, value in record.old.items()}
        if path in old:
            why = f"'runtime start' wrote {path}, which was {old[path] or 'empty'} before"
            return Judged(Standing.IGNORED, held.effective, why)
        by = self._behaviour.overrides.setter(path)
        if by is None and path not in map(real, record.done):
            ours = (item.name for item in self._behaviour.plan.runtime if real(item.target) == path)
            by = next(ours, None)
        if by:
            return held._replace(
                state=Standing.UNVERIFIABLE, evidence=f"{held.evidence}, which {by} writes too"
            )
        return held

    def _by_absence(self, value: str, path: str) -> Judged:
        if path in gone(self._root):
            return Judged(Standing.EFFECTIVE, value, f"{path} is not there")
        if self._root.exists(path):
            return Judged(Standing.IGNORED, None, f"{path} is there")
        why = f"{_GIVEN}; whether {path} is there was not checked"
        return Judged(Standing.UNVERIFIABLE, None, why)

    def _by_message(self, value: str, sign: Evidence) -> Optional[Judged]:
        """By the kernel's messages; None if they allow no judgement."""
        proof = self._messages.said(sign.proof)
        if not proof:
            if sign.proof and self._messages.complete:
                why = "the kernel message that confirms it is missing"
                return Judged(Standing.IGNORED, None, why)
            return None
        last = proof[-1]
        said = last.groups()[-1] if last.groups() else None
        holds = said is None or self._holds(sign, said, value)
        state = Standing.EFFECTIVE if holds else Standing.IGNORED
        return Judged(state, said or value, f"kernel message: {last[0].strip()}")

    def _unseen(self, sign: Evidence, held: Optional[Judged]) -> Judged:
        """The evidence for a parameter whose effect cannot be seen."""
        if sign.shows is EvidenceKind.MANAGED_IRQ and held is not None:
            if self._behaviour.kept:
                return held._replace(unseen="managed_irq")
            return held._replace(evidence=f"{held.evidence}; no managed interrupts here")
        if sign.shows is EvidenceKind.COPY:
            why = f"{_GIVEN}; nothing shows its effect in the kernel"
            why = f"{held.evidence}, but that is the parameter's own copy" if held else why
        elif sign.shows is EvidenceKind.STATE and sign.path is not None:
            why = f"{_GIVEN}; {sign.path}, which would show it, cannot be read"
        elif sign.proof:
            why = f"{_GIVEN}; the kernel messages of the start of this boot are gone"
        else:
            why = f"{_GIVEN}; {sign.shows.value} would show it, but none can be seen"
        return Judged(Standing.UNVERIFIABLE, None, why)

    def _complaints(self, parameter: PlannedParameter, sign: Evidence) -> Iterator[str]:
        """The kernel's messages against it."""
        text = self._messages.text
        # The kernel also names parameters that its early code reads by itself.
        unknown = None if self._messages.said(sign.proof) else UNKNOWN_PARAMETERS.search(text)
        # First: a list that the kernel refuses is passed on as if it were unknown.
        for match in self._messages.said(sign.contradiction):
            yield f"kernel message: {match[0].strip()}"
        # Others of its name may be refused beside it.
        if unknown and parameter.value in cmdline.values(unknown[1], parameter.name):
            yield f"kernel message: {unknown[0]}"
        for malformed in MALFORMED_PARAMETER.finditer(text):
            if cmdline.name_of(malformed[1]) == cmdline.name_of(parameter.name):
                yield f"kernel message: {malformed[0]}"

    def _holds(self, sign: Evidence, said: str, value: str) -> bool:
        """Whether a message has the expected value; a list of CPUs may name more."""
        if not sign.cpus:
            return sign.expected(value) in (None, said)
        try:
            return CpuSet() != self._planned(sign) <= CpuSet.parse_list(said)
        except CpuSetError:
            return False


def _compared(sign: Evidence, held: str, expected: str, same: bool) -> Judged:
    why = f"{sign.path} is {held or 'empty'}"
    if same:
        return Judged(Standing.EFFECTIVE, held, why)
    return Judged(Standing.IGNORED, held, f"{why}, not {expected}")
