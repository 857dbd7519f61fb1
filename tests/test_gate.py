# SPDX-License-Identifier: GPL-2.0-or-later
"""The gate fails closed: a skip that is not listed fails there, and each outcome is recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.waits import GUARD_S

SUPPORT = Path(__file__).resolve().parent / "support"

CASES = """
import pytest

def test_passes(): pass

def test_fails(): assert 1 == 2

@pytest.mark.skip(reason="no moon: tonight")
def test_needs_a_moon(): pass

def test_needs_a_sun(): pytest.skip("no sun")

@pytest.mark.xfail(strict=True)
def test_is_known_to_fail(): assert False
"""
MODULE = 'import pytest\npytest.importorskip("no_such_module")\ndef test_never(): pass\n'


class Folder:
    """A folder of tests of its own, with the gate's plugin."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "tests").mkdir()
        shutil.copytree(SUPPORT, path / "tests/support")
        self.write("skips.ini", "[always]\n")
        self.write("test_cases.py", CASES)

    def write(self, name: str, text: str) -> None:
        (self.path / "tests" / name).write_text(text)

    def run(self, *words: str, gate: str = "one") -> tuple[int, str]:
        argv = [sys.executable, "-m", "pytest", "-p", "support.gate", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*argv, "--rootdir=.", "-c", "/dev/null", *(words or ("tests/test_cases.py",))],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": "tests", "LOWLAT_GATE": gate},
            capture_output=True,
            text=True,
            timeout=GUARD_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def rows(self) -> dict[str, dict[str, Any]]:
        text = (self.path / "build/gate.jsonl").read_text()
        rows = [json.loads(line) for line in text.splitlines()]
        return {row["case"].rpartition("::")[2]: row for row in rows}

    def tell(self, what: str) -> str:
        argv = [sys.executable, "tests/support/gate.py", what]
        return subprocess.run(
            argv, cwd=self.path, capture_output=True, text=True, timeout=GUARD_S, check=True
        ).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_skip_fails(folder: Folder) -> None:
    status, out = folder.run()
    assert status == 1
    assert "2 failed, 1 passed, 1 xfailed, 1 error" in out, out
    assert "skipped, which fails in the gate: no sun" in out
    outcomes = {case: row["outcome"] for case, row in folder.rows().items()}
    assert outcomes["test_needs_a_moon"] == outcomes["test_needs_a_sun"] == "failed"
    assert outcomes["test_passes"] == "passed"


def test_a_listed_skip_does_not(folder: Folder) -> None:
    folder.write(
        "skips.ini",
        "[always]\ntests/test_cases.py::test_needs_a_moon = no moon\n"
        "# Words.\ntests/test_cases.py = no sun\ntests/test_cases.py = no stars\n",
    )
    status, out = folder.run("tests/test_cases.py", "-k", "needs")
    assert status == 0 and "2 skipped" in out, out
    row = folder.rows()["test_needs_a_moon"]
    assert (row["outcome"], row["reason"]) == ("skipped", "no moon: tonight")
    assert folder.tell("unused") == (
        "tests/skips.ini: nothing was skipped by 'tests/test_cases.py = no stars'\n"
    )


def test_a_module_that_skips_whole_fails(folder: Folder) -> None:
    folder.write("test_module.py", MODULE)
    status, out = folder.run("tests/test_module.py")
    assert status == 2 and "skipped, which fails in the gate" in out, out


def test_outside_the_gate_a_skip_is_one(folder: Folder) -> None:
    folder.write("test_module.py", MODULE)
    status, out = folder.run("tests/test_cases.py", "tests/test_module.py", gate="")
    assert "1 failed, 1 passed, 3 skipped, 1 xfailed" in out, out
    assert not (folder.path / "build").exists()


def test_a_case_that_changes_its_mind_is_listed(folder: Folder) -> None:
    folder.run("tests/test_cases.py", "-k", "passes", gate="one")
    folder.write("test_cases.py", "def test_passes(): assert 0\ndef test_other(): pass\n")
    folder.run("-n", "2", "tests/test_cases.py", gate="two")
    assert folder.tell("flaky") == (
        "tests/test_cases.py::test_passes: failed 1, passed 1\n2 gates recorded\n"
    )
    assert "tests/test_cases.py::test_other" in folder.tell("slowest")
