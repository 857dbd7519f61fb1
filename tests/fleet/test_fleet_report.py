# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet report``: one claim over hosts, from outside."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import pytest

from lowlat.model.campaign import Campaign
from support import needs
from support.cli import Answer, lowlat
from support.runs import AFTER, BEFORE, SMALLEST, arm

needs.module("scipy", "the extra `report` is not installed")


class Fleet:
    """Writes the runs of hosts and reports on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sides: tuple[list[str], list[str]] = ([], [])

    def host(
        self,
        name: Optional[str],
        before: Sequence[float] = BEFORE,
        after: Sequence[float] = AFTER,
        *,
        step: int = 2,
        last: int = 1,
    ) -> None:
        """With ``step`` 2 and ``last`` 1 the boots are pairs, the order within each drawn."""
        facts = {} if name is None else {"host": {"name": name}}
        known = ((before, 0), (after, last))
        for side, label, (values, first) in zip(self.sides, ("stock", "tuned"), known):
            for n, run in enumerate(arm(label, values, first=first, step=step, **facts)):
                run["boot_id"] = f"{name}-{label}-{n}"
                path = self.folder / f"{name}-{label}-{n}.json"
                path.write_text(json.dumps(run))
                side.append(str(path))

    def written_down(self, name: str) -> None:
        """Write the campaign of a host's runs, in their order, and name it in each."""
        paths = [Path(one) for side in self.sides for one in side]
        known = {path: json.loads(path.read_text()) for path in paths}
        own = [path for path in paths if known[path]["host"]["name"] == name]
        own.sort(key=lambda path: str(known[path]["started"]))
        arms = [path.name.split("-")[1] for path in own]
        lines = {arm: known[path]["cmdline"] for arm, path in zip(arms, own)}
        made = Campaign(
            "2026-11-20T00:00:00Z", "noise_ppm", tuple(arms), len(own) // 2, {name: lines}
        )
        (self.folder / f"{name}-campaign.json").write_text(made.text())
        for number, path in enumerate(own, 1):
            place = {"digest": made.digest, "number": number}
            path.write_text(json.dumps({**known[path], "campaign": place}))

    def written_together(self) -> None:
        """One campaign of all hosts, whose boots are in the same order."""
        paths = [Path(one) for side in self.sides for one in side]
        known = {path: json.loads(path.read_text()) for path in paths}
        arms = {path: path.name.split("-")[1] for path in paths}
        by_host: dict[str, list[Path]] = {}
        for path in sorted(paths, key=lambda path: str(known[path]["started"])):
            by_host.setdefault(known[path]["host"]["name"], []).append(path)
        hosts = {
            name: {arms[path]: known[path]["cmdline"] for path in own}
            for name, own in by_host.items()
        }
        order = tuple(arms[path] for path in next(iter(by_host.values())))
        made = Campaign("2026-11-20T00:00:00Z", "noise_ppm", order, len(order) // 2, hosts)
        (self.folder / "campaign.json").write_text(made.text())
        for own in by_host.values():
            for number, path in enumerate(own, 1):
                place = {"digest": made.digest, "number": number}
                path.write_text(json.dumps({**known[path], "campaign": place}))

    def report(self, *words: object) -> Answer:
        return lowlat("fleet", "report", *self.sides[0], "--against", *self.sides[1], *words)

    def json(self) -> Any:
        answer = self.report("--json")
        assert answer.status == 0, answer.err
        return answer.json()


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def scaled(values: Sequence[float], factor: float) -> tuple[float, ...]:
    return tuple(value * factor for value in values)


def test_hosts_of_unlike_level_make_one_claim(fleet: Fleet) -> None:
    for name, level in (("a", 1.0), ("b", 40.0), ("c", 0.1)):
        fleet.host(name, scaled(BEFORE, level), scaled(AFTER, level))
    found = fleet.json()
    claim = found["claim"]
    assert found["schema"] == "lowlat.fleet-report/1" and claim["schema"] == "lowlat.report/1"
    (primary,) = claim["endpoints"]
    assert claim["verdict"] == "reduced" and "on 3 hosts" in claim["why"]
    assert claim["boots"] == {"before": 24, "after": 24}
    # However many hosts there are, eight rounds have no smaller p.
    assert claim["why"] == (
        "p = 0.013, 8 rounds on 3 hosts, order not known to be drawn; not pre-registered"
    )
    assert (
        primary["p"] == pytest.approx(SMALLEST)
        and primary["ci95"][0] == primary["ratio_at_least"] > 1.8
    )
    alone = [host["report"]["endpoints"] for host in found["hosts"]]
    ratios = [next(e["ratio"] for e in one if e["primary"]) for one in alone]
    assert primary["ratio"] == pytest.approx(ratios[0]) and ratios[0] == pytest.approx(ratios[2])
    assert not any(host["stands_out"] for host in found["hosts"])


def test_each_host_has_the_report_that_it_has_alone(fleet: Fleet) -> None:
    fleet.host("a")
    fleet.host("b")
    before, after = ([path for path in side if "/a-" in path] for side in fleet.sides)
    alone = lowlat("report", *before, "--against", *after, "--json").json()
    (host,) = [host for host in fleet.json()["hosts"] if host["name"] == "a"]
    assert host["report"] == alone


def test_folders_of_runs_are_taken_and_the_notes_of_runs_are_told(fleet: Fleet) -> None:
    for name in "ab":
        fleet.host(name, BEFORE[:6], scaled(AFTER[:6], 3e-4))
    for paths, side in zip(fleet.sides, ("before", "after")):
        (folder := fleet.folder / side).mkdir()
        for path in map(Path, paths):
            run = json.loads(path.read_text())
            marks = ["no machine measured this"] + ["of b alone"] * path.name.startswith("b-")
            (folder / path.name).write_text(json.dumps({**run, "problems": marks}))
    page = fleet.folder / "page.html"
    words = (fleet.folder / "before", "--against", fleet.folder / "after", "--html", page)
    answer = lowlat("fleet", "report", *words)
    assert answer.status == 0, answer.err
    told = " ".join(answer.out.partition("\nNotes\n")[2].split())
    assert "- 6 pairs make a finding only if all agree" in told
    marked = "stock a-stock-0.json, stock a-stock-1.json, stock a-stock-2.json and 21 more"
    assert f"- no machine measured this ({marked})" in told
    assert told.count("no machine measured this") == 1 and "- of b alone (stock b-stock-0" in told
    drawn = page.read_text()
    assert "6 pairs make a finding only if all agree" in drawn
    # A number on the left edge of the drawing begins there: half of it would lie outside.
    (edge,) = re.findall(r'<text x="12"[^>]* class="tick" text-anchor="(\w+)">0.0001<', drawn)
    assert edge == "start"


def test_what_hosts_differ_in_is_no_effect(fleet: Fleet) -> None:
    """Pooled, these boots would look like a change; compared within hosts, they show no change."""
    fleet.host("loud", scaled(BEFORE, 9), scaled(BEFORE[::-1], 9))
    fleet.host("quiet", BEFORE, BEFORE[::-1])
    claim = fleet.json()["claim"]
    assert claim["verdict"] == "no-measurable-change"
    low, high = claim["endpoints"][0]["ci95"]
    assert low < 1 < high


def test_a_host_that_gained_nothing_stands_out(fleet: Fleet) -> None:
    for name in "abcd":
        fleet.host(name)
    fleet.host("odd", BEFORE, BEFORE[::-1])
    found = fleet.json()
    assert found["claim"]["verdict"] == "reduced"
    assert [host["name"] for host in found["hosts"] if host["stands_out"]] == ["odd"]
    told = fleet.report().out
    assert told.partition("Stands out")[2].partition("\n")[2] == "  - odd\n"


def test_a_host_that_cannot_be_tested_is_named_and_left_out(fleet: Fleet) -> None:
    fleet.host("a")
    fleet.host("b")
    fleet.host("few", BEFORE[:2], AFTER[:2])
    fleet.host("rollout", step=1, last=10)
    found = fleet.json()
    assert {host["name"]: host["claimed"] for host in found["hosts"]} == {
        "a": True,
        "b": True,
        "few": False,
        "rollout": False,
    }
    assert "8 rounds on 2 hosts" in found["claim"]["why"]
    told = " ".join(fleet.report().out.partition("Not in the claim")[2].split())
    assert "few: 2 boots each; a test needs 6" in told and "rollout: 8 boots each; no test" in told


def test_what_hosts_share_in_a_round_is_one_observation(fleet: Fleet) -> None:
    """A neighbour of all hosts raises the same boots of all, and comes and goes."""
    shared = [scaled(BEFORE, 1.0), scaled(BEFORE, 1.0)]
    busy = ((0, 1, 2, 4), (3,))
    weather = [
        [value * (1.5 if n in own else 1) for n, value in enumerate(arm)]
        for arm, own in zip(shared, busy)
    ]
    for name in "abcdefgh":
        fleet.host(name, *weather)
    claim = fleet.json()["claim"]
    assert claim["verdict"] == "no-measurable-change", claim["why"]
    assert "8 rounds on 8 hosts" in claim["why"]


def test_too_few_rounds_and_one_order_for_all_are_described(fleet: Fleet) -> None:
    for name in "ab":
        fleet.host(name, BEFORE[:5], AFTER[:5])
    claim = fleet.json()["claim"]
    assert (claim["verdict"], claim["endpoints"]) == ("descriptive-only", [])
    assert claim["why"] == "0 of 2 hosts can be tested; a claim over hosts takes 2"
    assert "a: 5 boots each; a test needs 6 pairs" in fleet.report().out
    fleet.sides = ([], [])
    for name in "ab":
        fleet.host(name, last=1, step=3)
    assert fleet.json()["claim"]["verdict"] == "descriptive-only"
    assert "stock came before tuned in every pair" in " ".join(fleet.report().out.split())


def test_one_host_is_no_fleet(fleet: Fleet) -> None:
    fleet.host("a")
    fleet.host("few", BEFORE[:2], AFTER[:2])
    claim = fleet.json()["claim"]
    assert claim["verdict"] == "descriptive-only" and claim["endpoints"] == []
    assert fleet.report().out.startswith("No claim: 1 of 2 hosts")


def test_a_row_for_each_host(fleet: Fleet, tmp_path: Path) -> None:
    fleet.host("=a")
    fleet.host("b")
    assert fleet.report("--csv", tmp_path / "hosts.csv").status == 0
    with (tmp_path / "hosts.csv").open() as file:
        rows = list(csv.DictReader(file))
    # No spreadsheet interprets a host's name as a formula.
    assert [row["host"] for row in rows] == ["'=a", "b"]
    assert {row["verdict"] for row in rows} == {"reduced"}


def test_hosts_of_one_side_are_named_or_refused(fleet: Fleet) -> None:
    fleet.host("a")
    fleet.host("b")
    del fleet.sides[1][8:]
    found = fleet.json()
    assert found["missing"] == ["b"] and [host["name"] for host in found["hosts"]] == ["a"]
    del fleet.sides[0][:8]
    assert "no host has runs before and after" in fleet.report().refused()


def test_the_page_has_every_host(fleet: Fleet, tmp_path: Path) -> None:
    for name, level in (("a", 1.0), ("b", 40.0), ("c<script>", 0.1)):
        fleet.host(name, scaled(BEFORE, level), scaled(AFTER, level * (4 if name == "b" else 1)))
    fleet.host("few", BEFORE[:3], AFTER[:3])
    page = tmp_path / "fleet.html"
    answer = fleet.report("--html", page)
    assert answer.status == 0, answer.err
    text = page.read_text()
    assert answer.out.partition(":")[0] in text and "c<script>" not in text
    # The row stands above the line of no change, and every host appears once in the table.
    assert text.count('class="point verdict reduced"') == 2
    assert text.count('class="point verdict increased"') == 1
    for name in ("a", "b", "c&lt;script&gt;", "few"):
        assert f'<th scope="row">{name}</th>' in text, name
    assert "3 boots each; a test needs 6 pairs of boots" in text
    # Text, table and drawing tell a change in the same words.
    (worse,) = re.findall(r"<td[^>]*>(\S+ times more)</td>", text)
    assert f"{worse}, increased" in text and f" {worse} " in answer.out
    assert "(noise, ppm of the time; better: less" in " ".join(answer.out.split())
    assert ">descriptive only</td>" in text and "descriptive-only" not in answer.out


@pytest.mark.parametrize("name", ["--html", "--csv"])
def test_a_run_is_not_written_over(fleet: Fleet, tmp_path: Path, name: str) -> None:
    fleet.host("a")
    run = tmp_path / "a-stock-0.json"
    before = run.read_bytes()
    answer = fleet.report(name, run)
    assert (answer.status, run.read_bytes()) == (2, before)
    assert answer.err == f"lowlat-gen: {name} {run}: has another use already (name another file)\n"


def test_each_host_is_held_against_its_own_campaign(fleet: Fleet) -> None:
    """As ``tune`` on each host writes one."""
    for name in ("a", "b", "c"):
        fleet.host(name)
        fleet.written_down(name)
    told = fleet.json()
    assert "the campaign was not followed" not in json.dumps(told)
    assert "not pre-registered" not in told["claim"]["why"]
    assert told["claim"]["why"] == "p = 0.0078, 8 rounds on 3 hosts"
    (fleet.folder / "c-campaign.json").unlink()
    claim = fleet.json()["claim"]
    assert claim["verdict"] == "descriptive-only"
    assert "c: the campaign that the runs name" in claim["why"]


# ------------------------------------------------------------ rounds that lack something

#: What all hosts share in each boot, before and after, far more than what they have of their own.
WEATHER = (
    (100.0, 130.0, 80.0, 160.0, 95.0, 120.0, 70.0, 150.0),
    (90.0, 150.0, 60.0, 100.0, 99.0, 70.0, 75.0, 90.0),
)


def _without(fleet: Fleet, host: str, *boots: str) -> tuple[list[str], list[str]]:
    """The runs of both sides without some boots of a host, such as "stock-3"."""
    gone = {f"{host}-{boot}.json" for boot in boots}
    one, other = ([path for path in side if Path(path).name not in gone] for side in fleet.sides)
    return one, other


def _claim_of(sides: tuple[list[str], list[str]]) -> Any:
    answer = lowlat("fleet", "report", *sides[0], "--against", *sides[1], "--json")
    return answer.json()["claim"]


def _in_weather(fleet: Fleet) -> None:
    for name, level in (("a", 1.0), ("b", 40.0), ("c", 0.2)):
        fleet.host(name, *(scaled(side, level) for side in WEATHER))


def test_a_round_is_what_happened_at_one_time(fleet: Fleet) -> None:
    """Every second host begins a round later, or lacks another round; what the others show in that
    round stays where it is."""
    _in_weather(fleet)
    whole = _claim_of(fleet.sides)
    assert whole["pairs"] == 8
    for lost in range(8):
        claim = _claim_of(_without(fleet, "b", f"stock-{lost}", f"tuned-{lost}"))
        found, expected = claim["endpoints"][0], whole["endpoints"][0]
        assert claim["pairs"] == 8
        assert found["ratio"] == pytest.approx(expected["ratio"], rel=1e-6), lost
        assert found["p"] == pytest.approx(expected["p"]), lost


def test_hosts_that_took_their_boots_at_other_times_share_no_round(fleet: Fleet) -> None:
    _in_weather(fleet)
    for side in fleet.sides:
        for path in map(Path, side):
            run = json.loads(path.read_text())
            day = {"a": "2026-11-2", "b": "2026-12-0", "c": "2027-01-0"}[run["host"]["name"]]
            path.write_text(json.dumps({**run, "started": day + run["started"][9:]}))
    claim = fleet.json()["claim"]
    assert (claim["verdict"], claim["endpoints"]) == ("descriptive-only", [])
    assert "0 rounds were made by at least two hosts at the same time" in claim["why"]


def test_a_lost_boot_of_a_host_leaves_all_other_rounds(fleet: Fleet) -> None:
    """Any one of the sixteen boots of a host: its round lacks this host, and counts against."""
    _in_weather(fleet)
    fleet.written_together()
    whole = _claim_of(fleet.sides)
    assert "order" not in whole["why"] and whole["lost_pairs"] == 0
    for kind, place in itertools.product(("stock", "tuned"), range(8)):
        claim = _claim_of(_without(fleet, "b", f"{kind}-{place}"))
        assert (claim["pairs"], claim["lost_pairs"]) == (8, 1)
        found, expected = claim["endpoints"][0], whole["endpoints"][0]
        assert found["ratio"] == pytest.approx(expected["ratio"], rel=1e-6), (kind, place)


def test_a_host_that_is_lost_counts_against_the_claim(fleet: Fleet) -> None:
    for name, level in (("a", 1.0), ("b", 40.0), ("c", 0.1)):
        fleet.host(name, scaled(BEFORE, level), scaled(AFTER, level))
    fleet.written_together()
    assert _claim_of(fleet.sides)["verdict"] == "reduced"
    sides = [[path for path in side if "/b-" not in path] for side in fleet.sides]
    claim = _claim_of((sides[0], sides[1]))
    (caveat,) = claim["caveats"]
    assert (caveat["kind"], caveat["effect"]) == ("host-missing", "counted-against")
    assert "of 1 host of the campaign the claim has no value: b" in claim["why"]
    ends = claim["endpoints"][0]["ratio_at_least"]
    assert ends is None or ends < 1.8
