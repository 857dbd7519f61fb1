# SPDX-License-Identifier: GPL-2.0-or-later
"""How much each verb prints on a terminal of 80 columns: what a person reads, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import lowlat

MACHINES = Path(__file__).parents[1] / "machines"

#: Small and large, with and without offline CPUs, nodes, caches and threads.
CAPTURED = (
    "cloud-x86-2c-no-nohz-full.txt",
    "qemu-arm64-2l4c-offline.txt",
    "qemu-x86-2s4c-2n-devices.txt",
    "qemu-x86-2s4c2t-crossed.txt",
    "field/epyc-7742-32n-off255.txt.gz",
    "field/e5-2660-oddeven-off0.txt.gz",
)

#: Words that are right, needless, missing a part, misspelt and nobody's business.
LINE = (
    "quiet ro root=/dev/sda2 isolcpus=1 nohz_full=1 rcu_nocbs=1 nohz=on skew_tick=1 idle=poll "
    "processor.max_cstate=1 intel_pstate=disable mitigations=off selinux=0 audit=0 nosoftlockup "
    "transparent_hugepage=never no_hz_full=1"
)

#: The lines that each may print, beside those of the drawing and of the boot line.
MOST = {
    ("plan", "--brief"): 11,
    ("plan",): 25,
    ("doctor",): 6,
    ("cpus", "isolated", "--planned"): 1,
    ("lint", LINE): 11,
}


def prose(text: str) -> list[str]:
    """The lines without the drawing, and without what is copied as it is: a boot line."""
    drawn = ("L3 ", "L2 ", "NUMA node", "Package", "network ", "nvme ", "storage ", "device ", "[")
    lines = (line for line in text.splitlines() if not line.strip().startswith(drawn))
    return [line for line in lines if line and "isolcpus=" not in line]


@pytest.mark.parametrize("name", CAPTURED)
def test_a_verb_prints_what_a_person_needs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words, most in MOST.items():
        answer = lowlat(*words, "--root", MACHINES / name)
        assert answer.status in (0, 1), answer.err
        lines = prose(answer.out)
        assert 0 < len(lines) <= most, answer.out
        assert max(map(len, lines)) <= 80, answer.out


def test_a_class_of_machines_takes_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = lowlat("fleet", "plan", *(MACHINES / name for name in CAPTURED)).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1:7]] == [*"123456"] and not lines[7]
