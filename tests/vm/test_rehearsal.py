# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole rehearsals: stock against tuned, with the figures that the profiles stand for.

The guests count their instructions for time, so that the figures are the same on a busy host.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from lowlat.base import process
from lowlat.claim.build import Report
from lowlat.claim.comparison import compare
from lowlat.claim.pair import ComparedFigure
from lowlat.figures.measured_arm import Arm
from lowlat.measure.run_file import read_run
from lowlat.plan import profile
from lowlat.rehearse import kernel, results
from support import needs
from support.guest import emulator
from support.guest.kernels import KERNELS, packaged_or_skip

pytestmark = pytest.mark.vm

#: In CPU seconds, of each boot.
_LIMIT_S = 600.0

#: In seconds.
_FETCH_S = 900.0


def _rehearse(wanted: str, folder: Path, *words: str) -> tuple[Any, dict[str, ComparedFigure]]:
    """The document, and interrupts per second on the isolated CPUs of each arm."""
    image = str(packaged_or_skip(KERNELS[wanted]).image)
    out = folder / "out"
    argv = ["rehearse", "--kernel", image, "--isolate", "2-3", "--out", str(out)]
    argv += ["--duration", "10s", "--warmup", "6s", *words]
    assert emulator.rehearse(argv, out, _LIMIT_S) == 0
    done = json.loads((out / "rehearsal.json").read_text())
    assert done["schema"] == results.SCHEMA and done["findings"] == []
    runs: dict[str, list[Path]] = {"stock": []}  # first, though the order of boots is drawn
    for boot in done["kernels"][0]["boots"]:
        runs.setdefault(boot["arm"], []).append(Path(boot["run"]))
    arms = [Arm(name, tuple(map(read_run, paths))) for name, paths in runs.items()]
    found = compare(*arms).reports  # all of them against stock
    return done, {one.name: _entries(one) for one in found}


def _entries(report: Report) -> ComparedFigure:
    assert report.primary is not None and report.primary.name == "interrupts_per_s"
    return report.primary


def test_the_profiles_quieten_isolated_cpus(tmp_path: Path) -> None:
    done, entries = _rehearse("6.12", tmp_path, "--profile", "lowlat", "--profile", "lowlat-poll")
    # A tick 250 times a second: the emulation loses none.
    assert entries["lowlat"].before >= 245
    assert entries["lowlat"].after <= 4.5
    # The claim, at most 0.5 as the median of some boots, leaves room for one boot's bad luck.
    assert entries["lowlat-poll"].after <= 1.0
    # Only a write of the harness's own to memory that it shares could shoot these down.
    runs = [json.loads(Path(boot["run"]).read_text()) for boot in done["kernels"][0]["boots"]]
    assert not any("TLB" in cpu["interrupts_per_s"] for run in runs for cpu in run["cpus"])
    assert done["kernels"][0]["release"] in (tmp_path / "out/report.html").read_text()


@pytest.mark.proof
def test_a_tuned_profile_and_a_control_are_arms_too(tmp_path: Path) -> None:
    _, entries = _rehearse("6.12", tmp_path, "--tuned-profile", "cpu-partitioning", "--control")
    assert entries["cpu-partitioning"].after <= 8
    assert entries["control"].after >= 245
    assert "cpu-partitioning" in (tmp_path / "out/report.html").read_text()


@pytest.mark.proof
@pytest.mark.parametrize("kernel", ["6.1", "newest"])
def test_the_running_guest_is_isolated_without_a_boot(tmp_path: Path, kernel: str) -> None:
    """Before 6.8 the partition moves no unbound work: masks of our own do."""
    done, entries = _rehearse(kernel, tmp_path, "--now")
    assert entries["lowlat"].after <= 4.5
    # The tick stays, and nothing else does. Before 6.5 the guest's time is the host's, and a busy
    # host makes fewer ticks of it.
    ticks = 245 if kernel == "newest" else 50
    (path,) = (Path(boot["run"]) for boot in done["kernels"][0]["boots"] if boot["arm"] == "now")
    (cpu,) = json.loads(path.read_text())["cpus"]
    assert cpu["cpu"] == 3 and cpu["interrupts_per_s"]["LOC"] >= ticks
    assert cpu["interrupts_per_s"]["total"] <= cpu["interrupts_per_s"]["LOC"] + 0.5


#: The others would have a boot each.
_ABLATED = ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity")


@pytest.mark.proof
def test_what_a_setting_buys_is_shown_on_a_real_kernel(tmp_path: Path) -> None:
    others = (name for name in profile.load("lowlat").settings if name not in _ABLATED)
    words = (word for name in others for word in ("--disable", name))
    _, entries = _rehearse("6.1-rt", tmp_path, "--ablate", *words)
    assert len(entries) == 1 + len(_ABLATED)
    assert entries["lowlat-without-nohz_full"].after >= 20 * max(entries["lowlat"].after, 0.05)


#: In its own mount namespace, where others' updates do not show: the lists, the host's place for
#: them, Python and its arguments.
_ALONE = """mount --bind "$1" "$2" && shift 2 && exec "$@"
"""
_FETCH = """import sys
from pathlib import Path
from lowlat.rehearse import packages
packages.fetch("6.1-rt", Path(sys.argv[1]))
"""
_LISTS = Path("/var/lib/apt/lists")


@needs.root("it mounts")
def test_a_kernel_is_fetched_without_touching_the_hosts_lists(tmp_path: Path) -> None:
    lists, cache = tmp_path / "lists", tmp_path / "cache"
    shutil.copytree(_LISTS, lists, copy_function=shutil.copy2)
    before = _seen(lists)
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", _ALONE, "sh"]
    words = (str(lists), str(_LISTS), sys.executable, "-c", _FETCH, str(cache))
    done = process.run([*argv, *words], timeout=_FETCH_S)
    if "no package lists" in done.stderr:
        needs.absent(f"no network: {done.last_words}")
    assert done.status == 0, done.stderr
    assert _seen(lists) == before
    fetched = kernel.find("6.1-rt", boot=tmp_path, cache=cache)
    assert fetched is not None
    modules = cache / fetched.release / "lib/modules" / fetched.release
    assert (modules / "modules.dep").is_file()
    assert (modules / "config").is_file()


def _seen(folder: Path) -> list[tuple[str, int]]:
    return sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
