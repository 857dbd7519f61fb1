# SPDX-License-Identifier: GPL-2.0-or-later
"""rolling_trial over several hosts, one of which fails: where the play stops, and the state that it
leaves. Only the machines are stand-ins; tests/vm/test_rolling_guests.py boots real ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.ansible_hosts import STAND_IN, ansible_or_skip, play
from support.hosttree import NEEDS, Host, Namespace, apply_and_try, make

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.ansible]

TRIAL = "lowlat.lowlat.rolling_trial"
BOOT_ID = "proc/sys/kernel/random/boot_id"

#: Fails at the first call that begins with these words, and is the stand-in otherwise.
FAILING = """#!/bin/sh
case "$*" in
*--dry-run*) ;;
{words}*) mkdir {once} 2>/dev/null && {{ echo "lowlat-gen: planted" >&2; exit 2; }} ;;
esac
exec {stand_in} "$@"
"""

#: Each task that can fail of itself, by the command that fails, and whether the drain is undone.
STEPS = {
    "drain": True,
    "apply": True,
    "trial": False,
    "reboot": False,
    "panic": False,
    "verify": False,
    "measure --json --label tuned": False,
    "promote": False,
}


def promoted_host(path: Path, namespace: Namespace) -> Host:
    """A host that runs its promoted entry."""
    host = make(path, namespace)
    tried = apply_and_try(host)
    host.done("promote")
    host.boot(tried, "boot-2")
    host.done("boot", "start")
    return host


@pytest.mark.parametrize(
    "step",
    [pytest.param(each, marks=[] if each == "drain" else pytest.mark.proof) for each in STEPS],
)
def test_what_fails_leaves_a_promoted_host_as_it_was(
    tmp_path: Path, namespace: Namespace, step: str
) -> None:
    """Its entries, its default and the boot that it runs; before the reboot that very boot."""
    ansible = ansible_or_skip("newest", tmp_path / "controller")
    host = promoted_host(tmp_path / "a/host", namespace)
    more = _planted(tmp_path, step) | _drains(tmp_path, fails=step == "drain")
    boot, state, boot_id = host.snapshot(["boot"]), host.status(), host.read(BOOT_ID)
    played = play(ansible, {"a": host}, TRIAL, lowlat_isolate_cores=1, **more)
    assert played.recap("a")["failed"] == 1, played.out
    assert host.snapshot(["boot"]) == boot
    now = host.status()
    assert {**now, "notes": []} == {**state, "notes": []}
    before_the_reboot = step in ("drain", "apply", "trial", "reboot")
    assert (host.read(BOOT_ID) == boot_id) is before_the_reboot
    assert (tmp_path / "undrained").exists() is STEPS[step]
    assert json.loads((ansible.folder / "runs/a/failure.json").read_text())["host"] == "a"


def _planted(folder: Path, step: str) -> dict[str, str]:
    if step == "drain":
        return {}
    if step == "panic":
        (folder / "a/panics").touch()
        return {}
    if step == "reboot":
        return {"lowlat_reboot_command": "false"}
    program = folder / "failing"
    program.write_text(
        FAILING.format(
            words=step.replace(" ", "\\ "), once=folder / "once", stand_in=STAND_IN / "lowlat-gen"
        )
    )
    program.chmod(0o755)
    return {"lowlat_program": str(program)}


def _drains(folder: Path, *, fails: bool) -> dict[str, str]:
    tasks = {
        "drain": "fail: {msg: jobs still run}" if fails else "debug: {msg: drained}",
        "undrain": f"file: {{path: {folder}/undrained, state: touch}}",
    }
    for name, task in tasks.items():
        (folder / f"{name}.yml").write_text(f"- name: The {name}\n  ansible.builtin.{task}\n")
    return {f"lowlat_{name}_tasks": str(folder / f"{name}.yml") for name in tasks}


@pytest.mark.proof
@pytest.mark.parametrize(
    "loss",
    ["lowlat_plan 1", "lowlat_facts 1", "lowlat_boot 2", "lowlat_facts 2", "lowlat_boot 6"],
    ids=["planned", "at first", "applied", "verified", "promoted"],
)
def test_no_host_is_touched_after_one_that_is_lost(
    tmp_path: Path, namespace: Namespace, loss: str
) -> None:
    ansible = ansible_or_skip("newest", tmp_path / "controller")
    hosts = {name: promoted_host(tmp_path / name / "host", namespace) for name in "ab"}
    hosts |= {name: make(tmp_path / name / "host", namespace) for name in "cdefgh"}
    before = {name: host.snapshot() for name, host in hosts.items()}
    (tmp_path / "d/dies").write_text(loss)
    played = play(ansible, hosts, TRIAL, lowlat_measure=False)
    assert played.status != 0
    untouched = "efgh" if loss != "lowlat_plan 1" else "cdefgh"
    assert {name for name in hosts if hosts[name].snapshot() == before[name]} >= set(untouched)
    assert hosts["c"].status()["state"] == ("none" if "c" in untouched else "promoted")
    assert re.search(r"^(fatal|failed): \[.*d\b.*", played.out, re.MULTILINE)
    if loss == "lowlat_facts 2":
        assert hosts["d"].status()["state"] == "none"
        kept = json.loads((ansible.folder / "runs/d/failure.json").read_text())
        assert "the connection was lost" in kept["failure"]


@pytest.mark.proof
def test_an_undrain_that_fails_leaves_the_promoted_entry(
    tmp_path: Path, namespace: Namespace
) -> None:
    ansible = ansible_or_skip("newest", tmp_path / "controller")
    host = make(tmp_path / "a/host", namespace)
    (tmp_path / "undrain.yml").write_text("- ansible.builtin.fail: {msg: no such node}\n")
    more = {"lowlat_undrain_tasks": str(tmp_path / "undrain.yml")}
    played = play(ansible, {"a": host}, TRIAL, lowlat_measure=False, **more)
    assert played.status != 0 and "stays drained" in played.out
    assert host.status()["state"] == "promoted" and host.status()["running"]["plan"]


@pytest.mark.proof
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
