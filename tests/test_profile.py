# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of the user's own: what they inherit, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trees import lowlat, machine, write_tree


def host(tmp_path: Path, **profiles: str) -> Path:
    files = {f"etc/lowlat/profiles/{name}/lowlat.conf": text for name, text in profiles.items()}
    return write_tree(tmp_path, {**machine(), **files})


def test_an_override_may_extend_the_packaged_profile_of_its_name(tmp_path: Path) -> None:
    root = host(tmp_path, lowlat="[main]\nparent = lowlat\n[settings]\nskew_tick = off\n")
    line = lowlat("plan", "--root", root, "--json").json()["cmdline"]["text"]
    assert "isolcpus=" in line and "skew_tick" not in line


def test_parents_that_lead_back_are_refused(tmp_path: Path) -> None:
    root = host(
        tmp_path,
        one="[main]\nparent = two\n",
        two="[main]\nparent = one\n",
        alone="[main]\nparent = alone\n",
    )
    for name in ("one", "two", "alone"):
        lowlat("plan", "--root", root, "--profile", name).refused()


@pytest.mark.parametrize(
    "text",
    [
        "[cpus]\nhousekeeping_cores = 0\n",
        "[cpus]\nhousekeeping_cores = -3\n",
        "[cpus]\nhousekeeping_cores = 1_0\n",
        "[cpus]\nhousekeeping_cores = ٢\n",
        "[cpus]\nkeep_efficiency_cores = perhaps\n",
        "[cpus]\nisolated = 2\n",
        "[main]\nparrent = lowlat\n",
        "[DEFAULT]\nskew_tick = on\n",
        "[settings]\nskew_tick = on\nskew_tick = off\n",
        "[settings\n",
        "skew_tick = on\n",
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str) -> None:
    root = host(tmp_path, mine=text)
    said = lowlat("plan", "--root", root, "--profile", "mine").refused()
    assert "mine" in said


def test_a_childs_list_replaces_the_parents_other_list(tmp_path: Path) -> None:
    root = host(
        tmp_path,
        parent="[cpus]\nisolate = 2-3\n",
        child="[main]\nparent = parent\n[cpus]\nhousekeeping = 0-2\n",
    )
    document = lowlat("plan", "--root", root, "--profile", "child", "--json").json()
    assert document["cpus"]["isolated"] == "3"


def test_a_profile_that_cannot_be_read_is_not_replaced_by_the_packaged_one(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    (root / "etc/lowlat/profiles/lowlat").mkdir(parents=True)
    (root / "etc/lowlat/profiles/lowlat/lowlat.conf").symlink_to("/etc/hostname")
    assert "cannot be read" in lowlat("plan", "--root", root).refused()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it is root who must not trust others")
def test_root_refuses_a_profile_that_others_can_write(tmp_path: Path) -> None:
    root = host(tmp_path, mine="[main]\nparent = lowlat\n")
    (root / "etc/lowlat/profiles/mine/lowlat.conf").chmod(0o666)
    said = lowlat("plan", "--root", root, "--profile", "mine").refused()
    assert "can write it" in said
