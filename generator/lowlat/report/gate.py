# SPDX-License-Identifier: GPL-2.0-or-later
"""``--require 'ENDPOINT>=N'``: a reduction that a pipeline insists on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lowlat.errors import Refused, Unmet
from lowlat.report.build import Report
from lowlat.report.figures import ENDPOINTS, OBSERVATIONS, OSLAT_MAX

_GRAMMAR = re.compile(r"\s*([A-Za-z0-9_.@-]+)\s*>=\s*(\d{1,15}(?:\.\d{1,15})?)\s*", re.ASCII)

NAMES = tuple(measure.name for measure in (*ENDPOINTS, *OBSERVATIONS, OSLAT_MAX))


@dataclass(frozen=True)
class Gate:
    """At least this ratio before/after, over all measured CPUs."""

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
    if found[1] not in NAMES:
        raise Refused(f"--require: no endpoint {found[1]!r}", hint=f"one of {', '.join(NAMES)}")
    return Gate(found[1], float(found[2]))


def check(gates: Sequence[Gate], report: Report) -> None:
    """Raises Unmet naming every gate that was missed; a zero after counts with its bound."""
    missed = [words for gate in gates if (words := _missed(gate, report))]
    if missed:
        raise Unmet(f"--require not met: {'; '.join(missed)}")


def _missed(gate: Gate, report: Report) -> str:
    wanted = f"{gate.name}>={gate.least:g}"
    endpoint = report.get(gate.name)
    if endpoint is None:
        return f"{wanted}, but it is not in this report"
    ratio = endpoint.ratio if endpoint.ratio is not None else endpoint.ratio_at_least
    if ratio is None:
        return f"{wanted}, but there is no ratio of {endpoint.before:g} to {endpoint.after:g}"
    return "" if ratio >= gate.least else f"{wanted}, measured {ratio:.4g}"
