# SPDX-License-Identifier: GPL-2.0-or-later
"""The collection on one host: the effects of rolling_trial and of the role on its boot, and their
output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.ansible_hosts import Ansible, Played, ansible_or_skip, diff_rows, play
from support.hosttree import NEEDS, RELEASE, Host, Namespace, make

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.ansible]

ROLE = """
- hosts: all
  gather_facts: false
  roles:
    - role: lowlat.lowlat.lowlat
      vars:
        lowlat_manage_packages: false
        lowlat_state: {state}
"""


class CollectionRoad:
    """The results of one host: each play's output, and the host's files after it."""

    def __init__(self, ansible: Ansible, host: Host) -> None:
        self.ansible = ansible
        self.host = host
        self.played: dict[str, Played] = {}
        self.after: dict[str, dict[str, tuple[Any, ...]]] = {"nothing": host.snapshot()}
        self.status: dict[str, Any] = {}

    def go(self, name: str, book: str, *words: str, **more: Any) -> None:
        self.played[name] = play(self.ansible, {"one": self.host}, book, *words, **more)
        self.after[name] = self.host.snapshot()
        self.status[name] = self.host.status()

    def role(self, name: str, state: str, *words: str) -> None:
        book = self.ansible.folder / "role.yml"
        book.write_text(ROLE.format(state=state))
        self.go(name, str(book), *words)


@pytest.fixture(scope="module", params=["newest", pytest.param("oldest", marks=pytest.mark.proof)])
def road(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, namespace: Namespace
) -> Iterator[CollectionRoad]:
    folder = tmp_path_factory.mktemp("road")
    ansible = ansible_or_skip(request.param, folder / "controller")
    made = CollectionRoad(ansible, make(folder / "host", namespace))
    trial = "lowlat.lowlat.rolling_trial"
    made.go("checked", trial, "--check", "--diff")
    made.go("tried", trial)
    made.go("again", trial)
    made.role("absent", "absent")
    made.role("role checked", "promoted", "--check", "--diff")
    made.role("role", "promoted")
    yield made


def test_check_mode_writes_nothing_and_shows_the_line(road: CollectionRoad) -> None:
    played = road.played["checked"]
    assert played.status == 0, played.out
    assert road.after["checked"] == road.after["nothing"]
    rows = diff_rows(played.out)
    assert any(row.startswith("+isolcpus=") for row in rows), played.out
    assert any(row.startswith("+lowlat.plan=") for row in rows)
    assert not any(row.startswith("-") for row in rows)


def test_a_good_trial_becomes_the_default(road: CollectionRoad) -> None:
    played = road.played["tried"]
    assert played.status == 0, played.out
    assert road.played["tried"].recap("one")["failed"] == 0
    status = road.status["tried"]
    assert status["state"] == "promoted"
    assert status["running"]["trial"] and status["running"]["ours"]
    (tuned,) = (row for row in status["kernels"] if row["kernel"] == RELEASE)
    assert tuned["tried"] and tuned["default"]
    names = sorted(path.name for path in (road.ansible.folder / "runs/one").iterdir())
    assert names == ["stock-stand-in.json", "tuned-stand-in.json"]


def test_a_second_time_changes_nothing(road: CollectionRoad) -> None:
    played = road.played["again"]
    assert played.status == 0, played.out
    assert played.recap("one")["changed"] == 0
    assert road.after["again"] == road.after["tried"]


def test_the_role_takes_everything_back(road: CollectionRoad) -> None:
    assert road.played["absent"].status == 0, road.played["absent"].out
    assert road.status["absent"]["state"] == "none"
    boot = {path: held for path, held in road.after["nothing"].items() if "grubenv" not in path}
    assert {path: road.after["absent"].get(path) for path in boot} == boot


def test_the_role_in_check_mode_writes_nothing(road: CollectionRoad) -> None:
    played = road.played["role checked"]
    assert played.status == 0, played.out
    assert road.after["role checked"] == road.after["absent"]
    assert any(row.startswith("+lowlat.plan=") for row in diff_rows(played.out)), played.out


def test_the_role_reboots_no_host_unasked(road: CollectionRoad) -> None:
    played = road.played["role"]
    assert played.status == 0, played.out
    assert road.status["role"]["state"] == "trial-set", played.out
