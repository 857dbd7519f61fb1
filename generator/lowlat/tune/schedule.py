# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of boots, the next step in each boot, and the state of the loop in words: pure
functions of the state."""

import random
from collections.abc import Iterator
from typing import Optional

from lowlat.boot.status import Running
from lowlat.model.order import draw_blocks
from lowlat.tune.state import NOW, STOCK, TUNED, LoopState, Outcome, Phase


def order(pairs: Optional[int], seed: int) -> tuple[str, ...]:
    """The boots to measure. Without a number: the running boot, then a tuned one. With a number:
    so many pairs, drawn by model/order.py."""
    if pairs is None:
        return (STOCK, TUNED)
    draw = random.Random(seed)  # noqa: S311
    return tuple(arm for pair in draw_blocks((STOCK, TUNED), pairs, draw) for arm in pair)


def order_within(boots: int, pairs: int, seed: int) -> tuple[str, ...]:
    """The runs to measure: so many pairs in each boot, drawn as order() draws boots. The first runs
    of the boots are drawn by the same rule: from six boots on, a boot is what is paired."""
    draw = random.Random(seed)  # noqa: S311
    order: list[str] = []
    for first, _ in draw_blocks((STOCK, NOW), boots, draw):
        own = draw_blocks((STOCK, NOW), pairs, draw)
        while own[0][0] != first:
            own = draw_blocks((STOCK, NOW), pairs, draw)
        order += (arm for pair in own for arm in pair)
    return tuple(order)


def lost(state: LoopState) -> int:
    """The runs that are lost with their boots, as this one is another: the rest of one that was
    begun."""
    whole = 2 * state.within
    begun = (state.number - 1) % whole
    return state.lost + (whole - begun if begun else 0)


def after_run(state: LoopState) -> Phase:
    """What follows the last run within a boot: another run, another boot, or the report."""
    if not state.due:
        return Phase.JUDGE
    return Phase.MEASURE if (state.number - 1) % (2 * state.within) else Phase.BOOT


def decide(state: LoopState, here: Running, boot_id: str) -> tuple[Phase, str]:
    """The phase to work on in this boot, and why the due boot is given up, "" if it is not."""
    same = boot_id == state.boot_id
    if state.within:
        due = state.phase in (Phase.BOOT, Phase.MEASURE) and not same
        other = here.kernel != state.kernel or here.plan is not None
        return (Phase.MEASURE, wrong(state, here) if other else "") if due else (state.phase, "")
    if state.phase is Phase.ARM:
        return (Phase.ARM if same or wrong(state, here) else Phase.MEASURE), ""
    if state.phase is Phase.BOOT and not same:
        return Phase.MEASURE, wrong(state, here)
    cut_off = state.phase is Phase.MEASURE and not same
    return state.phase, "the boot that was measured was cut off" if cut_off else ""


def wrong(state: LoopState, here: Running) -> str:
    """Why the running boot is not the due one; "" if it is."""
    if here.kernel != state.kernel:
        return f"Linux {here.kernel or '(unknown)'} was booted, not {state.kernel}"
    if state.due == STOCK or state.within:
        return "a tuned entry was booted where the stock one was due" if here.plan else ""
    if here.plan is None:
        return "the tuned boot was due and did not come up: this is a stock one"
    return "" if here.ours else f"plan {here.plan[:64]} was booted, not {state.plan}"


#: The work of each phase before the last, as a predicate of "the loop".
WORK = {
    Phase.ARM: "sets up the next boot",
    Phase.BOOT: "waits for a reboot",
    Phase.MEASURE: "measures",
    Phase.JUDGE: "compares the boots",
    Phase.CLOSE: "puts back what it set up",
}

_OUTCOMES = {
    Outcome.NONE: "",
    Outcome.PROMOTED: "the tuned entry is the default",
    Outcome.FELL_BACK: "the default is as before",
    Outcome.COMPARED: "the default is as before",
    Outcome.ABORTED: "the default is as before, the entries and runs are kept",
}


def measured(state: LoopState) -> str:
    """How each boot is measured, as options of measure."""
    times = f"--duration {state.duration} --warmup {state.warmup}"
    given = {**vars(state.measure), "load-cpus": state.load_cpus, "wakeup": state.wakeup}
    words = [f"--{name} {value}" for name, value in given.items() if type(value) is str]
    words += {True: ["--causes"], False: ["--no-causes"], None: []}[state.measure.causes]
    return f"each {state.unit}: measure {times} {' '.join(words)}"


def lines(state: LoopState) -> Iterator[str]:
    """All facts about the loop, line by line."""
    yield f"profile {state.profile}, plan {state.plan}, Linux {state.kernel}, CPU {state.measured}"
    if state.boots is not None:
        yield f"order, of seed {state.seed}: {' '.join(state.order)}"
    yield measured(state)
    for number, boot in enumerate(state.legs, 1):
        bad = f"; not in effect: {', '.join(boot.bad)}" if boot.bad else ""
        yield f"{state.unit} {number}, {boot.arm}: {', '.join((boot.run, *boot.further))}{bad}"
    if state.lost:
        yield f"{state.lost} runs were lost, for their boot ended"
    if state.report:
        yield f"report: {state.report}"
        yield f"page: {state.path('report.html')}"
    yield f"the loop {where(state)}"


def where(state: LoopState) -> str:
    """The state of the loop, as a predicate of "the loop"."""
    if state.phase is Phase.DONE:
        outcome = "the system is as it was" if state.within else _OUTCOMES[state.outcome]
        return f"ended, {outcome}: {state.why}"
    count = f"{state.unit} {state.number} of {len(state.order)}, {state.due}"
    return f"{WORK[state.phase]}{f' ({count})' if state.due else ''}"
