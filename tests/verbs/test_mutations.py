# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged archives, runs and lowlat's own state: a verb keeps its promises whatever they
contain."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from support import needs
from support.hosttree import NEEDS, Host, apply_and_try
from support.machines import machine, write_tree
from support.mutations import changed, check, count, damaged
from support.runs import document

pytest_plugins = ["support.hosttree"]
pytestmark = [pytest.mark.security, pytest.mark.slow]

CLUSTER = "mg/cluster-scoped-resources"
MACHINES = sorted((Path(__file__).parents[1] / "machines").glob("*.txt"))


def test_damaged_archives(tmp_path: Path) -> None:
    texts = [path.read_bytes() for path in MACHINES if path.name.count(".") == 1]
    verbs = (["plan"], ["plan", "--json", "--as-host"], ["probe"], ["probe", "--json"])
    ended: Counter[int] = Counter()
    for number in range(count(20_000, 150)):
        data = damaged(texts[number % len(texts)], number)
        words = (*verbs[number % 4], "--root", tmp_path / "a.txt")
        ended[check(words, tmp_path / "a.txt", data, number)] += 1
    print(f"{sum(ended.values())} damaged archives: {dict(ended)}")
    assert ended[0] and ended[2]


def test_damaged_runs(tmp_path: Path) -> None:
    intact = [document(f"run{n}", 250.0 - 40 * n) for n in range(4)]
    paths = [tmp_path / f"{n}.json" for n in range(4)]
    ended: Counter[int] = Counter()
    for number in range(count(5_000, 150)):
        for path, run in zip(paths, intact):
            path.write_text(json.dumps(run))
        form = ([], ["--json"], ["--markdown"])[number % 3]
        words = ("report", *paths[:2], "--against", *paths[2:], *form)
        which = number % 4
        ended[check(words, paths[which], changed(intact[which], number), number)] += 1
    print(f"{sum(ended.values())} damaged runs: {dict(ended)}")
    assert ended[0] and ended[2]


#: A TuneD profile as people write them, and an object of a cluster.
TUNED = b"""[main]
summary=x
include=-not-there, -nor-this
[variables]
include=/etc/tuned/more.conf
isolated_cores=2-4
others=${f:cpulist_invert:${isolated_cores}}
flags=${f:regex_search_ternary:${unset}:\\by\\b:managed_irq,:}
[bootloader]
cmdline_a=+isolcpus=${flags}${isolated_cores} irqaffinity=${others}
cmdline_b=-quiet
cmdline_c=tuned.mask=${f:cpulist2hex_invert:${isolated_cores}} x=${f:cpulist_pack:2,3,4}
"""
OBJECT = b"""kind: Node
metadata:
  name: w1
  labels: {node-role.kubernetes.io/worker: ""}
  annotations: {machineconfiguration.openshift.io/currentConfig: r}
spec:
  kernelArguments: [isolcpus=2-7, "nohz=on"]
  cpu: {isolated: 2-7, reserved: 0-1}
status: {desired: {version: 4.18.3}, images: [{names: [a, b], sizeBytes: 10}]}
"""


def _tar() -> bytes:
    """A machine as a node's sysinfo.tgz has it, unpacked, with a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in machine(2).items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("sys/bus/cpu/devices/cpu1")
        link.type, link.linkname = tarfile.SYMTYPE, "../../../devices/system/cpu/cpu1"
        archive.addfile(link)
    return packed.getvalue()


#: By what is damaged: where it lies, the intact file, and the verb that reads it.
OTHERS = {
    "tar file": ("machine.tar", _tar(), "plan --root machine.tar"),
    "TuneD profile": ("tuned.conf", TUNED, "lint --root tree tuned.conf"),
    "node": (f"{CLUSTER}/core/nodes/w1.yaml", OBJECT, "lint --root tree mg"),
    "profile": (
        f"{CLUSTER}/performance.openshift.io/performanceprofiles/p.yaml",
        *(OBJECT, "lint --root tree mg"),
    ),
    "machine config": (
        f"{CLUSTER}/machineconfiguration.openshift.io/machineconfigs/r.yaml",
        *(OBJECT, "lint --root tree mg"),
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_damaged_files_of_others(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.module("yaml", "PyYAML is not installed")
    monkeypatch.chdir(tmp_path)
    write_tree(tmp_path / "tree", machine(8))
    nodes = {f"{CLUSTER}/core/nodes/w1.yaml": OBJECT.decode(), "mg/nodes/w1/proc_cmdline": "quiet"}
    path, intact, words = OTHERS[kind]
    write_tree(tmp_path, {**nodes, path: ""})
    ended: Counter[int] = Counter()
    for number in range(count(2_000, 20)):
        ended[check(words.split(), tmp_path / path, damaged(intact, number), number)] += 1
    print(f"{sum(ended.values())} damaged {kind}s: {dict(ended)}")
    assert len(ended) > 1


class TestState:
    pytestmark = NEEDS

    def test_damaged_state(self, host: Host) -> None:
        apply_and_try(host)
        host.done("promote")
        state = host.path / "var/lib/lowlat"
        intact = {path: path.read_bytes() for path in sorted(state.rglob("*.json"))}
        verbs = (["status"], ["status", "--json"], ["verify"], ["rollback", "--dry-run"])
        ended: Counter[int] = Counter()
        for number in range(count(5_000, 100)):
            path = sorted(intact)[number % len(intact)]
            words = (*verbs[number // len(intact) % 4], "--root", host.path)
            data = changed(json.loads(intact[path]), number)
            ended[check(words, path, data, number)] += 1
            path.write_bytes(intact[path])
        print(f"{sum(ended.values())} damaged state files of {len(intact)}: {dict(ended)}")
        assert ended[2]
