# SPDX-License-Identifier: GPL-2.0-or-later
"""``make figures``: measures this machine three times, and adds each figure's median to
tests/FIGURES.jsonl.

A figure whose median left its band of tests/figures.ini in the last two recordings on this kind of
host has drifted: a warning in the gate, a refusal of a release. One recording refuses nothing.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = "tests/FIGURES.jsonl"
TIMES = 3


@dataclass(frozen=True)
class Band:
    low: float
    high: float
    unit: str

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def bands(root: Path) -> dict[str, Band]:
    config = ConfigParser(delimiters="=", interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read(root / "tests/figures.ini", "utf-8")
    rows = {name: text.split(None, 2) for name, text in config["bands"].items()}
    return {name: Band(float(low), float(high), unit) for name, (low, high, unit) in rows.items()}


def host() -> str:
    """The kind of host: its figures are compared with each other only."""
    text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    model = re.search(r"(?m)^model name\s*: (.*)", text)
    guest = " guest" if re.search(r"(?m)^flags.*\bhypervisor\b", text) else ""
    name = model[1] if model else platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} CPUs{guest}"


def drifted(root: Path) -> list[str]:
    """A line for each figure outside its band in the last two recordings on this kind of host."""
    path, here = root / RECORDS, host()
    text = path.read_text("utf-8") if path.exists() else ""
    lines = [line for line in map(json.loads, text.splitlines()) if line["host"] == here]
    found = []
    for name, band in bands(root).items():
        last = [line["median"] for line in lines if line["name"] == name][-2:]
        if len(last) == 2 and not any(map(band.holds, last)):
            said = f"{last[0]:.6g} and {last[1]:.6g} {band.unit}, not {band.low:g} to {band.high:g}"
            found.append(f"figure '{name}': {said} (make figures)")
    return found


def _cpu_times() -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal: proc_stat(5)."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def measure(kept: Path) -> bool:
    """One run of the tests that measure. Returns whether all of them passed."""
    argv = [sys.executable, "-m", "pytest", "-m", "figure", "tests"]
    environment = {**os.environ, "LOWLAT_FIGURES": str(kept)}
    return subprocess.run(argv, cwd=ROOT, env=environment, check=False).returncode == 0


def record(kept: Path, stolen: float) -> list[str]:
    """Add the medians to the records. Returns the names without a band."""
    values: dict[str, list[float]] = {}
    units = {}
    for line in map(json.loads, kept.read_text().splitlines()):
        values.setdefault(line["name"], []).append(line["value"])
        units[line["name"]] = line["unit"]
    known = bands(ROOT)
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    common: dict[str, Any] = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "commit": commit, "host": host(),
        "load": round(os.getloadavg()[1], 2), "steal": round(stolen, 4),
    }  # fmt: skip
    with (ROOT / RECORDS).open("a", encoding="utf-8") as file:
        for name, seen in values.items():
            figures = {"median": statistics.median(seen), "min": min(seen), "max": max(seen)}
            file.write(json.dumps({**common, "name": name, **figures, "unit": units[name]}) + "\n")
    return [name for name in values if name not in known or known[name].unit != units[name]]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "figures")
        before = _cpu_times()
        if not all([measure(kept) for _ in range(TIMES)]):
            print("figures: not recorded, as a test failed", file=sys.stderr)
            return 1
        spent = [after - then for after, then in zip(_cpu_times(), before)]
        unknown = record(kept, spent[7] / max(sum(spent), 1))
    print(*drifted(ROOT), sep="\n")
    if unknown:
        print(f"figures: no band of this unit in tests/figures.ini: {unknown}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
