# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop without reboots: pairs of runs within a boot, of the system as it is and of one that
``apply --now`` isolates. It is isolated for its own runs only."""

import json
import secrets
from dataclasses import replace
from datetime import datetime, timezone

from lowlat.base.errors import LowlatError, Refused, Unmet
from lowlat.base.terminal import say
from lowlat.host.root import Root
from lowlat.measure import runner
from lowlat.measure.options import wakeups
from lowlat.model.campaign import Campaign
from lowlat.model.machine import Machine
from lowlat.plan import profile, store
from lowlat.plan.now import NowPlan
from lowlat.present.wording import headline
from lowlat.probe import host_name
from lowlat.runtime import now, partition
from lowlat.tune import schedule, steps
from lowlat.tune.loop import Loop, boot_id
from lowlat.tune.start import TuneOptions
from lowlat.tune.state import NOW, STOCK, LoopState, Outcome, Phase, write

#: Options of the loop over reboots.
_OF_BOOTS = ("until_clear", "discard", "reboot", "kexec", "throughput_margin")


def prepare(root: Root, machine: Machine, found: NowPlan, wanted: TuneOptions) -> LoopState:
    """The loop's first state. Raises Refused if the loop could not run to its end, or the system is
    isolated already."""
    given = [name for name in _OF_BOOTS if getattr(wanted, name)]
    if given:
        why = f"--within: --{given[0].replace('_', '-')} is for pairs of boots"
        raise Refused(why, hint="leave one of them out")
    if store.now(root) is not None:
        why = "this boot is isolated by 'lowlat-gen apply --now' already"
        raise Refused(why, hint="'lowlat-gen rollback' takes that back, then begin")
    now.check(found, root)
    steps.check_folder(root)
    state = _first(root, machine, found, wanted)
    runner.check(steps.options(state))
    return state


def _first(root: Root, machine: Machine, found: NowPlan, wanted: TuneOptions) -> LoopState:
    plan, seed, boots = found.plan, secrets.randbits(32), wanted.boots or 1
    cpus = partition.measurable(plan.isolated, machine.cores)
    return LoopState(
        started=f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}",
        profile=plan.profile,
        plan=plan.id,
        kernel=str(plan.kernel),
        isolated=cpus,
        measured=cpus,
        entry="",
        default="",
        duration=wanted.duration,
        warmup=wanted.warmup,
        reboot=False,
        boots=boots,
        within=wanted.within or 0,
        seed=seed,
        order=schedule.order_within(boots, wanted.within or 0, seed),
        phase=Phase.MEASURE,
        boot_id=boot_id(root),
        measure=replace(wanted.measure, policy=wanted.measure.policy or "other"),
        wakeup=wakeups(None, profile.load(plan.profile, root).judged_by),
    )


def start(root: Root, found: NowPlan, state: LoopState) -> Loop:
    """Write down the campaign and the plan, then the loop."""
    line = (root.read("/proc/cmdline") or "").strip()
    written = Campaign(
        written=Campaign.now(),
        endpoint=profile.load(state.profile, root).judged_by,
        order=state.order,
        pairs=len(state.order) // 2,
        hosts={host_name(root): dict.fromkeys(state.arms, line)},
        within=state.within,
    )
    steps.keep(root, state.path("campaign.json"), written.text())
    steps.keep(root, state.path("now.json"), json.dumps(found.to_json(), indent=2))
    state = replace(state, campaign=written.digest)
    write(root, state)
    return WithinLoop(root, state)


class WithinLoop(Loop):
    """Each step begins with the system as it is due, whatever an interrupted one left."""

    def _measure(self) -> None:
        root, this = self._root, boot_id(self._root)
        if this != self.state.boot_id:
            self._move(phase=Phase.MEASURE, boot_id=this, lost=schedule.lost(self.state))
        state = self.state
        if not state.due:
            self._move(phase=Phase.JUDGE)
            return
        say(f"run {state.number} of {len(state.order)}, {state.due}")
        self._toggle(state.due)
        run = steps.measure(root, state, state.due, this)
        if state.due == STOCK and store.now(root) is not None:
            raise Unmet(f"{run.run}: the system was isolated meanwhile")
        after = replace(state, legs=(*state.legs, run))
        phase = schedule.after_run(after)
        if phase is not Phase.MEASURE:
            self._undo()
        self._move(legs=after.legs, phase=phase)

    def _toggle(self, arm: str) -> None:
        """Isolate the system, or take that back. Raises LowlatError if either cannot be done."""
        if arm == NOW:
            self._isolate()
        elif kept := self._undo():
            raise LowlatError(f"the system is not as it was: {kept[0]}")

    def _undo(self) -> list[str]:
        """Take it back; returns what stays, with reasons. Raises LowlatError as _toggle()."""
        if not now.remains(self._root):
            return []
        problems, kept = now.stop(self._root)
        if problems:
            hint = "'lowlat-gen rollback' tries again, and the next boot is without them"
            raise LowlatError(f"{problems[0]} could not be put back", hint=hint)
        return kept

    def _isolate(self) -> None:
        found = store.now(self._root, self.state.path("now.json"))
        if found is None or found.plan.id != self.state.plan:
            raise Refused(f"{self.state.path('now.json')} is not the plan of this loop")
        now.check(found, self._root)
        failed = [one for one in now.start(found, self._root) if one.failed]
        partition = [one for one in failed if one.entry.name.startswith("cpuset.")]
        if partition:
            raise LowlatError(f"not isolated: {partition[0].failure}")

    def _judge(self) -> None:
        report, path = steps.compare(self._root, self.state)
        say(headline(report))
        bad = dict.fromkeys(name for run in self.state.arm(NOW) for name in run.bad)
        missing = f"; not in effect: {', '.join(bad)}" if bad else ""
        words = report.verdict.replace("-", " ")
        self.end(Outcome.COMPARED, f"{words}: {report.why}{missing}", path)

    def _close(self) -> None:
        for line in self._undo():
            say(line)
        self._move(phase=Phase.DONE)
