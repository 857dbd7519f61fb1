# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``verify`` prints of a large machine: equal rows once, each on lines that fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from booted import DMESG, TUNED_BOOT, lowlat

from lowlat.model.cpuset import CpuSet
from support.machines import CPU, fair_server, machine, write_tree

_CPUS, _SECONDS = 64, 10


def _reading(rates: dict[str, list[int]], seconds: int) -> str:
    head = " ".join(f"CPU{cpu}" for cpu in range(_CPUS))
    rows = (
        f"{label}: {' '.join(str(9 + rate * seconds) for rate in each)} of a row"
        for label, each in rates.items()
    )
    return "\n".join([head, *rows, "", "softirqs", head, "", "tasks", ""])


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A machine of 64 CPUs in its tuned boot, whose isolated CPUs tick and get calls."""
    files = {**machine(cpus=_CPUS), **fair_server(range(_CPUS))}
    plan = lowlat("plan", "--root", write_tree(tmp_path, files), "--json")
    cpus = plan.json()["cpus"]
    isolated, mask = cpus["isolated"], CpuSet.parse_list(cpus["housekeeping"]).mask()
    calls = [cpu % 7 + 3 if cpu in CpuSet.parse_list(isolated) else 0 for cpu in range(_CPUS)]
    rates = {"LOC": [250] * _CPUS, "CAL": calls}
    readings = f"before\n{_reading(rates, 0)}after\n{_reading(rates, _SECONDS)}"
    masks = dict.fromkeys((path for path in TUNED_BOOT if "mask" in path or "/irq/" in path), mask)
    booted = {
        **TUNED_BOOT,
        **masks,
        **fair_server(CpuSet.parse_list(isolated)),
        "proc/sys/kernel/watchdog_cpumask": cpus["housekeeping"],
        "var/log/dmesg": DMESG.replace("1-3", isolated),
        f"{CPU}/isolated": isolated,
        "proc/cmdline": plan.json()["cmdline"]["text"],
        "var/lib/lowlat/plan.json": plan.out,
        f"{CPU}/nohz_full": isolated,
        ".lowlat/counters": f"seconds {_SECONDS}\nspinning {isolated}\nwatching \n{readings}",
    }
    return write_tree(tmp_path, booted)


def test_sixty_four_cpus_fit_a_screen(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = lowlat("verify", "--root", host)
    lines = answer.out.splitlines()
    assert answer.status == 1
    assert len(lines) < 50 and max(map(len, lines)) <= 80
    said = " ".join(answer.out.split())
    assert said.count("LOC 250.0 per second") == said.count("IPI function call") == 1
    assert "CPU 2-63, counted for 10 s while one ordinary task spun there" in said
    assert "IPI function call 5.0 per second; no setting stops it" in said
    assert "not recorded; figures of CPU 2" in said, "the rates differ, and it says whose it shows"
    assert sum(line.startswith("  fair_server.period ") for line in lines) == 2
    assert "(and 61 more)" in said
