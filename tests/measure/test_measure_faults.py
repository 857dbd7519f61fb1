# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call that writes fails with a system error: a finished measurement is never lost, and no
file is half-written. LOWLAT_CUTS=1 (`make proofs NAME=faults`) tries every call; otherwise the
tests try a sample."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import faults
from support.cli import GEN
from support.faults import Faulted
from support.harness import SHORT, names, needs_two_cpus
from support.powercut import sample, sampled

pytest_plugins = ["support.harness", "support.powercut"]
pytestmark = [needs_two_cpus, pytest.mark.security]

Tell = Callable[[str], None]

_MOST = 2
_FAULTS = sample(["EIO", "ENOSPC"], "EINTR", "EROFS")


def _is_run(text: str) -> bool:
    try:
        return bool(json.loads(text)["schema"] == "lowlat.run/1")
    except ValueError:
        return False


def _check_kept(done: Faulted, target: Path, measured: bool, where: object) -> None:
    """The results are in the file or on standard output; the file is new or old, but complete."""
    assert "Traceback" not in done.err, where
    in_file, printed = target.read_text(), done.out.partition("{")[1:]
    assert in_file == "old" or _is_run(in_file), where
    assert done.status != 0 or in_file != "old", where
    if measured and in_file == "old":
        assert done.status == 1 and _is_run("".join(printed)), where
    if not measured:
        assert done.status in (1, 2) and in_file == "old", where


@pytest.mark.parametrize("fault", _FAULTS)
def test_the_harness_survives_an_error_in_any_call(
    program: str, tmp_path: Path, tell: Tell, fault: str
) -> None:
    target = tmp_path / "run.json"
    argv = [program, *SHORT, "--json", target]
    target.write_text("old")
    count = len(faults.run(argv, tmp_path).calls)
    tried = sampled(range(1, count + 1), _MOST)
    for at in tried:
        target.write_text("old")
        done = faults.run(argv, tmp_path, fault, at)
        where = (fault, at, done)
        _check_kept(done, target, done.status != 2, where)
        assert bool(done.err) == bool(done.status), where
        # If nothing can be removed, an empty file stays.
        removed = any(call.startswith("unlink") for call in done.failed)
        assert removed or names(tmp_path) == ["run.json"], where
        for name in set(names(tmp_path)) - {"run.json"}:
            (tmp_path / name).unlink()
    tell(f"lowlat-measure --json FILE: {fault} in {len(tried)} of {count} calls survived")


@pytest.mark.parametrize("fault", _FAULTS)
def test_standard_output_that_fails_is_told(
    program: str, tmp_path: Path, tell: Tell, fault: str
) -> None:
    def run(fault: str, at: int) -> Faulted:
        with (tmp_path / "out").open("w") as out:
            return faults.run([program, *SHORT, "--json"], tmp_path, fault, at, stdout=out)

    count = len(run("", 0).calls)
    tried = sampled(range(1, count + 1), _MOST)
    for at in tried:
        done = run(fault, at)
        assert done.status == (1 if done.failed else 0), (fault, at, done)
        assert len(done.err.splitlines()) == len(done.failed[:1]), (fault, at, done)
    tell(f"lowlat-measure --json: {fault} in {len(tried)} of {count} calls told")


@pytest.mark.parametrize("fault", _FAULTS)
def test_measure_survives_an_error_in_any_call(
    program: str, tmp_path: Path, tell: Tell, fault: str
) -> None:
    target = tmp_path / "out" / "run.json"
    scratch = tmp_path / "scratch"
    for folder in (target.parent, scratch):
        folder.mkdir()
    env = {**os.environ, "TMPDIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    lowlat = [*GEN, "measure", "--label=x", f"--out={target}"]

    def run(fault: str, at: int) -> Faulted:
        target.write_text("old")
        return faults.run([*lowlat, *SHORT], tmp_path, fault, at, env=env)

    count = len(run("", 0).calls)
    tried = sampled(range(1, count + 1), 2 * _MOST)
    for at in tried:
        done = run(fault, at)
        where = (fault, at, done)
        # The harness writes its record of interruptions after the measurement.
        measured = any(call.endswith(("/switches.csv", "/capture.json")) for call in done.calls)
        _check_kept(done, target, measured or done.status == 0, where)
        removed = any(call.startswith(("unlink", "rmdir")) for call in done.failed)
        assert removed or (names(target.parent), names(scratch)) == (["run.json"], []), where
        for path in (*target.parent.iterdir(), *scratch.iterdir()):
            _remove(path)
    tell(f"lowlat-gen measure: {fault} in {len(tried)} of {count} calls survived")


def _remove(path: Path) -> None:
    if path.is_dir():
        for entry in path.iterdir():
            _remove(entry)
        path.rmdir()
    else:
        path.unlink()
