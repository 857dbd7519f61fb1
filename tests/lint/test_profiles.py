# SPDX-License-Identifier: GPL-2.0-or-later
"""``lint`` reads the parameters that other tools' profiles add to the boot line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reference

from support import needs
from support.cli import lowlat

PROFILE = """apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: du}
spec:
  cpu: {isolated: 2-7, reserved: 0-1}
  additionalKernelArgs: [nohz=off, isolcpu=2-7]
  nodeSelector: {node-role.kubernetes.io/worker-cnf: ""}
"""

TUNED = """[main]
include=-network-latency
[variables]
isolated_cores=2-7
[bootloader]
cmdline_a=+nohz_full=${isolated_cores} skew_tick=1 mce=off
cmdline_b=-mce=off
initrd_add_dir=/x
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reference.bare_metal(tmp_path_factory.mktemp("host"), cpus=8)


def words(host: Path, folder: Path, text: str) -> dict[str, Any]:
    path = folder / "profile"
    path.write_text(text)
    found = lowlat("lint", "--root", host, path, "--json").json()
    return {word["word"]: word["verdict"] for word in found["words"]}


def test_a_performance_profile_is_the_operators_line(host: Path, tmp_path: Path) -> None:
    needs.module("yaml", "PyYAML is not installed")
    found = words(host, tmp_path, PROFILE)
    # The hint realTime is on by default.
    assert found["mce=off"] == "harmful" and found["isolcpus=managed_irq,2-7"] == "effective"
    assert found["isolcpu=2-7"] == "ignored" and found["nohz=off"] in ("harmful", "contradictory")
    calm = PROFILE.replace("spec:", "spec:\n  workloadHints: {realTime: false}")
    calm = calm.replace("reserved: 0-1", "reserved: 0-1, balanceIsolated: false")
    found = words(host, tmp_path, calm)
    assert "mce=off" not in found and "isolcpus=domain,managed_irq,2-7" in found
    # The operator isolates the CPUs of OVS-DPDK too.
    switched = PROFILE.replace("isolated: 2-7", "isolated: 2-5, ovsDpdk: 6-7")
    assert words(host, tmp_path, switched)["nohz_full=2-7"] == "assumed"


def test_what_is_wrong_with_a_profile_is_told_by_its_fields(host: Path, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    cpu = {"isolated": "2-4", "reserved": "0-2", "offlined": "9"}

    def notes(**spec: object) -> list[str]:
        path.write_text(json.dumps({"kind": "PerformanceProfile", "spec": {"cpu": cpu, **spec}}))
        answer = lowlat("lint", "--root", host, path, "--json", "--openshift", "4.18")
        assert answer.status == 1
        found: list[str] = answer.json()["notes"]
        shown = lowlat("lint", "--root", host, path, "--openshift", "4.18").out
        assert set(" ".join(found).split()) <= set(shown.split())
        return found

    found = notes(additionalKernelArgs=["nohz=off", "mce=off"])
    both, left, gone = (note for note in found if note.startswith("spec.cpu: "))
    assert "CPU 2 is in isolated and in reserved, which OpenShift refuses" in both
    assert "CPU 5-7 is in no list" in left and "no CPU 9; give --root with a node's capture" in gone
    hinted = "from workloadHints.realTime: true and additionalKernelArgs: mce=off"
    assert hinted in found and "from additionalKernelArgs: nohz=off" in found
    cpu.update(isolated="2-7", reserved="0-1", offlined="")
    assert not [note for note in notes() if note.startswith("spec.cpu")]


def test_a_profile_of_other_machines_is_not_judged_on_this_one(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    cpu = {"isolated": "4000", "reserved": "0"}
    path.write_text(json.dumps({"kind": "PerformanceProfile", "spec": {"cpu": cpu}}))
    refused = lowlat("lint", path).refused()
    assert "this machine has no CPU 4000 (give --root with a node's capture" in refused


def test_one_in_json_needs_no_library(host: Path, tmp_path: Path) -> None:
    cpu = {"isolated": "2-7", "reserved": "0-1"}
    profile = {"kind": "PerformanceProfile", "spec": {"cpu": cpu}}
    for text in (json.dumps(profile), json.dumps(profile, indent=2)):
        assert "nohz_full=2-7" in words(host, tmp_path, text)


def test_what_render_writes_is_read_back(host: Path, tmp_path: Path) -> None:
    needs.module("yaml", "PyYAML is not installed")
    out = tmp_path / "out"
    format_ = ("--format", "performance-profile", "--isolate", "2-7")
    assert lowlat("render", "--root", host, *format_, "--out", out).status == 0
    found = words(host, tmp_path, (out / "performance-profile.yaml").read_text())
    assert found["isolcpus=domain,managed_irq,2-7"] == "effective" and "irqaffinity=0-1" in found
    assert not {"ignored", "harmful", "contradictory"} & set(found.values())


def test_a_tuned_profile_is_its_bootloader_section(host: Path, tmp_path: Path) -> None:
    found = words(host, tmp_path, TUNED)
    assert set(found) == {"nohz_full=2-7", "skew_tick=1"}


def test_what_only_tuned_knows_is_refused(host: Path, tmp_path: Path) -> None:
    path = tmp_path / "tuned.conf"
    path.write_text(TUNED.replace("=2-7", "=${f:exec:cpus}").replace("mce=off\ncm", "x=${no}\ncm"))
    assert "only TuneD knows" in lowlat("lint", "--root", host, path).refused()
