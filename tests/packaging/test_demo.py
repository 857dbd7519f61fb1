# SPDX-License-Identifier: GPL-2.0-or-later
"""The last screen of ``make demo``, for made-up boots of the rehearsal."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from support.runs import STRESS, document
from support.screens import ROOT

ENDING = runpy.run_path(str(ROOT / "packaging/demo-ending"))["ending"]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def ending(folder: Path, *runs: dict[str, Any]) -> str:
    boots = []
    for run in runs:
        path = folder / f"{run['label']}.json"
        path.write_text(json.dumps(run))
        boots.append({"arm": run["label"], "run": str(path)})
    arms = [{"name": run["label"]} for run in runs]
    document = {"kernels": [{"arms": arms, "boots": boots}]}
    (folder / "rehearsal.json").write_text(json.dumps(document))
    lines = list(ENDING(folder))
    assert max(map(len, lines)) <= 80
    return "\n".join(lines)


def test_two_bars_a_sentence_and_the_next_step(tmp_path: Path) -> None:
    stock = document("stock", 250.1, emulated=True)
    told = ending(tmp_path, stock, document("lowlat", 0.025, emulated=True))
    assert bars_of(told) == {"stock": (56, "30,012"), "lowlat": (0, "3")}
    words = " ".join(told.split())
    assert "With lowlat they are 10,000 times fewer. The load did the same work" in words
    assert "emulated: such counts hold on hardware" in words
    assert "Next: lowlat-gen plan " in words


def test_where_no_interrupt_is_left_it_says_so(tmp_path: Path) -> None:
    told = ending(tmp_path, document("stock", 250.1), document("lowlat", 0))
    assert bars_of(told) == {"stock": (56, "30,012"), "lowlat": (0, "0")}
    assert "With lowlat none is left. The load did the same" in " ".join(told.split())


def bars_of(told: str) -> dict[str, tuple[int, str]]:
    rows = re.findall(r"(?m)^  (\w+) +([#|]+) ([\d,]+)$", told)
    return {name: (bar.count("#"), count) for name, bar, count in rows}


def test_a_load_that_did_less_is_told(tmp_path: Path) -> None:
    less = re.sub(r"(per-second\S*: )([\d.]+)", lambda m: f"{m[1]}{float(m[2]) / 2}", STRESS)
    assert less != STRESS
    tuned = document("lowlat", 5.0)
    tuned["loads"][0]["output"] = less
    words = " ".join(ending(tmp_path, document("stock", 250.0), tuned).split())
    assert "did 50 % less work in lowlat than in stock" in words
    assert "the same work" not in words and "emulated" not in words
