# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet report``: the claim over many hosts, and each host beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from lowlat.base import files
from lowlat.base.terminal import section
from lowlat.fleet.claim import FleetReport, Host, fleet_report
from lowlat.measure.run_file import read_run
from lowlat.report import as_json, as_text, wording
from lowlat.report.build import Report
from lowlat.report.tables import Table
from lowlat.report.verdict import REFUSED
from lowlat.verbs import options

SCHEMA = "lowlat.fleet-report/1"

_HEADER = ("host", "boots", "before", "after", "before/after", "from", "to", "verdict")


def main(before: Sequence[Path], after: Sequence[Path], json: bool, csv: Optional[str]) -> int:
    found = fleet_report([*map(read_run, before)], [*map(read_run, after)])
    if csv:
        from lowlat.view.plot.figure import csv_text

        text = csv_text((*_HEADER, "claimed", "stands_out"), [_row(found, h) for h in found.hosts])
        files.write("--csv", csv, text.encode())
    options.show(json, lambda: document(found), describe(found))
    return 1 if any(host.report.verdict == REFUSED for host in found.hosts) else 0


def document(found: FleetReport) -> dict[str, Any]:
    """``lowlat.fleet-report/1``: every report in it is a lowlat.report/1, of all CPUs together."""
    return {
        "schema": SCHEMA,
        "claim": as_json.document(found.claim),
        "hosts": [
            {
                "name": host.name,
                "claimed": host.claimed,
                "stands_out": found.stands_out(host),
                "report": as_json.document(_brief(host)),
            }
            for host in found.hosts
        ],
        "missing": list(found.missing),
    }


def _brief(host: Host) -> Report:
    whole = [endpoint for endpoint in host.report.endpoints if endpoint.cpu == "all"]
    return replace(host.report, endpoints=tuple(whole))


def describe(found: FleetReport) -> Iterator[str]:
    """The finding, a row for each host, and what to know of single ones."""
    yield wording.headline(found.claim) if found.claim.primary else f"No claim: {found.claim.why}."
    rows = [_row(found, host)[: len(_HEADER)] for host in found.hosts]
    texts = [tuple(_text(cell) for cell in row) for row in rows]
    yield ""
    yield from as_text.aligned(Table(_HEADER, tuple(texts)))
    if found.claim.primary and found.ratios:
        ends = (found.ratios[0], found.ratios[-1])
        told = [f"{wording.significant(ratio, 3)} ({name})" for ratio, name in ends]
        yield f"Spread of the hosts' own before/after: {' to '.join(told)}"
    out = [host.name for host in found.hosts if found.stands_out(host)]
    yield from section(
        "Stands out: its interval leaves out the figure of the host in the middle",
        options.bullets(out),
    )
    left = (f"{host.name}: {host.report.why}" for host in found.hosts if not host.claimed)
    yield from section("Not in the claim", options.bullets(left))
    yield from section("Runs of one side only", options.bullets(found.missing))


def _row(found: FleetReport, host: Host) -> tuple[Any, ...]:
    own = host.report.primary
    boots = "{} + {}".format(*host.report.boots)
    figures: tuple[Any, ...] = ("", "", "", "", "")
    if own:
        low, high = own.ci95 or (own.ratio_at_least, None)
        figures = (own.before, own.after, own.ratio, low, high)
    return (host.name, boots, *figures, host.report.verdict, host.claimed, found.stands_out(host))


def _text(cell: Any) -> str:
    return wording.number(cell) if isinstance(cell, float) else str("-" if cell is None else cell)
