# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet report``: the claim over many hosts, and each host's report beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional, Union

from lowlat.base import files
from lowlat.base.terminal import section
from lowlat.claim.verdict import REFUSED, in_words
from lowlat.figures.endpoint import SUBJECTS
from lowlat.figures.measure import size
from lowlat.fleet.claim import FleetReport, Host, fleet_report
from lowlat.fleet.notes import notes
from lowlat.measure.run_file import read_runs
from lowlat.model.run import Run
from lowlat.present import as_json, as_text, wording
from lowlat.present.plot.figure import csv_text
from lowlat.present.tables import Table
from lowlat.verbs import options, report_output

SCHEMA = "lowlat.fleet-report/1"

_HEADER = ("host", "boots", "before", "after", "before/after", "from", "to", "verdict")


def main(
    before: Sequence[Path],
    after: Sequence[Path],
    json: bool,
    csv: Optional[str],
    html: Optional[str],
) -> int:
    report_output.check_files({"--html": html, "--csv": csv}, (*before, *after))
    report = fleet_report(_runs(before), _runs(after))
    if csv:
        text = csv_text(
            (*_HEADER, "claimed", "stands_out"), [_row(report, host) for host in report.hosts]
        )
        files.write("--csv", csv, text.encode())
    if html:
        # Imported late: only a page needs templates and drawings.
        from lowlat.fleet.page import render

        page = render(report, _table(report), Table(("host", "note"), _notes(report)))
        files.write("--html", html, page.encode())
    options.show(json, lambda: document(report), describe(report))
    return 1 if any(host.report.verdict == REFUSED for host in report.hosts) else 0


def _runs(paths: Sequence[Path]) -> list[Run]:
    """The runs in files and folders, in order."""
    return [run for path in paths for run in read_runs(path)]


def document(report: FleetReport) -> dict[str, object]:
    """``lowlat.fleet-report/1``; each report in it is a lowlat.report/1."""
    hosts = [
        {
            "name": host.name,
            "claimed": host.claimed,
            "stands_out": report.stands_out(host),
            "report": as_json.document(host.report),
        }
        for host in report.hosts
    ]
    claim, missing = as_json.document(report.claim), list(report.missing)
    return {"schema": SCHEMA, "claim": claim, "hosts": hosts, "missing": missing}


def describe(report: FleetReport) -> Iterator[str]:
    """The finding, a row for each host, and notes on single hosts."""
    yield (
        wording.headline(report.claim) if report.claim.primary else f"No claim: {report.claim.why}."
    )
    yield ""
    yield from as_text.aligned(_table(report))
    known = [h for h in report.hosts if h.claimed and h.report.primary and h.report.primary.ratio]
    if report.claim.primary and known:
        ends = (min(known, key=lambda host: host.gain), max(known, key=lambda host: host.gain))
        told = [f"{wording.change(h.report.primary)} ({h.name})" for h in ends if h.report.primary]
        yield f"The hosts' own changes: {' to '.join(told)}"
    out = [host.name for host in report.hosts if report.stands_out(host)]
    title = "Stands out: its interval excludes the median host's figure"
    yield from section(title, options.bullets(out))
    left = (f"{host.name}: {host.report.why}" for host in report.hosts if not host.claimed)
    yield from section("Not in the claim", options.bullets(left))
    yield from section("Runs of one side only", options.bullets(report.missing))
    yield from section("Notes", options.bullets(notes(report)))


def _table(report: FleetReport) -> Table:
    header = ("host", "boots", "before", "after", "change", "95 %", "verdict")
    of = {host.report.primary.name for host in report.hosts if host.report.primary}
    about = (f"{SUBJECTS[name].name.lower()}, {SUBJECTS[name].unit}" for name in sorted(of))
    note = "; ".join((*about, wording.BETTER))
    return Table(header, tuple(map(_shown, report.hosts)), note=note)


def _shown(host: Host) -> tuple[str, ...]:
    own, boots = host.report.primary, "{} + {}".format(*host.report.boots)
    words: tuple[str, ...] = ("-",) * 4
    if own:
        values = (wording.number(value / size(own.unit)) for value in (own.before, own.after))
        words = (*values, wording.change(own), wording.interval(own))
    return (host.name, boots, *words, in_words(host.report.verdict))


def _notes(report: FleetReport) -> tuple[tuple[str, str], ...]:
    """Notes on single hosts."""
    out = ((host.name, "stands out") for host in report.hosts if report.stands_out(host))
    left = ((host.name, host.report.why) for host in report.hosts if not host.claimed)
    one_side = ((name, "has runs of one side only") for name in report.missing)
    return (*out, *left, *one_side, *(("", told) for told in notes(report)))


def _row(report: FleetReport, host: Host) -> tuple[Union[str, float, None], ...]:
    own, boots = host.report.primary, "{} + {}".format(*host.report.boots)
    low, high = (own and own.ci95) or (own and own.ratio_at_least, None)
    figures = (own.before, own.after, own.ratio) if own else (None, None, None)
    row = (host.name, boots, *figures, low, high, host.report.verdict)
    return (*row, host.claimed, report.stands_out(host))
