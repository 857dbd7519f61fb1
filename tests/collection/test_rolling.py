# SPDX-License-Identifier: GPL-2.0-or-later
"""rolling_trial over several hosts, one of which fails: where the play stops, and the state that it
leaves. Only the machines are stand-ins; tests/vm/test_rolling_guests.py boots real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.ansible_hosts import ansible_or_skip, play
from support.hosttree import NEEDS, Namespace, make

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.ansible, pytest.mark.proof]


def test_the_first_failure_stops_the_play(tmp_path: Path, namespace: Namespace) -> None:
    ansible = ansible_or_skip("newest", tmp_path / "controller")
    names = ("a", "b", "c")
    hosts = {name: make(tmp_path / name / "host", namespace) for name in names}
    (tmp_path / "b/panics").touch()
    before = {name: host.snapshot() for name, host in hosts.items()}
    played = play(ansible, hosts, "lowlat.lowlat.rolling_trial")
    assert played.status != 0
    assert "not what came up" in played.out
    states = {name: host.status()["state"] for name, host in hosts.items()}
    assert states == {"a": "promoted", "b": "none", "c": "none"}
    assert hosts["b"].status()["running"]["plan"] is None
    assert hosts["c"].snapshot() == before["c"]
    assert [played.recap(name)["failed"] for name in ("a", "b")] == [0, 1]
    kept = json.loads((ansible.folder / "runs/b/failure.json").read_text())
    assert kept["host"] == "b" and "did not come up" in kept["failure"]
    for name in ("failure.json", "lowlat-evidence.gz"):
        assert (ansible.folder / "runs/b" / name).stat().st_mode & 0o777 == 0o600
    assert set(Path("/tmp").glob("ansible.*.lowlat")) == set()  # noqa: S108

    told = play(ansible, hosts, "lowlat.lowlat.report", lowlat_controller_program="/bin/echo")
    assert told.status == 0, told.out
    assert "a: promoted, tuned boot" in told.out
    assert "b: none, stock boot" in told.out
    assert "b: Make sure that the tuned trial is what came up" in told.out
    runs = [str(ansible.folder / f"runs/a/{arm}-stand-in.json") for arm in ("stock", "tuned")]
    assert " --against ".join(runs) in told.out
