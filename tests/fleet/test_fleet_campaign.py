# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet campaign``: what is written down, and what ``fleet report`` then says of the runs."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from support import needs
from support.cli import Answer, lowlat
from support.runs import document

needs.module("scipy", "the extra `report` is not installed")

HOSTS = ("a", "b.example")
LINES = {"before": "quiet root=/dev/{}", "after": "quiet root=/dev/{} nohz_full=2-3 lowlat.plan=0"}


class WrittenFleet:
    """The lines of two hosts, as `apply --dry-run --json` prints them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [self.lines(name) for name in HOSTS]
        self.out = folder / "campaign.json"

    def lines(self, name: str, **changes: object) -> Path:
        told = {key: line.format(name) for key, line in LINES.items()}
        path = self.folder / f"{name}.lines"
        known = {"schema": "lowlat.change/1", "changed": True, "said": [], "host": name}
        path.write_text(json.dumps({**known, **told, **changes}))
        return path

    def call(self, *words: object) -> Answer:
        return lowlat("fleet", "campaign", *self.files, "--out", self.out, *words)

    def boots(self, campaign: Any) -> list[Path]:
        """The runs of the campaign: what tuned boots measure is half."""
        draw, found = random.Random(1), []
        for host, lines in campaign["hosts"].items():
            for number, arm in enumerate(campaign["order"], 1):
                noise = (200 if arm == "stock" else 100) * draw.uniform(0.99, 1.01)
                run = document(arm, 10 * noise, noise, boot_id=f"{host}{number}")
                run["cmdline"], run["host"] = lines[arm], {"name": host}
                run["started"] = f"2100-01-{1 + number // 24:02d}T{number % 24:02d}:00:00Z"
                run["campaign"] = {"digest": self.digest, "number": number}
                found.append(self.folder / f"{host}-{number:02d}-{arm}.json")
                found[-1].write_text(json.dumps(run))
        return found

    def report(self, runs: list[Path]) -> Any:
        sides = [[path for path in runs if arm in path.name] for arm in ("stock", "tuned")]
        return lowlat("fleet", "report", *sides[0], "--against", *sides[1], "--json").json()

    @property
    def digest(self) -> str:
        """As packaging/doc/schemas.md has it."""
        text = json.dumps(json.loads(self.out.read_text()), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def fleet(tmp_path: Path) -> WrittenFleet:
    return WrittenFleet(tmp_path)


def test_a_campaign_over_hosts_is_drawn_in_rounds_once(fleet: WrittenFleet) -> None:
    answer = fleet.call("--seed", 7)
    assert answer.status == 0 and "8 rounds, 16 boots of each of 2 hosts, of seed 7" in answer.out
    first = json.loads(fleet.out.read_text())
    rounds = [tuple(first["order"][n : n + 2]) for n in range(0, 16, 2)]
    assert set(rounds) == {("stock", "tuned"), ("tuned", "stock")}
    assert (first["pairs"], first["endpoint"], first["stop"]) == (8, "noise_ppm", "at-end")
    lines = {"stock": LINES["before"].format("a"), "tuned": LINES["after"].format("a")}
    assert list(first["hosts"]) == [*HOSTS] and first["hosts"]["a"] == lines
    assert "is there already" in fleet.call("--seed", 7).refused()
    fleet.out.unlink()
    told = fleet.call("--seed", 7, "--json").json()
    assert told == json.loads(fleet.out.read_text()) and told["order"] == first["order"]
    fleet.out.unlink()
    assert len(fleet.call("--seed", 8, "--rounds", 6, "--json").json()["order"]) == 12


def test_the_report_over_hosts_tells_what_the_campaign_lacks(fleet: WrittenFleet) -> None:
    assert fleet.call("--seed", 7).status == 0
    runs = fleet.boots(json.loads(fleet.out.read_text()))
    told = fleet.report(runs)
    found = told["claim"]["campaign"]
    assert (found["digest"], found["departures"]) == (fleet.digest, [])
    assert told["claim"]["verdict"] == "reduced" and "8 rounds on 2 hosts" in told["claim"]["why"]
    lost = json.loads(runs[3].read_text())["label"]
    runs.pop(3).unlink()
    (departure,) = fleet.report(runs)["claim"]["campaign"]["departures"]
    assert departure.startswith(f"1 of 16 {lost} boots and 0 of 16 ")
    assert departure.endswith(" boots have no run: boot 4")


def test_what_tells_no_lines_is_refused(fleet: WrittenFleet) -> None:
    tuned, stock = LINES["after"].format("c"), LINES["before"].format("c")
    for changes, words in (
        ({"host": "a"}, "host a was given already"),
        ({"host": ""}, "the host has no name"),
        ({"before": tuned}, "not the lines of a stock boot and a tuned one"),
        ({"after": stock}, "not the lines of a stock boot and a tuned one"),
        ({"host": 7}, "host: a text is expected"),
        ({"schema": "lowlat.status/1"}, "not a lowlat.change/1 document"),
    ):
        fleet.files = [*fleet.files[:2], fleet.lines("c", **changes)]
        assert words in fleet.call().refused()
    assert not fleet.out.exists()
