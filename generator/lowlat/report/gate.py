# SPDX-License-Identifier: GPL-2.0-or-later
"""``--require '[ARM:]ENDPOINT>=N'``: a reduction that a pipeline insists on.

Where there is an interval of the ratio its lower end has to reach N, and where nothing was counted
after, the one-sided bound. The bound takes it that boots do not differ in what was counted, and the
ratio itself is taken only of fewer boots than a test needs and of a figure that is never claimed:
the report says both. Otherwise a gate without an interval is missed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused, Unmet
from lowlat.report.build import Endpoint, Report
from lowlat.report.comparison import NAME, Comparison
from lowlat.report.endpoint import CLAIMED
from lowlat.report.figures import ENDPOINTS, OBSERVATIONS, OSLAT_MAX
from lowlat.report.stats.permutation import ENOUGH_BOOTS
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


def noted(gates: Sequence[Gate], found: Comparison) -> Comparison:
    """The comparison with a flag for each gate that no interval stands behind, or only a bound.

    Raises Refused where a gate names no arm, or a figure that an arm's report does not have.
    """
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
    return replace(found, reports=tuple(_noted(gates, report) for report in found.reports))


def _noted(gates: Sequence[Gate], report: Report) -> Report:
    endpoints = (report.get(gate.name) for gate in _for(gates, report))
    words = (_condition(endpoint, report) for endpoint in endpoints if endpoint is not None)
    flags = dict.fromkeys(filter(None, words))
    return replace(report, flags=(*report.flags, *flags))


def _condition(endpoint: Endpoint, report: Report) -> str:
    """What a gate on this figure takes for granted, "" where its interval tells."""
    if endpoint.ratio is None and endpoint.ratio_at_least is not None:
        return (
            f"--require takes the bound of {endpoint.name}, of which nothing was counted after: it "
            "holds if boots do not differ in it"
        )
    if endpoint.ratio is None or _bound(endpoint) or _needs_bound(endpoint, report):
        return ""
    return f"--require takes the ratio of {endpoint.name} as it is: there is no interval of it"


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


def _bound(endpoint: Endpoint) -> Optional[float]:
    return endpoint.ci95[0] if endpoint.ci95 else endpoint.ratio_at_least


def _needs_bound(endpoint: Endpoint, report: Report) -> bool:
    return endpoint.name in CLAIMED and min(report.boots) >= ENOUGH_BOOTS


def _missed(gate: Gate, report: Report) -> str:
    wanted = f"{gate.name}>={gate.least:g}"
    endpoint = report.get(gate.name)
    if endpoint is None:
        return f"{wanted}, but the runs cannot be compared: {report.why}"
    bound = _bound(endpoint)
    if bound is None and _needs_bound(endpoint, report):
        why = report.why if report.verdict == DESCRIPTIVE else "some boot has a zero"
        return f"{wanted}, but there is no interval of it: {why}"
    least = endpoint.ratio if bound is None else bound
    if least is None:
        return f"{wanted}, but there is no ratio of {endpoint.before:g} to {endpoint.after:g}"
    if least >= gate.least:
        return ""
    if endpoint.ci95 is None or endpoint.ratio is None:
        return f"{wanted}, measured {least:.4g}"
    low, high = endpoint.ci95
    return f"{wanted}, measured {endpoint.ratio:.4g}, between {low:.4g} and {high:.4g} (95 %)"
