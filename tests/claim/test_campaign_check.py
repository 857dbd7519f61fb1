# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report says of the campaign that was written down before its runs, and the verdict of one
that ends when it is clear."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from written_bench import LINES, Runs, WrittenBench

from lowlat.model.campaign import WHEN_CLEAR, Campaign
from lowlat.tune.schedule import order_within
from support import needs
from support.cli import lowlat
from support.runs import document

needs.module("scipy", "the extra `report` is not installed")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> WrittenBench:
    return WrittenBench(tmp_path, capsys)


def test_a_campaign_that_was_followed_has_nothing_beside_its_verdict(bench: WrittenBench) -> None:
    campaign = bench.campaign(8)
    runs = bench.boots(campaign, [2.0] * 8)
    result = bench.told(runs)
    assert (result["verdict"], result["why"]) == ("reduced", "p = 0.0078, 8 pairs")
    expected = {"digest": campaign.digest, "kexec": False, "claim": "", "departures": []}
    assert result["campaign"] == {**expected, "discard": False, "lost": {"stock": 0, "tuned": 0}}
    assert result["caveats"] == []
    strangers = [{key: one for key, one in run.items() if key != "campaign"} for run in runs]
    (bench.folder / "campaign.json").unlink()
    result = bench.told(strangers)
    assert result["why"].endswith("8 pairs, order not known to be drawn; not pre-registered")
    assert (result["verdict"], result["campaign"]) == ("reduced", None)
    _, text = bench.call(*bench.runs("s", *runs[:1]), "--against", *bench.runs("t", *runs[1:2]))
    assert "not pre-registered" not in text  # nothing is claimed


def test_what_departs_from_the_campaign_is_told_beside_the_verdict(bench: WrittenBench) -> None:
    bench.kexec = True
    campaign = bench.campaign(8)
    runs = bench.boots(campaign, [2.0] * 8)

    def departures(some: Runs, **how: Any) -> str:
        result = bench.told(some, **how)
        assert "kexec boots; the campaign was not followed (" in result["why"], result["why"]
        for one in result["campaign"]["departures"]:
            assert one in result["why"]
        return "; ".join(result["campaign"]["departures"])

    assert departures(runs[:14]) == "not ended, to come: boots 15-16"
    arm = runs[4]["label"]
    whole = {"stock": "tuned", "tuned": "stock"}[arm]
    lost = f"1 of 8 {arm} boots and 0 of 8 {whole} boots have no run: boot 5"
    assert departures([*runs[:4], *runs[5:]]) == lost
    bench.write("kept.json", runs[4])
    assert departures([*runs[:4], *runs[5:]]) == "left out: boot 5"
    (bench.folder / "kept.json").unlink()
    late = [*runs[:2], {**runs[2], "started": "2027-01-01T00:00:00Z"}, *runs[3:]]
    assert departures(late) == "measured late, after others of the order: boot 3"
    again = {**runs[6], "boot_id": "again", "started": "2027-01-01T00:00:00Z"}
    again["cpus"] = [{**cpu, "noise_ns": cpu["noise_ns"] + 1} for cpu in again["cpus"]]
    assert departures([*runs, again]).startswith("measured twice: boot 7; measured late")
    stranger = {key: value for key, value in again.items() if key != "campaign"}
    assert departures([*runs, stranger]).startswith("of no boot of the campaign: ")
    other = [{**run, "cmdline": LINES["tuned"]} for run in runs]
    assert departures(other).startswith("without the line of stock: boots ")
    swapped = {1: "tuned", 2: "stock"} if runs[0]["label"] == "stock" else {1: "stock", 2: "tuned"}
    found = bench.told(
        [{**run, "cmdline": "quiet"} for run in runs],
        name=lambda run: swapped.get(run["campaign"]["number"], run["label"]),
    )
    assert "counted in before against the order: boot" in "; ".join(found["campaign"]["departures"])
    early = [{**run, "started": run["started"].replace("2026", "2025")} for run in runs]
    assert departures(early) == "it was written after its first boot"


@pytest.mark.parametrize(
    ("written", "booted"),
    [
        ('quiet "dyndbg=file a.c +p"', 'quiet dyndbg="file a.c +p"'),
        (r"quiet a=\$b", "quiet a=$b"),
        ("BOOT_IMAGE=/vmlinuz quiet", "BOOT_IMAGE=/other quiet"),
        ("quiet $loader", "quiet word"),
        ("quiet -- 3", "quiet -- 3"),
    ],
)
def test_a_line_is_compared_as_the_kernel_gets_it(
    bench: WrittenBench, monkeypatch: pytest.MonkeyPatch, written: str, booted: str
) -> None:
    monkeypatch.setitem(LINES, "stock", written)
    runs = bench.boots(bench.campaign(6), [2.0] * 6)
    for run in runs:
        run["cmdline"] = run["cmdline"].replace(written, booted)
    assert bench.told(runs)["campaign"]["departures"] == []


@pytest.mark.parametrize("named", [False, True])
def test_a_campaign_that_is_passed_on_says_the_same(
    bench: WrittenBench, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    for arm, line in LINES.items():
        monkeypatch.setitem(LINES, arm, f"root=UUID=0b5e3f6a-1c2d-4e5f-8a9b-0c1d2e3f4a5b {line}")
    runs = bench.boots(bench.campaign(8), [2.0] * 8)
    left = bench.write("left.json", runs.pop(4))
    before = bench.told(runs)
    files = sorted(bench.folder.glob("[ab]?.json"))
    out = bench.folder / "sent" / "on"
    out.parent.mkdir()
    more = [bench.folder / "campaign.json"] if named else []
    answer = lowlat("capture", out, "--runs", *files, left, *more)
    assert answer.status == 0 and "16 runs and 1 campaign;" in answer.out
    (bench.folder / "campaign.json").unlink()
    sent = {path.name: path.read_text() for path in out.iterdir()}
    assert not [text for text in sent.values() if '"node"' in text or "0b5e3f6a" in text]
    ours = [[out / path.name for path in files if path.name[0] == side] for side in "ba"]
    after = lowlat("report", *ours[0], "--against", *ours[1], "--json").json()
    assert before["campaign"]["departures"] == ["left out: boot 5"]
    assert before["campaign"].pop("digest") != after["campaign"].pop("digest")
    assert after == before


def test_pairs_without_a_difference_keep_a_test_open(bench: WrittenBench) -> None:
    bench.stop = WHEN_CLEAR
    campaign = bench.campaign(20)
    runs = bench.boots(campaign, [2.0] * 7)
    for run in runs[:2]:
        run["cpus"] = [{**cpu, "noise_ns": 0, "noise_ppm": 0.0} for cpu in run["cpus"]]
    told = bench.told(runs)
    assert told["verdict"] == "descriptive-only" and told["e_value"] > 20
    assert "pairs without a difference keep the interval at none" in told["why"]
    assert told["more_pairs"] == [6, 10] and "clear after 0" not in told["why"]


def test_a_named_campaign_takes_the_place_of_the_one_beside(bench: WrittenBench) -> None:
    runs = bench.boots(bench.campaign(8), [2.0] * 8)
    bench.campaign(8, seed=3)
    result = bench.told(runs, "--campaign", str(bench.folder / "campaign.json"))
    (departed,) = result["campaign"]["departures"][:1]
    assert departed.startswith("of no boot of the campaign: ")


def test_a_test_that_ends_when_it_is_clear_says_how_far_it_is(bench: WrittenBench) -> None:
    bench.stop = WHEN_CLEAR
    campaign = bench.campaign(20)
    few = bench.told(bench.boots(campaign, [2.0] * 4))
    assert few["verdict"] == "descriptive-only" and few["pairs"] == 4
    assert few["why"] == (
        "e = 6.48 after 4 pairs, 20 is clear: clear after 2 to 9 more pairs, if at most one of "
        "them disagrees; looking often costs nothing"
    )
    assert few["more_pairs"] == [2, 9]
    assert few["campaign"]["departures"] == []
    files = [str(bench.folder / f"{name}{n}.json") for name in "ba" for n in range(4)]
    page = bench.folder / "page.html"
    _, out = bench.call(*files[:4], "--against", *files[4:], "--html", str(page))
    assert "clear after 2 to 9 more pairs" in " ".join(out.split())
    assert "tune --boots" not in out and "looking often costs nothing" in page.read_text()
    runs = bench.boots(campaign, [2.0] * 5 + [2.5])
    for run in runs:
        took = 5.0 * run["cpus"][0]["noise_ppm"]
        run["work"] = [{"kind": "memory", "cpus": "2", "samples": 9, "mean_ns": took}]
    done = bench.told(runs)
    assert done["verdict"] == "reduced"
    assert done["why"].startswith("e = 24") and "about the median pair" in done["why"]
    (primary,) = [one for one in done["endpoints"] if one["primary"]]
    assert primary["ratio"] == pytest.approx(2.0, rel=0.03)
    assert 1 < primary["ci95"][0] < primary["ratio"] < primary["ci95"][1] < 2.7
    assert primary["p"] == pytest.approx(1 / done["e_value"])
    assert not [one for one in done["endpoints"] if one["p"] is not None and not one["primary"]]
    assert not any("judge once" in flag or "only if all agree" in flag for flag in done["flags"])
    (work,) = [flag for flag in done["flags"] if "latency of work" in flag]
    assert work.endswith("shorter (memory), which is not tested")
    never = bench.told(bench.boots(campaign, [1.05, 0.95] * 10))
    assert never["verdict"] == "no-measurable-change" and "20 pairs are the most" in never["why"]


# ------------------------------------------------------------- within boots


class WithinBench(WrittenBench):
    """Pairs of runs within boots, all with one line."""

    def planned(self, boots: int, pairs: int) -> Campaign:
        order = order_within(boots, pairs, boots)
        hosts = {"node": dict.fromkeys(("stock", "now"), "quiet")}
        when = "2026-11-20T00:00:00Z"
        made = Campaign(when, "noise_ppm", order, boots * pairs, hosts, within=pairs)
        self.write("campaign.json", made.text())
        return made

    def measured(self, campaign: Campaign, factors: list[float]) -> Runs:
        """The runs: in each boot, stock ones have these times the noise of the others, and all so
        much more than in other boots."""
        draw, runs = random.Random(3), []
        for number, arm in enumerate(campaign.order, 1):
            boot = (number - 1) // (2 * campaign.within)
            noise = 100 * draw.uniform(0.99, 1.01) * 2**boot
            noise *= factors[boot] if arm == "stock" else 1.0
            run = document(arm, 10 * noise, noise, boot_id=f"b{boot}", cmdline="quiet")
            run["started"] = f"2026-11-{21 + boot}T{number // 6:02d}:{10 * (number % 6):02d}:00Z"
            place = {"digest": campaign.digest, "number": number}
            runs.append({**run, "campaign": place, "host": {"name": "node"}, "duration_s": 60})
        return runs

    def claimed(self, runs: Runs) -> tuple[str, str, str]:
        """The verdict, what it is about, and why."""
        stock, now = ([run for run in runs if run["label"] == arm] for arm in ("stock", "now"))
        told = self.json(stock, now)
        return told["verdict"], (told["campaign"] or {"claim": ""})["claim"], told["why"]


@pytest.fixture
def within(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> WithinBench:
    return WithinBench(tmp_path, capsys)


def test_pairs_within_boots_claim_what_their_boots_allow(within: WithinBench) -> None:
    one = within.measured(within.planned(1, 8), [2.0])
    assert within.claimed(one) == ("reduced", "in this boot", "p = 0.0078, 8 pairs; in this boot")
    three = within.measured(within.planned(3, 2), [2.0] * 3)
    verdict, claim, _ = within.claimed(three)
    assert (verdict, claim) == ("reduced", "in these 3 boots")
    six = within.measured(within.planned(6, 2), [2.0] * 6)
    verdict, claim, why = within.claimed(six)
    assert (verdict, claim) == ("reduced", "for boots of this machine")
    assert why == "p = 0.031, 6 pairs; for boots of this machine"
    # Four pairs of each boot agree, the boots do not: that is nothing for boots.
    apart = within.measured(within.planned(6, 4), [4.0, 4.0, 4.0, 4.0, 4.0, 0.8])
    verdict, claim, why = within.claimed(apart)
    assert (verdict, claim) == ("no-measurable-change", "for boots of this machine")
    assert why.startswith("p = 0.062, 6 pairs; ")
    few = within.measured(within.planned(1, 3), [2.0])
    assert within.claimed(few) == (
        "descriptive-only",
        "in this boot",
        "3 runs each; a test needs 6 pairs of runs; in this boot",
    )


def test_pairs_within_boots_are_those_of_their_campaign(within: WithinBench) -> None:
    runs = within.measured(within.planned(1, 8), [2.0])
    lone = [run for run in runs if run["campaign"]["number"] != 3]
    verdict, _, why = within.claimed(lone)
    assert verdict == "reduced" and "7 pairs, 1 more lacks a boot and counts against it" in why
    assert "in this boot; the campaign was not followed" in why and "have no run: run 3" in why
    moved = [{**run, "boot_id": "b9"} if run is runs[3] else run for run in runs]
    assert "7 pairs" in within.claimed(moved)[2]
    overlap = [{**run, "duration_s": 3600} for run in runs]
    for run in overlap:
        run["cpus"] = [{**cpu, "runtime_ns": 3600e9} for cpu in run["cpus"]]
    verdict, _, why = within.claimed(overlap)
    assert verdict == "refused" and "overlap in time: each disturbs the other" in why
    copied = [{**run, "cpus": runs[0]["cpus"]} if run is runs[5] else run for run in runs]
    verdict, _, why = within.claimed(copied)
    assert verdict == "refused" and "have the same events: one is a copy" in why
    (within.folder / "campaign.json").unlink()
    assert within.claimed(runs)[0] == "descriptive-only", "nobody drew the order"


def test_who_measures_within_boots_is_told_what_is_next(within: WithinBench) -> None:
    runs = within.measured(within.planned(1, 8), [2.0])
    files = {
        arm: within.runs(arm, *(r for r in runs if r["label"] == arm)) for arm in ("stock", "now")
    }
    page = within.folder / "page.html"
    _, out = within.call(*files["stock"], "--against", *files["now"], "--html", str(page))
    assert "compare pairs of boots" in " ".join(out.split()) + page.read_text()
    assert "promote" not in out and "come from the same boot" not in out
