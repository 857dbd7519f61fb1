# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of latency (``--limit 20us``): how often they were exceeded, and how often that may be at
most, for the time observed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional

from lowlat.base.arguments import seconds
from lowlat.base.errors import Refused
from lowlat.claim.stats.rare import at_most
from lowlat.figures import cross_check
from lowlat.figures.measured_arm import Arm
from lowlat.model.histogram import Histogram
from lowlat.model.run import Run
from lowlat.model.tool import ToolTimes

_SPAN = (1e-9, 1e6, "1ns to 277h")


@dataclass(frozen=True)
class Limit:
    """A time in ns for each kind of figure. ``hours`` are those that a public limit asks for, and
    ``source`` is where it is published. ``below``: the time itself is too long already."""

    name: str
    ns: Mapping[str, float]
    hours: float = 0.0
    source: str = ""
    below: bool = False

    @property
    def words(self) -> str:
        """Such as "oslat at most 20 us, for 12 hours on each CPU"."""
        most = "below" if self.below else "at most"
        times = (f"{what} {most} {ns / 1e3:g} us" for what, ns in self.ns.items())
        return f"{', '.join(times)}, for {self.hours:g} hours on each CPU"


@dataclass(frozen=True)
class Observed:
    """What an arm showed of a limit: how often it was ``above`` in so many CPU-hours, and at most
    how often in an hour of a CPU (95 %). ``least``: only maxima are known, so that ``above`` is a
    lower bound, and there is no upper one. ``hours`` are those of the CPU that was observed for the
    shortest time, and ``hours_wanted`` those that a public limit asks for."""

    arm: str
    limit: str
    what: str
    limit_ns: float
    longest_ns: float
    above: int
    least: bool
    cpu_hours: float
    at_most_per_hour: Optional[float]
    hours: float
    hours_wanted: float = 0.0


#: What a limit may be about: the lengths of one run's CPU, or a tool's maxima in us.
KINDS = ("gap", "wake-up", "oslat", "cyclictest")

_RHEL = "https://docs.redhat.com/en/documentation/red_hat_enterprise_linux_for_real_time/10/"
_OPENSHIFT = "https://docs.redhat.com/en/documentation/openshift_container_platform/4.17/"
_PUBLIC = (
    Limit(
        "rhel-rt-virt",
        {"cyclictest": 40e3, "oslat": 20e3},
        12.0,
        f"{_RHEL}html/configuring_virtualization_on_rhel_10_for_real_time/"
        "stress-testing-the-real-time-virtualization-system",
    ),
    Limit(
        "openshift-telco",
        {"cyclictest": 20e3, "oslat": 20e3},
        12.0,
        f"{_OPENSHIFT}html/scalability_and_performance/"
        "cnf-performing-platform-verification-latency-tests",
        below=True,  # cnf-tests wants each maximum < MAXIMUM_LATENCY
    ),
    # Its program reads the clock in a loop for a day: like the detector, not like cyclictest.
    Limit("nilrt-nohz", {"gap": 34e3}, 24.0, "https://github.com/ni/meta-nilrt/pull/741"),
)

#: By the name that --limit gives.
PRESETS = {one.name: one for one in _PUBLIC}


def parse(text: str) -> Limit:
    """A time with its unit, for all kinds of figures, or a public limit by name. Raises Refused if
    it is neither."""
    if text in PRESETS:
        return PRESETS[text]
    ns = 1e9 * seconds("--limit", text, _SPAN, f"20us, or {', '.join(PRESETS)}")
    return Limit(text, dict.fromkeys(KINDS, ns))


def observed(limits: Iterable[Limit], arms: Sequence[Arm]) -> tuple[Observed, ...]:
    """What each arm showed of each limit. Raises Refused for runs in guests, whose times are their
    hosts' too, and if a limit is about nothing that was measured."""
    wanted = tuple(limits)
    guests = (run for arm in arms for run in arm.runs if run.emulated or run.host.hypervisor)
    if wanted and (guest := next(guests, None)):
        why = f"--limit: {guest.path} was made in a guest, whose host interrupts it too"
        raise Refused(why, hint="measure the machine itself")
    result = [one for limit in wanted for arm in arms for one in _observed(limit, arm)]
    for limit in wanted:
        if not any(one.limit == limit.name for one in result):
            kinds = " or ".join(limit.ns)
            why = f"--limit {limit.name}: the runs have no {kinds}"
            raise Refused(why, hint="'lowlat-gen measure --second-opinion' runs these tools")
    return tuple(result)


def _observed(limit: Limit, arm: Arm) -> Iterator[Observed]:
    """Every CPU of every run counts: a run that is added takes nothing away."""
    for what, ns in limit.ns.items():
        known = [one for run in arm.runs for one in _TIMES[what](run)]
        if not known:
            continue
        seconds = defaultdict[int, float](float)
        for one in known:
            seconds[one.cpu] += one.seconds
        hours = sum(seconds.values()) / 3600
        # Times are whole ns: below 20 us is at most 19,999 ns.
        counts = [one.above(ns - limit.below) for one in known]
        least = any(one.rows is None for one in known) and any(counts)
        yield Observed(
            arm=arm.name,
            limit=limit.name,
            what=what,
            limit_ns=ns,
            longest_ns=max(one.longest_ns for one in known),
            above=sum(counts),
            least=least,
            cpu_hours=hours,
            at_most_per_hour=None if least or not hours else at_most(sum(counts)) / hours,
            hours=min(seconds.values()) / 3600,
            hours_wanted=limit.hours,
        )


class _Times(NamedTuple):
    """What a run tells of a CPU: a histogram in ns, None if only the longest time is known; that
    time; and the seconds observed."""

    cpu: int
    rows: Optional[Histogram]
    longest_ns: float
    seconds: float

    def above(self, ns: float) -> int:
        """How many exceeded the limit. A bucket that holds it counts as a whole: none is missed."""
        if self.rows is None or self.longest_ns <= ns:
            return int(self.longest_ns > ns)
        return max(int(sum(count for _, upper, count in self.rows.rows if upper - 1 > ns)), 1)


def _gaps(run: Run) -> Iterator[_Times]:
    for cpu in run.cpus:
        if cpu.max_ns is not None:
            yield _Times(cpu.cpu, cpu.histogram, cpu.max_ns, cpu.runtime_ns / 1e9)


def _wakeups(run: Run) -> Iterator[_Times]:
    for cpu in run.cpus:
        late = cpu.wakeup
        if late and "max" in late.late_ns:
            count = sum(row[2] for row in late.histogram.rows) if late.histogram else 0.0
            time = count * late.interval_ns / 1e9 if count else run.duration_s
            yield _Times(cpu.cpu, late.histogram, late.late_ns["max"], time)


def _oslat(run: Run) -> Iterator[_Times]:
    yield from _told("oslat", run)


def _cyclictest(run: Run) -> Iterator[_Times]:
    yield from _told("cyclictest", run)


def _told(tool: str, run: Run) -> Iterator[_Times]:
    loads = (load for name, load in cross_check.loads(run) if name == tool and load.result)
    for one in (times for load in loads if load.result for times in load.result.times):
        yield _Times(one.cpu, _histogram(one), 1e3 * (one.max_us or 0.0), run.duration_s)


def _histogram(times: ToolTimes) -> Optional[Histogram]:
    """What lies above the range counts as one row, up to the maximum."""
    if not times.range_us:
        return None
    end = max(times.max_us or 0.0, times.range_us) + 1
    above = [(times.range_us, end, times.over)] if times.over else []
    return Histogram(tuple((1e3 * a, 1e3 * b, n) for a, b, n in (*times.counts, *above)))


_TIMES: Mapping[str, Callable[[Run], Iterator[_Times]]] = dict(
    zip(KINDS, (_gaps, _wakeups, _oslat, _cyclictest))
)
