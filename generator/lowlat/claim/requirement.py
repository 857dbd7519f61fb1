# SPDX-License-Identifier: GPL-2.0-or-later
"""``--require '[ARM:]ENDPOINT>=N'``: a reduction that a pipeline requires; and ``--require
'[ARM:]throughput_loss<=N%'``: the loss that it accepts.

A gate takes the bound, the end of the interval on the unfavourable side, and from 1 on also the
test: a reduction that its p, adjusted for all figures and arms, does not find is none, whatever its
own interval says. A figure without an interval misses its gate. So does every figure where the runs
depart from their campaign in what may choose the result; and beside the throughput every figure but
the one that the campaign was written for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lowlat.base.errors import Refused, Unmet
from lowlat.claim import throughput
from lowlat.claim.build import Report
from lowlat.claim.verdict import DESCRIPTIVE, REFUSED
from lowlat.figures.endpoint import GATED
from lowlat.figures.measure import Key
from lowlat.figures.measured_arm import NAME

_GRAMMAR = re.compile(
    rf"\s*(?:({NAME}):)?(?:([A-Za-z0-9_.@-]+)\s*>=\s*(\d{{1,15}}(?:\.\d{{1,15}})?)"
    r"|throughput_loss\s*<=\s*(\d{1,2}(?:\.\d{1,15})?)\s*%)\s*",
    re.ASCII,
)


@dataclass(frozen=True)
class Gate:
    """At least the ratio ``bound`` before/after over all measured CPUs; of stress-ng's throughput,
    not inferior: at most that share is lost. For every arm if ``arm`` is ""."""

    arm: str
    key: Key
    bound: float

    @property
    def wanted(self) -> str:
        if self.key == throughput.KEY:
            return f"throughput_loss<={100 * self.bound:g}%"
        return f"{self.key.text}>={self.bound:g}"

    def missed(self, report: Report) -> str:
        """The reason why the gate is missed, "" if it is met."""
        if report.barred:
            return f"{self.wanted}, but {report.why}"
        if self.key == throughput.KEY:
            return self._lost(report)
        wanted = self.wanted
        endpoint = report.get(*self.key)
        if endpoint is None:
            return f"{wanted}, but the runs cannot be compared: {report.why}"
        if report.campaign and not endpoint.primary and report.primary:
            return f"{wanted}, but the campaign was written for {report.primary.key.text}"
        least = endpoint.ratio_at_least
        if least is None or endpoint.p is None:
            claimed = GATED[self.key.text].claimed
            why = "it was not tested" if claimed else "it is never claimed"
            return _unknown(wanted, report, why)
        found = endpoint.changed or self.bound < 1
        if least >= self.bound and found:
            return ""
        ratio = "" if endpoint.ratio is None else f", measured {endpoint.ratio:.4g}"
        but = "" if found else f", but the test finds no change (p = {endpoint.p:.2g})"
        return f"{wanted}{ratio}, at least {least:.4g} (95 %){but}"

    def _lost(self, report: Report) -> str:
        wanted = self.wanted
        loss = report.throughput
        if report.emulated or loss is None:
            why = "time means nothing under emulation" if report.emulated else report.why
            return f"{wanted}, but {why}"
        if not loss.tested:
            return _unknown(wanted, report, "it was not tested")
        return "" if loss.at_most <= self.bound else f"{wanted}, but {loss}"


@dataclass(frozen=True)
class Asked:
    """A gate of an arm, as it was given; whether it is met, and why not."""

    arm: str
    gate: str
    met: bool
    why: str


def parse(text: str) -> Gate:
    """Raises Refused if the text is malformed or names no endpoint."""
    match = _GRAMMAR.fullmatch(text)
    if not match:
        why = f"--require {text!r}: not of the form ENDPOINT>=N or throughput_loss<=N%"
        raise Refused(why, hint="such as 'interrupts_per_s>=40'")
    if match[4]:
        return Gate(match[1] or "", throughput.KEY, float(match[4]) / 100)
    if match[2] not in GATED:
        raise Refused(f"--require: no endpoint {match[2]!r}", hint=f"one of {', '.join(GATED)}")
    return Gate(match[1] or "", GATED[match[2]].key(), float(match[3]))


def check_names(gates: Sequence[Gate], reports: Sequence[Report]) -> None:
    """Raises Refused if a gate names an unknown arm, or a figure that an arm's report lacks."""
    names = [report.name for report in reports]
    for gate in gates:
        if gate.arm and gate.arm not in names:
            raise Refused(f"--require: no arm {gate.arm!r}", hint=f"one of {', '.join(names)}")
    for report in reports:
        missing = [gate.key for gate in _for(gates, report) if report.get(*gate.key) is None]
        if missing and report.verdict != REFUSED:
            if throughput.KEY in missing:
                why = f"--require: the throughput of {report.name!r} is not known"
                raise Refused(why, hint="'lowlat-gen measure --throughput' measures it")
            known = (name for name, one in GATED.items() if report.get(*one.key()))
            why = f"--require: {missing[0].text} is not in the report of {report.name!r}"
            raise Refused(why, hint=f"one of {', '.join(known)}")


def asked(gates: Sequence[Gate], reports: Sequence[Report]) -> tuple[Asked, ...]:
    """Each gate of each arm that it is for."""
    return tuple(
        Asked(report.name, gate.wanted, not why, why)
        for report in reports
        for gate in _for(gates, report)
        for why in [gate.missed(report)]
    )


def told(all_: Sequence[Asked]) -> Iterator[str]:
    """How many gates were asked, where some were."""
    if all_:
        met = sum(one.met for one in all_)
        yield f"{len(all_)} gate{'s' if len(all_) > 1 else ''} asked, {met} met"


def check(all_: Sequence[Asked], *, several: bool) -> None:
    """Raises Unmet, naming every gate that was missed; of ``several`` arms, with its arm."""
    missed = [f"{one.arm}: {one.why}" if several else one.why for one in all_ if not one.met]
    if missed:
        of = f" ({len(missed)} of {len(all_)} gates)" if len(all_) > 1 else ""
        raise Unmet(f"--require not met{of}: {'; '.join(missed)}")


def _for(gates: Sequence[Gate], report: Report) -> list[Gate]:
    return [gate for gate in gates if gate.arm in ("", report.name)]


def _unknown(wanted: str, report: Report, otherwise: str) -> str:
    why = report.why if report.verdict == DESCRIPTIVE else otherwise
    return f"{wanted}, but there is no bound of it: {why}"
