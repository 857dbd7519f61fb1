# SPDX-License-Identifier: GPL-2.0-or-later
"""What weakens a claim, each kind with its effect on verdict, gate and status; and boots that are
lost, which count against it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from written_bench import LINES, Runs, WrittenBench

from lowlat.claim.blocks import Blocks
from lowlat.claim.caveat import Caveat, CaveatEffect
from lowlat.claim.pairing import Pairing
from lowlat.figures.measured_arm import Arm
from lowlat.measure.run_file import read_campaign, read_run
from lowlat.model.campaign import WHEN_CLEAR, Campaign
from support import needs
from support.cli import lowlat
from support.runs import endpoint

needs.module("scipy", "the extra `report` is not installed")

#: The reduction that each gate asks for, of runs that differ twice.
GATE = ("--require", "noise_ppm>=1")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> WrittenBench:
    return WrittenBench(tmp_path, capsys)


def gated(bench: WrittenBench, runs: Runs, *words: str) -> tuple[dict[str, Any], int]:
    """The report on the runs by their labels, and the status with a gate."""
    sides = [[run for run in runs if run["label"] == arm] for arm in LINES]
    files = [bench.runs(arm, *own) for arm, own in zip(LINES, sides)]
    answer = lowlat("report", *files[0], "--against", *files[1], "--json", *GATE, *words)
    return json.loads(answer.out), answer.status


def noise_of(run: dict[str, Any], noise: float) -> dict[str, Any]:
    """The run with another noise, of which no two are quite the same."""
    cpus = [{**cpu, "noise_ppm": noise, "noise_ns": noise * 120_000} for cpu in run["cpus"]]
    cpus[0]["noise_ns"] += random.Random(str(run["boot_id"])).random()
    return {**run, "cpus": cpus}


# --------------------------------------------------------------- the table

#: What each effect means for the verdict of a clear reduction, whether a gate is met, the status.
MEANING = {
    CaveatEffect.NOTE: ("reduced", True, 0),
    CaveatEffect.STRICTER: ("reduced", True, 0),
    CaveatEffect.COUNTED: ("descriptive-only", False, 1),
    CaveatEffect.FORBIDS: ("descriptive-only", False, 1),
}


def _missing(bench: WrittenBench, runs: Runs) -> Runs:
    """A tuned boot is lost, where a stock boot was as bad as it may have been."""
    tuned, stock = ([run for run in runs if run["label"] == arm] for arm in ("tuned", "stock"))
    return [noise_of(r, 9e3) if r is stock[5] else r for r in runs if r is not tuned[1]]


def _left_out(bench: WrittenBench, runs: Runs) -> Runs:
    kept = _missing(bench, runs)
    have = {run["boot_id"] for run in kept}
    (left,) = (run for run in runs if run["boot_id"] not in have)
    bench.write("left.json", left)
    return kept


def _rewritten(bench: WrittenBench, runs: Runs, **changes: Any) -> Runs:
    """The runs of a campaign that was written down otherwise."""
    path = bench.folder / "campaign.json"
    made = replace(read_campaign(path), **changes)
    path.write_text(made.text())
    return [{**run, "campaign": {**run["campaign"], "digest": made.digest}} for run in runs]


def _of_no_boot(bench: WrittenBench, runs: Runs) -> Runs:
    again = {key: one for key, one in runs[0].items() if key != "campaign"}
    return [*runs, noise_of({**again, "boot_id": "b99", "started": "2026-12-01T00:00:00Z"}, 99.0)]


def _against_order(bench: WrittenBench, runs: Runs) -> Runs:
    swapped, runs = {"stock": "tuned", "tuned": "stock"}, _same_line(bench, runs)
    return [{**run, "label": swapped[run["label"]]} for run in runs[:2]] + runs[2:]


def _twice(bench: WrittenBench, runs: Runs) -> Runs:
    again = {**runs[-1], "boot_id": "b99", "started": "2026-12-01T00:00:00Z"}
    return [*runs, noise_of(again, 70.0)]


def _late(bench: WrittenBench, runs: Runs) -> Runs:
    return [{**runs[0], "started": "2026-12-01T00:00:00Z"}, *runs[1:]]


def _alternating(bench: WrittenBench, runs: Runs) -> Runs:
    order = ("stock", "tuned", "tuned", "stock") * 4
    bench.write("campaign.json", replace(bench.campaign(8), order=order).text())
    return bench.boots(read_campaign(bench.folder / "campaign.json"), [2.0] * 8)


def _unregistered(bench: WrittenBench, runs: Runs) -> Runs:
    return [{key: one for key, one in run.items() if key != "campaign"} for run in runs]


def _gone(bench: WrittenBench, runs: Runs) -> Runs:
    (bench.folder / "campaign.json").unlink()
    return runs


def _same_line(bench: WrittenBench, runs: Runs) -> Runs:
    hosts = {"node": dict.fromkeys(LINES, "quiet")}
    return [{**run, "cmdline": "quiet"} for run in _rewritten(bench, runs, hosts=hosts)]


def _kernels(bench: WrittenBench, runs: Runs) -> Runs:
    return [{**run, "kernel": f"6.{12 + (run['label'] == 'tuned')}.1"} for run in runs]


def _other_line(bench: WrittenBench, runs: Runs) -> Runs:
    return [{**run, "cmdline": LINES["tuned"]} for run in runs]


SCENARIOS: dict[Caveat, Callable[[WrittenBench, Runs], Runs]] = {
    Caveat.MISSING: _missing,
    Caveat.NOT_ENDED: lambda bench, runs: runs[:12],
    Caveat.LEFT_OUT: _left_out,
    Caveat.OF_NO_BOOT: _of_no_boot,
    Caveat.AGAINST_ORDER: _against_order,
    Caveat.MEASURED_TWICE: _twice,
    Caveat.MEASURED_LATE: _late,
    Caveat.OTHER_LINE: _other_line,
    Caveat.OTHER_ENDPOINT: lambda bench, runs: _rewritten(bench, runs, endpoint="wakeup_p99.9_ns"),
    Caveat.WRITTEN_AFTER: lambda b, runs: _rewritten(b, runs, written="2026-12-01T00:00:00Z"),
    Caveat.CAMPAIGN_GONE: _gone,
    Caveat.ORDER_NOT_DRAWN: _alternating,
    Caveat.ORDER_NOT_KNOWN: _unregistered,
    Caveat.NOT_REGISTERED: _unregistered,
    Caveat.KEXEC: lambda bench, runs: _rewritten(bench, runs, kexec=True),
    Caveat.DISCARD: lambda bench, runs: _rewritten(bench, runs, discard=True),
    Caveat.SAME_LINE: _same_line,
    Caveat.KERNELS: _kernels,
}

#: A whole host of a campaign is lost: tests/fleet.
OF_FLEETS = {Caveat.HOST_MISSING}


def test_no_caveat_is_outside_the_table() -> None:
    assert set(SCENARIOS) | OF_FLEETS == set(Caveat)
    assert len({one.word for one in Caveat}) == len(Caveat)
    assert set(MEANING) == set(CaveatEffect)


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.word)
def test_each_caveat_has_its_effect(bench: WrittenBench, kind: Caveat) -> None:
    runs = SCENARIOS[kind](bench, bench.boots(bench.campaign(8), [2.0] * 8))
    told, status = gated(bench, runs)
    found = {one["kind"]: one for one in told["caveats"]}
    assert found[kind.word]["effect"] == kind.effect.value
    assert (told["verdict"], told["gates"][0]["met"], status) == MEANING[kind.effect], told["why"]
    (noise,) = [one for one in told["endpoints"] if one["primary"]]
    if kind.effect in (CaveatEffect.COUNTED, CaveatEffect.FORBIDS):
        assert {(one["p"], one["ci95"]) for one in told["endpoints"]} == {(None, None)}
        assert found[kind.word]["text"] in told["why"] and told["why"] in told["gates"][0]["why"]
    else:
        level = 1.6 if kind.effect is CaveatEffect.STRICTER or "not-registered" in found else 1.0
        assert noise["p"] == pytest.approx(level * 2 / 256)
    # Every departure is one of the table, and each has its words beside the verdict.
    departures = told["campaign"]["departures"] if told["campaign"] else []
    assert set(departures) <= {one["text"] for one in told["caveats"]}


# -------------------------------------------------- each field of the campaign


def _longer(bench: WrittenBench, runs: Runs) -> dict[str, Any]:
    order = read_campaign(bench.folder / "campaign.json").order
    return {"order": (*order, "stock", "tuned"), "pairs": 9}


FIELDS: dict[str, dict[str, Any]] = {
    "written": {"written": "2026-11-25T00:00:00Z"},
    "endpoint": {"endpoint": "interrupts_per_s"},
    "order": {"order": ("tuned", "stock") * 4 + ("stock", "tuned") * 4},
    "pairs": {"pairs": 4},
    "hosts": {"hosts": {"node": {"stock": "quiet", "tuned": "quiet isolcpus=1"}}},
    "stop": {"stop": WHEN_CLEAR},
    "kexec": {"kexec": True},
    "discard": {"discard": True},
    "within": {"within": 4},
}


@pytest.mark.parametrize("name", [field.name for field in fields(Campaign)])
def test_each_field_of_a_campaign_is_compared(bench: WrittenBench, name: str) -> None:
    """Whatever is written down otherwise is a departure, or another verdict."""
    runs = bench.boots(bench.campaign(8), [2.0] * 8)
    for run in runs:
        for cpu in run["cpus"]:
            cpu["interrupts_per_s"] = {"LOC": 100.0, "total": 100.0}
    plain, _ = gated(bench, runs)
    told, status = gated(bench, _rewritten(bench, runs, **FIELDS[name]))
    assert (told["verdict"], told["why"]) != (plain["verdict"], plain["why"])
    if name not in ("stop", "kexec", "discard"):
        assert (told["verdict"] != "reduced", status) == (True, 1), told["why"]


def test_the_verdict_and_the_gate_are_about_the_endpoint_that_was_written(
    bench: WrittenBench,
) -> None:
    """Noise is written down and does not change; interrupts are halved."""
    runs = bench.boots(bench.campaign(8), [1.0] * 8)
    for run in runs:
        rate = 50.0 if run["label"] == "tuned" else 100.0
        for cpu in run["cpus"]:
            cpu["interrupts_per_s"] = {"LOC": rate, "total": rate}
    told, _ = gated(bench, runs)
    assert told["verdict"] == "no-measurable-change"
    sides = [bench.runs(arm, *(r for r in runs if r["label"] == arm)) for arm in LINES]
    answer = lowlat(
        "report", *sides[0], "--against", *sides[1], "--require", "interrupts_per_s>=1.5"
    )
    assert answer.status == 1 and "the campaign was written for noise_ppm" in answer.err
    told, _ = gated(bench, _rewritten(bench, runs, endpoint="interrupts_per_s"))
    (primary,) = [one["name"] for one in told["endpoints"] if one["primary"]]
    assert (told["verdict"], primary) == ("reduced", "interrupts_per_s")


# -------------------------------------------------------------- pairs by number


def test_taking_boots_away_leaves_the_other_pairs_as_they_are(bench: WrittenBench) -> None:
    """Any one boot of 16, and any two."""
    campaign = bench.campaign(8)
    runs = bench.boots(campaign, [2.0] * 8)
    known = [read_run(Path(bench.write(f"{n}.json", run))) for n, run in enumerate(runs)]

    def pairs(lost: tuple[int, ...]) -> set[tuple[str, str]]:
        kept = [run for n, run in enumerate(known) if n not in lost]
        arms = [Arm(a, tuple(run for run in kept if run.label == a)) for a in LINES]
        found = Pairing.of(arms[0], arms[1], Blocks.of(campaign))
        both = zip(found.before.runs, found.after.runs)
        return {(one.path.name, other.path.name) for one, other in both}

    whole = pairs(())
    cases = [*itertools.combinations(range(16), 1), *itertools.combinations(range(16), 2)]
    assert (len(whole), len(cases)) == (8, 136)
    for lost in cases:
        names = {f"{n}.json" for n in lost}
        assert pairs(lost) == {pair for pair in whole if not names & set(pair)}, lost


def test_a_pair_that_lacks_a_boot_is_gone(bench: WrittenBench) -> None:
    runs = bench.boots(bench.campaign(8), [2.0] * 8)
    told, _ = gated(bench, [runs[0], *runs[2:]])
    partner = {"stock": "before", "tuned": "after"}[runs[0]["label"]]
    assert [len(told["unpaired"][side]) for side in ("before", "after")] == [
        int(side == partner) for side in ("before", "after")
    ]
    assert (told["pairs"], told["lost_pairs"], told["order"]) == (7, 1, "drawn")


# ------------------------------------------------------------------ lost boots


def lost_cases() -> Iterator[tuple[int, tuple[str, ...]]]:
    """A seed, and the arms of the boots that are lost, each of another pair."""
    for arms in (("tuned",), ("stock",), ("tuned", "stock"), ("tuned", "tuned")):
        for seed in range(3):
            yield seed, arms


@pytest.mark.parametrize(("seed", "arms"), [*lost_cases()], ids=str)
def test_the_worst_value_makes_no_claim_weaker_than_the_printed_one(
    bench: WrittenBench, seed: int, arms: tuple[str, ...]
) -> None:
    """The lost boots are measured after all, and are as bad for the claim as any boot was."""
    draw = random.Random(seed)
    campaign = bench.campaign(10, seed)
    runs = bench.boots(campaign, [draw.uniform(0.9, 3.0) for _ in range(10)], seed)
    pairs = draw.sample(range(9), len(arms))
    lost = [
        next(run for run in runs[2 * pair : 2 * pair + 2] if run["label"] == arm)
        for pair, arm in zip(pairs, arms)
    ]
    kept = [run for run in runs if run not in lost]
    noise = [run["cpus"][0]["noise_ppm"] for run in kept]
    worst = {"tuned": max(noise), "stock": min(noise)}
    printed, _ = gated(bench, kept)
    filled, _ = gated(bench, [noise_of(r, worst[r["label"]]) if r in lost else r for r in runs])
    assert printed["campaign"]["lost"] == {arm: arms.count(arm) for arm in LINES}
    if printed["verdict"] == "reduced":
        told, after = endpoint(printed, "noise_ppm"), endpoint(filled, "noise_ppm")
        assert filled["verdict"] == "reduced"
        assert after["p"] <= told["p"] + 1e-9
        assert after["ratio_at_least"] >= told["ratio_at_least"] - 1e-3
    else:
        assert printed["verdict"] == "descriptive-only"


def test_lost_boots_are_told_by_arm(bench: WrittenBench) -> None:
    runs = bench.boots(bench.campaign(12), [2.0] * 12)
    tuned = [run for run in runs if run["label"] == "tuned"]
    told, status = gated(bench, [run for run in runs if run not in tuned[:5]])
    said = "5 of 12 tuned boots and 0 of 12 stock boots have no run: boots "
    assert said in told["why"] and said in told["caveats"][0]["text"]
    assert told["campaign"]["lost"] == {"stock": 0, "tuned": 5}
    assert (told["pairs"], told["lost_pairs"]) == (7, 5)


def test_a_claim_that_holds_with_its_lost_boots_stands(bench: WrittenBench) -> None:
    runs = bench.boots(bench.campaign(12), [2.0] * 12)
    whole = endpoint(gated(bench, runs)[0], "noise_ppm")
    told, status = gated(bench, runs[1:])
    left = endpoint(told, "noise_ppm")
    assert (told["verdict"], status) == ("reduced", 0)
    assert "11 pairs, 1 more lacks a boot and counts against it" in told["why"]
    assert left["p"] > whole["p"] and left["ratio_at_least"] < whole["ratio_at_least"]


def test_who_looks_at_six_of_twenty_pairs_has_no_claim(bench: WrittenBench) -> None:
    runs = bench.boots(bench.campaign(20), [2.0] * 6)
    told, status = gated(bench, runs)
    assert (told["verdict"], status) == ("descriptive-only", 1)
    assert "not ended, to come: boots 13-40" in told["why"]


def test_a_lost_boot_counts_against_a_test_that_ends_when_it_is_clear(
    bench: WrittenBench,
) -> None:
    bench.stop = WHEN_CLEAR
    runs = bench.boots(bench.campaign(20), [2.0] * 6)
    told, _ = gated(bench, runs)
    assert (told["verdict"], told["pairs"]) == ("reduced", 6)
    short, status = gated(bench, runs[1:])
    assert (short["verdict"], short["pairs"], short["lost_pairs"]) == ("descriptive-only", 5, 1)
    assert short["e_value"] < told["e_value"] and status == 1


# ---------------------------------------------------------- changed and deleted


def test_a_campaign_that_was_changed_is_not_here(bench: WrittenBench) -> None:
    campaign = bench.campaign(8)
    runs = bench.boots(campaign, [2.0] * 8)
    bench.write("campaign.json", replace(campaign, endpoint="interrupts_per_s").text())
    told, status = gated(bench, runs)
    said = f"the campaign that the runs name ({campaign.digest[:8]}…) is not here or was changed"
    assert said in told["why"] and "not pre-registered" not in told["why"]
    assert (told["verdict"], told["campaign"], status) == ("descriptive-only", None, 1)
