# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune``: measure, apply, try, measure again in the tuned boot, then promote or fall back."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lowlat.base.arguments import flag
from lowlat.base.errors import Refused, Unmet
from lowlat.base.terminal import filled, say
from lowlat.boot import entry_line, promote
from lowlat.boot.apply import Proposal
from lowlat.boot.loaders.interface import Loader, refuse_pending
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.tune import forecast, schedule, start, within
from lowlat.tune.loop import Loop, boot_id, exclusive_lock, here
from lowlat.tune.schedule import WORK, decide
from lowlat.tune.start import WITHIN, TuneOptions
from lowlat.tune.state import SCHEMA, LoopState, Outcome, Phase, read
from lowlat.tune.within import WithinLoop
from lowlat.verbs import chosen_apply, chosen_plan, options
from lowlat.verbs.options import PlanChoice

#: The phases in which the unit's call may leave the loop.
_AT_REST = (Phase.BOOT, Phase.DONE)


@dataclass(frozen=True)
class TuneArguments(options.HostArguments):
    plan: PlanChoice = PlanChoice()
    wanted: TuneOptions = TuneOptions()
    article: bool = flag(
        "measure under other and fifo:1, with causes; beside the report, article.md has the table "
        "of the article on osnoise"
    )
    accept_pending: bool = options.accept_pending()
    status: bool = flag("print the state of the loop", group="action")
    resume: bool = flag("continue the loop in this boot", group="action")
    abort: bool = flag("end the loop; the default entry is as before", group="action")
    ended: bool = flag("called by lowlat-tune.service, not by people", group="action")
    json: bool = flag("with --status: lowlat.tune/1")


def main(args: TuneArguments) -> int:
    root = args.open(takes_back=args.status or args.abort)
    args = replace(args, wanted=start.for_article(args.wanted)) if args.article else args
    for name, follow in (
        ("status", _status),
        ("resume", _resume),
        ("abort", _abort),
        ("ended", _ended),
    ):
        if getattr(args, name):
            options.refuse_plan_options(args.plan, f"--{name} is about the loop there is")
            if args.wanted != TuneOptions():
                raise Refused(f"--{name}: the loop keeps its options", hint="leave the rest out")
            return follow(root, args)
    if args.json:
        raise Refused("--json prints where the loop stands", hint="give it with --status")
    if args.wanted.within:
        return _within(root, args)
    if args.dry_run:
        proposal, loader, state = _prepare(root, args)
        _show(root, proposal, state)
        # For kexec, _prepare() has checked all; what a loader checks may leave a message.
        for line in () if args.wanted.kexec else promote.check_returns(root, loader):
            print(line)
        return 0
    with exclusive_lock(root):
        proposal, loader, state = _prepare(root, args)
        if not args.accept_pending:  # before minutes of measuring
            refuse_pending(loader, loader.pending())
        for note in _notes(root, proposal):
            say(note)
        return _go(root, start.start(root, proposal, loader, state, args.accept_pending))


def _prepare(root: Root, args: TuneArguments) -> tuple[Proposal, Loader, LoopState]:
    chosen, state = chosen_apply.prepare_tune(args.plan, root, args.wanted)
    return chosen.proposal, chosen.loader, state


def _within(root: Root, args: TuneArguments) -> int:
    """Begin a loop within boots, or go on with it."""
    state = read(root)
    if state is not None and state.active and state.within and args == _bare(args):
        return _resume(root, args)
    start.check_none(root)
    if args.accept_pending:
        raise Refused("--within changes no boot", hint="leave out --accept-pending")
    machine, found = chosen_plan.make_now(args.plan, root)
    state = within.prepare(root, machine, found, args.wanted)
    if args.dry_run:
        told = [schedule.measured(state), *forecast.lines_within(state)]
        print(f"would toggle {chosen_plan.summary(found.plan.profile, found.plan.isolated)}")
        print(f"would measure CPU {state.isolated} for {state.duration}")
        print("\n".join(line for text in told for line in filled(text)))
        return 0
    with exclusive_lock(root):
        start.check_none(root)
        return _go(root, within.start(root, found, state))


def _bare(args: TuneArguments) -> TuneArguments:
    """The same call with no option but --within."""
    alone = TuneOptions(within=WITHIN)
    return TuneArguments(root=args.root, dry_run=args.dry_run, wanted=alone)


def _notes(root: Root, proposal: Proposal) -> Iterator[str]:
    for note in filter(None, (*proposal.notes, tuned.advice(root))):
        yield f"note: {note}"
    if not entry_line.has_watchdog(root):
        yield "note: this machine has no hardware watchdog: a hard hang needs a power cycle"


def _show(root: Root, proposal: Proposal, state: LoopState) -> None:
    for note in _notes(root, proposal):
        print(note)
    print(f"would measure CPU {state.measured} for {state.duration}, {_boots(state)}")
    print(schedule.measured(state))
    print("\n".join(line for text in forecast.lines(root, state) for line in filled(text)))
    for plan in proposal.plans:
        print(f"would boot Linux {plan.kernel} with: … {plan.boot_line}")
    end = "it stays" if state.boots else "it stays unless the tuned boot has the planned effect"
    print(f"the default is {state.default}: {end}")


def _boots(state: LoopState) -> str:
    if state.boots is None:
        return "in this boot and in a tuned one"
    pairs = "pair" if state.boots == 1 else "pairs"
    most = "at most " if state.until_clear else ""
    return f"in {most}{state.boots} {pairs} of a stock and a tuned boot, each in random order"


def _resume(root: Root, args: TuneArguments) -> int:
    if args.dry_run:
        state = _active(root)
        phase, why = decide(state, here(root, state), boot_id(root))
        print(f"the loop {f'gives the tuned boot up: {why}' if why else WORK[phase]}")
        return 0
    with exclusive_lock(root):
        return _go(root, _loop(root, _active(root)))


def _loop(root: Root, state: LoopState) -> Loop:
    return WithinLoop(root, state) if state.within else Loop(root, state)


def _ended(root: Root, args: TuneArguments) -> int:
    """The unit's last call in a boot: a step that began there and hangs is given up."""
    if args.dry_run:
        raise Refused("--ended is called by lowlat-tune.service", hint="--abort ends the loop")
    with exclusive_lock(root):
        state = read(root)
        if state is None or state.boot_id != boot_id(root) or state.phase in _AT_REST:
            return 0
        loop = _loop(root, state)
        if state.phase is not Phase.CLOSE:
            how = os.environ.get("SERVICE_RESULT", "unknown")[:40]
            loop.end(Outcome.FELL_BACK, f"{schedule.where(state)}, and was ended there ({how})")
        return _go(root, loop)


def _abort(root: Root, args: TuneArguments) -> int:
    state = read(root)
    if state is None or not state.active:
        print("no loop is under way")
        return 0
    if args.dry_run:
        print(
            f"would end the loop that {schedule.where(state)}, and keep its {len(state.legs)} runs"
        )
        return 0
    loop = _loop(root, state)
    if state.phase is not Phase.CLOSE:
        loop.end(Outcome.ABORTED, "--abort")
    loop.go()
    print("\n".join(schedule.lines(loop.state)))
    return 0


def _go(root: Root, loop: Loop) -> int:
    """Run the loop as far as this boot allows, then reboot if that is allowed."""
    phase, state = loop.go(), loop.state
    if phase is Phase.BOOT and state.within:
        boot = (state.number - 1) // (2 * state.within) + 1
        say(f"the next are the runs of boot {boot} of {state.boots}: reboot when convenient")
        say("then 'lowlat-gen tune --within' goes on; 'lowlat-gen tune --status' shows the state")
        return 0
    if phase is Phase.BOOT:
        say(f"the next boot is boot {len(state.legs) + 1} of {len(state.order)}, {state.due}")
        if state.reboot:
            loop.reboot()
        else:
            say("reboot when convenient: systemctl reboot")
            say("lowlat-tune.service then measures; 'lowlat-gen tune --status' shows the state")
        return 0
    say("\n".join(schedule.lines(state)))
    if here(root, state).plan is not None and state.outcome is not Outcome.PROMOTED:
        if state.reboot:
            loop.reboot()
        else:
            say("this boot stays tuned; the next one is stock")
    if state.outcome is Outcome.FELL_BACK:
        what = f"ended before its last {state.unit}"
        what = "not promoted" if state.boots is None else what
        raise Unmet(f"{what}: {state.why}")
    return 0


def _active(root: Root) -> LoopState:
    state = read(root)
    if state is None or not state.active:
        raise Refused("no loop is under way", hint="'lowlat-gen tune --profile P' begins one")
    return state


def _status(root: Root, args: TuneArguments) -> int:
    state = read(root)
    if state is None:
        none = {"schema": SCHEMA, "phase": None}
        options.show(args.json, lambda: none, ["no loop was started yet"])
    else:
        options.show(args.json, state.to_json, schedule.lines(state))
    return 0
