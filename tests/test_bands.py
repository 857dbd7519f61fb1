# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of this machine: when one has drifted, and that each has a band."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import figures

ROOT = Path(__file__).resolve().parents[1]


def _recorded(root: Path, medians: Sequence[float], host: str = "") -> None:
    (root / "tests").mkdir()
    (root / "tests/figures.ini").write_text("[bands]\nperiod = 0.5 1.1 ratio\n")
    rows = [{"host": host or figures.host(), "name": "period", "median": at} for at in medians]
    (root / figures.RECORDS).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("medians", "drifts"),
    [
        pytest.param([], False, id="no recording"),
        pytest.param([9.0], False, id="one recording"),
        pytest.param([9.0, 1.0], False, id="the last is in the band"),
        pytest.param([1.0, 9.0], False, id="the one before is in the band"),
        pytest.param([1.0, 9.0, 0.4], True, id="the last two are outside"),
        pytest.param([9.0, 9.0, 1.0], False, id="earlier ones were outside"),
    ],
)
def test_two_recordings_in_a_row_tell_a_drift(
    tmp_path: Path, medians: Sequence[float], drifts: bool
) -> None:
    _recorded(tmp_path, medians)
    said = ["figure 'period': 9 and 0.4 ratio, not 0.5 to 1.1 (make figures)"]
    assert figures.drifted(tmp_path) == (said if drifts else [])


def test_another_kind_of_host_tells_nothing(tmp_path: Path) -> None:
    _recorded(tmp_path, [9.0, 9.0], host="an abacus, 2 CPUs")
    assert figures.drifted(tmp_path) == []


def test_the_median_is_recorded_with_its_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    told = [("loop_period_by_floor", value, "ratio") for value in (1.0, 3.0, 2.0)]
    told += [("unheard", 1.0, "ratio"), ("unaccounted", 1.0, "ns")]
    rows = (dict(zip(("name", "value", "unit"), row)) for row in told)
    kept.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(figures, "RECORDS", str(tmp_path / "records"))
    assert figures.record(kept, 0.25) == ["unheard", "unaccounted"]
    row, *_ = map(json.loads, (tmp_path / "records").read_text().splitlines())
    assert (row["median"], row["min"], row["max"], row["steal"]) == (2.0, 1.0, 3.0, 0.25)


def test_each_figure_has_a_band_and_each_band_a_figure() -> None:
    """Names that a test puts together are told by their beginning."""
    files = [*(ROOT / "tests/instrument").glob("*.py"), ROOT / "tests/measure/test_figures.py"]
    files += [ROOT / "tests/test_bench.py", ROOT / "tests/audit/test_cost.py"]
    names = set()
    for node in (node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "figure":
            (first, *_) = node.args
            first = first.values[0] if isinstance(first, ast.JoinedStr) else first
            assert isinstance(first, ast.Constant)
            names.add(str(first.value))
    bands = set(figures.bands(ROOT))
    assert all(any(band.startswith(name) for band in bands) for name in names), names
    assert all(any(band.startswith(name) for name in names) for band in bands), bands
