# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply``: add the tuned boot entries and TuneD's profile to the existing ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.base.arguments import flag, option
from lowlat.base.errors import Refused
from lowlat.boot import apply, kexec, trials, tuned_plugin, way_to_try
from lowlat.boot.apply import Proposal
from lowlat.boot.decision import Decision
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import BootMenu, Loader, refuse_pending
from lowlat.boot.programs import Unchecked
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.probe import host_name
from lowlat.verbs import apply_now, chosen_apply, chosen_plan, options
from lowlat.verbs.chosen_apply import ChosenApply
from lowlat.verbs.options import PlanChoice


@dataclass(frozen=True)
class ApplyArguments(options.ChangeArguments):
    plan: PlanChoice = PlanChoice()
    boot: Optional[str] = option(
        None,
        "own: add entries beside the stock ones (default); tuned: let TuneD's bootloader plugin "
        "change the stock entries, for which there is no trial and no promote",
        choices=("own", "tuned"),
    )
    runtime: Optional[str] = option(
        None,
        "tuned: TuneD applies the run-time settings (default); none: you do",
        choices=("tuned", "none"),
    )
    accept_pending: bool = options.accept_pending()
    now: bool = flag("isolate the running system until the next boot, and add no boot entry")
    previous: bool = flag("apply the plan again that the last apply replaced, as it was")


def main(args: ApplyArguments) -> int:
    root = args.open()
    if args.now:
        if args.boot or args.runtime or args.accept_pending or args.previous:
            why = "--now changes no boot: --boot, --runtime and the like are for one"
            raise Refused(why, hint="leave --now or the others out")
        return apply_now.isolate(args.plan, args, root)
    chosen = _chosen(args, root)
    proposal, loader, made = chosen.proposal, chosen.loader, chosen.made
    refusals = list(chosen.lacking)
    if not args.dry_run:
        chosen.check()
    lacking = [f"missing: {lack}" for lack in refusals]
    boot = loader.describe()
    changed = not apply.is_in_place(proposal, boot, root)
    before, after = apply.lines(proposal.plan, boot)
    said = [] if made is None else list(_compared(made, proposal.decision, changed))
    if proposal.decision.boot == "tuned":
        said += list(_by_tuned(proposal, boot, root, args.dry_run))
    elif args.dry_run:
        pending, refused = _pending(loader, args.accept_pending)
        said += [*_shown(proposal, loader, root, boot), *pending]
        refusals += refused
    else:
        said += list(_applied(proposal, loader, root, args.accept_pending, boot))
    said += lacking
    after = after if changed else before
    options.show_change(args.json, changed, said, before, after, host_name(root))
    if refusals:
        raise refusals[0]
    return 0


def _chosen(args: ApplyArguments, root: Root) -> ChosenApply:
    if not args.previous:
        return chosen_apply.prepare_apply(args.plan, root, args.boot, args.runtime)
    if args.plan != PlanChoice() or args.boot or args.runtime:
        why = "--previous applies a plan with all the options that it was made with"
        raise Refused(why, hint="leave the other options of the plan out")
    return chosen_apply.prepare_previous(root)


def _compared(made: Decision, decision: Decision, changed: bool) -> Iterator[str]:
    """What this decision is to the one that is applied already."""
    before = chosen_plan.summary(made.profile, made.isolated)
    after = chosen_plan.summary(decision.profile, decision.isolated)
    if not changed:
        yield f"unchanged: {before}"
    elif before != after:
        yield f"{before} is replaced by {after}"
    elif made != decision:
        yield f"the options of {before} are replaced"


def _by_tuned(proposal: Proposal, boot: BootMenu, root: Root, dry_run: bool) -> Iterator[str]:
    if proposal.decision.runtime == "none":
        why = "--boot tuned needs TuneD for the run-time settings too"
        raise Refused(why, hint="leave --runtime none out")
    tuned_plugin.check(root, proposal, boot)
    yield from _notes(proposal)
    if dry_run:
        yield from options.foreseen(tuned_plugin.foresee(proposal, root))
        yield f"TuneD would put onto every stock line: {proposal.plan.boot_line}"
        return
    tuned_plugin.apply(proposal, root)
    yield "'tuned-adm profile lowlat-local' puts the line onto every stock entry"
    yield "'lowlat-gen status' reads it back; after a reboot 'lowlat-gen verify' tells the effect"


def _notes(proposal: Proposal) -> Iterator[str]:
    return (f"note: {note}" for note in proposal.notes)


def _shown(proposal: Proposal, loader: Loader, root: Root, boot: BootMenu) -> Iterator[str]:
    yield from _notes(proposal)
    new = "store the plan" if isinstance(loader, ByHand) else "add an entry"
    for plan in proposal.plans:
        before, after = apply.lines(plan, boot)
        would = "keep the plan" if before == after else new
        yield f"would {would} for Linux {plan.kernel}: … {plan.boot_line}"
    yield from options.foreseen(apply.foresee(proposal, loader, root))
    if isinstance(loader, ByHand):
        yield from _steps(loader, proposal.plan, done=False)


def _pending(loader: Loader, accept: bool) -> tuple[list[str], list[Refused]]:
    """What a dry run tells of changes by others, and the refusal that the act would end with."""
    said: list[str] = []
    try:
        rows = loader.pending(dry=True)
        said += ["changes by others that are not generated yet:"] if rows else []
        said += (f"  {row[:1]}{row[1:].expandtabs()}" for row in rows)
        refuse_pending(loader, () if accept else rows)
    except Unchecked as error:
        said.append(f"not checked: changes by others that are not generated yet ({error})")
    except Refused as error:
        return said, [error]
    return said, []


def _applied(
    proposal: Proposal, loader: Loader, root: Root, accept_pending: bool, before: BootMenu
) -> Iterator[str]:
    promoted = trials.read(root).promoted
    boot = apply.apply(proposal, loader, root, accept_pending)
    yield from _notes(proposal)
    if isinstance(loader, ByHand):
        yield "the plan is stored"
        yield from _steps(loader, proposal.plan, done=True)
        return
    for entry in boot.tuned():
        yield f"{'kept' if before.by_id(entry.id) else 'added'} the entry {entry.id}"
    default = boot.default
    if default is not None:
        if promoted and not default.ours:
            yield f"note: {promoted} was promoted and is gone: its line has changed"
        was = before.default.id if before.default else "none"
        kernel = f", Linux {default.release}" if default.release else ""
        if default.id == was:
            yield f"the default stays {was}{kernel}"
        else:
            yield f"the default is {default.id}{kernel}; it was {was}"
    yield from _way_to_try(loader, root, boot)


def _way_to_try(loader: Loader, root: Root, boot: BootMenu) -> Iterator[str]:
    why_not = way_to_try.cannot_once(loader)
    if not why_not:
        yield "'lowlat-gen trial' boots the tuned entry once"
        return
    yield f"the boot loader cannot try the entry: {why_not}"
    entry = next(boot.tuned(trial=True))
    yield _by_kexec(kexec.why_not(root, entry.release, entry.words), done=True)


def _steps(loader: ByHand, plan: Plan, *, done: bool) -> Iterator[str]:
    """What is left to a person; the trial is named once apply is ``done``."""
    yield f"no boot entry, as this machine boots with {loader.name}: {loader.cannot_try}"
    yield _by_kexec(loader.no_kexec(plan), done=done)
    yield "to boot the tuned line every time:"
    yield from loader.steps(plan).splitlines()


def _by_kexec(why_not: str, *, done: bool) -> str:
    if why_not:
        return f"nor can kexec try it: {why_not}"
    way = f"'{way_to_try.BY_KEXEC}' boots" if done else "kexec can boot"
    return f"{way} the tuned line once, without the boot loader"
