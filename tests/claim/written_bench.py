# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of a campaign that was written down before them, and reports on them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Callable

import pytest

from lowlat.model.campaign import AT_END, Campaign
from lowlat.model.order import draw_blocks
from support.runs import ReportBench, document

LINES = {"stock": "quiet", "tuned": "quiet isolcpus=2-3"}

Runs = list[dict[str, Any]]


class WrittenBench(ReportBench):
    """A campaign of pairs in random order, and its runs."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, capsys)
        self.stop, self.kexec = AT_END, False

    def campaign(self, pairs: int, seed: int = 1) -> Campaign:
        drawn = draw_blocks(("stock", "tuned"), pairs, random.Random(seed))
        order = tuple(arm for pair in drawn for arm in pair)
        hosts = {"node": LINES}
        when = "2026-11-20T00:00:00Z"
        made = Campaign(when, "noise_ppm", order, pairs, hosts, self.stop, self.kexec)
        self.write("campaign.json", made.text())
        return made

    def boots(self, campaign: Campaign, factors: list[float], seed: int = 2) -> Runs:
        """The runs of the campaign's pairs so far: stock boots have these times the noise of tuned
        ones."""
        draw, runs = random.Random(seed), []
        for number, arm in enumerate(campaign.order[: 2 * len(factors)], 1):
            noise = 100 * draw.uniform(0.99, 1.01)
            noise *= factors[(number - 1) // 2] if arm == "stock" else 1.0
            run = document(arm, 10 * noise, noise, boot_id=f"b{number}", cmdline=LINES[arm])
            place = {"digest": campaign.digest, "number": number}
            day, hour = divmod(number, 24)
            run["started"] = f"2026-11-{21 + day}T{hour:02d}:00:00Z"
            runs.append({**run, "campaign": place, "host": {"name": "node"}})
        return runs

    def told(
        self, runs: Runs, *words: str, name: Callable[[Any], str] = lambda run: run["label"]
    ) -> Any:
        """The report on the runs, which count in the arms of these names."""
        sides = [[run for run in runs if name(run) == arm] for arm in ("stock", "tuned")]
        return self.json(sides[0], sides[1], *words)
