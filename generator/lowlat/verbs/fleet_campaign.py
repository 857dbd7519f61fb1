# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet campaign``: a campaign over hosts, written down before the first boot of any."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.base.terminal import filled
from lowlat.fleet.host_campaign import campaign
from lowlat.model.campaign import Campaign
from lowlat.plan import profile
from lowlat.tune.schedule import order
from lowlat.tune.state import STOCK, TUNED
from lowlat.verbs import options


def main(
    given: Sequence[Path], out: str, rounds: int, seed: int, named: options.PlanChoice, json: bool
) -> int:
    """Raises Refused if the file is there already: who draws again, chooses."""
    if Path(out).exists():
        raise Refused(f"--out {out}: is there already", hint="follow it, or name another file")
    judged_by = profile.load(named.profile or profile.DEFAULT).judged_by
    made = campaign(given, (STOCK, TUNED), order(rounds, seed), judged_by)
    files.write("--out", out, made.text().encode())
    options.show(json, made.to_json, _told(made, seed, out))
    return 0


def _told(made: Campaign, seed: int, out: str) -> Iterator[str]:
    hosts, boots = len(made.hosts), len(made.order)
    yield f"{out}: {made.pairs} rounds, {boots} boots of each of {hosts} hosts, of seed {seed}"
    yield from filled(f"order: {' '.join(made.order)}")
    yield from filled(
        "on every host, in each boot: 'lowlat-gen measure --campaign FILE' with a copy of it; then "
        "'lowlat-gen fleet report'"
    )
