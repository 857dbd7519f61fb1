# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two arms may be compared: reasons against it, and notes for the reader."""

import os.path
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_
from typing import Callable, Optional

from lowlat.claim.caveat import Caveat, FoundCaveat
from lowlat.claim.misuse import misused
from lowlat.figures import cross_check, figures, pace, sibling_load
from lowlat.figures.cross_check import NOTES, tool
from lowlat.figures.measured_arm import Arm
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run

Runs = Sequence[Run]

#: The harness's note on emulation in each run, and the report's single one.
_SAID = "the CPUs are emulated: "
_EMULATION = (
    "the runs were made under emulation: no durations are reported, because time means nothing "
    "there; counts of interrupts stay valid"
)

#: The length up to which a value is shown whole.
_LONG = 60

#: Options of stress-ng that name a file, a folder or a port, and do not change the load.
_PATH_OPTIONS = {"--yaml", "-Y", "--temp-path", "--log-file", "--sock-port", "--udp-port"}

#: A load whose work differs by this share is reported.
_DOSE = 0.1

#: In a complete run each CPU was measured for at least this share of the time.
_WHOLE = 0.99


def common_cpus(runs: Iterable[Run]) -> CpuSet:
    """The CPUs that every run measured."""
    return reduce(and_, (run.measured for run in runs))


def refusal(before: Arm, after: Arm) -> Optional[str]:
    """The reason why the two arms cannot be compared at all, or None."""
    runs = (*before.runs, *after.runs)
    if len({run.emulated for run in runs}) > 1:
        return "some runs were made under emulation and some were not"
    tools = {arm.name: _listed({tool(run) for run in arm.runs}) for arm in (before, after)}
    if len({tool(run) for run in runs}) > 1:
        each = ", ".join(f"{name}: {told}" for name, told in tools.items())
        return f"the runs are of different tools ({each})"
    if why := misused(before, after):
        return why
    if all(run.imported and run.throughput for run in runs):
        return None
    for run in runs:
        if not len(run.measured):
            return f"{run.path.name} measured no CPU"
        # Under emulation the run's own checks of durations mean nothing either.
        if not run.valid and not run.emulated:
            return f"{run.path.name} is not a valid run: its own checks failed"
    if not len(common_cpus(runs)):
        each = ", ".join(f"{arm.name} {_cpus(arm.runs)}" for arm in (before, after))
        return f"no CPU was measured in every run ({each})"
    return None


def doubt(before: Arm, after: Arm) -> Optional[str]:
    """The reason why no claim is made: the arms may differ in more than settings; or None."""
    runs = (*before.runs, *after.runs)
    for trait in (*_OF_EVERYTHING, *(() if runs[0].emulated else _OF_DURATIONS)):
        values = {trait.of(run) for run in runs}
        if trait.several(values):
            return f"{trait.differ(values)}{trait.consequence}"
    if not all(run.boot_id for run in runs):
        return "the boot of some runs is not known"
    if {run.unit for run in before.runs} & {run.unit for run in after.runs}:
        return "both sides have runs of the same boot"
    partial = [run.path.name for run in runs if not _whole(run)]
    return f"{partial[0]} is not complete or not valid" if partial else None


def unnamed(before: Arm, after: Arm) -> Optional[str]:
    """The reason why files of other tools are not tested: nobody said which boots they are of."""
    runs = (*before.runs, *after.runs)
    if not runs[0].imported or all(run.boot_id for run in runs):
        return None
    one, other = len(before.runs), len(after.runs)
    each = f"{one} file{'s' if one > 1 else ''} each"
    count = each if one == other else f"{one} against {other} files"
    return f"{count}; a file of {tool(runs[0])} names no boot (--pairs-by-name counts each as one)"


def _whole(run: Run) -> bool:
    """Whether the measurement itself is complete. A missing cross-check does not matter, because
    it would run afterwards."""
    if run.complete or not run.valid:
        return run.complete and run.valid
    least = _WHOLE * run.duration_s * 1e9
    return (
        any(text.startswith(NOTES) for text in run.problems)
        and not any(load.exit for load in run.loads)
        and all(cpu.runtime_ns >= least for cpu in run.cpus)
    )


def flags(before: Arm, after: Arm) -> list[str]:
    """Weaknesses of the comparison, one sentence each, the most important first."""
    runs = (*before.runs, *after.runs)
    result = [*_differences(before, after), *_boots(before, after)]
    if not runs[0].emulated and _in_some(cross_check.version("oslat", run) for run in runs):
        result.append("only some runs have a result of oslat")
    if _in_some(run.machine_words for run in runs):
        result.append("some runs do not name their machine; 'lowlat-gen measure' records it")
    result += conditions(before, after)
    return [*result, _EMULATION] if runs[0].emulated else result


def doses(before: Arm, after: Arm) -> Iterator[str]:
    """Messages about a load that did much more or less in the second arm: less load disturbs
    less."""
    ours, theirs = (_dose(arm.runs) for arm in (before, after))
    shared = [kind for kind in ours if theirs.get(kind, 0) > 0 and ours[kind] > 0]
    for words, sign in (("less", -1), ("more", 1)):
        changes = {kind: sign * (theirs[kind] / ours[kind] - 1) for kind in shared}
        large = {kind: change for kind, change in changes.items() if change > _DOSE}
        if large:
            least, most = (f"{100 * end(large.values()):.0f}" for end in (min, max))
            size = least if least == most else f"{least} to {most}"
            yield (
                f"the load ({', '.join(sorted(large))}) did {size} % {words} work in {after.name} "
                f"than in {before.name}: part of the change may come from the load"
            )


def _dose(runs: Runs) -> dict[str, float]:
    """The work of the load per second, as the mean of all runs, by stressor."""
    result: dict[str, float] = {}
    for run in runs:
        for kind, rate in figures.dose(run).items():
            result[kind] = result.get(kind, 0.0) + rate / len(runs)
    return result


def same_version(of: Callable[[Run], str], runs: Iterable[Run]) -> bool:
    """Whether all runs have one version: oslat's rounding changed, for example."""
    return len({of(run) for run in runs} - {""}) <= 1


def same_stress(runs: Runs) -> bool:
    """Whether bogo operations can be compared: one version, one compiler, one command line and, for
    the matrix, the same CPUs."""
    same = all(len(set(map(of, runs))) <= 1 for of in (stress_versions, loads))
    return same and same_version(matrix, runs)


def _in_some(known: Iterable[str]) -> bool:
    return len(set(map(bool, known))) > 1


def _differences(before: Arm, after: Arm) -> Iterator[str]:
    """Differences between the arms, those that forbid a claim first."""
    for trait in (*_OF_EVERYTHING, *_OF_DURATIONS, *_OF_NOTHING):
        ours, theirs = ({trait.of(run) for run in arm.runs} for arm in (before, after))
        if trait.several(ours | theirs):
            shorter = _apart(ours | theirs)
            lack = trait.lack
            words = [_listed((shorter[value] for value in arm), lack) for arm in (ours, theirs)]
            apart = f"{before.name} {words[0]}, {after.name} {words[1]}{trait.consequence}"
            yield f"{trait.differ(ours | theirs)}: {apart}"


def caveats_of_arms(before: Arm, after: Arm) -> Iterator[FoundCaveat]:
    """What the arms differ in beside their settings, or do not differ in, though it is tested."""
    if len({run.kernel for arm in (before, after) for run in arm.runs} - {""}) > 1:
        yield FoundCaveat(Caveat.KERNELS, "the kernels differ; the kernel may be the cause")
    if _same_line(before, after):
        yield FoundCaveat(Caveat.SAME_LINE, _SAME_LINE)


_SAME_LINE = "the kernel command line is the same in both arms"


def _same_line(before: Arm, after: Arm) -> bool:
    lines = {run.cmdline for arm in (before, after) for run in arm.runs} - {""}
    return not before.runs[0].part and len(lines) == 1


def _apart(values: set[str]) -> dict[str, str]:
    """Long texts, such as commands, shortened to the words that are not in all of them."""
    common = set.intersection(*(set(value.split()) for value in values))
    result = {}
    for value in values:
        words = [word for word in value.split() if word not in common]
        result[value] = value if len(value) < _LONG else _clipped(" ".join(words))
    return result


def _clipped(text: str) -> str:
    return f"'{text}'" if len(text) < 2 * _LONG else f"'{text[: 2 * _LONG]} ...'"


def _boots(before: Arm, after: Arm) -> Iterator[str]:
    if any(run.pair is not None for run in before.runs):
        yield (
            "the names of the files declare the boots and their pairs: not pre-registered, and the "
            "order within a pair is not known"
        )
    ours, theirs = ([r.unit for r in arm.runs if r.unit] for arm in (before, after))
    if set(ours) & set(theirs):
        yield "runs of both sides come from the same boot: settings of the boot did not change"
    elif _same_line(before, after):
        yield _SAME_LINE
    for name, boots in ((before.name, ours), (after.name, theirs)):
        if len(set(boots)) < len(boots):
            yield f"some runs of {name} share a boot: their median counts as one boot"
    runs = Counter([*ours, *theirs]).values()
    if not set(ours) & set(theirs) and len(set(runs)) > 1:
        yield (
            f"the boots have {min(runs)} to {max(runs)} runs: a median of more runs spreads less, "
            "and of lopsided figures it lies elsewhere"
        )


def conditions(before: Arm, after: Arm) -> Iterator[str]:
    """Problems of single runs; the same problem in several runs is one sentence."""
    sentences: dict[str, list[str]] = {}
    for arm in (before, after):
        for run in arm.runs:
            for sentence in _condition(run):
                sentences.setdefault(sentence, []).append(f"{arm.name} {run.path.name}")
    for sentence, names in sentences.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield f"{sentence} ({', '.join(names[:3])}{more})"


def _condition(run: Run) -> Iterator[str]:
    if not run.complete:
        yield "the run is not complete"
    if not run.valid:
        yield "the run is not valid, its own checks failed"
    if any(cpu.lost_events for cpu in run.cpus):
        yield "some events were counted without being logged"
    for load in run.loads:
        if load.exit:
            yield f"{load.tool} ended with status {load.exit}, so its throughput may be wrong"
    yield from (*sibling_load.busy(run), *pace.pace_sentences(run))
    yield from (text for text in run.problems if not text.startswith(_SAID))


def _cpus(runs: Runs) -> str:
    return _listed({str(run.measured) for run in runs})


def _listed(values: Iterable[str], lack: str = "none") -> str:
    return " and ".join(sorted(value or lack for value in values))


# Traits that runs must have in common, each as a text.


def tool_words(runs: Runs) -> str:
    """The tools, with their versions, whose files the runs are; "" for lowlat's own runs."""
    known = ((tool(run), run.imported) for run in runs)
    words = (f"{name} {file.result.version}".strip() for name, file in known if file)
    return " and ".join(sorted(set(words)))


def _options(run: Run) -> str:
    """What another tool was told, but for how to print it."""
    return run.imported.options if run.imported else ""


def _duration(run: Run) -> str:
    """Other tools measure for a little more or less than they were asked to."""
    if not run.imported:
        return f"{round(run.duration_s, 1):g} s"
    return f"{run.duration_s:.2g} s" if run.duration_s else ""


def _interval(run: Run) -> str:
    known = run.imported.interval_us if run.imported else 0.0
    return f"{known:g} us" if known else ""


def stress_versions(run: Run) -> str:
    """The versions of stress-ng, with the compilers."""
    ran = (*(load.result for load in run.loads if load.tool == "stress-ng"), run.throughput)
    return " and ".join(sorted({one.version for one in ran if one} - {""}))


def matrix(run: Run) -> str:
    """The CPUs on which stress-ng's matrix ran, and how long each time; "" if it did not."""
    return next((one.cpus + _length(one.command) for one in run.work if one.result), "")


def _length(command: str) -> str:
    match = re.search(r" --timeout (\d+s) ", command)
    return f" for {match[1]}" if match else ""


def loads(run: Run) -> str:
    """The loads' commands without the paths of their own files."""
    return "; ".join(sorted(_normal(load.command) for load in run.loads))


def _normal(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    result: list[str] = []
    for word, previous in zip(words, ["", *words]):
        if previous not in _PATH_OPTIONS and word.partition("=")[0] not in _PATH_OPTIONS:
            result.append(word if result else os.path.basename(word))  # noqa: PTH119
    return " ".join(result)


def _observer(run: Run) -> str:
    """The observer that lengthens gaps: the kernel's trace, else ""."""
    known = run.attribution.observer
    traced = known == "trace" or (not known and any(cpu.causes for cpu in run.cpus))
    return "the kernel's trace" if traced else ""


def wakeups(run: Run) -> str:
    """The intervals between wake-ups whose latency was measured."""
    return " and ".join(sorted({f"{c.wakeup.interval_ns:g} ns" for c in run.cpus if c.wakeup}))


@dataclass(frozen=True)
class _Trait:
    """A trait that runs must have in common, as a text, and the consequence of a difference.
    ``unknown``: runs without it ("") do not differ. ``lack``: the word for a run without it."""

    name: str
    of: Callable[[Run], str]
    consequence: str = ""
    unknown: bool = False
    lack: str = "none"

    def differ(self, values: set[str]) -> str:
        lacking = self.lack == _NOT_TOLD and "" in values
        return f"the {self.name} {'are not told by all files' if lacking else 'differ'}"

    def several(self, values: set[str]) -> bool:
        return len(values - ({""} if self.unknown else set())) > 1


_NO_THROUGHPUT = "; throughput is left out"

#: Files of other tools may lack what each of lowlat's runs has.
_NOT_TOLD = "not told"

#: No claim is made if one of these differs: it may change every figure.
_OF_EVERYTHING = (
    _Trait("machines", lambda run: run.machine_words, unknown=True),
    _Trait("loads", loads, _NO_THROUGHPUT),
    _Trait("stress-ng versions", stress_versions, _NO_THROUGHPUT, unknown=True),
    _Trait("scheduling policies", lambda run: run.policy),
    _Trait("harness builds", lambda run: run.harness),
    _Trait("observers", _observer, "; an observer makes noise of its own"),
    _Trait(
        "versions of the tool",
        lambda run: run.imported.result.version if run.imported else "",
        lack=_NOT_TOLD,
    ),
    _Trait("options of the tool", _options, lack=_NOT_TOLD),
    _Trait("intervals of the tool", _interval, lack=_NOT_TOLD),
)

#: Nor if one of these differs, except under emulation: they change durations.
_OF_DURATIONS = (
    _Trait("clocks", lambda run: run.clock.source),
    _Trait("thresholds", lambda run: f"{run.threshold_ns:g} ns", "; noise counts different events"),
    _Trait(
        "durations",
        _duration,
        "; longest gaps, percentiles and noise in bursts are not comparable",
        lack=_NOT_TOLD,
    ),
    _Trait("intervals of wake-ups", wakeups, unknown=True),
)

_OF_NOTHING = (
    _Trait("CPUs and times of stress-ng's matrix", matrix, _NO_THROUGHPUT, unknown=True),
    _Trait("kernels", lambda run: run.kernel, "; the kernel may be the cause", unknown=True),
    _Trait(
        "tick rates",
        lambda run: f"HZ={run.host.hz}" if run.host.hz else "",
        "; the change may be the tick's",
        unknown=True,
    ),
    _Trait("measured CPUs", lambda run: str(run.measured), "; only the common ones are compared"),
    *(
        _Trait(
            f"{name} versions",
            partial(cross_check.version, name),
            f"; {name} is left out",
            unknown=True,
        )
        for name in cross_check.TOOLS
    ),
)
