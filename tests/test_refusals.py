# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat-gen refuses, by the tables of the rooms: in one line, with status 2, and nothing of
the folder has changed then."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import lowlat, lowlat_process
from support.refusals import Refusal, contents, rows

TABLES = sorted(Path(__file__).parent.glob("*/refusals.txt"))


@pytest.mark.parametrize("row", [row for table in TABLES for row in rows(table)], ids=str)
def test_refused(row: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row.make(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    verb, *words = row.argv
    # If it ran, it would take the place of the tests.
    call = lowlat_process if verb == "run" else lowlat
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CACHE", "STATE")}
    said = call(verb, *words, env=env).refused()
    assert row.is_said_in(said), said
    assert len(said) < 700
    assert contents(tmp_path) == before
