# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two sets of runs may be compared: why not at all, and what a reader has to know."""

from __future__ import annotations

import os.path
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run

Runs = Sequence[Run]

#: What the harness says of emulation in each run, and the report once of all.
_SAID = "the CPUs are emulated: "
_EMULATION = (
    "durations are left out: the runs were made under emulation, where time means nothing; counts "
    "of interrupts do"
)

#: Letters of a value that is still worth showing whole.
_LONG = 60

#: Options of stress-ng that name a file, a folder or a port, which says nothing about the load.
_PATH_OPTIONS = {"--yaml", "-Y", "--temp-path", "--log-file", "--sock-port", "--udp-port"}

#: Differences that make a change of their own; of the others a reader is told.
_CONFOUNDED = {
    *("machines", "thresholds", "scheduling policies"),
    *("loads", "stress-ng versions"),
}


def common_cpus(runs: Iterable[Run]) -> CpuSet:
    """The CPUs that every run measured."""
    return reduce(and_, (run.measured for run in runs))


def refusal(before: Runs, after: Runs) -> Optional[str]:
    """Why the two arms cannot be compared at all, or None where they can."""
    runs = (*before, *after)
    if len({run.emulated for run in runs}) > 1:
        return "some runs were made under emulation and some were not"
    for run in runs:
        if not len(run.measured):
            return f"{run.path.name} measured no CPU"
        # Under emulation its checks of durations mean as little as the durations.
        if not run.valid and not run.emulated:
            return f"{run.path.name} is not a valid run, its own checks failed"
    if not len(common_cpus(runs)):
        return f"no CPU was measured in every run (before {_cpus(before)}, after {_cpus(after)})"
    return None


def doubt(before: Runs, after: Runs) -> Optional[str]:
    """Why the arms may differ in more than their settings, so that nothing is claimed; or None."""
    runs = (*before, *after)
    names = _CONFOUNDED - ({"thresholds"} if runs[0].emulated else set())
    for what, of, _ in _COMPARED:
        if what in names and _several(what, {of(run) for run in runs}):
            return f"the {what} differ"
    if not all(run.boot_id for run in runs):
        return "the boot of some runs is not known"
    if {run.boot_id for run in before} & {run.boot_id for run in after}:
        return "runs before and after come from the same boot"
    partial = [run.path.name for run in runs if not run.complete or not run.valid]
    return f"{partial[0]} is not complete or not valid" if partial else None


def flags(before: Runs, after: Runs) -> list[str]:
    """What weakens the comparison, one sentence each."""
    runs = (*before, *after)
    result = [_EMULATION] if before[0].emulated else []
    result += [*_differences(before, after), *_boots(before, after)]
    if not runs[0].emulated and _in_some(map(oslat_version, runs)):
        result.append("oslat has a result in some runs only")
    if _in_some(run.machine_words for run in runs):
        result.append("some runs do not tell of their machine: 'lowlat-gen measure' notes it")
    return [*result, *_conditions(before, after)]


def same_version(of: Callable[[Run], str], runs: Iterable[Run]) -> bool:
    """oslat's rounding, for one, changed with its versions, so one version is needed throughout."""
    return len({of(run) for run in runs} - {""}) <= 1


def same_stress(runs: Runs) -> bool:
    """Bogo operations compare only with one version, one compiler and one command line."""
    return all(len(set(map(of, runs))) <= 1 for of in (stress_versions, loads))


def _in_some(known: Iterable[str]) -> bool:
    return len(set(map(bool, known))) > 1


def _differences(before: Runs, after: Runs) -> Iterator[str]:
    for what, of, consequence in _COMPARED:
        ours, theirs = ({of(run) for run in arm} for arm in (before, after))
        if _several(what, ours | theirs):
            shorter = _apart(ours | theirs)
            words = [_listed(shorter[value] for value in arm) for arm in (ours, theirs)]
            yield f"the {what} differ: before {words[0]}, after {words[1]}{consequence}"


def _several(what: str, values: set[str]) -> bool:
    # A version is unknown where the tool did not run, the machine where lowlat-measure was called
    # by itself; both are said elsewhere.
    unknown = "versions" in what or what == "machines"
    return len(values - ({""} if unknown else set())) > 1


def _apart(values: set[str]) -> dict[str, str]:
    """Long texts, such as commands, cut to the words that are not in all of them."""
    common = set.intersection(*(set(value.split()) for value in values))
    result = {}
    for value in values:
        words = [word for word in value.split() if word not in common]
        result[value] = value if len(value) < _LONG else _clipped(" ".join(words))
    return result


def _clipped(text: str) -> str:
    return f"'{text}'" if len(text) < 2 * _LONG else f"'{text[: 2 * _LONG]} ...'"


def _boots(before: Runs, after: Runs) -> Iterator[str]:
    ours, theirs = ([run.boot_id for run in arm if run.boot_id] for arm in (before, after))
    if set(ours) & set(theirs):
        yield "runs before and after come from the same boot: settings of the boot did not change"
    elif len({run.cmdline for run in (*before, *after)}) == 1:
        yield "the kernel command line is the same before and after"
    for name, boots in (("before", ours), ("after", theirs)):
        if len(set(boots)) < len(boots):
            yield f"some runs {name} share a boot: their median counts as one boot"
    runs = Counter([*ours, *theirs]).values()
    if not set(ours) & set(theirs) and len(set(runs)) > 1:
        yield (
            f"the boots have {min(runs)} to {max(runs)} runs: a median of more runs spreads less, "
            "and of lopsided figures it lies elsewhere"
        )


def _conditions(before: Runs, after: Runs) -> Iterator[str]:
    """What is the matter with single runs; the same in several runs is one sentence."""
    found: dict[str, list[str]] = {}
    for name, arm in (("before", before), ("after", after)):
        for run in arm:
            for sentence in _condition(run):
                found.setdefault(sentence, []).append(f"{name} {run.path.name}")
    for sentence, names in found.items():
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
    yield from (text for text in run.problems if not text.startswith(_SAID))


def _cpus(runs: Runs) -> str:
    return _listed({str(run.measured) for run in runs})


def _listed(values: Iterable[str]) -> str:
    return " and ".join(sorted(value or "none" for value in values))


# What runs need to have in common, each trait as a text.


def oslat_version(run: Run) -> str:
    """ "" where it did not run."""
    return run.oslat.result.version if run.oslat and run.oslat.result else ""


def opinion_versions(run: Run) -> str:
    """Those of the other second opinions that have a result."""
    known = {f"{one.tool} {one.version}" for one in run.second_opinions if one.result}
    return " and ".join(sorted(known))


def stress_versions(run: Run) -> str:
    """With the compilers."""
    ran = (*(load.result for load in run.loads if load.tool == "stress-ng"), run.throughput)
    return " and ".join(sorted({one.version for one in ran if one} - {""}))


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
    return "causes" if any(cpu.causes for cpu in run.cpus) else ""


#: Name, the trait, and what follows where it differs.
_COMPARED: tuple[tuple[str, Callable[[Run], str], str], ...] = (
    ("machines", lambda run: run.machine_words, ""),
    ("kernels", lambda run: run.kernel, "; the change may be the kernel's"),
    ("versions of the harness", lambda run: run.harness, ""),
    ("measured CPUs", lambda run: str(run.measured), "; only the common ones are compared"),
    ("thresholds", lambda run: f"{run.threshold_ns:g} ns", "; noise counts other events"),
    ("scheduling policies", lambda run: run.policy, ""),
    ("clocks", lambda run: run.clock.source, ""),
    ("durations", lambda run: f"{round(run.duration_s, 1):g} s", "; longest gaps do not compare"),
    ("observers", _observer, "; what observes makes noise of its own"),
    ("loads", loads, "; throughput is left out"),
    ("stress-ng versions", stress_versions, "; throughput is left out"),
    ("oslat versions", oslat_version, "; oslat is left out"),
    ("second opinion versions", opinion_versions, "; they are left out"),
)
