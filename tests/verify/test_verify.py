# SPDX-License-Identifier: GPL-2.0-or-later
"""``verify`` as a whole, on trees of files; real kernels are in tests/vm."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Optional

import pytest
from booted import lowlat, planned, rows, start, thread

from lowlat.host.archive import Recorder
from lowlat.host.root import Root
from lowlat.plan import store
from lowlat.verify import evidence
from lowlat.verify.findings import verify
from support.machines import write_tree


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


@pytest.fixture
def started(host: Path) -> Path:
    return start(host)


def test_all_in_effect(started: Path) -> None:
    found = rows(started, 0)
    assert {row["state"] for row in found.values()} == {"effective"}
    assert "Offload RCU callbacks" in found["rcu_nocbs"]["evidence"]
    assert len(found) == 15


def test_nothing_is_read_that_would_interrupt_an_isolated_cpu(host: Path) -> None:
    recorder = Recorder(Root(str(host)))
    plan = store.read(None, recorder)
    verify(plan, recorder, None)
    read = {*recorder.contents.paths(), *evidence.files()}
    # In some kernels, a read of these files asks the CPU itself by an inter-processor interrupt.
    assert not [path for path in read if re.search("cpuinfo(?!_max)|cur_freq|/dev/cpu|msr", path)]
    assert "/proc/cmdline" in read


def test_findings_come_first_and_the_last_line_counts(started: Path) -> None:
    write_tree(started, {"proc/7/comm": "irqbalance\n", "proc/irq/24/smp_affinity": "f\n"})
    answer = lowlat("verify", "--root", started)
    said = answer.out.splitlines()
    assert answer.status == 1
    assert said[2] == "Findings"
    assert " ".join(said[3].split()) == (
        "irq.smp_affinity undone by irqbalance: /proc/irq/24/smp_affinity is f"
    )
    assert any("TuneD is not installed" in line for line in said)
    assert said[-1] == "20 settings: 19 effective, 1 undone"


@pytest.mark.parametrize("text", ["10", "2h", "s", "-1s", "10s "])
def test_a_duration_that_is_none_is_refused(host: Path, text: str) -> None:
    refusal = lowlat("verify", "--root", host, f"--duration={text}").refused()
    assert "--duration" in refusal


class _Counting(Root):
    """A tree that counts how often each file is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.times: Counter[str] = Counter()

    def read_bytes(self, path: str) -> Optional[bytes]:
        self.times[path] += 1
        return super().read_bytes(path)


def test_no_two_judges_of_one_verify_read_a_fact_again(tmp_path: Path) -> None:
    host = planned(tmp_path, "--enable", "kthread.affinity")
    root = _Counting(write_tree(host, {**thread(77, "rcuop/1"), "var/log/dmesg": ""}))
    plan = store.read(None, root)
    root.times.clear()
    assert verify(plan, root)
    once = ("/proc/interrupts", "/run/lowlat/runtime.json", "/proc/77/stat")
    assert {path: root.times[path] for path in once} == dict.fromkeys(once, 1)
