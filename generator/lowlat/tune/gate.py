# SPDX-License-Identifier: GPL-2.0-or-later
"""The gate before promoting: whether the tuned boot has the effect that was planned. The size of
the effect is the report's claim, which needs enough boots."""

from collections.abc import Iterator, Sequence
from typing import Optional

from lowlat.claim.build import Report
from lowlat.claim.pair import ComparedFigure
from lowlat.claim.throughput import Loss
from lowlat.claim.verdict import REFUSED
from lowlat.figures.endpoint import INTERRUPTS
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import NOISE
from lowlat.present.wording import number

#: Noise may grow by this factor, which is less than it varies from run to run.
_NOISE_LIMIT = 1.1


def misses(
    report: Report, isolated: CpuSet, bad: Sequence[str], margin: Optional[float] = None
) -> tuple[str, ...]:
    """The reasons not to promote, none if the gate is passed; ``bad`` are settings not in effect,
    ``margin`` is the share of throughput that may be lost (None: not measured)."""
    reasons = [f"verify finds not in effect: {', '.join(dict.fromkeys(bad))}"] if bad else []
    if report.verdict == REFUSED:
        return (*reasons, f"the runs cannot be compared: {report.why}")
    reasons += _interrupts(report, isolated)
    if not report.emulated:
        reasons += _noise(report.get(NOISE))
        reasons += _throughput(report.throughput, margin) if margin is not None else []
    return tuple(reasons)


def passed(report: Report) -> str:
    """The figures on which the gate was passed, in words."""
    words = [_change("interrupts per second", report.get(INTERRUPTS))]
    if not report.emulated:
        words.append(_change("noise ppm", report.get(NOISE)))
        words.append(str(report.throughput or ""))
    return f"all settings are in effect; {', '.join(filter(None, words))}"


def _interrupts(report: Report, isolated: CpuSet) -> Iterator[str]:
    figures = {cpu: report.get(INTERRUPTS, cpu) for cpu in isolated}
    unknown = CpuSet.of(cpu for cpu, figure in figures.items() if figure is None)
    known = [figure for figure in figures.values() if figure is not None]
    higher = [figure for figure in known if not figure.after < figure.before]
    if unknown:
        yield f"interrupts per second are not known on CPU {unknown}"
    if higher:
        where = CpuSet.of(item.cpu for item in higher if isinstance(item.cpu, int))
        worst = max(higher, key=lambda figure: figure.after - figure.before)
        yield (
            f"interrupts per second are not lower on CPU {where} "
            f"(CPU {worst.cpu}: {number(worst.before)} before, {number(worst.after)} after)"
        )


def _noise(figure: Optional[ComparedFigure]) -> Iterator[str]:
    if figure is None:
        yield "noise ppm is not known on every CPU"
    elif figure.after > _NOISE_LIMIT * figure.before:
        yield (
            f"noise is {number(figure.after)} ppm, more than {_NOISE_LIMIT:g} times the "
            f"{number(figure.before)} before"
        )


def _throughput(loss: Optional[Loss], margin: float) -> Iterator[str]:
    """The loss counts as tolerable if the far end of its interval is within the margin."""
    if loss is None:
        yield "the throughput is not known in every boot"
    elif loss.at_most > margin:
        yield f"more than {100 * margin:g} % of the throughput may be lost: {loss}"


def _change(what: str, figure: Optional[ComparedFigure]) -> str:
    if figure is None:
        return ""
    return f"{what} {number(figure.before)} before, {number(figure.after)} after"
