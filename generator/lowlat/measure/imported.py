# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of another tool as a run: what it tells, and nothing that it does not."""

from collections.abc import Iterable
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import CpuRun, HostFacts, Load, Run, RunClock, Work
from lowlat.model.tool import NoiseOfCpu, ToolFile, ToolTimes

#: The edges of oslat's buckets that are levels of gaps, by the level's name.
_LEVELS = {"1us": 1.0, "10us": 10.0, "100us": 100.0}


def run_of(file: ToolFile) -> Run:
    """The run in a file. What the file does not name is empty: boot, start, kernel, threshold."""
    cpus = CpuSet.of([one.cpu for one in file.result.times])
    load = Load(file.tool, file.result.version, argv=file.command, result=file.result)
    alone = Work(file.tool, file.result.version, "throughput", file.command, result=file.result)
    return Run(
        label="",
        started=file.started,
        boot_id="",
        kernel=file.kernel,
        cmdline="",
        duration_s=file.seconds,
        threshold_ns=0.0,
        policy="",
        emulated=False,
        complete=True,
        valid=True,
        problems=file.notes,
        isolated=CpuSet(),
        clock=RunClock("", 0.0, None),
        cpus=tuple(_cpu(cpu, file) for cpu in cpus),
        loads=(),
        oslat=load if file.tool == "oslat" else None,
        host=HostFacts(name=file.host),
        second_opinions=(load,) if file.result.times and file.tool != "oslat" else (),
        work=(alone,) if file.result.figures else (),
        imported=file,
    )


def _cpu(cpu: int, file: ToolFile) -> CpuRun:
    times = [one for one in file.result.times if one.cpu == cpu]
    noise = next((one for one in file.noise if one.cpu == cpu), None)
    ran_s = noise.runtime_us / 1e6 if noise else file.seconds
    return CpuRun(
        cpu,
        runtime_ns=1e9 * ran_s,
        noise_ns=1e3 * noise.noise_us if noise else None,
        noise_ppm=1e6 * noise.noise_us / noise.runtime_us if noise else None,
        dead_ns=None,
        events=None,
        lost_events=None,
        max_ns=1e3 * (times[0].max_us or 0.0) if noise else None,
        rates_per_s=_rates(times, ran_s) if file.tool == "oslat" else {},
        time_weighted_ns={},
        # Nothing but NMIs comes while hwnoise has interrupts disabled.
        interrupts_per_s=_per_s(noise, *(("NMI",) if file.tool == "hwnoise" else ("IRQ", "NMI"))),
        softirqs_per_s=_per_s(noise, "softirq"),
        switches_per_s=(_per_s(noise, "thread") or {}).get("thread"),
        hardware_per_s=(_per_s(noise, "HW") or {}).get("HW"),
    )


def _rates(times: Iterable[ToolTimes], seconds: float) -> dict[str, float]:
    """The gaps per second from each level on that the histogram of a CPU has."""
    return {
        name: one.at_least(level) / seconds
        for one in times
        for name, level in _LEVELS.items()
        if seconds and 0 < level <= one.range_us
    }


def _per_s(noise: Optional[NoiseOfCpu], *kinds: str) -> Optional[dict[str, float]]:
    if noise is None or not set(kinds) <= set(noise.counts):
        return None
    return {kind: 1e6 * noise.counts[kind] / noise.runtime_us for kind in kinds}
