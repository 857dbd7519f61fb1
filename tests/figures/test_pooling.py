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

from lowlat.present.plot.axis import duration, short
from lowlat.present.wording import number, significant
from support.runs import ReportBench, cpu_run, document

LEVELS = {"100ns": 100, "1us": 1_000, "10us": 10_000, "100us": 100_000}
PERIODS = ("every 4 ms", "the tick, HZ=250", "every 60 s")
KINDS = ("irq: local_timer", "thread: kworker", "softirq: TIMER", "hardware-or-hypervisor: none")

JUDGED: tuple[dict[str, str], ...] = ({}, {"profile": "mine", "judged_by": "wakeup_p99.9_ns"})

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
    recurring = rng.sample([(name, kind) for name in PERIODS for kind in KINDS], rng.randint(0, 3))
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
        periods=[
            {
                "frequency_hz": 1.0,
                "name": name,
                "rate_per_s": rng.uniform(0.1, 300),
                "power": 20.0,
                "cause": kind,
            }
            for name, kind in recurring
        ],
        power={
            "aperf_mperf": rng.uniform(0.3, 1.4),
            "smi": rng.choice((0, 0, 1, 7)),
            "governor": "performance",
            "idle_us": {"C1": rng.randint(0, length // 5000), "C6": 0},
        },
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
    made = document(
        label,
        0,
        boot_id=f"{label}{number // rng.randint(1, 2)}",
        duration_s=len(ends),
        series={"ends_s": ends},
        loads=[],
        oslat=None,
        host={"name": "node", **rng.choice(JUDGED)},
        attribution={"observer": "trace"},
    )
    return {**made, "cpus": [first, other]}


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
        check_beside(own, {key: value for key, value in figures.items() if key[1] == which})
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


def check_beside(own: list[dict[str, Any]], figures: Figures) -> None:
    """The clock, the idle states, SMIs and periods: each weighted by the time of its CPU."""
    time = sum(cpu["runtime_ns"] for cpu in own)
    found = {name: value for (name, _), value in figures.items()}
    clock = sum(cpu["power"]["aperf_mperf"] * cpu["runtime_ns"] for cpu in own)
    assert found["power@clock_percent"] == pytest.approx(100 * clock / time)
    idle = sum(cpu["power"]["idle_us"]["C1"] for cpu in own)
    assert found.get("power@C1_percent", 0.0) == pytest.approx(1e5 * idle / time)
    smi = sum(cpu["power"]["smi"] for cpu in own)
    assert found["power@smi_per_s"] == pytest.approx(1e9 * smi / time)
    assert "power@C6_percent" not in found
    for name, rate in found.items():
        if name.startswith("period_per_s@"):
            gaps = sum(
                one["rate_per_s"] * cpu["runtime_ns"]
                for cpu in own
                for one in cpu["periods"]
                if name == f"period_per_s@{one['name']}, {one['cause']}"
            )
            assert rate == pytest.approx(gaps / time)


def unfolded(page: str) -> str:
    return re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)


def section(page: str, begin: str, end: str = "</section>") -> str:
    return unfolded(page.partition(f'<section aria-label="{begin}"')[2].partition(end)[0])


def numbers(cells: list[str]) -> Iterator[str]:
    for cell in cells:
        yield from re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", cell)


def check_page(page: Path, told: Mapping[str, Any]) -> None:
    """Every number of the figures, of their causes and periods, and of the costs is one of the
    document's; so are the gaps and the longest one of each histogram."""
    text = page.read_text()
    shown = section(text, "In figures", '<section aria-label="Histograms')
    shown += section(text, "Periodic sources") + section(text, "What it costs")
    known = set(words(told))
    for row in re.findall(r"<tr>.*?</tr>", shown, flags=re.DOTALL):
        for found in numbers(re.findall(r"<td[^>]*>(.*?)</td>", row)):
            assert found in known, (found, row)
    drawn = section(text, "Histograms of latency")
    for cpu in (2, 3):
        for arm, figures in arms(told):
            gaps = short(round(3600 * figures["pooled_events_per_s@100ns", cpu]))
            longest = duration(figures["max_ns", cpu])
            assert f"{arm} {gaps} gaps an hour, the longest {longest}" in drawn


def arms(told: Mapping[str, Any]) -> Iterator[tuple[str, Figures]]:
    """The figures of each arm, by its name."""
    if "figures" in told:
        yield told["label"], {(f["name"], f["cpu"]): f["value"] for f in told["figures"]}
        return
    for side, name in told["labels"].items():
        yield name, {(e["name"], e["cpu"]): e[side] for e in told["endpoints"]}


def check_text(text: str, markdown: str, told: Mapping[str, Any]) -> None:
    """Every number of the tables is one of the document's, and text and Markdown show the same."""
    known = set(words(told))
    for row in re.findall(r"(?m)^\| (?!---)(.*) \|$(?!\n\| ---)", markdown):
        first, *cells = row.split(" | ")
        # The rows of a CPU by class begin with two names.
        for found in numbers(cells[1:] if cells[0] in ("one", "two") else cells):
            assert found in known, (found, row)
        assert first.replace("\\", "") in text
        assert all(cell in text for cell in cells), row


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


def check_prose(texts: list[str], told: Mapping[str, Any]) -> None:
    """The keys of figures are for programs: people read their names."""
    figures = told.get("figures", told.get("endpoints", ()))
    keys = {one["name"].partition("@")[0] for one in figures}
    for text in [*texts, json.dumps([told.get("why"), told["flags"]])]:
        found = set(re.findall(r"[a-z0-9.]+(?:_[a-z0-9.]+)+", text)) & keys
        assert not found, found


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
    for own, (_, figures) in zip(runs, arms(told)):
        check_figures(own, figures)
    check_page(Path(page), told)
    text, markdown = bench.call(*given)[1], bench.call(*given, "--markdown")[1]
    check_text(text, markdown, told)
    shown = re.sub(r"<[^>]*>", " ", unfolded(Path(page).read_text()))
    check_prose([text, markdown, shown], told)


def test_pooled_figures_follow_their_definitions_in_every_form(bench: ReportBench) -> None:
    for seed in range(FEW):
        campaign(bench, seed)


@pytest.mark.proof
def test_pooled_figures_follow_their_definitions_in_many_campaigns(bench: ReportBench) -> None:
    for seed in range(FEW, MANY):
        campaign(bench, seed)
