# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune``: measure, apply, try, measure again in the tuned boot, then promote or fall back."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from lowlat.base.errors import Refused, Unmet
from lowlat.base.terminal import say
from lowlat.boot import entry_line
from lowlat.boot.loaders.interface import refuse_pending
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.tune import schedule, start
from lowlat.tune.loop import Loop, alone, boot_id, here
from lowlat.tune.schedule import LoopStep, decide
from lowlat.tune.start import Beginning, Wish
from lowlat.tune.state import SCHEMA, LoopState, Outcome, Phase, read
from lowlat.verbs import options
from lowlat.verbs.apply import propose

#: Where a call of the unit may leave the loop.
_AT_REST = (Phase.BOOT, Phase.DONE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_host(parser)
    options.add_plan_options(parser)
    options.add_kernel(parser)
    add = parser.add_argument
    what = "compare N stock and N tuned boots, in random order; the default stays"
    add("--boots", type=options.positive, metavar="N", help=what)
    add("--duration", default="10s", metavar="TIME", help="how long to measure (%(default)s)")
    add("--warmup", default="30s", metavar="TIME", help="how long to wait before (%(default)s)")
    what = (
        "as measure's option: of several, each boot is measured under each and each has its "
        "report; the first decides (%(default)s)"
    )
    add("--policy", default="other", metavar="POLICY[,...]", help=what)
    add("--reboot", action="store_true", help="reboot by itself, as often as needed")
    add("--accept-pending", action="store_true", help="as apply's option")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--status", action="store_true", help="tell where the loop stands")
    action.add_argument("--resume", action="store_true", help="take the loop on in this boot")
    action.add_argument("--abort", action="store_true", help="end it; the default is as before")
    action.add_argument(
        "--ended", action="store_true", help="what its unit calls where --resume was ended"
    )
    parser.add_argument("--json", action="store_true", help="with --status: lowlat.tune/1")


def main(args: argparse.Namespace) -> int:
    root = options.open_host(args)
    for name, follow in (
        ("status", _status),
        ("resume", _resume),
        ("abort", _abort),
        ("ended", _ended),
    ):
        if getattr(args, name):
            options.refuse_plan_options(args, f"--{name} is about the loop there is")
            return follow(root, args)
    if args.json:
        raise Refused("--json prints where the loop stands", hint="give it with --status")
    if args.dry_run:
        _show(root, _prepare(root, args))
        return 0
    with alone(root):
        beginning = _prepare(root, args)
        if not args.accept_pending:  # before minutes of measuring
            refuse_pending(beginning.found.name, beginning.found.pending())
        for note in _notes(root, beginning):
            say(note)
        return _go(root, start.start(root, beginning, args.accept_pending))


# ------------------------------------------------------------------ beginning


def _prepare(root: Root, args: argparse.Namespace) -> Beginning:
    start.check_none(root)
    machine, plan = options.make_plan(args, root)
    start.check_boot(root, plan)
    proposal, found = propose(args, root, machine, plan)
    wish = Wish(args.boots, args.duration, args.warmup, args.reboot, args.policy)
    return start.prepare(root, proposal, found, wish)


def _notes(root: Root, beginning: Beginning) -> Iterator[str]:
    for note in filter(None, (*beginning.proposal.notes, tuned.advice(root))):
        yield f"note: {note}"
    if not entry_line.has_watchdog(root):
        yield "note: no hardware watchdog is here: a hard hang needs a power cycle"


def _show(root: Root, beginning: Beginning) -> None:
    state = beginning.state
    for note in _notes(root, beginning):
        print(note)
    print(f"would measure CPU {state.isolated} for {state.duration}, {_boots(state)}")
    for plan in beginning.proposal.plans:
        print(f"would add an entry for Linux {plan.kernel}: … {plan.boot_line}")
    end = "it stays" if state.boots else "it stays unless the gate is passed"
    print(f"the default is {state.default}: {end}")


def _boots(state: LoopState) -> str:
    if state.boots is None:
        return "in this boot and in a tuned one"
    return f"in {state.boots} stock and {state.boots} tuned boots in random order"


# ---------------------------------------------------------------- going on


def _resume(root: Root, args: argparse.Namespace) -> int:
    if args.dry_run:
        state = _active(root)
        step, why = decide(state, here(root, state), boot_id(root))
        print(f"the loop {step.value}{f': {why}' if why else ''}")
        return 0
    with alone(root):
        return _go(root, Loop(root, _active(root)))


def _ended(root: Root, args: argparse.Namespace) -> int:
    """Its unit's last call in a boot: what was begun there and stands still is given up."""
    if args.dry_run:
        raise Refused("--ended is called by lowlat-tune.service", hint="--abort ends the loop")
    with alone(root):
        state = read(root)
        if state is None or state.boot_id != boot_id(root) or state.phase in _AT_REST:
            return 0
        loop = Loop(root, state)
        if state.phase is not Phase.CLOSE:
            how = os.environ.get("SERVICE_RESULT", "unknown")[:40]
            loop.end(Outcome.FELL_BACK, f"{schedule.where(state)}, and was ended there ({how})")
        return _go(root, loop)


def _abort(root: Root, args: argparse.Namespace) -> int:
    state = read(root)
    if state is None or not state.active:
        print("no loop is under way")
        return 0
    if args.dry_run:
        print(
            f"would end the loop that {schedule.where(state)}, and keep its {len(state.legs)} runs"
        )
        return 0
    loop = Loop(root, state)
    if state.phase is not Phase.CLOSE:
        loop.end(Outcome.ABORTED, "--abort")
    loop.go()
    print("\n".join(schedule.lines(loop.state)))
    return 0


def _go(root: Root, loop: Loop) -> int:
    """Take it as far as this boot goes, and on to the next where that is allowed."""
    step = loop.go()
    state = loop.state
    if step is LoopStep.WAIT:
        say(f"the next boot is boot {len(state.legs) + 1} of {len(state.order)}, {state.due}")
        if state.reboot:
            loop.reboot()
        else:
            say("reboot when it suits: systemctl reboot")
            say("lowlat-tune.service measures then; 'lowlat-gen tune --status' tells of it")
        return 0
    say("\n".join(schedule.lines(state)))
    if here(root, state).plan is not None and state.outcome is not Outcome.PROMOTED:
        if state.reboot:
            loop.reboot()
        else:
            say("this boot stays tuned; the next one is stock")
    if state.outcome is Outcome.FELL_BACK:
        what = "not promoted" if state.boots is None else "ended before its last boot"
        raise Unmet(f"{what}: {state.why}")
    return 0


def _active(root: Root) -> LoopState:
    state = read(root)
    if state is None or not state.active:
        raise Refused("no loop is under way", hint="'lowlat-gen tune --profile P' begins one")
    return state


def _status(root: Root, args: argparse.Namespace) -> int:
    state = read(root)
    if state is None:
        none = {"schema": SCHEMA, "phase": None}
        options.show(args, lambda: none, ["there was no loop yet"])
    else:
        options.show(args, state.to_json, schedule.lines(state))
    return 0
