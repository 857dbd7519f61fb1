# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns as a machine with eight CPUs would produce: many boots, full histograms, causes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lowlat.catalogue.remedies import Remedies
from support.runs import DRAWN

LEVELS = {"100ns": 100.0, "1us": 1e3, "10us": 1e4, "100us": 1e5}

#: A source of interrupts: class, cause, row of /proc/interrupts, rate per second, length (ns).
Source = tuple[str, str, str, float, float]

STOCK: tuple[Source, ...] = (
    ("irq", "local_timer", "LOC", 250.0, 2600.0),
    ("irq", "IPI reschedule from ttwu_queue_wakelist", "RES", 40.0, 1100.0),
    ("irq", "IPI function call from smp_call_function_many_cond", "CAL", 22.0, 1900.0),
    ("ipi", "TLB shootdown from flush_tlb_mm_range", "TLB", 9.0, 1400.0),
    ("thread", "kworker/3:1 (vmstat_update)", "", 1.0, 9800.0),
    ("thread", "ksoftirqd/3", "", 3.0, 7000.0),
    ("irq", "nvme0q3", "47:nvme0q3", 12.0, 3300.0),
    ("irq", "eth0-rx-3", "61:eth0-rx-3", 31.0, 4100.0),
    ("nmi", "watchdog", "NMI", 0.1, 12000.0),
    ("hardware-or-hypervisor", "no kernel event", "", 0.4, 38000.0),
)

TUNED: tuple[Source, ...] = (
    ("irq", "local_timer", "LOC", 1.1, 1500.0),
    ("ipi", "TLB shootdown from flush_tlb_mm_range", "TLB", 0.02, 1300.0),
    ("hardware-or-hypervisor", "no kernel event", "", 0.4, 30000.0),
)

HOST: Mapping[str, Any] = {
    "arch": "x86_64",
    "processor": "Intel(R) Xeon(R) Gold 6354",
    "hypervisor": None,
    "online": "0-7",
    "layout": [
        {"cpus": f"{n},{n + 4}", "package": 0, "die": 0, "nodes": [0], "cache": 0} for n in range(4)
    ],
}


def histogram(
    rng: random.Random, sources: Sequence[Source], seconds: float, scale: float = 1.0
) -> list[list[int]]:
    """Log-linear buckets of 1/1000, like the harness's, filled with log-normal lengths."""
    found: dict[int, int] = {}
    for _, _, _, rate, length in sources:
        count = round(rate * seconds * scale * rng.uniform(0.9, 1.1))
        # A few thousand lengths represent millions: only the shape and the sum matter.
        drawn = min(count, 3000)
        for place in range(drawn):
            value = max(int(length * math.exp(rng.gauss(-0.05, 0.35))), 100)
            step = max(1 << (value.bit_length() - 10), 1) if value > 1023 else 1
            share = count // drawn + (place < count % drawn)
            found[value // step * step] = found.get(value // step * step, 0) + share
    return [
        [v, v + (max(1 << (v.bit_length() - 10), 1) if v > 1023 else 1), n]
        for v, n in sorted(found.items())
    ]


def periods(sources: Sequence[Source], seconds: float) -> list[dict[str, Any]]:
    """The periods of a tick, and of the memory statistics once a second."""
    return [
        {
            "frequency_hz": frequency,
            "name": name,
            "rate_per_s": frequency,
            "power": frequency * seconds / 2,
            "cause": f"{kind}: {cause}",
        }
        for kind, cause, _, rate, _ in sources
        for needle, least, frequency, name in (
            ("local_timer", 50.0, 250.0, "a tick at HZ=250"),
            ("local_timer", 0.0, 1.0, "1 s: vmstat_update, the residual tick"),
            ("vmstat", 0.0, 0.25, "4 s: the lockup watchdog"),
        )
        if needle in cause and rate > least
    ]


def steps(seconds: float) -> int:
    """The number of steps that the harness would make of a run."""
    count = max(round(seconds), 1)
    while count >= 600:
        count //= 2
    return count


def series(
    rng: random.Random, noise: float, gaps: int, entries: float, number: int
) -> dict[str, Any]:
    """Each of ``number`` steps: their sums are given, and grow a little towards the end; the pace
    varies as real ones do."""
    weights = [rng.uniform(0.7, 1.3) * (1 + place / number) for place in range(number)]
    shares = [weight / sum(weights) for weight in weights]
    return {
        "noise_ns": [round(noise * share) for share in shares],
        "gaps": [round(gaps * share) for share in shares],
        "interrupts": [round(entries * share) for share in shares],
        "readings_per_ms": [round(95e3 * rng.uniform(0.98, 1.0)) for _ in shares],
    }


def cpu(
    rng: random.Random, number: int, sources: Sequence[Source], seconds: float, **options: Any
) -> dict[str, Any]:
    """One CPU's part of a run; its figures follow from its histogram."""
    noisy = options.get("noisy", 1.0)
    remedies = options.get("remedies", Remedies())
    own = [
        (k, c, row, rate * noisy * rng.uniform(0.8, 1.2), size) for k, c, row, rate, size in sources
    ]
    rows = histogram(rng, own, seconds, options.get("scale", 1.0))
    noise = sum((low + high) / 2 * count for low, high, count in rows)
    entries = {row: rate for _, _, row, rate, _ in own if row}
    return {
        "cpu": number,
        "runtime_ns": seconds * 1e9,
        "noise_ns": noise,
        "noise_ppm": noise / seconds / 1e3,
        "dead_ns": 0,
        "events": sum(row[2] for row in rows),
        "lost_events": 0,
        "max_ns": rows[-1][1] if rows else 0,
        "rates_per_s": {
            name: sum(n for low, _, n in rows if low >= level) / seconds
            for name, level in LEVELS.items()
        },
        "time_weighted_ns": {"p99": 0, "p99.9": 0, "p99.99": 20e3 * noisy, "p99.9999": 90e3},
        "histogram": {"unit": "ns", "counts": rows},
        "series": series(
            random.Random(number),
            noise,
            sum(row[2] for row in rows),
            sum(entries.values()) * seconds,
            steps(seconds),
        ),
        "page_faults": 0,
        "causes": [
            {
                "class": k,
                "cause": c,
                "events": rate * seconds,
                "time_ns": rate * seconds * size,
                "remedy": remedies.of(k, c),
            }
            for k, c, _, rate, size in own
        ]
        if options.get("causes", True)
        else [],
        "periods": periods(own, seconds) if options.get("causes", True) else None,
        "interrupts_per_s": {**entries, "total": sum(entries.values())},
        "softirqs_per_s": {"TIMER": noisy * 100.0 if len(sources) > 4 else 0.5, "RCU": 1.0},
        "switches_per_s": 60.0 * noisy if len(sources) > 4 else 0.02,
        "pace": None,
        "power": {
            "smi": 0,
            "aperf_mperf": 0.98 if len(sources) > 4 else 1.21,
            "governor": "schedutil" if len(sources) > 4 else "performance",
            "idle_us": {"C1": 1200 * noisy, "C6": 50 if len(sources) > 4 else 0},
        },
    }


def run(label: str, number: int, sources: Sequence[Source], **options: Any) -> dict[str, Any]:
    """One run of the isolated CPUs 2-3 and 6-7; ``changes`` replace keys of the document."""
    rng = random.Random(f"{label}{number}{options.get('seed', 1)}")
    seconds = options.get("seconds", 60.0)
    boot = rng.uniform(0.8, 1.25)
    line = (
        "quiet"
        if len(sources) > 4
        else "quiet isolcpus=managed_irq,domain,2-3,6-7 nohz_full=2-3,6-7"
    )
    hours = number * (1 + int(seconds // 3600))
    document = {
        "schema": "lowlat.run/1",
        "label": label,
        "started": f"2026-11-{hours // 24 + 20:02}T{hours % 24:02}:10:00Z",
        "boot_id": f"{label}-{number // options.get('runs_a_boot', 1):04}",
        "kernel": "6.12.9-amd64",
        "cmdline": line,
        "duration_s": seconds,
        "threshold_ns": 100,
        "policy": "other",
        "seed": 1,
        "emulated": False,
        "complete": True,
        "valid": True,
        "problems": [],
        "isolated": "2-3,6-7" if len(sources) <= 4 else "",
        "series": {
            "step_s": 1,
            "ends_s": [seconds * (n + 1) / steps(seconds) for n in range(steps(seconds))],
        },
        "clock": {"source": "tsc", "hz": 2.9e9, "floor_ns": 8.4, "loop_period_ns": 8.6},
        "cpus": [
            cpu(rng, n, sources, seconds, noisy=boot * (1 + 0.1 * n), **options.get("cpu", {}))
            for n in options.get("cpus", (2, 3, 6, 7))
        ],
        "loads": [
            {
                "tool": "stress-ng",
                "version": "0.15.06",
                "command": ["stress-ng", "--fault", "1", "--switch", "1"],
                "output": _stress(3100.0 * rng.uniform(0.98, 1.02)),
                "exit": 0,
            }
        ],
        "oslat": None,
        "work": [],
        "attribution": {"observer": "trace", "notes": []},
    }
    changes = options.get("changes", {})
    return {**document, **changes, "host": {"name": "node", **changes.get("host", HOST)}}


def _stress(rate: float) -> str:
    return (
        "---\nsystem-info:\n      stress-ng-version: 0.15.06\n      compiler: 'gcc 12.2.0'\n"
        f"metrics:\n    - stressor: fault\n      bogo-ops: {rate * 60:.0f}\n"
        f"      bogo-ops-per-second-real-time: {rate:.6f}\n...\n"
    )


def write(
    folder: Path, label: str, boots: int, sources: Sequence[Source], **options: Any
) -> list[str]:
    """Write runs of this many boots. An arm with ``first`` 0 and one with 1 are pairs of drawn
    order."""
    first = options.pop("first", 0)
    paths = []
    for boot in range(boots):
        path = folder / f"{label}-{boot:02}.json"
        number = 2 * boot + (first ^ DRAWN[boot % len(DRAWN)])
        path.write_text(json.dumps(run(label, number, sources, **options)))
        paths.append(str(path))
    return paths


def arms(folder: Path, boots: int = 6, **options: Any) -> list[str]:
    """The arguments of a ``report`` on a stock and a tuned arm."""
    before = write(folder, "stock", boots, STOCK, **options)
    return [*before, "--against", *write(folder, "tuned", boots, TUNED, first=1, **options)]


def left_out(folder: Path, arms: int, boots: int = 2, **options: Any) -> list[str]:
    """The arguments of a ``report`` on this many further arms, each like the tuned one but a little
    noisier than the one before."""
    words = []
    for place in range(arms):
        noisier = [(*source[:3], source[3] * 1.5**place, source[4]) for source in TUNED]
        name = f"without-{place}"
        words += ["--arm", name, *write(folder, name, boots, noisier, first=1, **dict(options))]
    return words


def verified(path: Path, **states: str) -> str:
    """The output of ``lowlat-gen verify --json``, each name with its state."""
    rows = [
        {
            "name": name.replace("__", "."),
            "where": "boot",
            "planned": "2-3,6-7",
            "effective": "2-3,6-7" if state == "effective" else "0-7",
            "state": state,
            "by": None,
            "evidence": f"/sys/kernel says so of {name}",
        }
        for name, state in states.items()
    ]
    path.write_text(json.dumps({"schema": "lowlat.verify/1", "settings": rows}))
    return str(path)
