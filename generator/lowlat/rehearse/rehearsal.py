# SPDX-License-Identifier: GPL-2.0-or-later
"""A rehearsal: each kernel is booted stock and in every other arm, verified and measured."""

import random
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import say, step
from lowlat.host.root import Root
from lowlat.model.machine import Machine
from lowlat.model.order import draw_blocks
from lowlat.model.plan import Plan
from lowlat.plan import profile
from lowlat.plan.planner import make_plan
from lowlat.probe import probe
from lowlat.rehearse import arm as arms
from lowlat.rehearse import campaign_file, qemu, ready, store, vm
from lowlat.rehearse.arm import PlannedArm
from lowlat.rehearse.boots import Booted, KernelBoots
from lowlat.rehearse.jobs import work
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.store import Request
from lowlat.rehearse.vm_size import shape, side_by_side


@dataclass(frozen=True)
class KernelOutcome:
    """The results for one kernel: its arms, stock first, and its successful boots."""

    stage: KernelBoots
    arms: tuple[PlannedArm, ...]
    booted: tuple[Booted, ...]

    @property
    def plan(self) -> Plan:
        """The first profile's plan, which splits the CPUs."""
        return arms.splitting_plan(self.arms)

    def of(self, arm: PlannedArm) -> tuple[Booted, ...]:
        """The boots of an arm, in order of their numbers."""
        return tuple(booted for booted in self.booted if booted.arm == arm)


@dataclass(frozen=True)
class Rehearsal:
    """``made_with`` are the versions behind the results, ``failed`` the errors of failed boots by
    title; ``host_plan`` is the plan for this machine itself, ``host_refused`` why there is none;
    ``seed`` is that of the order of the boots."""

    options: RehearseOptions
    folder: Path
    made_with: Mapping[str, str]
    host_plan: Optional[Plan]
    host_refused: str
    outcomes: tuple[KernelOutcome, ...]
    failed: Mapping[str, LowlatError]
    seed: int = 0


def rehearse(
    options: RehearseOptions, results: Path, jobs: Optional[int], begun: Optional[Request]
) -> Rehearsal:
    """Boot each arm on each kernel ``options.boots`` times; ``begun`` is the request of an
    interrupted rehearsal, whose boots in the folder are not repeated. Raises Refused before the
    first boot if a part is missing or an option is wrong, LowlatError if no boot succeeds."""
    machine, request, stages = prepare(options, results, begun)
    jobs = jobs or min(
        1 if stage.one_guest_at_a_time else side_by_side(stage.shape) for stage in stages
    )
    with store.locked(results):
        _plan_boots(machine, stages, jobs)
        booted, failed = _boot(stages, options.boots, request.seed, jobs)
    plan, why = _host_plan(options, machine)
    made_with, seed = request.made_with, request.seed
    return Rehearsal(options, results, made_with, plan, why, booted, failed, seed)


def prepare(
    options: RehearseOptions, results: Path, begun: Optional[Request] = None
) -> tuple[Machine, Request, tuple[KernelBoots, ...]]:
    """Find the kernels and size the guest; every refusal happens here."""
    ready.check_programs()
    machine = probe(Root())
    options.check(shape(machine, options.cpus, options.memory, emulated=None).cpus)
    chosen = begun.kernels if begun else _kernels(options)
    made_with = store.made_with(machine, chosen)
    if begun:
        begun.check(made_with)
    stages = tuple(_stage(options, machine, kernel, results) for kernel in chosen)
    vm.check_paths(results)
    for kernel in chosen:
        ready.check_reach(kernel)
    request = begun or Request(options, chosen, made_with, secrets.randbits(32))
    if not begun:
        request.make(results)
    return machine, request, stages


def _kernels(options: RehearseOptions) -> tuple[BootableKernel, ...]:
    named = tuple(ready.find_kernel(text, fetch=options.fetch) for text in options.kernels)
    releases = [kernel.release for kernel in named]
    for text, release in zip(options.kernels, releases):
        if releases.count(release) > 1:
            raise Refused(f"--kernel {text}: {release} is named twice", hint="name each once")
    return named


def _stage(
    options: RehearseOptions, machine: Machine, kernel: BootableKernel, results: Path
) -> KernelBoots:
    with step(f"trying KVM with {kernel.release}"):
        kvm = qemu.kvm_works(kernel.image)
    guest = shape(machine, options.cpus, options.memory, emulated=not kvm)
    stage = KernelBoots(options, machine, kernel, guest, kvm, results / kernel.release)
    say(f"  {kernel.release}: {stage.how}")
    return stage


def _plan_boots(machine: Machine, stages: Sequence[KernelBoots], jobs: int) -> None:
    """Plan the arms on every kernel that has no plans yet."""
    todo = {
        f"planning boot of {stage.kernel.release}": partial(stage.plan_boot, _given(stage, machine))
        for stage in stages
        if not stage.arms()
    }
    for error in work(todo, jobs).values():
        raise error


def _boot(
    stages: Sequence[KernelBoots], boots: int, seed: int, jobs: int
) -> tuple[tuple[KernelOutcome, ...], Mapping[str, LowlatError]]:
    planned = [(stage, stage.arms()) for stage in stages]
    order = _order(planned, boots, seed)
    booted = [stage.kept(arm, number) for stage, _, arm, number in order]
    places = campaign_file.places([(stage, arm) for stage, _, arm, _ in order], boots)

    def play(at: int, stop: threading.Event) -> None:
        stage, plan, arm, number = order[at]
        booted[at] = stage.boot(arm, number, plan, places[at], stop)

    todo = {
        f"{arm.name} {number} on {stage.kernel.release}": partial(play, at)
        for at, (stage, _, arm, number) in enumerate(order)
        if not booted[at]
    }
    if len(todo) < len(order):
        say(f"  {len(order) - len(todo)} boots were done before")
    failed = work(todo, jobs, done=len(order) - len(todo))
    done = [(turn[0], one) for turn, one in zip(order, booted) if one]
    return tuple(
        KernelOutcome(stage, found, tuple(one for at, one in done if at is stage))
        for stage, found in planned
    ), failed


def _order(
    planned: Iterable[tuple[KernelBoots, tuple[PlannedArm, ...]]], boots: int, seed: int
) -> list[tuple[KernelBoots, Plan, PlannedArm, int]]:
    """Rounds of one boot of each arm, drawn by model/order.py."""
    each = [(stage, arms.splitting_plan(found), arm) for stage, found in planned for arm in found]
    rounds = draw_blocks(each, boots, random.Random(seed))  # noqa: S311
    return [(*one, number) for number, block in enumerate(rounds, 1) for one in block]


def _given(stage: KernelBoots, machine: Machine) -> tuple[PlannedArm, ...]:
    """The arms of the host's plan, with --as-host. Raises Refused if they name CPUs that the guest
    lacks."""
    options = stage.options
    if not options.plan.as_host:
        return ()
    given = tuple(arms.planned(machine, replace(options, plan=options.host())))
    plan = arms.splitting_plan(given)
    named = plan.isolated | plan.housekeeping
    if max(named) < stage.shape.cpus:
        return given
    raise Refused(
        f"--as-host: this machine's plan names CPU {max(named)}, the guest has "
        f"0-{stage.shape.cpus - 1}",
        hint="without it the guest is planned for itself",
    )


def _host_plan(options: RehearseOptions, machine: Machine) -> tuple[Optional[Plan], str]:
    """A plan for this machine itself, or the reason why there is none."""
    try:
        wanted = profile.load(options.profiles[0])
        return make_plan(machine, machine.kernel, wanted, options.host()), ""
    except Refused as error:
        return None, str(error)
