# SPDX-License-Identifier: GPL-2.0-or-later
"""Several scheduling policies in one command: one run for each, distinguished by label and file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_measure import RUN, MeasureStage, stage

from lowlat.base.errors import Refused, Unmet
from lowlat.measure.options import MeasureOptions

__all__ = ["stage"]

#: A harness that reports the policy it was given.
ECHO = "for word; do case $word in --policy=*) p=${word#--policy=} ;; esac; done"


def test_one_policy_is_the_run_as_it_was_asked_for() -> None:
    for policy in (None, "other", "fifo:1"):
        options = MeasureOptions(label="stock", out=Path("run.json"), policy=policy)
        assert list(options.set_ups()) == [options]


def test_each_policy_gets_its_label_and_files() -> None:
    options = MeasureOptions(
        label="stock", out=Path("out/run.json"), events="gaps.csv", policy="other,fifo:1"
    )
    other, fifo = options.set_ups()
    assert (other.label, other.policy) == ("stock-other", "other")
    assert (fifo.label, fifo.policy) == ("stock-fifo1", "fifo:1")
    assert (other.out, other.events) == (Path("out/run-other.json"), "gaps-other.csv")
    assert (fifo.out, fifo.events) == (Path("out/run-fifo1.json"), "gaps-fifo1.csv")
    (_, deadline) = MeasureOptions(label="a", policy="other,deadline:5ms/10ms").set_ups()
    assert (deadline.label, deadline.out, deadline.events) == ("a-deadline5ms-10ms", None, None)


def test_one_command_measures_them_all(
    stage: MeasureStage, capsys: pytest.CaptureFixture[str]
) -> None:
    run = json.dumps({**json.loads(RUN), "policy": "P"}).replace('"P"', "\"'$p'\"")
    stage.play(f"{ECHO}; echo '{run}'")
    assert stage.call("--policy", "other,fifo:1") == 0
    files = {
        path.name: json.loads(path.read_text())["policy"] for path in stage.folder.glob("out/*")
    }
    assert files == {"run-other.json": "other", "run-fifo1.json": "fifo:1"}
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(".json")] == [
        str(stage.out.with_name(name)) for name in ("run-other.json", "run-fifo1.json")
    ]


def test_an_invalid_run_does_not_keep_the_next_from_being_made(stage: MeasureStage) -> None:
    stage.play(f"{ECHO}; echo '{RUN}'; [ $p = fifo:1 ]")
    with pytest.raises(Unmet, match=r"run-other.json: the run is partial or invalid: no oslat"):
        stage.call("--policy", "other,fifo:1")
    assert sorted(path.name for path in stage.folder.glob("out/*")) == [
        "run-fifo1.json",
        "run-other.json",
    ]


def test_a_policy_that_is_not_to_be_had_is_refused_before_the_first_run(
    stage: MeasureStage,
) -> None:
    refusal = "lowlat-measure: --policy fifo:1: not permitted; run as root"
    stage.play(f"{ECHO}; [ $p = other ] || {{ echo '{refusal}' >&2; exit 2; }}; echo '{RUN}'")
    with pytest.raises(Refused, match="--policy fifo:1: not permitted"):
        stage.call("--policy", "other,fifo:1")
    assert not list(stage.folder.glob("out/*"))


def test_a_cross_check_that_is_missing_is_refused_before_the_first_run(
    stage: MeasureStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(stage.program.parent))
    stage.play(f"echo '{RUN}'")
    with pytest.raises(Refused, match="rtla"):
        stage.call("--second-opinion", "timerlat")
    assert not list(stage.folder.glob("out/*"))
