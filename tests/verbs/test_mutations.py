# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged archives, runs and lowlat's own state: a verb keeps its promises whatever they
contain."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.hosttree import NEEDS, Host, apply_and_try
from support.mutations import changed, check, count, damaged
from support.runs import document

pytest_plugins = ["support.hosttree"]
pytestmark = [pytest.mark.security, pytest.mark.slow]

MACHINES = sorted((Path(__file__).parents[1] / "machines").glob("*.txt"))


def test_damaged_archives(tmp_path: Path) -> None:
    texts = [path.read_bytes() for path in MACHINES if path.name.count(".") == 1]
    verbs = (["plan"], ["plan", "--json", "--as-host"], ["probe"], ["probe", "--json"])
    ended: Counter[int] = Counter()
    for number in range(count(20_000, 150)):
        data = damaged(texts[number % len(texts)], number)
        words = (*verbs[number % 4], "--root", tmp_path / "a.txt")
        ended[check(words, tmp_path / "a.txt", data, number)] += 1
    print(f"{sum(ended.values())} damaged archives: {dict(ended)}")
    assert ended[0] and ended[2]


def test_damaged_runs(tmp_path: Path) -> None:
    intact = [document(f"run{n}", 250.0 - 40 * n) for n in range(4)]
    paths = [tmp_path / f"{n}.json" for n in range(4)]
    ended: Counter[int] = Counter()
    for number in range(count(5_000, 150)):
        for path, run in zip(paths, intact):
            path.write_text(json.dumps(run))
        form = ([], ["--json"], ["--markdown"])[number % 3]
        words = ("report", *paths[:2], "--against", *paths[2:], *form)
        which = number % 4
        ended[check(words, paths[which], changed(intact[which], number), number)] += 1
    print(f"{sum(ended.values())} damaged runs: {dict(ended)}")
    assert ended[0] and ended[2]


class TestState:
    pytestmark = NEEDS

    def test_damaged_state(self, host: Host) -> None:
        apply_and_try(host)
        host.done("promote")
        state = host.path / "var/lib/lowlat"
        intact = {path: path.read_bytes() for path in sorted(state.rglob("*.json"))}
        verbs = (["status"], ["status", "--json"], ["verify"], ["rollback", "--dry-run"])
        ended: Counter[int] = Counter()
        for number in range(count(5_000, 100)):
            path = sorted(intact)[number % len(intact)]
            words = (*verbs[number // len(intact) % 4], "--root", host.path)
            data = changed(json.loads(intact[path]), number)
            ended[check(words, path, data, number)] += 1
            path.write_bytes(intact[path])
        print(f"{sum(ended.values())} damaged state files of {len(intact)}: {dict(ended)}")
        assert ended[2]
