# SPDX-License-Identifier: GPL-2.0-or-later
"""What two runs need to have in common, each trait as a text: machine, kernel, loads, ..."""

from __future__ import annotations

import os.path
import shlex
from typing import Callable

from lowlat.measure.tools import oslat
from lowlat.measure.tools import stress_ng as stress
from lowlat.measure.tools import throughput as alone
from lowlat.model.run import Load, Run
from lowlat.report import opinion

#: Options of stress-ng that name a file, a folder or a port, which says nothing about the load.
_PATH_OPTIONS = {"--yaml", "-Y", "--temp-path", "--log-file", "--sock-port", "--udp-port"}

#: Differences that make a change of their own; of the others a reader is told.
CONFOUNDED = {
    *("machines", "thresholds", "scheduling policies"),
    *("loads", "stress-ng versions"),
}


def oslat_version(run: Run) -> str:
    """ "" where it did not run."""
    found = oslat.parse(run.oslat.output) if run.oslat else None
    return found.version or "unknown" if found else ""


def opinion_versions(run: Run) -> str:
    """Those of the other second opinions."""
    return opinion.versions(run.second_opinions)


def stress_versions(run: Run) -> str:
    """With the compilers."""
    pinned = alone.find(run.work)
    versions = {_stress_version(load) for load in run.loads}
    return " and ".join(sorted((versions | {pinned.version if pinned else ""}) - {""}))


def loads(run: Run) -> str:
    """The loads' commands without the paths of their own files."""
    return "; ".join(sorted(_normal(load.command) for load in run.loads))


def _stress_version(load: Load) -> str:
    if load.tool != "stress-ng":
        return ""
    found = stress.parse(load.output)
    return " ".join(filter(None, (found.version or load.version, found.compiler)))


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
COMPARED: tuple[tuple[str, Callable[[Run], str], str], ...] = (
    ("machines", lambda run: run.machine, ""),
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
