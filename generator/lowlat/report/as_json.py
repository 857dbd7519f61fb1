# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for programs: ``lowlat.report/1``, and of several arms ``lowlat.comparison/1``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from lowlat.report import comparison
from lowlat.report.build import SCHEMA, Report
from lowlat.report.comparison import Comparison


def render(report: Report) -> str:
    """Indented JSON, the schema key first."""
    return _dumped(_report(report))


def render_all(found: Comparison) -> str:
    """One report as it is; of several arms each with its name."""
    if len(found.arms) == 1:
        return render(found.arms[0].report)
    arms = [{"name": arm.name, "report": _report(arm.report)} for arm in found.arms]
    return _dumped({"schema": comparison.SCHEMA, "first": found.first, "arms": arms})


def _report(report: Report) -> dict[str, object]:
    before, after = report.boots
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "why": report.why,
        "boots": {"before": before, "after": after},
        "emulated": report.emulated,
        "endpoints": [asdict(endpoint) for endpoint in report.endpoints],
        "not_in_effect": [asdict(missing) for missing in report.not_in_effect],
        "flags": list(report.flags),
    }


def _dumped(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
