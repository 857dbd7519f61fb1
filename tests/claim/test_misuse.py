# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no honest comparison is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import needs
from support.cli import lowlat
from support.runs import AFTER, BEFORE, ReportBench, arm

FIELD = Path(__file__).parents[3] / "shared/field/claims"


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


NODES: list[dict[str, Any]] = [{"host": {"name": name}} for name in ("nodeA", "nodeB")]
NAMELESS: dict[str, Any] = {"host": {"name": None}}


def changed(runs: list[dict[str, Any]], place: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**run, **changes} if n == place else run for n, run in enumerate(runs)]


def close(name: str, first: int) -> list[dict[str, Any]]:
    """Boots that follow those of the other arm by half a second."""
    times = (f"2026-11-21T00:{10 * n:02d}:{first * 0.5 + first * 2:04.1f}Z" for n in range(8))
    values = BEFORE if first else AFTER
    return [{**run, "duration_s": 2, "started": t} for run, t in zip(arm(name, values), times)]


#: What is wrong with the runs before and after, and the words that say so.
MISUSED: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = {
    "an arm on another host": (
        arm("s", BEFORE, **NODES[0]),
        arm("t", AFTER, first=1, **NODES[1]),
        "the runs are of 2 hosts, nodeA (b7.json) and nodeB (a7.json)",
    ),
    "one boot on another host": (
        changed(arm("s", BEFORE, **NODES[0]), 4, **NODES[1]),
        arm("t", AFTER, first=1, **NODES[0]),
        "the runs are of 2 hosts, nodeA (a7.json) and nodeB (b4.json)",
    ),
    "no host": (
        arm("s", BEFORE),
        arm("t", AFTER, first=1, **NAMELESS),
        "a0.json does not name its host",
    ),
    "boots at the same time": (
        arm("s", BEFORE),
        arm("t", AFTER),
        "overlap in time, and are of two boots",
    ),
    "boots half a second apart": (close("s", 0), close("t", 1), "are 0.5 s apart"),
    "two lines": (
        arm("s", BEFORE),
        changed(arm("t", AFTER, first=1), 3, cmdline="quiet t isolcpus=2"),
        "the boots of t have 2 command lines: 'isolcpus=2' differs",
    ),
    "a copy": (
        arm("s", BEFORE),
        (lambda runs: changed(runs, 5, cpus=runs[2]["cpus"]))(arm("t", AFTER, first=1)),
        "a2.json and a5.json have the same events in two boots: one is a copy",
    ),
}


@pytest.mark.parametrize("name", MISUSED)
def test_misuse_is_refused_by_name(bench: ReportBench, name: str) -> None:
    before, after, words = MISUSED[name]
    result = bench.json(before, after)
    assert result["verdict"] == "refused" and words in result["why"], result["why"]
    assert result["endpoints"] == []


def test_what_only_looks_like_it_is_not(bench: ReportBench) -> None:
    """The same zeros, guests side by side, emulated or not, a boot with two runs, runs that ended
    long before the time that was asked for, and the words of a trial or of a boot loader."""
    zeros = [bench.json(arm("s", (0.0,) * 8), arm("t", (0.0,) * 8, first=1))]
    guests = [
        bench.json(arm("s", BEFORE, **how), arm("t", AFTER, **how))
        for how in ({"emulated": True}, {"host": {"name": "rehearsal"}})
    ]
    stock, tuned = arm("s", BEFORE), arm("t", AFTER, first=1)
    twice = [bench.json(stock, [*tuned, {**tuned[0], "label": "again"}])]
    day: dict[str, Any] = {"duration_s": 86400, "complete": False}
    stopped = [bench.json(arm("s", BEFORE, **day), arm("t", AFTER, first=1, **day))]
    line = "BOOT_IMAGE=/other quiet t panic=30 rd.shell=0 systemd.wants=lowlat-trial.service"
    tried = [bench.json(stock, changed(tuned, 2, cmdline=line))]
    for result in (*zeros, *guests, *twice, *stopped, *tried):
        assert result["verdict"] != "refused", result["why"]


#: What the folders of misuse are answered with, if every run names a host.
ANSWERS = {
    "hosts-mixed-in-arms": "the runs are of 2 hosts",
    "two-hosts-same-model-simultaneous": "the runs are of 2 hosts",
    "two-hosts-no-host-key": "does not name its host",
    "one-run-copied-five-times": "have the same events in two boots",
    "ten-boots-in-five-seconds-overlapping-runs": "overlap in time",
    "blocks-edited-times-same-second": "overlap in time",
    "two-set-ups-in-one-arm": "have 2 command lines",
    "bad-boot-dropped": "a test needs 6 pairs",
    "blocks-honest": "a test needs 6 pairs",
    "labels-sorted-after-the-fact": "a test needs 6 pairs",
    "labels-sorted-claimed": "a test needs 6 pairs",
    "same-boot-duplicated-to-five": "4 boots each",
    "with-the-bad-boot": "before came before after in every pair",
}


@needs.that(FIELD.exists(), "the folders of misuse are not beside the sources")
@pytest.mark.parametrize("name", ANSWERS)
def test_the_folders_of_misuse_are_answered(name: str, tmp_path: Path) -> None:
    for path in (FIELD / name).glob("*.json"):
        run = json.loads(path.read_text())
        if name != "two-hosts-no-host-key":
            run.setdefault("host", {"name": "node"})
        (tmp_path / path.name).write_text(json.dumps(run))
    before, after = (sorted(tmp_path.glob(f"{side}*.json")) for side in ("before", "after"))
    answer = lowlat("report", *before, "--against", *after, "--json")
    assert ANSWERS[name] in json.loads(answer.out)["why"]
