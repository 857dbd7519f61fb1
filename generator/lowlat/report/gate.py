# SPDX-License-Identifier: GPL-2.0-or-later
"""``--require '[ARM:]ENDPOINT>=N'``: a reduction that a pipeline insists on.

What has to reach N is the bound: the low end of the interval of the ratio. Of a figure without one
nothing is known well enough, and its gate is missed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lowlat.base.errors import Refused, Unmet
from lowlat.report.build import Report
from lowlat.report.comparison import NAME, Comparison
from lowlat.report.endpoint import CLAIMED
from lowlat.report.figures import ENDPOINTS, OBSERVATIONS, OSLAT_MAX
from lowlat.report.verdict import DESCRIPTIVE, REFUSED

_GRAMMAR = re.compile(
    rf"\s*(?:({NAME}):)?([A-Za-z0-9_.@-]+)\s*>=\s*(\d{{1,15}}(?:\.\d{{1,15}})?)\s*", re.ASCII
)

NAMES = tuple(measure.name for measure in (*ENDPOINTS, *OBSERVATIONS, OSLAT_MAX))


@dataclass(frozen=True)
class Gate:
    """At least this ratio before/after over all measured CPUs; for every arm if ``arm`` is ""."""

    arm: str
    name: str
    least: float


def parse(text: str) -> Gate:
    """Raises Refused where the text is malformed or names no endpoint."""
    found = _GRAMMAR.fullmatch(text)
    if not found:
        raise Refused(
            f"--require {text!r}: not of the form ENDPOINT>=N",
            hint="such as 'interrupts_per_s>=40'",
        )
    if found[2] not in NAMES:
        raise Refused(f"--require: no endpoint {found[2]!r}", hint=f"one of {', '.join(NAMES)}")
    return Gate(found[1] or "", found[2], float(found[3]))


def check_names(gates: Sequence[Gate], found: Comparison) -> None:
    """Raises Refused where a gate names no arm, or a figure that an arm's report does not have."""
    names = [report.name for report in found.reports]
    for gate in gates:
        if gate.arm and gate.arm not in names:
            raise Refused(f"--require: no arm {gate.arm!r}", hint=f"one of {', '.join(names)}")
    for report in found.reports:
        missing = [gate.name for gate in _for(gates, report) if report.get(gate.name) is None]
        if missing and report.verdict != REFUSED:
            known = dict.fromkeys(e.name for e in report.endpoints if e.cpu == "all")
            raise Refused(
                f"--require: {missing[0]} is not in the report of {report.name!r}",
                hint=f"one of {', '.join(name for name in NAMES if name in known)}",
            )


def check(gates: Sequence[Gate], found: Comparison) -> None:
    """Raises Unmet naming every gate that was missed."""
    missed: list[str] = []
    for report in found.reports:
        who = f"{report.name}: " if found.several else ""
        words = (_missed(gate, report) for gate in _for(gates, report))
        missed += [f"{who}{why}" for why in words if why]
    if missed:
        raise Unmet(f"--require not met: {'; '.join(missed)}")


def _for(gates: Sequence[Gate], report: Report) -> list[Gate]:
    return [gate for gate in gates if gate.arm in ("", report.name)]


def _missed(gate: Gate, report: Report) -> str:
    """Why the gate is missed, "" where it is met."""
    wanted = f"{gate.name}>={gate.least:g}"
    endpoint = report.get(gate.name)
    if endpoint is None:
        return f"{wanted}, but the runs cannot be compared: {report.why}"
    bound = endpoint.ratio_at_least
    if bound is None:
        claimed = "it is never claimed" if endpoint.name not in CLAIMED else "it was not tested"
        why = report.why if report.verdict == DESCRIPTIVE else claimed
        return f"{wanted}, but there is no bound of it: {why}"
    if bound >= gate.least:
        return ""
    ratio = "" if endpoint.ratio is None else f", measured {endpoint.ratio:.4g}"
    return f"{wanted}{ratio}, at least {bound:.4g} (95 %)"
