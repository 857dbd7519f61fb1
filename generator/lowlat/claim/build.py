# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs to the report: figures boot by boot, and the conclusions from them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Optional

from lowlat.claim import comparable, pairing, throughput, verdict, work_words
from lowlat.claim.blocks import Blocks
from lowlat.claim.caveat import CaveatEffect, FoundCaveat
from lowlat.claim.more_pairs import more_pairs
from lowlat.claim.pair import ComparedFigure, Pair, compared_figures, longest_gaps
from lowlat.claim.pairing import DRAWN, Pairing
from lowlat.claim.stats.pairs import Pairs
from lowlat.claim.throughput import Loss
from lowlat.claim.verdict import DESCRIPTIVE, REFUSED, Verdict
from lowlat.figures import in_effect, sibling_load
from lowlat.figures.endpoint import in_words
from lowlat.figures.measure import Cpu, Key
from lowlat.figures.measured_arm import Arm, ArmGap
from lowlat.figures.pace import SLOWER
from lowlat.model import cmdline
from lowlat.model.campaign import Registered
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import NOISE
from lowlat.model.run import Run

SCHEMA = "lowlat.report/1"

#: From this share of a kernel's ticks on, none is missing except at the measurement's ends.
_ALL_TICKS = 0.95


@dataclass(frozen=True)
class Report:
    """The document ``lowlat.report/1`` on one arm, ``name``, against the ``first``. Only the text
    shows whether the kernel isolated all CPUs measured after, the ``seconds`` for which a CPU was
    measured in a boot of either arm. ``boots`` are those behind the figures: of a test the boots in
    ``pairs``, whose ``order`` is a word of pairing.py; ``unpaired`` names the files of the others.
    ``more_pairs`` tells after how many more pairs a change as large as the observed one is clear,
    with a chance of 50 and of 80 % (None if it was found or the number is unknown). ``kernels`` are
    texts of either arm, with HZ; ``throughput`` is the loss of stress-ng's matrix, if time has a
    meaning; ``sets`` are the CPUs by the plan's names, ``tool`` is the one whose files are compared
    ("" for lowlat's own runs),
    ``longest_gaps`` those of either arm with known causes. ``campaign`` is what was written down
    first, ``e_value`` that of a test that ends when it is clear (None: another test),
    ``lost_pairs`` the pairs of the campaign that lack a boot and count against a claim,
    ``caveats`` what weakens it."""

    name: str
    first: str
    verdict: str
    why: str
    boots: tuple[int, int]
    emulated: bool
    endpoints: tuple[ComparedFigure, ...]
    not_in_effect: tuple[in_effect.Missing, ...]
    flags: tuple[str, ...]
    isolated: bool
    seconds: tuple[float, float]
    kernels: tuple[str, str] = ("", "")
    throughput: Optional[Loss] = None
    sets: Mapping[str, CpuSet] = field(default_factory=dict)
    tool: str = ""
    longest_gaps: tuple[ArmGap, ...] = ()
    pairs: int = 0
    order: str = pairing.UNKNOWN
    unpaired: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    more_pairs: Optional[tuple[int, int]] = None
    campaign: Optional[Registered] = None
    e_value: Optional[float] = None
    lost_pairs: int = 0
    caveats: tuple[FoundCaveat, ...] = ()

    def get(self, name: str, cpu: Cpu = "all", row: str = "") -> Optional[ComparedFigure]:
        return self._by_key.get(Key(name, cpu, row))

    @cached_property
    def _by_key(self) -> Mapping[Key, ComparedFigure]:
        return {endpoint.key: endpoint for endpoint in self.endpoints}

    @property
    def primary(self) -> Optional[ComparedFigure]:
        return next((e for e in self.endpoints if e.primary), None)

    @property
    def barred(self) -> bool:
        """Whether no gate can be met, because of what departs from the campaign."""
        effects = {one.kind.effect for one in self.caveats}
        return self.verdict == DESCRIPTIVE and bool(
            effects & {CaveatEffect.FORBIDS, CaveatEffect.COUNTED}
        )

    @property
    def cpus(self) -> CpuSet:
        return CpuSet.of(e.cpu for e in self.endpoints if isinstance(e.cpu, int))


def build(before: Arm, after: Arm, primary: Key, blocks: Optional[Blocks] = None) -> Report:
    """Compare two arms of at least one run; the verdict is about the ``primary`` endpoint. The
    pairs are those of the ``blocks`` of a campaign; without one those that follow each other."""
    flags = [*comparable.flags(before, after), *in_effect.unknown(after.effect or ())]
    figures: tuple[ComparedFigure, ...] = ()
    more = None
    why = comparable.refusal(before, after)
    seconds = (0.0, 0.0)
    lost: Optional[Loss] = None
    gaps: tuple[ArmGap, ...] = ()
    none = Pairing(before, after, Pairs((), ()), why)
    paired = none if why else Pairing.of(before, after, blocks)
    order = () if paired.untested else pairing.order_caveats(paired.order)
    caveats = (*order, *comparable.caveats_of_arms(before, after))
    before, after = paired.before, paired.after
    if why:
        concluded = Verdict(REFUSED, why)
    else:
        pair = Pair.of(before, after, primary, paired.lone, paired.neither)
        concluded, figures = _concluded(pair, paired)
        guard = [(e.ratio, e.ci95) for e in figures if e.key == throughput.KEY and e.ratio]
        if guard and not before.runs[0].emulated:
            lost = throughput.loss(before, after, *guard[0])
        worked = {e.key: (e.before, e.after) for e in figures if e.cpu == "all"}
        dearer, timed = work_words.told(figures)
        weighty = [
            *_swallowed((before, after)),
            *comparable.doses(before, after),
            *_slower(figures),
            *dearer,
            *([str(lost)] if lost and (lost.least or 0.0) > 0 else []),
        ]
        gaps = (*before.longest(pair.cpus), *after.longest(pair.cpus))
        concluded = replace(concluded, why="; ".join([concluded.why, *weighty]))
        beside = sibling_load.compared(before, after, pair.cpus, worked)
        told = [str(lost)] if lost and str(lost) not in weighty else []
        flags = [*weighty, *told, *timed, *beside, *paired.flags(), *flags]
        seconds = _seconds(before, pair.cpus), _seconds(after, pair.cpus)
        if concluded.word != REFUSED:
            flags += _within_longest(pair)
            more = more_pairs(pair, paired, concluded)
            flags += [needed(more, len(paired.pairs.boots))] if more else []
    return Report(
        name=after.name,
        first=before.name,
        verdict=concluded.word,
        why=concluded.why,
        boots=(len(before.boots), len(after.boots)),
        emulated=all(arm.runs[0].emulated for arm in (before, after)),
        endpoints=figures,
        not_in_effect=in_effect.not_in_effect(after.effect or (), after.runs),
        flags=tuple(flags),
        isolated=not any(run.measured - run.isolated for run in after.runs),
        seconds=seconds,
        kernels=(before.kernels, after.kernels),
        throughput=lost,
        sets=after.sets or before.sets,
        tool=comparable.tool_words((*before.runs, *after.runs)),
        longest_gaps=gaps,
        pairs=len(paired.pairs.boots),
        order=paired.order,
        unpaired=paired.unpaired,
        more_pairs=more,
        lost_pairs=len(paired.missing),
        caveats=caveats,
    )


def without_test(report: Report, why: str) -> Report:
    """The report without the test of a fixed number of pairs, and without what it says of that;
    with this reason."""
    untested = [replace(e, p=None, ci95=None, ratio_at_least=None) for e in report.endpoints]
    about = {pairing.ALL_AGREE}
    about |= {needed(report.more_pairs, report.pairs)} if report.more_pairs else set()
    flags = work_words.anew(report.flags, report.endpoints, untested)
    return replace(
        report,
        verdict=DESCRIPTIVE,
        why=why,
        endpoints=tuple(untested),
        flags=tuple(flag for flag in flags if flag not in about),
        more_pairs=None,
    )


def _concluded(pair: Pair, paired: Pairing) -> tuple[Verdict, tuple[ComparedFigure, ...]]:
    figures = compared_figures(pair, tested=not paired.untested, drawn=paired.order == DRAWN)
    primary = next((endpoint for endpoint in figures if endpoint.primary), None)
    if primary is None:
        return Verdict(
            REFUSED, f"{in_words(pair.primary.name)} is not known for every measured CPU"
        ), ()
    if paired.untested or primary.p is None:
        why = paired.untested or f"{in_words(primary.name)} is not known in every boot"
        return Verdict(DESCRIPTIVE, why), figures
    return verdict.of(primary, paired.words), figures


def _seconds(arm: Arm, cpus: CpuSet) -> float:
    """The time for which a CPU was measured in a boot, in seconds, on average."""
    return fmean(arm.seconds(cpus)) / (len(cpus) or 1)


def _swallowed(arms: Iterable[Arm]) -> Iterator[str]:
    """Messages about arms with fewer ticks than their kernels make: a busy host of an emulator
    merges several ticks into one."""
    for arm in arms:
        hz = max(run.host.hz or 0 for run in arm.runs)
        rates = [rate for run in arm.runs if run.emulated for rate in _ticks(run)]
        if rates and fmean(rates) < _ALL_TICKS * hz:
            yield (
                f"the host swallowed ticks of {arm.name}: {fmean(rates):.0f} a second on a CPU "
                f"whose kernel makes {hz}"
            )


def _slower(figures: Iterable[ComparedFigure]) -> Iterator[str]:
    """A message if the CPUs do less work in their time, which less noise does not show."""
    ratio = {e.key: e.ratio or 1.0 for e in figures if e.cpu == "all"}
    noise, pace = (ratio.get(Key(name), 1.0) for name in (NOISE, "pace_p50"))
    if pace > SLOWER:
        fell = f"noise fell {noise:.2g} times, but " if noise > 1 else ""
        yield f"{fell}the CPU runs {pace:.2g} times slower"


def _ticks(run: Run) -> Iterator[float]:
    """Timer interrupts of each CPU, all busy; none for a kernel that may stop its tick there."""
    if not cmdline.values(run.cmdline, "nohz_full"):
        rows = (cpu.interrupts_per_s for cpu in run.cpus)
        yield from (row["LOC"] for row in rows if row and "LOC" in row)


def _within_longest(pair: Pair) -> Iterable[str]:
    names = sorted(longest_gaps(pair)) if not pair.before.runs[0].emulated else []
    if names:
        told = " and ".join(map(in_words, names))
        yield f"{told}: not tested, it lies within the longest gap of so short a run"


def needed(more: tuple[int, int], pairs: int) -> str:
    least, most = more
    after = f"{least} to {most}" if least < most else f"{most}"
    return (
        f"if the arms differ as much as they seem to, this is clear after {after} more "
        f"pair{'s' if most > 1 else ''}: plan {pairs + most} pairs and judge once, for each "
        "further look may find what is not there"
    )
