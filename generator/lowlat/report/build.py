# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs to the report: figures boot by boot, and what may be concluded from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional, Union

from lowlat.model.cpuset import CpuSet
from lowlat.report import comparable, in_effect, verdict
from lowlat.report.arm import Arm
from lowlat.report.endpoint import Endpoint, Pair, endpoints, primary_name
from lowlat.report.figures import Key
from lowlat.report.in_effect import VerifiedSetting
from lowlat.report.stats import permutation
from lowlat.report.stats.power import POWER
from lowlat.report.verdict import DESCRIPTIVE, REFUSED, Verdict, boot_words

__all__ = ["SCHEMA", "Endpoint", "Report", "build"]

SCHEMA = "lowlat.report/1"


@dataclass(frozen=True)
class Report:
    """The document ``lowlat.report/1`` on one arm, ``name``, against the first. In words only it
    tells whether the kernel isolated all CPUs measured after, and how many boots an arm would find
    the change seen (None where it was found or the number cannot be told)."""

    name: str
    verdict: str
    why: str
    boots: tuple[int, int]
    emulated: bool
    endpoints: tuple[Endpoint, ...]
    not_in_effect: tuple[in_effect.Missing, ...]
    flags: tuple[str, ...]
    isolated: bool
    boots_to_find: Optional[int] = None

    def get(self, name: str, cpu: Union[int, str] = "all") -> Optional[Endpoint]:
        return self._by_key.get((name, cpu))

    @cached_property
    def _by_key(self) -> Mapping[Key, Endpoint]:
        return {(endpoint.name, endpoint.cpu): endpoint for endpoint in self.endpoints}

    @property
    def primary(self) -> Optional[Endpoint]:
        return next((e for e in self.endpoints if e.primary), None)

    @property
    def cpus(self) -> CpuSet:
        return CpuSet.of(e.cpu for e in self.endpoints if isinstance(e.cpu, int))


def build(before: Arm, after: Arm) -> Report:
    """Compare two arms of at least one run."""
    runs = before.runs, after.runs
    flags = [*comparable.flags(*runs), *_verified(after.effect), *_extra()]
    figures: tuple[Endpoint, ...] = ()
    needed = None
    why = comparable.refusal(*runs)
    if why:
        concluded = Verdict(REFUSED, why)
    else:
        pair = Pair.of(before, after)
        concluded, figures = _concluded(pair)
        if concluded.word != REFUSED:
            flags += [*verdict.order_flags(pair), *_bounds(figures), *_ranked(figures)]
            flags += _time_measured(pair)
            needed = verdict.boots_to_find(pair, concluded)
            flags += [_needed(needed)] if needed else []
    return Report(
        name=after.name,
        verdict=concluded.word,
        why=concluded.why,
        boots=(len(before.boots), len(after.boots)),
        emulated=all(arm[0].emulated for arm in runs),
        endpoints=figures,
        not_in_effect=in_effect.not_in_effect(after.effect or (), after.runs),
        flags=tuple(flags),
        isolated=not any(run.measured - run.isolated for run in after.runs),
        boots_to_find=needed,
    )


def _concluded(pair: Pair) -> tuple[Verdict, tuple[Endpoint, ...]]:
    without = verdict.untested(pair.before, pair.after)
    found = endpoints(pair, tested=not without)
    primary = next((endpoint for endpoint in found if endpoint.primary), None)
    if primary is None:
        name = primary_name(pair.before.runs[0].emulated)
        return Verdict(REFUSED, f"{name} is not known for every measured CPU"), ()
    if without or primary.p is None:
        return Verdict(DESCRIPTIVE, without or _unclaimed(pair, primary)), found
    boots = len(pair.before.boots), len(pair.after.boots)
    concluded = verdict.of(primary, boots)
    drifted = verdict.drifted(pair, primary)
    if drifted and concluded.word != verdict.UNCHANGED:
        bare = tuple(map(_untested, found))
        return Verdict(DESCRIPTIVE, f"{boot_words(boots)}; no claim: {drifted}"), bare
    return concluded, found


def _untested(endpoint: Endpoint) -> Endpoint:
    # A bound where nothing at all was counted is no test's.
    least = endpoint.ratio_at_least if endpoint.ratio is None else None
    return replace(endpoint, p=None, ci95=None, ratio_at_least=least)


def _unclaimed(pair: Pair, primary: Endpoint) -> str:
    known = sum(map(len, pair.primary_values()))
    if known < len(pair.before.boots) + len(pair.after.boots):
        return f"{primary.name} is not known in every boot"
    return f"no claim: most boots and the mean of {primary.name} changed in opposite directions"


def _bounds(figures: Iterable[Endpoint]) -> Iterable[str]:
    if any(endpoint.ratio_at_least and endpoint.ratio is None for endpoint in figures):
        yield (
            'where nothing was counted after, the number in "> ...x less" is a bound (95 %), which '
            "holds if boots do not differ in it"
        )


def _ranked(figures: Iterable[Endpoint]) -> Iterable[str]:
    for endpoint in figures:
        if endpoint.primary and endpoint.p is not None and endpoint.ratio and not endpoint.ci95:
            yield (
                f"{endpoint.name} is zero in some boots: ranks were tested, the ratio is of plain "
                'means; "at least" is the low end of its interval (95 %) with one event in each '
                "of those boots"
            )


def _time_measured(pair: Pair) -> Iterable[str]:
    """How long the longest gaps were looked for: they grow with that time, so none is a claim."""
    if not pair.before.runs[0].emulated:
        before, after = (_times(arm, pair.cpus) for arm in (pair.before, pair.after))
        times = f"{before} before, {after} after, each CPU"
        yield f"the longest gap grows with the time measured: {times}"


def _times(arm: Arm, cpus: CpuSet) -> str:
    number, seconds = len(arm.runs), arm.seconds(cpus) / len(cpus)
    return f"{number} x {seconds / number:.4g} s" if number > 1 else f"{seconds:.4g} s"


def _needed(boots: int) -> str:
    return (
        f"two arms that differ this much are told apart from about {boots} boots an arm on, "
        f"with a chance of {POWER * 100:.0f} %"
    )


def _verified(settings: Optional[Sequence[VerifiedSetting]]) -> Iterable[str]:
    if settings is None:
        return ("what was in effect was not checked (--verify FILE)",)
    return in_effect.unknown(settings)


def _extra() -> Iterable[str]:
    if permutation.available():
        return ()
    return ("no test and no interval: scipy and numpy are not installed (lowlat[report])",)
