# SPDX-License-Identifier: GPL-2.0-or-later
"""The tick is found in whatever row of /proc/interrupts counts it, on every captured machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from booted import count, planned, ticks

from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding, Standing
from lowlat.model.plan import Plan, PlannedCpus, PlannedLine, PlannedParameter
from lowlat.probe.kernel import read_running
from lowlat.verify import clock_events, counters
from lowlat.verify.ticks import TickCounts, Ticks
from support.machines import write_tree

MACHINES = Path(__file__).parents[1] / "machines"

_HZ, _SECONDS = 250, 10


def captured() -> Iterator[tuple[str, Root, str]]:
    """Each captured machine with its /proc/interrupts."""
    for path in sorted([*MACHINES.glob("*.txt"), *MACHINES.glob("field/*.txt.gz")]):
        if not path.name.endswith(".refused.txt"):
            root = open_root(str(path))
            text = root.read("/proc/interrupts") or ""
            if text.count("CPU") > 1:
                yield path.name, root, text


def grown(text: str, rates: dict[str, list[int]]) -> str:
    """The text later: rows of these labels have come so often a second on each CPU."""
    lines = []
    for line in text.splitlines():
        label, colon, rest = line.partition(":")
        words = rest.split()
        name = words[-1] if label.strip().isdecimal() and words else label.strip()
        for cpu, rate in enumerate(rates.get(name, []) if colon else []):
            words[cpu] = str(int(words[cpu]) + rate * _SECONDS)
        lines.append(f"{label}{colon} {' '.join(words)}" if colon else line)
    return "\n".join(lines)


def states(root: Root, before: str, after: str) -> set[Standing]:
    """The states of all CPUs but the first."""
    cpus = CpuSet.of(next(iter(counters.parse_interrupts(before).values())))
    quiet = cpus - CpuSet.of([cpus.first])
    rest = (CpuSet.of([cpus.first]), CpuSet(), ())
    line = PlannedLine("", (PlannedParameter("nohz_full", str(quiet), "", "", ""),))
    plan = Plan("made", None, PlannedCpus(cpus, quiet, *rest), line, (), (), (), ())
    head = f"seconds {_SECONDS}\nspinning {quiet}\nwatching \ntraced\n"
    counted = counters.parse(f"{head}\nbefore\n{before}\nafter\n{after}\n")
    assert counted is not None
    planned = Finding("nohz_full", "cmdline", str(quiet), str(quiet), Standing.EFFECTIVE)
    return {row.state for row in Ticks(plan, TickCounts(counted, root), planned, None).rows}


def test_the_tick_is_found_wherever_it_counts() -> None:
    """Move the counts of the tick to a row of another name, or of a device: no CPU is quiet."""
    seen = 0
    for name, root, text in captured():
        rows = counters.parse_interrupts(text)
        own = next((label for label in rows if clock_events.is_row(label)), None)
        if own is None:
            continue
        number = len(rows[own])
        hertz = read_running(root).hz or _HZ
        all_tick, first = [hertz] * number, [hertz, *[0] * (number - 1)]
        zeros = " 0" * number
        text = f"{text}\nNEW:{zeros} Later timer interrupts\n999:{zeros} PCI-MSI 0-edge newtimer"
        told = {
            "ticks": states(root, text, grown(text, {own: all_tick})),
            "stopped": states(root, text, grown(text, {own: first})),
            "moved": states(root, text, grown(text, {"NEW": all_tick})),
            "a device": states(root, text, grown(text, {"newtimer": all_tick})),
            "beside": states(root, text, grown(text, {own: first, "NEW": all_tick})),
            "slower": states(root, text, grown(text, {"NEW": [hertz // 2] * number})),
            "nothing": states(root, text, text),
        }
        ignored, unknown = {Standing.IGNORED}, {Standing.UNVERIFIABLE}
        assert told == {
            **{"ticks": ignored, "stopped": {Standing.EFFECTIVE}, "moved": ignored},
            **{"a device": ignored, "beside": ignored, "slower": unknown, "nothing": unknown},
        }, name
        seen += 1
    assert seen >= 9


def test_the_row_of_the_machines_own_timer_counts(tmp_path: Path) -> None:
    """Guests of Hyper-V have LOC too, where nothing counts; /proc/timer_list names the device."""
    host = planned(tmp_path)
    none: list[float] = [0, 0, 0, 0]
    stimer = "Hyper-V stimer0 interrupts"
    count(host, none, HVS=(stimer, [250, 250, 250, 250]))
    words = {
        row["evidence"].partition(": ")[2].partition(" (HZ)")[0] for row in ticks(host, 1).values()
    }
    assert words == {"LOC 0.0, HVS 250.0 per second; the tick of this kernel comes 250 times"}
    count(host, none, HVS=(stimer, [250, 0.1, 0.1, 0.1]))
    assert {row["state"] for row in ticks(host, 0).values()} == {"effective"}
    timers = (host / "proc/timer_list").read_text()
    for device, state in (("Hyper-V clockevent", "effective"), ("sundial", "unverifiable")):
        devices = (f"Per CPU device: {cpu}\nClock Event Device: {device}\n" for cpu in range(4))
        write_tree(host, {"proc/timer_list": timers + "".join(devices)})
        assert {row["state"] for row in ticks(host, 0).values()} == {state}, device
    (words,) = {row["evidence"].partition("; ")[2][:40] for row in ticks(host, 0).values()}
    assert words == "/proc/interrupts has no row that is know"


def test_a_row_that_never_counted_on_a_cpu_is_not_that_cpus_tick(tmp_path: Path) -> None:
    host = planned(tmp_path)
    count(host, [250, 0, 0, 0])
    text = (host / ".lowlat/counters").read_text()
    write_tree(host, {".lowlat/counters": re.sub(r"(LOC: +\d+) .* L", r"\1 0 0 0 L", text)})
    rows = ticks(host, 0)
    assert {row["state"] for row in rows.values()} == {"unverifiable"}
    assert "LOC never counted on CPU 1 since the boot" in rows["/proc/interrupts CPU 1"]["evidence"]
