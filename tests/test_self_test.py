# SPDX-License-Identifier: GPL-2.0-or-later
"""``report --self-test``: how often a change is found where there is none, and where there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused
from lowlat.report import recorded
from lowlat.report.campaign import Shape, Variance, fit, simulate
from lowlat.report.power import boots_needed
from report_runs import Bench, document

np = pytest.importorskip("numpy", reason="the extra `report` is not installed")
pytest.importorskip("scipy", reason="the extra `report` is not installed")

TURNS = ("in turn (ABAB)", "mirrored (ABBA)", "at random")
HALVES = "one arm first (AABB)"


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def rates(out: str) -> dict[str, list[tuple[float, ...]]]:
    """By order of the boots, a campaign each: how often p is small where nothing changed, how often
    the report calls that a finding, and how often it finds the planted change."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for name, *shares in re.findall(r"^    (\S.*?) +([\d.]+)% +([\d.]+)% +([\d.]+)%$", out, re.M):
        found.setdefault(name, []).append(tuple(float(share) / 100 for share in shares))
    return found


def campaign(
    spread: float, boots: int, *, trend: float = 0.0, seed: int = 1, runs: int = 1
) -> list[dict[str, Any]]:
    """Boots an hour apart, in which nothing was changed."""
    draw = np.random.default_rng(seed)
    levels = 100 * np.exp(spread * draw.normal(size=boots) + trend * np.arange(boots))
    return [
        document(
            f"r{n}-{run}",
            50.0,
            float(level),
            boot_id=f"boot-{n}",
            started=f"2026-11-{n // 24 + 1:02d}T{n % 24:02d}:{run:02d}:00Z",
        )
        for n, level in enumerate(levels)
        for run in range(runs)
    ]


def test_at_most_6_percent_false_findings_on_the_recorded_variance(bench: Bench) -> None:
    """Drift between boots and likeness of neighbours included, in 2000 campaigns of each order."""
    status, out = bench.call("--self-test")
    found = rates(out)
    assert status == 0
    assert set(found) == {*TURNS, HALVES}
    assert len(found[HALVES]) == len(recorded.CAMPAIGNS)
    assert all(small <= 0.06 for name in TURNS for small, _, _ in found[name])
    # The control of the control: a test alone is wrong where the boots do not take turns, which the
    # report makes up for.
    assert max(small for small, _, _ in found[HALVES]) > 0.1
    assert all(false <= 0.06 for name in found for _, false, _ in found[name])
    assert "one run a boot" in out and "run 0.0 %" not in out
    stated = re.findall(r"is found with a chance of at least 80% from", out)
    assert len(stated) == len(recorded.CAMPAIGNS)


def test_a_campaign_of_ones_own_that_is_quiet(bench: Bench) -> None:
    files = bench.runs("r", *campaign(0.05, 20))
    _, out = bench.call("--self-test", *files, "--campaigns", "500")
    assert out.startswith("noise_ppm: 20 boots given\n")
    assert "recorded, mirrored (ABBA): ratio" in out
    assert "recorded, one arm first (AABB): ratio" in out
    assert all(power >= 0.8 for name in TURNS for _, _, power in rates(out)[name])
    assert all(small <= 0.08 for name in TURNS for small, _, _ in rates(out)[name])
    assert "from 5 boots an arm on, taken in turn" in out
    (false,) = re.findall(r"drawn 1000 times: false findings ([\d.]+)%", out)
    assert float(false) <= 10


def test_the_order_of_the_files_does_not_matter(bench: Bench) -> None:
    files = bench.runs("r", *campaign(0.05, 12, runs=2))
    one = bench.call("--self-test", *files, "--campaigns", "20")[1]
    other = bench.call("--self-test", *reversed(files), "--campaigns", "20")[1]
    assert one == other
    assert "12 boots given" in one


def test_a_trend_makes_a_false_finding_of_halves_and_is_named(bench: Bench) -> None:
    files = bench.runs("r", *campaign(0.01, 20, trend=0.02))
    _, out = bench.call("--self-test", *files, "--campaigns", "200")
    (halves,) = [line for line in out.splitlines() if f"recorded, {HALVES}" in line]
    assert "a false finding, which the report takes back" in halves
    (turns,) = [line for line in out.splitlines() if "recorded, mirrored" in line]
    assert "no change found" in turns
    assert "trend +2.0 % a boot" in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--against", "r0.json"], "compares nothing"),
        (["--json"], "compares nothing"),
        (["--html", "x.html"], "compares nothing"),
        (["--campaigns", "0"], "out of range"),
        (["--campaigns", "9" * 20], "out of range"),
        (["r0.json", "r1.json"], "too few boots: 2 "),
        ([f"r{n}.json" for n in range(10)] + ["zero.json"], "is zero or unknown"),
        ([f"r{n}.json" for n in range(10)] + ["guest.json"], "under emulation"),
    ],
)
def test_what_it_cannot_work_with_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, words: list[str], why: str
) -> None:
    monkeypatch.chdir(bench.folder)
    bench.runs("r", *campaign(0.05, 10))
    bench.write("zero.json", document("zero", 4.0, 0.0))
    bench.write("guest.json", document("guest", 4.0, emulated=True))
    with pytest.raises(Refused, match=why):
        bench.call("--self-test", *words)
    assert bench.printed.out == ""


# The simulation behind it


@pytest.mark.parametrize(
    "truth",
    [
        Variance(boot=0.2, run=0.1, block=0.3, drift=0.0, alike=0.0),
        Variance(boot=0.05, run=0.3, block=0.02, drift=0.02, alike=0.0),
        Variance(boot=0.3, run=0.0, block=0.1, drift=-0.05, alike=0.6),
    ],
)
def test_what_is_simulated_is_found_again(truth: Variance) -> None:
    draw = np.random.default_rng(1)
    boots, runs, blocks = 1000, 4, 6
    levels = simulate(
        Variance(truth.boot, 0, 0, truth.drift, truth.alike), Shape(boots // 2), 1, draw
    )
    values = np.exp(
        levels[0][:, None, None]
        + truth.run * draw.normal(size=(boots, runs, 1))
        + truth.block * draw.normal(size=(boots, runs, blocks))
    )
    found = fit(values.tolist())
    for name in ("boot", "run", "block"):
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=0.15, abs=0.03)
    assert found.drift == pytest.approx(truth.drift, abs=0.002)
    if truth.alike:
        assert found.alike == pytest.approx(truth.alike, abs=0.15)


def test_runs_and_blocks_average_out_inside_a_boot() -> None:
    draw = np.random.default_rng(2)
    noisy = Variance(boot=0.0, run=0.0, block=0.5, drift=0.0, alike=0.0)
    few = simulate(noisy, Shape(5, blocks=1), 400, draw).std()
    many = simulate(noisy, Shape(5, runs=3, blocks=25), 400, draw).std()
    assert many < few / 5


def test_a_noisier_machine_needs_more_boots() -> None:
    needed = [
        boots_needed(Variance(boot=spread, run=0, block=0, drift=0.01, alike=0.3), Shape(5))
        for spread in (0.05, 0.2, 0.4)
    ]
    assert needed[0] == 5
    # The rule of thumb of 16 variances for each squared effect is 13 and 51.
    assert 8 <= needed[1] <= 20
    assert 25 <= needed[2] <= 75
