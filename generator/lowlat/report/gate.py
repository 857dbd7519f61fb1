# SPDX-License-Identifier: GPL-2.0-or-later
"""``--require '[ARM:]ENDPOINT>=N'``: a reduction that a pipeline requires; and ``--require
'[ARM:]throughput_loss<=N%'``: the loss that it accepts.

The gate compares the bound: the end of the interval on the unfavourable side. A figure without an
interval misses its gate.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lowlat.base.errors import Refused, Unmet
from lowlat.report import throughput
from lowlat.report.build import Report
from lowlat.report.comparison import NAME, Comparison
from lowlat.report.endpoint import GATED
from lowlat.report.measure import Key
from lowlat.report.verdict import DESCRIPTIVE, REFUSED

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

    def missed(self, report: Report) -> str:
        """The reason why the gate is missed, "" if it is met."""
        if self.key == throughput.KEY:
            return self._lost(report)
        wanted = f"{self.key.text}>={self.bound:g}"
        endpoint = report.get(*self.key)
        if endpoint is None:
            return f"{wanted}, but the runs cannot be compared: {report.why}"
        least = endpoint.ratio_at_least
        if least is None:
            claimed = GATED[self.key.text].claimed
            why = "it was not tested" if claimed else "it is never claimed"
            return _unknown(wanted, report, why)
        if least >= self.bound:
            return ""
        ratio = "" if endpoint.ratio is None else f", measured {endpoint.ratio:.4g}"
        return f"{wanted}{ratio}, at least {least:.4g} (95 %)"

    def _lost(self, report: Report) -> str:
        wanted = f"throughput_loss<={100 * self.bound:g}%"
        loss = report.throughput
        if report.emulated or loss is None:
            why = "time means nothing under emulation" if report.emulated else report.why
            return f"{wanted}, but {why}"
        if not loss.tested:
            return _unknown(wanted, report, "it was not tested")
        return "" if loss.at_most <= self.bound else f"{wanted}, but {loss}"


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


def check_names(gates: Sequence[Gate], comparison: Comparison) -> None:
    """Raises Refused if a gate names an unknown arm, or a figure that an arm's report lacks."""
    names = [report.name for report in comparison.reports]
    for gate in gates:
        if gate.arm and gate.arm not in names:
            raise Refused(f"--require: no arm {gate.arm!r}", hint=f"one of {', '.join(names)}")
    for report in comparison.reports:
        missing = [gate.key for gate in _for(gates, report) if report.get(*gate.key) is None]
        if missing and report.verdict != REFUSED:
            if throughput.KEY in missing:
                why = f"--require: the throughput of {report.name!r} is not known"
                raise Refused(why, hint="'lowlat-gen measure --throughput' measures it")
            known = (name for name, one in GATED.items() if report.get(*one.key()))
            why = f"--require: {missing[0].text} is not in the report of {report.name!r}"
            raise Refused(why, hint=f"one of {', '.join(known)}")


def check(gates: Sequence[Gate], comparison: Comparison) -> None:
    """Raises Unmet, naming every gate that was missed."""
    missed: list[str] = []
    for report in comparison.reports:
        who = f"{report.name}: " if comparison.several else ""
        words = (gate.missed(report) for gate in _for(gates, report))
        missed += [f"{who}{why}" for why in words if why]
    if missed:
        raise Unmet(f"--require not met: {'; '.join(missed)}")


def _for(gates: Sequence[Gate], report: Report) -> list[Gate]:
    return [gate for gate in gates if gate.arm in ("", report.name)]


def _unknown(wanted: str, report: Report, otherwise: str) -> str:
    why = report.why if report.verdict == DESCRIPTIVE else otherwise
    return f"{wanted}, but there is no bound of it: {why}"
