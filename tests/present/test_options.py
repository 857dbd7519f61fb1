# SPDX-License-Identifier: GPL-2.0-or-later
"""Each option of ``report`` with each kind of file: an answer, or one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lowlat import cli
from support.cli import lowlat
from support.runs import document

pytestmark = pytest.mark.slow

TOOLS = Path(__file__).parents[1] / "data/tools"

#: One recorded file of each form of each tool, and documents of lowlat's own.
KINDS = (
    "oslat-2.10-text.txt",
    "oslat-2.10-json.json",
    "cyclictest-2.10-json.json",
    "cyclictest-2.10-file.hist",
    "rtla-6.12.117-osnoise.txt",
    "rtla-6.5-osnoise-top-from-docs.txt",
    "stress-ng-0.19.02-matrix.txt",
    "stress-ng-0.19.02-matrix.yaml",
    "run",
    "lowlat.plan/1",
    "lowlat.campaign/1",
    "lowlat.verify/1",
    "[]",
)

#: Each option with values; FILE is the file itself, OUT a new path.
OPTIONS = {
    "--against": ["FILE"],
    "--arm": ["other FILE --against FILE", "other FILE"],
    "--pairs-by-name": [" --against FILE"],
    "--campaign": ["FILE"],
    "--verify": ["FILE --against FILE"],
    "--json": [""],
    "--markdown": [""],
    "--article": ["", "--markdown", "--html OUT", "--against FILE"],
    "--level": ["1ms", "3us"],
    "--limit": ["20us", "rhel-rt-virt"],
    "--require": ["interrupts_per_s>=2 --against FILE", "throughput_loss<=5% --against FILE"],
    "--html": ["OUT"],
    "--csv": ["OUT", "OUT --against FILE"],
    "--svg": ["OUT"],
    "--plan": ["FILE --html OUT"],
}


def made(kind: str, folder: Path) -> Path:
    if (TOOLS / kind).exists():
        return TOOLS / kind
    own = folder / "own.json"
    text = kind if kind == "[]" else json.dumps({"schema": kind})
    own.write_text(json.dumps(document("a", 10.0)) if kind == "run" else text)
    return own


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_or_one_line(kind: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path)
    for option, values in OPTIONS.items():
        for value in values:
            out = tmp_path / f"{option}{len(value)}"
            words = [str({"FILE": path, "OUT": out}.get(word, word)) for word in value.split()]
            answer = lowlat("report", path, option, *words)
            if answer.status == 2:
                answer.refused()
            else:
                assert answer.status in (0, 1) and answer.out, (option, value, answer)


def test_every_option_is_tried() -> None:
    named = [action.option_strings for action in cli.parser_of("report")._actions]
    # A browser is of no use to a test.
    assert {names[-1] for names in named if names} == {*OPTIONS, "--open", "--help"}


def test_the_article_takes_runs_of_measure_alone() -> None:
    for path in sorted(TOOLS.glob("*-*")):
        said = lowlat("report", path, "--article").refused()
        assert "give runs of 'lowlat-gen measure'" in said or str(path) in said
