# SPDX-License-Identifier: GPL-2.0-or-later
"""What a loop will take, and what its report will be able to claim, before it begins."""

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import stdev
from typing import Optional

from lowlat.claim.pair import Pair
from lowlat.claim.stats import flips, power
from lowlat.claim.stats.bets import MOST_PAIRS
from lowlat.figures.measured_arm import Arm
from lowlat.figures.primary import primary_of
from lowlat.host.root import Root
from lowlat.measure.run_file import runs_in
from lowlat.model import cmdline
from lowlat.model.run import Run
from lowlat.present.wording import number
from lowlat.probe import host_name
from lowlat.tune import steps
from lowlat.tune.state import RUNS, STOCK, TUNED, LoopState

#: The spread of fewer boots says little.
_ENOUGH_BOOTS = 3

#: Changes that somebody may look for, by their factor.
_CHANGES = (1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)


def lines_within(state: LoopState) -> Iterator[str]:
    """Runs, order, minutes and the claim of a loop within boots, a sentence each."""
    boots, pairs = state.boots or 1, state.within
    where = "this boot" if boots == 1 else f"each of {boots} boots"
    runs = 2 * pairs * sum(one.seconds() for one in steps.options(state).set_ups())
    minutes = (runs + pairs * steps.COUNT_S) / 60
    yield f"{2 * pairs} runs are measured in {where}: {number(minutes)} minutes, without a reboot"
    if boots > 1:
        yield "reboot when convenient after each boot's runs; 'lowlat-gen tune --within' goes on"
    yield f"order, drawn anew when it begins, such as: {' '.join(state.order)}"
    enough = flips.ENOUGH_PAIRS
    if boots >= enough:
        yield (
            f"the report can claim a change for boots of this machine: one sign a boot, the "
            f"smallest p is {flips.smallest_p(boots):.2g}"
        )
        return
    where = "this boot" if boots == 1 else f"these {boots} boots"
    if boots * pairs < enough:
        yield f"the report will describe: a claim takes {enough} pairs, better 8"
    else:
        least = flips.smallest_p(boots * pairs)
        yield f"the report can claim a change in {where}: the smallest p is {least:.2g}"
    yield f"a claim for boots of this machine takes {enough} boots (--boots {enough})"


def lines(root: Root, state: LoopState) -> Iterator[str]:
    """Boots, order, minutes and the claim, a sentence each."""
    yield _boots(state)
    if state.boots is None:
        yield "one boot of each kind: the report will describe, and claim nothing"
        return
    yield f"order, drawn anew when it begins, such as: {' '.join(state.order)}"
    yield from _claim(state.boots, state.until_clear)
    if flips.available():
        yield from _spread(
            _stock_boots(root, state), MOST_PAIRS if state.until_clear else state.boots
        )


def _boots(state: LoopState) -> str:
    here = 1 if state.boots is None else 0
    changes = sum(one != other for one, other in zip(("", *state.order), state.order))
    thrown = changes if state.discard else 0
    reboots = len(state.order) - here + thrown + (state.order[-1] == TUNED and not here)
    measured = sum(one.seconds() for one in steps.options(state).set_ups()) / 60
    how = "kexec boots" if state.kexec else "boots"
    beside = f" and {thrown} that are not" if thrown else ""
    return (
        f"{len(state.order)} {how} are measured{beside}: {number(len(state.order) * measured)} "
        f"minutes of measuring and {reboots} reboots"
    )


def _claim(pairs: int, until_clear: bool) -> Iterator[str]:
    if until_clear:
        yield (
            "the report claims the median pair as soon as the test is clear: after 6 pairs if all "
            f"agree, 13 if one does not; it ends after {pairs} pairs at the latest"
        )
    elif pairs < flips.ENOUGH_PAIRS:
        yield f"the report will describe: a claim takes {flips.ENOUGH_PAIRS} pairs, better 8"
    else:
        least = f"the smallest p is {flips.smallest_p(pairs):.2g}"
        agree = ", so that all pairs must agree" if pairs == flips.ENOUGH_PAIRS else ""
        yield f"the report can claim a change from {pairs} pairs: {least}{agree}"


def _stock_boots(root: Root, state: LoopState) -> list[Run]:
    """The runs of this host's stock boots under this kernel that measured the CPUs."""
    found = []
    for run in runs_in(Path(root.host(RUNS))):
        ours = run.host.name == host_name(root) and run.kernel == state.kernel
        stock = cmdline.marker(run.cmdline) is None and run.complete and run.valid
        measured = run.policy == state.policies[0] and state.measured <= run.measured
        if ours and stock and measured:
            found.append(run)
    return found


def _spread(runs: list[Run], pairs: int) -> Iterator[str]:
    """What so many pairs find if boots differ as the stock boots that were measured do."""
    arm = Arm(STOCK, tuple(runs))
    if len(arm.boots) < _ENOUGH_BOOTS:
        yield (
            f"how much boots differ here is not known: measure {_ENOUGH_BOOTS} stock boots first "
            f"('lowlat-gen measure --label {STOCK}') to know which changes are found"
        )
        return
    key, _ = primary_of(runs)
    figure = Pair.of(arm, arm, key).figures[key]
    spread = stdev(figure.samples().logs()[0].tolist()) if figure.known else 0.0
    told = f"{key.name} of {len(arm.boots)} stock boots here differs by {100 * spread:.2g} %"
    found = next((one for one in _CHANGES if _enough(one, spread, pairs)), None)
    if found is None:
        yield f"{told}: {pairs} pairs find no change of less than {_CHANGES[-1]:g} times"
        return
    less = _CHANGES[max(_CHANGES.index(found) - 1, 0)]
    more = power.pairs_to_find(math.log(less), spread)
    beyond = f"; {less:g} times takes {more} pairs" if more and more > pairs else ""
    yield (
        f"{told}: {pairs} pairs find a change of {found:g} times, with a chance of "
        f"{100 * power.POWER:.0f} %{beyond}"
    )


def _enough(change: float, spread: float, pairs: int) -> bool:
    needed: Optional[int] = power.pairs_to_find(math.log(change), spread)
    return needed is not None and needed <= pairs
