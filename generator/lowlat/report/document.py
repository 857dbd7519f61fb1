# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for programs: ``lowlat.report/1``."""

from __future__ import annotations

import json
from dataclasses import asdict

from lowlat.report.build import SCHEMA, Report


def render(report: Report) -> str:
    """Indented JSON, the schema key first."""
    before, after = report.boots
    document = {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "why": report.why,
        "boots": {"before": before, "after": after},
        "emulated": report.emulated,
        "endpoints": [asdict(endpoint) for endpoint in report.endpoints],
        "not_in_effect": [asdict(missing) for missing in report.not_in_effect],
        "flags": list(report.flags),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
