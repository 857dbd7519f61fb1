# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a fleet: the claim, all hosts on one scale, and a row for each host."""

from lowlat.fleet.claim import FleetReport
from lowlat.present import html, method, wording
from lowlat.present.opening import VERDICTS, Opening, facts
from lowlat.present.plot import forest_plot
from lowlat.present.tables import Table

#: The most hosts in the drawing, those with the least gain; the table has all.
_MOST_HOSTS = 60


def render(report: FleetReport, hosts: Table, notes: Table) -> str:
    """The page, with the table of hosts and the notes on single hosts."""
    claim = report.claim
    headline, basis = wording.finding(claim) if claim.primary else ("No claim over hosts.", "")
    runs = [run for host in report.hosts for arm in host.arms for run in arm.runs]
    _, *known = facts(runs)
    least = sorted(report.hosts, key=lambda host: host.gain)
    told = {
        **{"prefix": "", "spoken": "", "hosts": hosts, "notes": notes},
        "opening": Opening(
            verdict=claim.verdict,
            badge=VERDICTS[claim.verdict],
            headline=headline,
            basis=basis or claim.why,
            numbers=(),
            figures=forest_plot.of_hosts((h.name, h.report) for h in least[:_MOST_HOSTS]),
            facts=(f"{len(report.hosts)} hosts", *filter(None, known)),
        ),
        "left": max(len(least) - _MOST_HOSTS, 0),
        "runs": method.runs([arm for host in report.hosts for arm in host.arms]),
    }
    return html.filled("fleet.html.j2", [told], "Fleet")
