# SPDX-License-Identifier: GPL-2.0-or-later
"""A rehearsal: the same kernel booted stock and tuned, both looked at and measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from lowlat import profile
from lowlat.cpuset import CpuSet
from lowlat.errors import Refused
from lowlat.harness_child import find_harness
from lowlat.machine import Machine
from lowlat.plan import Plan
from lowlat.planner import make_plan
from lowlat.probe import probe
from lowlat.rehearse import kernel as kernels
from lowlat.rehearse import packages, vm
from lowlat.rehearse.kernel import Kernel
from lowlat.rehearse.options import RehearseOptions, result_folder
from lowlat.rehearse.shape import Shape, shape
from lowlat.rehearse.stage import Booted, Stage
from lowlat.root import Root
from lowlat.terminal import say, step


@dataclass(frozen=True)
class Rehearsal:
    """``host_plan`` is what would be planned for this machine itself, or why there is no plan."""

    kernel: Kernel
    shape: Shape
    kvm: bool
    plan: Plan
    host_plan: Optional[Plan]
    host_refused: str
    stock: tuple[Booted, ...]
    tuned: tuple[Booted, ...]
    folder: Path


def rehearse(options: RehearseOptions) -> Rehearsal:
    """Boot ``options.boots`` times stock and tuned in turn.

    Raises Refused before the first boot where something is missing or asked wrongly, LowlatError
    where a boot fails.
    """
    stage = prepare(options)
    if options.as_host:
        stage.use(_fitting(_plan_host(options, stage.machine), stage.shape))
    stock: list[Booted] = []
    tuned: list[Booted] = []
    for number in range(1, options.boots + 1):
        stock.append(stage.boot(f"{number}-stock", tuned=False))
        tuned.append(stage.boot(f"{number}-tuned", tuned=True))
    plan, why = _host_plan(options, stage.machine)
    return Rehearsal(
        kernel=stage.kernel,
        shape=stage.shape,
        kvm=stage.kvm,
        plan=stage.planned(),
        host_plan=plan,
        host_refused=why,
        stock=tuple(stock),
        tuned=tuple(tuned),
        folder=stage.folder,
    )


def prepare(options: RehearseOptions) -> Stage:
    """Find the kernel and decide on the guest; everything refusable is refused here."""
    vm.check_tools()
    find_harness()
    machine = probe(Root())
    options.check(shape(machine, options.cpus, options.memory, emulated=True).cpus)
    kernel = find_kernel(options.kernel, fetch=options.fetch)
    folder = result_folder(options.out)
    with step("trying KVM"):
        kvm = vm.kvm_works(kernel.image)
    say(f"  {kernel.release}: {'with KVM' if kvm else 'emulated, as KVM boots nothing here'}")
    guest = shape(machine, options.cpus, options.memory, emulated=not kvm)
    return Stage(options, machine, kernel, guest, kvm, folder)


def find_kernel(text: str, *, fetch: bool) -> Kernel:
    """The kernel to boot, taken from the distribution's packages where that is allowed.

    Raises Refused where there is none.
    """
    found = kernels.find(text)
    if found is not None:
        return found
    if fetch:
        return packages.fetch(text, kernels.cache_folder())
    which = f"--kernel {text}: no such kernel" if text else "no bootable kernel"
    raise Refused(
        f"{which} in /boot or the cache",
        hint="--fetch-kernel takes one from the distribution's packages, --kernel PATH names one",
    )


def _host_plan(options: RehearseOptions, machine: Machine) -> tuple[Optional[Plan], str]:
    """What would be planned for the host itself, or why nothing can be."""
    if not options.as_host:
        # The lists named the guest's CPUs.
        wishes = replace(options.plan.wishes, isolate=None, housekeeping=None)
        options = replace(options, plan=replace(options.plan, wishes=wishes))
    try:
        return _plan_host(options, machine), ""
    except Refused as error:
        return None, str(error)


def _plan_host(options: RehearseOptions, machine: Machine) -> Plan:
    # Here --as-host says whose plan to boot, not to plan a virtual machine as if it were none.
    wanted = profile.load(options.profile)
    return make_plan(machine, machine.kernel, wanted, replace(options.plan, as_host=False))


def _fitting(plan: Plan, guest: Shape) -> Plan:
    """Raises Refused where the host's plan names CPUs that the guest has not got."""
    named = CpuSet.parse_list(plan.isolated) | CpuSet.parse_list(plan.housekeeping)
    if max(named) < guest.cpus:
        return plan
    raise Refused(
        f"--as-host: this machine's plan names CPU {max(named)}, the guest has 0-{guest.cpus - 1}",
        hint="without it the guest is planned for itself",
    )
