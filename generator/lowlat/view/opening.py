# SPDX-License-Identifier: GPL-2.0-or-later
"""The first screen of a page: the finding, two numbers large, one figure, and its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lowlat.model.run import Run
from lowlat.report.comparison import Comparison
from lowlat.report.wording import in_counts, per, values
from lowlat.view.arm import quietest
from lowlat.view.plot.figure import Figure

UNITS = {"1/s": "interrupts a second on each CPU", "ppm": "ppm of each CPU's time lost"}


@dataclass(frozen=True)
class Number:
    """A figure for the eye: whose it is, with the class of its colour."""

    name: str
    kind: str
    value: str
    unit: str


@dataclass(frozen=True)
class Opening:
    """``badge`` is the verdict in two words, ``verdict`` its class of the style sheet; ``basis`` is
    what the headline rests on; ``facts`` tell the host, the processor, the kernel and the dates."""

    verdict: str
    badge: str
    headline: str
    basis: str
    numbers: tuple[Number, ...]
    figures: tuple[Figure, ...]
    facts: tuple[str, ...]


def numbers(found: Comparison) -> Iterator[Number]:
    """The figure the verdict is about, of the first arm and of the quietest other."""
    best = found.reports[quietest(found)]
    end = best.primary
    if end:
        counts = f"interrupts on each CPU {per(end, best)}"
        unit = counts if in_counts(end, best) else UNITS[end.unit]
        one, other = values(end, best)
        yield Number(found.first, "before", one, unit)
        yield Number(best.name, "after", other, unit)


def facts(runs: Sequence[Run]) -> Iterator[str]:
    """Where and when the runs were made, "" where that is not known; what they do not agree in is
    listed."""
    yield _listed(run.host.name for run in runs)
    yield _listed(run.host.processor or run.host.arch for run in runs)
    yield _listed(_kernel(run) for run in runs)
    days = sorted({run.started[:10] for run in runs})
    seconds = _listed(f"{run.duration_s:g} s" for run in runs)
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''} of {seconds}"
    yield f"{count}, {' to '.join(dict.fromkeys((days[0], days[-1])))}"


def _kernel(run: Run) -> str:
    hz = f", HZ={run.host.hz}" if run.host.hz else ""
    beneath = f", under {run.host.hypervisor}" if run.host.hypervisor else ""
    return f"Linux {run.kernel}{hz}{beneath}"


def _listed(values: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(values))
