# SPDX-License-Identifier: GPL-2.0-or-later
"""Begin a loop: everything that could stop it later is checked before any change."""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Optional

from lowlat.base.arguments import flag, option
from lowlat.base.errors import Refused
from lowlat.boot import apply, entry_line, promote, status
from lowlat.boot.apply import Proposal
from lowlat.boot.loaders.interface import Loader
from lowlat.claim.stats.bets import MOST_PAIRS
from lowlat.host.root import Root
from lowlat.measure import runner
from lowlat.measure.options import MeasureChoice, wakeups
from lowlat.model.campaign import AT_END, WHEN_CLEAR, Campaign
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.plan import profile
from lowlat.probe import host_name
from lowlat.tune import steps
from lowlat.tune.loop import Loop, boot_id, check_default
from lowlat.tune.schedule import order
from lowlat.tune.state import MARGIN, STOCK, TUNED, LoopState, Phase, read, write

#: The pairs within a boot, unless the user gives another number.
WITHIN = 8


@dataclass(frozen=True)
class TuneOptions:
    """How to measure; ``boots`` is None for one trial. ``kexec`` applies to both arms, so that
    devices start warm in both."""

    measure: MeasureChoice = MeasureChoice()
    boots: Optional[int] = option(
        "N",
        "compare N pairs of a stock and a tuned boot, in random order; the default entry stays; "
        "with --within: measure its pairs in each of N boots (1)",
    )
    within: Optional[int] = option(
        "PAIRS",
        "without a reboot: compare so many pairs of runs (%(const)s) of the system as it is and as "
        "'apply --now' isolates it, in random order; given again, it goes on where it stopped",
        nargs="?",
        const=WITHIN,
    )
    until_clear: bool = flag(
        f"compare pairs until the change is clear, {MOST_PAIRS} at most; the default entry stays"
    )
    discard: Optional[bool] = option(
        None,
        "boot once more, without measuring, first and wherever the kind of boot changes (default: "
        "with --kexec)",
    )
    duration: str = option("TIME", "how long to measure (%(default)s)", "10s")
    warmup: str = option("TIME", "how long to wait before (%(default)s)", "30s")
    throughput_margin: Optional[int] = option(
        "PERCENT", f"promote nothing that may lose more throughput than this ({MARGIN})"
    )
    reboot: bool = flag("reboot automatically, as often as needed")
    kexec: bool = flag(
        "boot stock and tuned by kexec, which skips the firmware and the boot loader"
    )

    @property
    def many(self) -> bool:
        """Whether it compares pairs of boots, not one trial."""
        return self.boots is not None or self.until_clear


def for_article(wanted: TuneOptions) -> TuneOptions:
    """The same, with what the table of the article on osnoise needs: both policies, and causes."""
    measure = wanted.measure
    causes = True if measure.causes is None else measure.causes
    both = replace(measure, policy=measure.policy or "other,fifo:1", causes=causes)
    return replace(wanted, measure=both)


def check_none(root: Root) -> None:
    """Raises Refused if a loop is under way."""
    state = read(root)
    if state is not None and state.active:
        hint = "--status tells of it, --resume takes it on, --abort ends it"
        raise Refused(f"a loop is under way since {state.started}", hint=hint)


def check_boot(root: Root, plan: Plan) -> None:
    """Raises Refused if this boot is not the stock boot that the plan is compared with."""
    now = status.read_boot(root, set())
    if now.plan is not None:
        why = f"this is a tuned boot, of plan {now.plan[:64]}: nothing to compare with"
        raise Refused(why, hint="boot the stock entry first")
    if plan.kernel != now.kernel:
        why = f"Linux {now.kernel} runs: two kernels would be compared, not two lines"
        raise Refused(why, hint=f"boot Linux {plan.kernel} first")
    if not measured(plan):
        raise Refused(f"CPU {plan.cpus.online} is the only one: none is left to measure beside it")


def measured(plan: Plan) -> CpuSet:
    """The CPUs to measure: the isolated ones; if none is, all but the lowest, as measure does."""
    return plan.isolated or plan.cpus.online - CpuSet.of([plan.cpus.online.first])


def prepare(root: Root, proposal: Proposal, loader: Loader, options: TuneOptions) -> LoopState:
    """The loop's first state. Raises Refused if the loop could not run to its end."""
    plan = proposal.plan
    if options.boots is not None and options.until_clear:
        raise Refused("--boots and --until-clear each say when it ends", hint="leave one out")
    if options.many and not options.reboot:
        how = f"--boots {options.boots}" if options.boots else "--until-clear"
        why = f"{how} takes {2 * (options.boots or MOST_PAIRS)} reboots, which it does by itself"
        raise Refused(why, hint="allow that with --reboot")
    if options.discard and not options.many:
        why = "--discard is for many boots, and this is one trial"
        raise Refused(why, hint="add --boots N or --until-clear")
    if options.throughput_margin and not options.measure.throughput:
        raise Refused("--throughput-margin: no throughput is measured", hint="add --throughput")
    if options.kexec and not options.many:
        why = "--kexec compares boots by kexec, and this one came by the boot loader"
        raise Refused(why, hint="have both kinds booted with --boots N")
    default = check_default(loader.describe(), plan.kernel)
    promote.check_returns(root, loader, default if options.kexec else None)
    steps.check_folder(root)
    state = _first(root, plan, default.id, options)
    runner.check(steps.options(state))
    return state


def _first(root: Root, plan: Plan, default: str, options: TuneOptions) -> LoopState:
    seed = secrets.randbits(32)
    pairs = MOST_PAIRS if options.until_clear else options.boots
    known = {
        "boots": pairs,
        "discard": options.kexec if options.discard is None else options.discard,
        "measure": replace(options.measure, policy=options.measure.policy or "other"),
        "throughput_margin": options.throughput_margin or MARGIN,
        "within": 0,
    }
    judged_by = profile.load(plan.profile, root).judged_by
    return LoopState(
        started=f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}",
        profile=plan.profile,
        plan=plan.id,
        kernel=str(plan.kernel),
        isolated=plan.isolated,
        measured=measured(plan),
        entry="",
        default=default,
        seed=seed,
        order=order(pairs, seed),
        phase=Phase.ARM,
        boot_id=boot_id(root),
        wakeup=wakeups(None, judged_by),
        **{**vars(options), **known},
    )


def campaign(root: Root, plan: Plan, loader: Loader, state: LoopState) -> Campaign:
    """The loop as it is written down before its first boot."""
    stock = check_default(loader.describe(), state.kernel).words
    lines = {STOCK: stock, TUNED: entry_line.tuned(stock, plan, entry_line.trial_words(root))}
    return Campaign(
        written=Campaign.now(),
        endpoint=profile.load(plan.profile, root).judged_by,
        order=state.order,
        pairs=len(state.order) // 2,
        hosts={host_name(root): {arm: " ".join(words) for arm, words in lines.items()}},
        stop=WHEN_CLEAR if state.until_clear else AT_END,
        kexec=state.kexec,
        discard=state.discard,
    )


def start(
    root: Root, proposal: Proposal, loader: Loader, state: LoopState, accept_pending: bool
) -> Loop:
    """Write the campaign down, measure this boot if it counts, then apply. The loop exists only
    once the entries do: an earlier failure leaves at most the campaign and a run."""
    written = campaign(root, proposal.plan, loader, state)
    steps.keep(root, state.path("campaign.json"), written.text())
    state = replace(state, campaign=written.digest)
    if state.boots is None:
        state = replace(state, legs=(steps.measure(root, state, STOCK, state.boot_id),))
    boot = apply.apply(proposal, loader, root, accept_pending)
    state = replace(state, entry=promote.pick(boot, root, state.kernel).id)
    write(root, state)
    return Loop(root, state)
