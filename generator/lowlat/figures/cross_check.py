# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report shows of other programs that measure the same CPUs: oslat, cyclictest, rtla."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.figures.measure import Cpu, Endpoint, Key, Measure, Pooling, Subject, TableSection
from lowlat.measure.tools.known import KNOWN, CrossCheck
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Load, Run
from lowlat.model.tool import ToolTimes

#: By tool that tells the longest time of each CPU: the title of its column.
_COLUMNS = {"oslat": "oslat max, us"}

#: The percentiles, and the share of each.
_SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999, "p99.9999": 0.999999}

#: What is shown of the times of a CPU, in its order.
SHOWN = ("min", "avg", *_SHARES, "max")

#: In the name of a figure that is tested, after the tool.
_BOOT = "_boot_"

#: What is not known of a tool, or means nothing: nearly all turns of oslat's loop are undisturbed,
#: and no run of the others has a million times.
_LEFT_OUT = {"oslat": {"avg", "p50", "p99", "p99.9"}}
_LEFT_OUT_OF_OTHERS = {"p99.9999"}

_POOLINGS = {"min": Pooling.LEAST, "avg": Pooling.VALUES, "max": Pooling.LARGEST}

_WORDS = {"min": "minimum", "avg": "average", "max": "maximum"}

#: The beginnings of the harness's notes on one that is missing or failed.
NOTES = tuple({f"{word} " for one in KNOWN.second_opinions for word in (one.name, one.program)})


#: The parts of the times of a CPU, by tool, the one that counts first.
_PARTS = {"timerlat": ("thread", "irq", "user")}


#: The harness starts all but hwnoise, whose files are read.
_CHECKS = (*KNOWN.second_opinions, CrossCheck("hwnoise", "rtla", "rtla"))

#: By tool: its command's first words.
COMMANDS = {
    check.name: check.name if check.name == check.program else f"{check.program} {check.name}"
    for check in _CHECKS
}


def parts(tool: str) -> tuple[str, ...]:
    """The rows of a tool's figures."""
    return _PARTS.get(tool, ("",))


def _endpoint(check: CrossCheck, shown: str, part: str) -> Endpoint:
    tool, what = COMMANDS[check.name], _WORDS.get(shown, shown)
    # The maximum without a row is that of all parts.
    whole = shown == "max" and not part
    title = f"{tool} {what}{f' ({part})' if part else ''}, us"
    return Endpoint(
        f"{check.name}_{shown}_us",
        "us",
        row=part,
        pooling=_POOLINGS.get(shown, Pooling.QUANTILE),
        section=TableSection.CROSS_CHECK,
        title=f"{tool} maximum of any CPU, us" if whole else title,
        column=_COLUMNS.get(check.name, "") if whole else "",
        subject=Subject(f"{tool}'s {what}", "us", "us, of any CPU", f"{tool}'s {what}, us"),
    )


#: By tool: the longest time of any CPU.
LONGEST = {check.name: _endpoint(check, "max", "") for check in _CHECKS}

#: The tools, with the parts of their times.
SERIES = tuple((check.name, part) for check in _CHECKS for part in parts(check.name))

_OTHERS = tuple(
    _endpoint(check, shown, part)
    for check in _CHECKS
    for part in parts(check.name)
    for shown in SHOWN
    if (part or shown != "max") and shown not in _LEFT_OUT.get(check.name, _LEFT_OUT_OF_OTHERS)
)

#: All figures of the tools.
ENDPOINTS = (*_OTHERS, *LONGEST.values())


def _of_boots(one: Endpoint) -> Endpoint:
    """The same figure, tested boot by boot."""
    tool, _, shown = one.name.partition("_")
    of = f"{one.subject.name} of a boot"
    row = f" ({one.row})" if one.row else ""
    return replace(
        one,
        name=f"{tool}{_BOOT}{shown}",
        pooling=Pooling.BOOTS,
        maximum=one.pooling is Pooling.LARGEST,
        title=f"{of}{row}, us",
        column="",
        subject=replace(one.subject, name=of, column=f"{of}, us"),
    )


#: What a verdict about files of other tools may be about, by key.
TESTED = {one.key(): one for one in map(_of_boots, ENDPOINTS)}

#: By name: what a verdict about another program's figure is about.
SUBJECTS = {one.name: one.subject for one in (*ENDPOINTS, *TESTED.values())}

#: The names of the tools.
TOOLS = tuple(LONGEST)

_Times = dict[tuple[str, Cpu, str], list[ToolTimes]]


def values(boot: Iterable[Run], cpus: CpuSet) -> dict[Key, float]:
    """The figures of each tool over the runs of a boot, in us, by CPU and over all of them:
    percentiles of all their times together, MoreThan above the range of a histogram. The row is the
    part of the times, such as "thread"; the maximum without a row is that of all parts."""
    found: _Times = {}
    for run in boot:
        for tool, one in _times(run):
            cpus_of: tuple[Cpu, ...] = (one.cpu, "all") if one.cpu in cpus else ("all",)
            for cpu in cpus_of:
                found.setdefault((tool, cpu, one.part), []).append(one)
    result: dict[Key, float] = {}
    for (tool, cpu, part), several in found.items():
        joined = ToolTimes.joined(several)
        for shown in SHOWN:
            value = _value(joined, shown)
            if value is not None and shown not in _LEFT_OUT.get(tool, _LEFT_OUT_OF_OTHERS):
                result[Key(f"{tool}_{shown}_us", cpu, part)] = value
        if joined.max_us is not None:
            whole = Key(f"{tool}_max_us", cpu)
            result[whole] = max(result.get(whole, 0.0), joined.max_us)
    return result


def loads(run: Run) -> Iterator[tuple[str, Load]]:
    if run.oslat:
        yield "oslat", run.oslat
    yield from ((one.tool, one) for one in run.second_opinions)


def known(measure: Measure, values: Mapping[Key, float], cpus: CpuSet) -> dict[Key, float]:
    """The figure of each CPU and of all among values(), by the measure's keys."""
    every: tuple[Cpu, ...] = ("all", *cpus)
    told = {cpu: Key(measure.name.replace(_BOOT, "_"), cpu, measure.row) for cpu in every}
    return {measure.key(cpu): values[key] for cpu, key in told.items() if key in values}


def _times(run: Run) -> Iterator[tuple[str, ToolTimes]]:
    for tool, load in loads(run):
        yield from ((tool, one) for one in (load.result.times if load.result else ()))


def _value(times: ToolTimes, shown: str) -> Optional[float]:
    plain: Mapping[str, Optional[float]] = {
        "min": times.min_us,
        "avg": times.avg_us,
        "max": times.max_us,
    }
    return times.percentile_us(_SHARES[shown]) if shown in _SHARES else plain[shown]


def tool(run: Run) -> str:
    """The command that made the run, or the file that takes its place."""
    name = run.imported.tool if run.imported else "lowlat-measure"
    return COMMANDS.get(name, name)


def version(name: str, run: Run) -> str:
    """The version of a tool beside lowlat-measure; "" if it has no result, or the run is its own
    file."""
    if run.imported:
        return ""
    own = (load.result for tool, load in loads(run) if tool == name)
    return next((result.version for result in own if result), "")


def measures(runs: Sequence[Run]) -> Iterator[Endpoint]:
    """The figures of each tool; none of a tool whose versions differ."""
    for one in ENDPOINTS:
        name = one.name.split("_", 1)[0]
        if len({version(name, run) for run in runs} - {""}) < 2:
            yield one
