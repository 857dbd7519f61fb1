# SPDX-License-Identifier: GPL-2.0-or-later
"""``doctor``: the programs that each verb lacks on this machine, and the packages that provide
them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lowlat.base import process
from lowlat.verbs import VERBS
from support import machines, needs
from support.cli import lowlat
from support.machines import CONFIG

DEPENDENCIES = Path(__file__).parents[2] / "packaging/dependencies"


def without_programs(tmp_path: Path, *managers: str) -> dict[str, str]:
    """An environment whose PATH has only these package managers."""
    for name in managers:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return {"PATH": str(tmp_path)}


def missing(document: Any, verb: str) -> dict[str, Any]:
    (row,) = [row for row in document["verbs"] if row["verb"] == verb]
    return {lack["what"]: lack for lack in row["missing"]}


@pytest.mark.parametrize(
    ("package", "manager"), [("rt-tests", "apt-get"), ("realtime-tests", "dnf")]
)
def test_the_package_has_the_name_that_this_distribution_gives_it(
    tmp_path: Path, package: str, manager: str
) -> None:
    answer = lowlat("doctor", "--json", env=without_programs(tmp_path, manager))
    found = missing(answer.json(), "measure")
    assert found["oslat"]["mend"] == f"install the package {package}"
    assert found["oslat"]["needed"] is False and found["oslat"]["for"]


def test_a_distribution_that_is_not_known_is_told_both_names(tmp_path: Path) -> None:
    answer = lowlat("doctor", "measure", env=without_programs(tmp_path))
    assert "rt-tests (Debian) or realtime-tests (Fedora)" in " ".join(answer.out.split())
    answer = lowlat("doctor", "rehearse", "--json", env=without_programs(tmp_path))
    found = missing(answer.json(), "rehearse")["busybox"]
    assert found["mend"] == "install the package busybox-static (Debian) or busybox (Fedora)"


def test_every_verb_has_its_row_and_says_whether_it_is_ready() -> None:
    document = lowlat("doctor", "--json").json()
    assert document["schema"] == "lowlat.doctor/1"
    assert {row["verb"] for row in document["verbs"]} == {*VERBS} - {"boot"}
    for row in document["verbs"]:
        needed = any(lack["needed"] for lack in row["missing"])
        assert row["ready"] is not (needed or row["waits"] is not None)


def test_a_verb_that_cannot_work_is_a_finding(tmp_path: Path) -> None:
    answer = lowlat("doctor", "rehearse", env=without_programs(tmp_path, "apt-get"))
    assert answer.status == 1
    assert "install the package busybox-static" in " ".join(answer.out.split())
    assert lowlat("doctor", "explain").status == 0


def test_of_another_machine_its_files_tell_the_limits_in_a_few_lines(tmp_path: Path) -> None:
    config = CONFIG.replace("CONFIG_NO_HZ_FULL=y\n", "")
    tree = {**machines.machine(config=config), "etc/fstab": "/dev/sda1 /efi vfat\n"}
    root = machines.write_tree(tmp_path / "tree", tree)
    paths = without_programs(tmp_path, "apt-get")
    brief = lowlat("doctor", "--root", root, env=paths)
    assert brief.status == 1
    told = " ".join(brief.out.split())
    assert told.startswith("Ready with limits: all verbs but ")
    # As 'apply --root' would refuse.
    assert "apply, tune TuneD is not installed: install the package tuned, or apply" in told
    assert "apply, tune lowlat-gen is not installed: install the package lowlat in" in told
    assert "apply, trial, promote, tune a boot loader that lowlat writes: /efi is" in told
    # Neither this machine's programs, nor options of the kernel for what the profile does not set.
    assert "CONFIG_NO_HZ_FULL (nohz_full)" in told
    assert "oslat" not in told and told.count("CONFIG_") == 1
    every = " ".join(lowlat("doctor", "--all", "--root", root).out.split())
    assert "boot a kernel that has the option" in every and "boot a kernel" not in told


@pytest.mark.parametrize(("file", "place"), [("apt.txt", 0), ("dnf.txt", 1)])
def test_packages_are_those_that_make_setup_installs(file: str, place: int) -> None:
    rows = (line.split() for line in (DEPENDENCIES / file).read_text().splitlines())
    wanted = {
        Path(path).name: row[1]
        for row in rows
        if row and row[0] in ("setup", "rehearse")
        for path in row[2].split(",")
    }
    known = {name: both[place] for name, both in process.PACKAGES.items() if name in wanted}
    assert len(known) >= 5
    assert known == {name: wanted[name] for name in known}


@needs.two_cpus()
def test_cpus_that_this_process_may_not_use_are_told() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        document = lowlat("doctor", "measure", "--json").json()
    finally:
        os.sched_setaffinity(0, allowed)
    (lack,) = [
        lack for what, lack in missing(document, "measure").items() if what.startswith("CPU ")
    ]
    assert lack["for"] == f"this process may use {min(allowed)}" and not lack["needed"]
