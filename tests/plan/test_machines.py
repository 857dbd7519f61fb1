# SPDX-License-Identifier: GPL-2.0-or-later
"""Every machine in tests/machines/, and every synthetic one with a name: its plan, byte for byte.

NAME.txt is a capture (``lowlat-gen capture``), NAME.plan.json what ``plan --json`` prints for it,
or NAME.refused.txt the line of the refusal. ``LOWLAT_GOLDEN=1 pytest tests/plan/test_machines.py``
writes the expected files anew; the difference is then reviewed like any other change.
Emulated machines are captured by tests/support/guest/capture_machines.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_split_properties import check

from lowlat.host.archive import open_root
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split
from lowlat.probe import probe
from support import synthetic
from support.cli import lowlat

FOLDER = Path(__file__).parents[1] / "machines"
GOLDEN = bool(os.environ.get("LOWLAT_GOLDEN"))
CAPTURED = sorted(path.stem for path in FOLDER.glob("*.txt") if ".refused" not in path.name)


def root_of(name: str, folder: Path) -> Path:
    """The archive of a machine; for a synthetic machine, it is made first."""
    if name in synthetic.NAMED:
        model = synthetic.NAMED[name].model()
        return synthetic.write_archive(model, folder / f"{name}.txt")
    return FOLDER / f"{name}.txt"


@pytest.mark.parametrize("name", [*CAPTURED, *synthetic.NAMED])
def test_the_plan_is_the_expected_one(name: str, tmp_path: Path) -> None:
    answer = lowlat("plan", "--root", root_of(name, tmp_path), "--json")
    planned = FOLDER / f"{name}.plan.json"
    refused = FOLDER / f"{name}.refused.txt"
    expected, other = (planned, refused) if answer.status == 0 else (refused, planned)
    text = answer.out if answer.status == 0 else f"{answer.refused()}\n"
    if GOLDEN:
        expected.write_text(text)
        other.unlink(missing_ok=True)
    assert not other.exists()
    assert text == expected.read_text()


@pytest.mark.parametrize("name", CAPTURED)
def test_a_captured_machine_is_split_by_the_rules(name: str) -> None:
    machine = probe(open_root(str(FOLDER / f"{name}.txt")))
    if len(machine.cores) > 1:
        made, _ = split(machine, CpuRequest())
        check(machine, CpuRequest(), made)


@pytest.mark.parametrize("name", CAPTURED)
def test_a_capture_of_a_capture_is_the_same(name: str, tmp_path: Path) -> None:
    """Therefore an archive holds exactly the files that a probe reads today."""
    archive, again = FOLDER / f"{name}.txt", tmp_path / "again.txt"
    assert lowlat("capture", "--root", archive, again).status == 0
    if GOLDEN:
        archive.write_bytes(again.read_bytes())
    # The first line names the release that made the archive.
    assert again.read_text().splitlines()[1:] == archive.read_text().splitlines()[1:]


def test_no_expected_file_is_left_over() -> None:
    known = {*CAPTURED, *synthetic.NAMED}
    files = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert not {name for name in files if name.partition(".")[0] not in known}


def test_this_machine_and_its_capture_have_the_same_plan(tmp_path: Path) -> None:
    archive = tmp_path / "this.txt"
    assert lowlat("capture", archive).status == 0
    live = lowlat("plan", "--json")
    assert lowlat("plan", "--json", "--root", archive) == live


# The purpose of each emulated machine, stated again without the golden files.

SHOWN = {
    "qemu-x86-4s1c": "1-3",
    "qemu-x86-2s2d2c2t-4n": "4-7,12-15",
    "qemu-x86-1s8c2t-offline": "2-11,14-15",  # 13 is offline, and may stay so
    "qemu-x86-2s4c-3n-memory-only": "1-3,5-7",
    "qemu-x86-8c-isolated": "2-7",
    "qemu-arm64-2s2l4c-2n": "1-7,9-15",
    "qemu-arm64-2l4c-offline": "2-7",
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_emulated_machine_shows_what_it_is_for(name: str) -> None:
    cpus = lowlat("plan", "--root", FOLDER / f"{name}.txt", "--json").json()["cpus"]
    assert (cpus["isolated"], cpus["offline"]) == (SHOWN[name], "")
