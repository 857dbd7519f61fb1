# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a loop stands, in words."""

from __future__ import annotations

from collections.abc import Iterator

from lowlat.tune.state import LoopState, Outcome, Phase

_PHASES = {
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


def lines(state: LoopState) -> Iterator[str]:
    """Everything worth knowing of it."""
    yield f"profile {state.profile}, plan {state.plan}, Linux {state.kernel}, CPU {state.isolated}"
    if state.boots is not None:
        yield f"order, of seed {state.seed}: {' '.join(state.order)}"
    for number, leg in enumerate(state.legs, 1):
        bad = f"; not in effect: {', '.join(leg.bad)}" if leg.bad else ""
        yield f"boot {number}, {leg.arm}: {', '.join((leg.run, *leg.further))}{bad}"
    if state.report:
        yield f"report: {state.report}"
    yield f"the loop {where(state)}"


def where(state: LoopState) -> str:
    """What the loop does or did, to follow its name."""
    if state.phase is Phase.DONE:
        return f"ended, {_OUTCOMES[state.outcome]}: {state.why}"
    count = f"boot {len(state.legs) + 1} of {len(state.order)}, {state.due}"
    return f"{_PHASES[state.phase]}{f' ({count})' if state.due else ''}"
