# SPDX-License-Identifier: GPL-2.0-or-later
"""``--require '[ARM:]ENDPOINT>=N'``: a reduction that a pipeline insists on.

Where there is an interval of the ratio its lower end has to reach N, and where nothing was counted
after, the one-sided bound. Only without either (too few boots, or a figure that is never claimed)
the ratio itself is taken, which the report says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.errors import Refused, Unmet
from lowlat.report.build import Endpoint, Report
from lowlat.report.comparison import NAME, Comparison, Named
from lowlat.report.figures import ENDPOINTS, OBSERVATIONS, OSLAT_MAX

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
            hint="such as 'kernel_entries_per_s>=40'",
        )
    if found[2] not in NAMES:
        raise Refused(f"--require: no endpoint {found[2]!r}", hint=f"one of {', '.join(NAMES)}")
    return Gate(found[1] or "", found[2], float(found[3]))


def noted(gates: Sequence[Gate], found: Comparison) -> Comparison:
    """The comparison with a flag for each gate that no interval stands behind.

    Raises Refused where a gate names no arm.
    """
    names = [arm.name for arm in found.arms]
    for gate in gates:
        if gate.arm and gate.arm not in names:
            raise Refused(f"--require: no arm {gate.arm!r}", hint=f"one of {', '.join(names)}")
    return replace(found, arms=tuple(_noted(gates, arm) for arm in found.arms))


def _noted(gates: Sequence[Gate], arm: Named) -> Named:
    flags = dict.fromkeys(
        f"--require takes the ratio of {endpoint.name} as it is: there is no interval of it"
        for gate, endpoint in _of(gates, arm)
        if endpoint.ratio is not None and _bound(endpoint) is None
    )
    report = replace(arm.report, flags=(*arm.report.flags, *flags))
    return replace(arm, report=report)


def check(gates: Sequence[Gate], found: Comparison) -> None:
    """Raises Unmet naming every gate that was missed."""
    missed: list[str] = []
    for arm in found.arms:
        who = f"{arm.name}: " if len(found.arms) > 1 else ""
        for gate in gates:
            words = _missed(gate, arm.report) if gate.arm in ("", arm.name) else ""
            missed += [f"{who}{words}"] if words else []
    if missed:
        raise Unmet(f"--require not met: {'; '.join(missed)}")


def _of(gates: Sequence[Gate], arm: Named) -> Iterator[tuple[Gate, Endpoint]]:
    for gate in gates:
        endpoint = arm.report.get(gate.name)
        if gate.arm in ("", arm.name) and endpoint is not None:
            yield gate, endpoint


def _bound(endpoint: Endpoint) -> Optional[float]:
    return endpoint.ci95[0] if endpoint.ci95 else endpoint.ratio_at_least


def _missed(gate: Gate, report: Report) -> str:
    wanted = f"{gate.name}>={gate.least:g}"
    endpoint = report.get(gate.name)
    if endpoint is None:
        return f"{wanted}, but it is not in this report"
    bound = _bound(endpoint)
    least = endpoint.ratio if bound is None else bound
    if least is None:
        return f"{wanted}, but there is no ratio of {endpoint.before:g} to {endpoint.after:g}"
    if least >= gate.least:
        return ""
    if endpoint.ci95 is None or endpoint.ratio is None:
        return f"{wanted}, measured {least:.4g}"
    low, high = endpoint.ci95
    return f"{wanted}, measured {endpoint.ratio:.4g}, between {low:.4g} and {high:.4g} (95 %)"
