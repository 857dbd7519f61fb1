# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole rehearsals: stock against tuned, with the figures that the default profile stands for.

A noisy host stretches the guest's time and so thins out stock's ticks: the bounds on the tuned
side hold anywhere, those on the reduction leave room.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kernels import kernel_or_skip

from lowlat.planner import Options
from lowlat.rehearse import kernel, outcome, packages
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.rehearsal import rehearse
from lowlat.wishes import Wishes

pytestmark = pytest.mark.vm


def _rehearse(wanted: str, profile: str, folder: Path) -> tuple[Any, float, float]:
    """The outcome, and kernel entries per second on the isolated CPUs before and after."""
    image = str(kernel_or_skip(wanted).image)
    plan = Options(wishes=Wishes(isolate="2-3"))
    done = rehearse(
        RehearseOptions(image, plan=plan, profile=profile, duration="60s", out=folder / "out")
    )
    primary = outcome.compared(done).get("kernel_entries_per_s")
    assert primary is not None
    assert json.loads(outcome.write(done).read_text())["schema"] == outcome.SCHEMA
    return done, primary.before, primary.after


@pytest.mark.parametrize("wanted", ["6.12", pytest.param("6.1-rt", marks=pytest.mark.full)])
def test_the_default_profile_quietens_isolated_cpus(wanted: str, tmp_path: Path) -> None:
    done, before, after = _rehearse(wanted, "lowlat", tmp_path)
    assert list(outcome.findings(done)) == []
    assert after <= 4.5
    assert before / after >= 10


def test_the_polling_profile_leaves_next_to_nothing(tmp_path: Path) -> None:
    done, before, after = _rehearse("6.12", "lowlat-poll", tmp_path)
    assert list(outcome.findings(done)) == []
    # The claim, at most 0.5 as the median of three boots, leaves room for one boot's bad luck.
    assert after <= 1.0
    assert before / after >= 50


def test_a_kernel_is_fetched_without_touching_the_hosts_lists(tmp_path: Path) -> None:
    kernel_or_skip("6.1-rt")
    lists = Path("/var/lib/apt/lists")
    before = sorted((path.name, path.stat().st_mtime_ns) for path in lists.iterdir())
    fetched = packages.fetch("6.1-rt", tmp_path)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in lists.iterdir()) == before
    assert kernel.find("6.1-rt", boot=tmp_path, cache=tmp_path) == fetched
    assert (tmp_path / fetched.release / "lib/modules" / fetched.release / "modules.dep").is_file()
    assert (tmp_path / fetched.release / "lib/modules" / fetched.release / "config").is_file()
