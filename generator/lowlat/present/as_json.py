# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for programs: ``lowlat.report/1``, ``lowlat.comparison/1`` for several arms, or
``lowlat.description/1`` for one arm by itself."""

import json
from dataclasses import asdict

from lowlat.base.typed_json import encode, encode_fields
from lowlat.claim.build import SCHEMA, Report
from lowlat.claim.comparison import SCHEMA as COMPARISON
from lowlat.claim.comparison import Comparison
from lowlat.claim.description import SCHEMA as DESCRIPTION
from lowlat.claim.description import Description
from lowlat.claim.pair import ComparedFigure
from lowlat.figures.measure import Key
from lowlat.model.tool import MoreThan


def render(comparison: Comparison) -> str:
    """Indented JSON, the schema key first: one report unchanged, or several, each with the arm's
    name; or a description."""
    return json.dumps(_whole(comparison), indent=2, allow_nan=False) + "\n"


def _whole(comparison: Comparison) -> dict[str, object]:
    limits = {"limits": encode(comparison.limits)} if comparison.limits else {}
    gates = {"gates": encode(comparison.gates)} if comparison.gates else {}
    return {**_figures(comparison), **limits, **gates}


def _figures(comparison: Comparison) -> dict[str, object]:
    if comparison.described:
        return described(comparison.described)
    if not comparison.several:
        return document(comparison.reports[0])
    arms = [{"name": report.name, "report": document(report)} for report in comparison.reports]
    return {"schema": COMPARISON, "first": comparison.first, "arms": arms}


def document(report: Report) -> dict[str, object]:
    """The document ``lowlat.report/1``."""
    before, after = report.boots
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "why": report.why,
        "boots": {"before": before, "after": after},
        "seconds": {"before": report.seconds[0], "after": report.seconds[1]},
        "emulated": report.emulated,
        "endpoints": list(map(_figure, report.endpoints)),
        "not_in_effect": [asdict(missing) for missing in report.not_in_effect],
        "flags": list(report.flags),
        "labels": {"before": report.first, "after": report.name},
        "longest_gaps": encode(report.longest_gaps),
        "sets": encode(report.sets),
        "kernels": {"before": report.kernels[0], "after": report.kernels[1]},
        "throughput": encode(report.throughput),
        "pairs": report.pairs,
        "order": report.order,
        "unpaired": {"before": list(report.unpaired[0]), "after": list(report.unpaired[1])},
        "more_pairs": report.more_pairs,
        "campaign": encode(report.campaign),
        "e_value": report.e_value,
        "lost_pairs": report.lost_pairs,
        "caveats": encode(report.caveats),
    }


def _figure(one: ComparedFigure) -> dict[str, object]:
    fields = asdict(one)
    key: Key = fields.pop("key")
    fields["pooling"] = one.pooling.value
    fields["more_than"] = [n for n in ("before", "after") if isinstance(fields[n], MoreThan)]
    return {"name": key.text, "unit": one.unit, "cpu": key.cpu, **fields}


def described(description: Description) -> dict[str, object]:
    """The document ``lowlat.description/1``."""
    figures = [
        {
            **{"name": one.key.text, "unit": one.unit, "cpu": one.key.cpu},
            **{"value": one.value, "pooling": one.pooling.value},
            "more_than": isinstance(one.value, MoreThan),
        }
        for one in description.figures
    ]
    return {"schema": DESCRIPTION, **encode_fields(description), "figures": figures}
