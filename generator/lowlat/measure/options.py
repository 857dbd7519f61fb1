# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of lowlat-measure as one value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Optional

from lowlat.base.arguments import command, flag, option, seconds
from lowlat.base.process import find
from lowlat.measure.tools.known import KNOWN
from lowlat.model.campaign import Place
from lowlat.model.plan import WAKEUP
from lowlat.model.policy import parse_policies, word

# A test compares these with lowlat-measure's help.

#: The range of --duration and --warmup: least and most seconds, and both as text.
TIMES = {"--duration": (0.001, 86400.0, "1ms to 24h"), "--warmup": (0.0, 3600.0, "0s to 1h")}

#: The number of runs if ``--throughput`` has no value.
THROUGHPUT_RUNS = "10"

#: The interval if ``--wakeup`` has no value.
WAKEUP_INTERVAL = "1ms"

#: Options with the same name in lowlat-measure.
_PASSED_ON = (
    *("label", "cpus", "duration", "warmup", "threshold", "stop_on", "on_gap", "policy"),
    *("load", "load_cpus", "group", "seed", "events"),
    *("second_opinion", "work", "wakeup", "throughput"),
)


@dataclass(frozen=True)
class MeasureChoice:
    """The options of every verb that measures. Texts are passed to lowlat-measure unchanged; None
    is its default."""

    policy: Optional[str] = option(
        "POLICY[,...]",
        "other, fifo:N, rr:N or deadline:RUNTIME/PERIOD for the detectors (other); a list such as "
        "other,fifo:1 makes a run of each, the policy in its label; tune decides by the first",
    )
    load: Optional[str] = option(
        "SCENARIO",
        "load by stress-ng during the run, such as network; 'lowlat-measure --help' has all "
        "(default: none; rehearse: mixed)",
    )
    work: Optional[str] = option("KINDS", "time kinds of work (usleep, memory, ...), or all")
    throughput: Optional[str] = option(
        "RUNS",
        "then run stress-ng's matrix on all measured CPUs, without load: so many times for 2 s "
        "(%(const)s), or such as 10x5m",
        nargs="?",
        const=THROUGHPUT_RUNS,
    )
    causes: Optional[bool] = option(
        None,
        "join the gaps with the kernel's trace, which lengthens them somewhat (default: with the "
        "detectors' own context switches; rehearse: no causes)",
    )


@dataclass(frozen=True)
class MeasureOptions(MeasureChoice):
    """The options of one measurement."""

    label: str = option("NAME", "name of the run, such as 'stock' (needed without --campaign)")
    out: Optional[Path] = option("FILE", "file for the result (default: in the state folder)")
    cpus: Optional[str] = option("LIST", "CPUs to measure (default: the isolated ones)")
    duration: str = option("TIME", "how long to measure (%(default)s)", "10s")
    warmup: str = option("TIME", "how long to wait before (%(default)s)", "5s")
    threshold: Optional[str] = option("TIME", "the shortest gap that counts (100ns)")
    stop_on: Optional[str] = option(
        "TIME", "end the run within 0.1 s of a gap of at least this length"
    )
    on_gap: Optional[str] = option(
        "TIME",
        "at a gap of at least this length run CMD, on another CPU and at most once a minute; "
        "the measurement goes on",
    )
    load_cpus: Optional[str] = option(
        "LIST|all|siblings", "CPUs for the load (default: the other CPUs)"
    )
    oslat: Optional[bool] = option(None, "cross-check with oslat")
    second_opinion: Optional[str] = option(
        "TOOLS", f"cross-check with {', '.join(KNOWN.cross_checks)}, or all"
    )
    work_alone: bool = flag("time work on one CPU after another, not on all at once")
    work_mixed: bool = flag("time a different kind of work on each CPU, in turns")
    wakeup: Optional[str] = option(
        "INTERVAL|none",
        "then measure wake-up latency on a schedule, beside cyclictest (%(const)s; the "
        "default in a boot of a profile that is judged by it)",
        nargs="?",
        const=WAKEUP_INTERVAL,
    )
    seed: Optional[str] = option("N", "random seed of the loads")
    events: Optional[str] = option("FILE", "write every gap as cpu,begin,end")
    command: tuple[str, ...] = command("the program of --on-gap, after --")
    emulated: bool = False
    #: The control group that owns the CPUs.
    group: Optional[str] = None
    campaign: Optional[Place] = None
    host: Mapping[str, object] = field(default_factory=dict)

    def argv(self, harness: str, capture: Optional[Path] = None) -> list[str]:
        """The harness's argument vector. The result goes to its standard output, the records of the
        observer into the folder ``capture``."""
        given = [(name, getattr(self, name)) for name in _PASSED_ON]
        options = [f"--{n.replace('_', '-')}={value}" for n, value in given if value is not None]
        if self.oslat is not None:
            options.append("--oslat" if self.oslat else "--no-oslat")
        modes = {"--work-alone": self.work_alone, "--work-mixed": self.work_mixed}
        modes["--emulated"] = self.emulated
        options += [name for name, wanted in modes.items() if wanted]
        if capture is not None:
            options.append(f"--capture={capture}")
            # The trace lengthens the gaps that it explains, so it is used on request only.
            options.append(f"--observer={'auto' if self.causes else 'switches'}")
            if self.events is None:
                options.append(f"--events={gaps_file(capture)}")
        return [harness, *options, "--json=-"]

    def seconds(self) -> float:
        """The approximate duration of a run in seconds: warm-up, measurement, and all that follows.
        Raises Refused if a time has no unit."""
        measured, longest = seconds("--duration", self.duration), KNOWN.longest_s
        return (
            seconds("--warmup", self.warmup)
            + measured
            # The wake-ups, and cyclictest beside them, take as long as a cross-check.
            + min(measured, longest["second_opinion"])
            * (self._cross_checks() + (2 if self.wakeup else 0))
            + min(measured, longest["work"]) * self._works()
            + self._throughput()
        )

    def _cross_checks(self) -> int:
        """The number of cross-checks, oslat included if it is installed."""
        named = self.second_opinion == "all" or "oslat" in (self.second_opinion or "").split(",")
        oslat = self.oslat if self.oslat is not None else find("oslat") is not None
        return _count(self.second_opinion, KNOWN.cross_checks) + (oslat and not named)

    def _works(self) -> int:
        """The number of work kinds, times the number of CPUs if they run one after another."""
        return _count(self.work, KNOWN.work) * ((os.cpu_count() or 1) if self.work_alone else 1)

    def _throughput(self) -> float:
        """The time of all runs in s; 0 if they are no number, which lowlat-measure refuses."""
        runs, _, each = (self.throughput or "").partition("x")
        length = seconds("--throughput", each) if each else KNOWN.longest_s["throughput"]
        return int(runs) * length if re.fullmatch(r"[0-9]{1,4}", runs) else 0.0

    def set_ups(self) -> Iterator[MeasureOptions]:
        """The measurement under each policy of a comma-separated list ("other,fifo:1"). If there
        are several, the label and the named files of each get the policy's word ("stock-fifo1",
        "gaps-fifo1.csv"). Raises Refused if the list is malformed."""
        policies = () if self.policy is None else parse_policies(self.policy)
        for policy in policies if len(policies) > 1 else ():
            end = word(policy)
            yield replace(
                self,
                label=f"{self.label}-{end}",
                policy=policy,
                out=_beside(self.out, end) if self.out else None,
                events=str(_beside(Path(self.events), end)) if self.events else None,
            )
        if len(policies) < 2:
            yield self


def wakeups(asked: Optional[str], judged_by: object) -> Optional[str]:
    """The interval of the wake-ups, None for none: the requested one, else the usual one if the
    profile is ``judged_by`` wake-ups."""
    if asked is None:
        return WAKEUP_INTERVAL if judged_by == WAKEUP else None
    return None if asked == "none" else asked


def _count(names: Optional[str], everything: Sequence[str]) -> int:
    if not names:
        return 0
    return len(everything) if names == "all" else names.count(",") + 1


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f"{path.stem}-{end}{path.suffix}")


def gaps_file(folder: Path) -> Path:
    return folder / "gaps.csv"
