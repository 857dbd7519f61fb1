# SPDX-License-Identifier: GPL-2.0-or-later
"""The campaign of some runs, as it was written down before the first of them, found beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Optional

from lowlat.base import bounds, reader
from lowlat.base.errors import Refused
from lowlat.measure.run_file import campaign_file, read_campaign, read_run
from lowlat.model.campaign import Campaign
from lowlat.model.run import Run


@dataclass(frozen=True)
class WrittenDown:
    """The campaign, None if there is none, and its runs that were not given. ``gone`` is the digest
    of a campaign that the runs name and that is not there."""

    campaign: Optional[Campaign] = None
    left: tuple[Run, ...] = ()
    gone: str = ""

    @classmethod
    def of(cls, runs: Sequence[Run], named: Optional[Path] = None) -> WrittenDown:
        """The campaign in the ``named`` file, else the first that a run names and that lies beside
        it. Raises Refused if the named file is no campaign."""
        places = {run.campaign.digest: run.path for run in reversed(runs) if run.campaign}
        beside = starmap(campaign_file, ((path, digest) for digest, path in places.items()))
        path = named or next(filter(None, beside), None)
        if path is None:
            return cls(gone=next(iter(places), ""))
        campaign = read_campaign(path)
        return cls(campaign, tuple(_left_out(campaign, runs)))


def _left_out(campaign: Campaign, runs: Sequence[Run]) -> Iterator[Run]:
    """The runs of the campaign beside the given ones that were not given."""
    given = {run.path.resolve() for run in runs}
    mark = campaign.digest.encode()
    for folder in sorted({path.parent for path in given}):
        for path in sorted(set(folder.glob("*.json")) - given):
            with suppress(Refused, OSError):
                if mark in reader.read(path, bounds.DOCUMENT, inside=folder):
                    yield read_run(path, inside=folder)
