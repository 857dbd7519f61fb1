# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of several CPUs, runs and boots as one: maxima, percentiles, rates and parts, the same in
every form of the report."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lowlat.report.wording import number, significant
from support.runs import ReportBench, cpu_run, document

LEVELS = {"100ns": 100, "1us": 1_000, "10us": 10_000, "100us": 100_000}
KINDS = ("irq: local_timer", "thread: kworker", "softirq: TIMER", "hardware-or-hypervisor: none")

#: Made-up campaigns in the gate and, as a proof, in all.
FEW, MANY = 25, 2000


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def counted(values: list[int]) -> dict[str, Any]:
    rows = [[value, value + 1, values.count(value)] for value in sorted(set(values))]
    return {"unit": "ns", "counts": rows}


def percentile(values: list[int], share: float) -> int:
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def gaps(rng: random.Random) -> list[int]:
    """Lengths in ns that fit in a tenth of a second."""
    return [
        round(10 ** rng.uniform(2.1, rng.choice((3, 5, 6.5)))) for _ in range(rng.randint(1, 30))
    ]


def measured(rng: random.Random, number: int) -> dict[str, Any]:
    """A CPU whose figures follow from its gaps; its recorder wakes late at times."""
    own, seconds = gaps(rng), rng.choice((1, 1, 3))
    length = round(seconds * 1e9 + rng.uniform(0, 5e6))
    ends = [n + 1 + rng.uniform(0, 0.4) for n in range(seconds)]
    steps = [sum(own[n::seconds]) for n in range(seconds)]
    dead = rng.choice((0, 100_000))
    causes: dict[str, list[int]] = {}
    for gap in own:
        causes.setdefault(rng.choice(KINDS), []).append(gap)
    if len(causes) > 1 and rng.random() < 0.2:
        causes.popitem()  # the trace lost some events
    late = [round(10 ** rng.uniform(3, 6)) for _ in range(rng.randint(1, 200))]
    rates = {name: sum(gap >= ns for gap in own) / (length / 1e9) for name, ns in LEVELS.items()}
    rows = {row: rng.randint(1, 500) / seconds for row in ("LOC", "RES", "36:virtio1")}
    named = [kind.split(": ") for kind in causes]
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999, "max": 1.0}
    return cpu_run(
        number,
        0,
        runtime_ns=length,
        dead_ns=dead,
        noise_ns=sum(own),
        noise_ppm=1e6 * sum(own) / (length - dead),
        events=len(own),
        max_ns=max(own),
        rates_per_s=rates,
        histogram=counted(own),
        series={"noise_ns": steps, "gaps": [1] * seconds, "interrupts": None, "ends": ends},
        causes=[
            {"class": kind, "cause": name, "events": len(all_), "time_ns": sum(all_)}
            for (kind, name), all_ in zip(named, causes.values())
        ],
        interrupts_per_s={**rows, "total": sum(rows.values())},
        wakeup={
            "interval_ns": 1_000_000,
            "late_ns": {name: percentile(late, share) for name, share in shares.items()},
            "skipping_ns": {},
            "histogram": counted(late),
        },
    )


def run(rng: random.Random, label: str, number: int) -> dict[str, Any]:
    first = measured(rng, 2)
    ends = first["series"].pop("ends")
    other = measured(rng, 3)
    while len(other["series"].pop("ends")) != len(ends):
        other = measured(rng, 3)
    return document(
        label,
        0,
        boot_id=f"{label}{number // rng.randint(1, 2)}",
        duration_s=len(ends),
        series={"ends_s": ends},
        cpus=[first, other],
        loads=[],
        oslat=None,
        attribution={"observer": "trace"},
    )


def arm(rng: random.Random, label: str) -> list[dict[str, Any]]:
    return [run(rng, label, number) for number in range(rng.randint(1, 4))]


def cpus(runs: list[dict[str, Any]], which: object = "all") -> list[dict[str, Any]]:
    return [cpu for one in runs for cpu in one["cpus"] if which in ("all", cpu["cpu"])]


Figures = Mapping[tuple[str, object], float]


def check_figures(runs: list[dict[str, Any]], figures: Figures) -> None:
    """Each pooled figure against its definition, from the documents."""
    for which in ("all", 2, 3):
        own = cpus(runs, which)
        time = sum(cpu["runtime_ns"] - cpu["dead_ns"] for cpu in own)
        noise = 1e6 * sum(cpu["noise_ns"] for cpu in own) / time
        assert figures["pooled_noise_ppm", which] == pytest.approx(noise)
        assert figures["max_ns", which] == max(cpu["max_ns"] for cpu in own)
        late = [cpu["wakeup"]["late_ns"]["max"] for cpu in own]
        assert figures["wakeup_max_ns", which] == max(late)
        delays = [
            value
            for cpu in own
            for value, _, count in cpu["wakeup"]["histogram"]["counts"]
            for _ in range(count)
        ]
        assert figures["wakeup_p50_ns", which] == percentile(delays, 0.5)
        assert figures["pooled_wakeup_p99.9_ns", which] == percentile(delays, 0.999)
        interrupts = sum(c["interrupts_per_s"]["total"] * c["runtime_ns"] for c in own)
        rate = interrupts / sum(cpu["runtime_ns"] for cpu in own)
        assert figures["pooled_interrupts_per_s", which] == pytest.approx(rate)
        for whole, parts in (
            ("cause_ppm", "cause_ppm@"),
            ("cause_ppm", "osnoise_ppm@"),
            ("cause_per_s", "cause_per_s@"),
            ("pooled_interrupts_per_s", "interrupts_per_s@"),
        ):
            found = [
                value
                for (name, cpu), value in figures.items()
                if cpu == which and name.startswith(parts)
            ]
            assert sum(found) == pytest.approx(figures[whole, which])
        assert figures["cause_ppm", which] == pytest.approx(noise)
        worst = figures["worst_second_ppm", which]
        assert noise <= worst * (1 + 1e-9) and worst <= 1e6 * (1 + 1e-9)


def check_page(page: Path, told: Mapping[str, Any]) -> None:
    """Every number of the figures and of their causes is one of the document's."""
    begin, end = ('<section aria-label="In figures"', '<section aria-label="Histograms')
    shown = page.read_text().split(begin)[1].split(end)[0]
    shown = re.sub(r"<details.*?</details>", "", shown, flags=re.DOTALL)
    known = set(words(told))
    for row in re.findall(r"<tr>.*?</tr>", shown, flags=re.DOTALL):
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", row):
            for found in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", cell):
                assert found in known, (found, row)


def words(told: Mapping[str, Any]) -> Iterator[str]:
    """The numbers of a document as people read them: in us, in percent, and in events."""
    for one in told.get("figures", told.get("endpoints", ())):
        sides = [(one["value"], told["seconds"])] if "value" in one else both(one, told)
        for value, seconds in sides:
            yield from map(number, (value, value / 1e3, value / 1e4, value * seconds / 1e3))
            yield significant(value / 1e4, 2)
            yield f"{value * seconds:,.0f}"
            # Few events are counts in the first arm's time.
            count = number(value * sides[0][1])
            yield from (count, count.rstrip("0").rstrip("."))
            yield f"{seconds:.4g}"
        for ratio in filter(None, (one.get("ratio"),)):
            ends = (ratio, 1 / ratio)
            yield from (significant(end, digits) for end in ends for digits in (1, 2, 3))
    for gap in told["longest_gaps"]:
        yield from (number(ns / 1e3) for ns in (gap["length_ns"],))


def both(one: Mapping[str, Any], told: Mapping[str, Any]) -> list[tuple[float, float]]:
    return [(one[side], told["seconds"][side]) for side in ("before", "after")]


def campaign(bench: ReportBench, seed: int) -> None:
    rng = random.Random(seed)
    page = str(bench.folder / "page.html")
    runs, files = [], []
    for label in ("one", "two")[: rng.randint(1, 2)]:
        runs.append(arm(rng, label))
        files.append(bench.runs(label, *runs[-1]))
    given = [*files[0], *(["--against", *files[1]] if len(files) > 1 else ())]
    told = json.loads(bench.call(*given, "--json", "--html", page)[1])
    if len(files) > 1:
        for place, side in enumerate(("before", "after")):
            figures = {(e["name"], e["cpu"]): e[side] for e in told["endpoints"]}
            check_figures(runs[place], figures)
    else:
        check_figures(runs[0], {(f["name"], f["cpu"]): f["value"] for f in told["figures"]})
    check_page(Path(page), told)


def test_pooled_figures_follow_their_definitions_in_json_and_page(bench: ReportBench) -> None:
    for seed in range(FEW):
        campaign(bench, seed)


@pytest.mark.proof
def test_pooled_figures_follow_their_definitions_in_many_campaigns(bench: ReportBench) -> None:
    for seed in range(FEW, MANY):
        campaign(bench, seed)
