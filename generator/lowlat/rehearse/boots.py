# SPDX-License-Identifier: GPL-2.0-or-later
"""The boots of one kernel: the guest, the folder and the arms' plans that they share."""

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Optional

import lowlat
from lowlat.base import bounds, reader
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.typed_json import write_value
from lowlat.figures.in_effect import read_verify
from lowlat.host.root import Root
from lowlat.measure.child import find_harness
from lowlat.measure.options import MeasureOptions
from lowlat.measure.run_file import read_run
from lowlat.model.campaign import Place
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.model.run import Run
from lowlat.rehearse import arm as arms
from lowlat.rehearse import exchange, qemu, vm
from lowlat.rehearse.arm import PlannedArm
from lowlat.rehearse.exchange import Facts, GuestTask
from lowlat.rehearse.guest_plan import PlanTask
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.vm_size import VmSize
from lowlat.render import files
from lowlat.runtime import partition

#: Seconds from power-on to power-off without the measurement, and seconds for each measured second,
#: by KVM or not: with KVM, oslat doubles that time; without, parallel guests share CPUs.
_BOOT_S = {True: 270.0, False: 900.0}
_PACE = {True: 3.0, False: 10.0}


@dataclass(frozen=True)
class Booted:
    """One boot: its arm, the number of its round, the words added to its command line, its facts,
    its folder, and its runs, one for each policy."""

    arm: PlannedArm
    number: int
    line: str
    folder: Path
    facts: Facts
    runs: tuple[Path, ...]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def verify(self) -> Optional[Path]:
        """The findings of verify; None in boots without a plan, as verify does not run there."""
        return self.folder / exchange.VERIFY if self.arm.verified else None

    @property
    def log(self) -> Path:
        return self.folder / vm.LOG

    @cached_property
    def measured(self) -> tuple[Run, ...]:
        """The runs, parsed. Raises Refused if one cannot be read."""
        return tuple(map(read_run, self.runs))

    @cached_property
    def verified(self) -> tuple[Finding, ...]:
        """The findings of verify. Raises Refused if they cannot be read."""
        return read_verify(self.verify) if self.verify else ()


@dataclass(frozen=True)
class KernelBoots:
    """What all boots of a kernel share; their folders lie in ``folder``."""

    options: RehearseOptions
    machine: Machine
    kernel: BootableKernel
    shape: VmSize
    kvm: bool
    folder: Path

    @property
    def one_guest_at_a_time(self) -> bool:
        """Whether guests must run one at a time, since others would disturb the measurement."""
        return self.kvm or not qemu.counts_instructions(self.kernel.release)

    @property
    def how(self) -> str:
        """The guests' virtual machine, in words."""
        if self.kvm:
            return "with KVM"
        if self.one_guest_at_a_time:
            return "emulated, one host thread per CPU: a busy host drops ticks"
        return "emulated, guest time follows executed instructions (QEMU -icount)"

    def plan_boot(self, given: tuple[PlannedArm, ...], stop: threading.Event) -> None:
        """Boot once to plan the arms, and store them; ``given`` arms are planned already.

        Raises Refused if the guest's planner refused, LowlatError if the boot failed.
        """
        folder = _fresh(self.folder / "scout")
        logs = tuple(f"{name}-{exchange.TUNED_LOG}" for name in self.options.tuned)
        with exchange.shared(folder, logs) as share:
            write_value(share / exchange.TASK, PlanTask(self.options, given))
            vm.run(self._boot(share, "guest_plan", "", 0.0), stop)
        with suppress(OSError):
            told = reader.read(folder / exchange.REFUSED, bounds.HOST_VALUE, follow=False)
            raise Refused(told.decode("utf-8", "replace").strip())
        try:
            arms.read(folder / exchange.ARMS)
        except (OSError, ValueError, TypeError) as error:
            raise LowlatError(
                f"the guest left no plan in {folder}", hint=f"its {vm.LOG} tells more"
            ) from error
        (folder / exchange.ARMS).replace(self.folder / exchange.ARMS)

    def arms(self) -> tuple[PlannedArm, ...]:
        """The planned arms, empty before plan_boot(). Raises Refused if their file is damaged."""
        path = self.folder / exchange.ARMS
        try:
            return arms.read(path) if os.path.lexists(path) else ()
        except (OSError, ValueError, TypeError) as error:
            raise Refused(f"{path} is damaged", hint="begin another rehearsal") from error

    def boot(
        self, arm: PlannedArm, number: int, plan: Plan, place: Place, stop: threading.Event
    ) -> Booted:
        """Boot once, let the guest do its work, and check its results. ``plan`` splits the CPUs,
        ``place`` is that of the boot in its campaign.

        Raises LowlatError if the boot failed.
        """
        folder = _fresh(self._folder(arm, number))
        measured = measure_options(
            self.options, arm.name, plan, self._measured(plan), emulated=not self.kvm
        )
        runs = self._runs(folder)
        try:
            with exchange.shared(folder, tuple(path.name for path in runs)) as share:
                if arm.plan:
                    files.write(files.render(arm.plan, Root()), str(share / exchange.PLAN_FILES))
                seconds = sum(one.seconds() for one in measured.set_ups())
                measured = replace(measured, out=Path(f"{folder.name}.json"), campaign=place)
                task = GuestTask(arm, plan.isolated, find_harness(), measured)
                write_value(share / exchange.TASK, task)
                vm.run(self._boot(share, "guest_measure", self.line(arm), seconds), stop)
        except LowlatError:
            # The guest may have finished its work: a boot that failed at its end must not count.
            (folder / exchange.FACTS).unlink(missing_ok=True)
            raise
        return self._booted(arm, number)

    def _measured(self, plan: Plan) -> CpuSet:
        """The CPUs to measure in every boot: the isolated ones, or those of them that can be
        measured from within a partition."""
        isolated = plan.isolated
        return partition.measurable(isolated, self.shape.cores) if self.options.now else isolated

    def kept(self, arm: PlannedArm, number: int) -> Optional[Booted]:
        """A boot that an interrupted rehearsal has completed, or None."""
        with suppress(LowlatError):
            return self._booted(arm, number)
        return None

    def _booted(self, arm: PlannedArm, number: int) -> Booted:
        """The results in a boot's folder. Raises LowlatError if they are missing or damaged."""
        folder = self._folder(arm, number)
        facts, runs = exchange.read_facts(folder), self._runs(folder)
        booted = Booted(arm, number, self.line(arm), folder, facts, runs)
        if booted.facts.refused:
            raise LowlatError(f"{booted.name}: {booted.facts.refused}", hint=f"see {folder}")
        _ = booted.measured, booted.verified  # raises if one cannot be read
        return booted

    def _runs(self, folder: Path) -> tuple[Path, ...]:
        """The paths of a boot's runs, one for each policy."""
        measure = replace(self.options.measured(), out=folder / f"{folder.name}.json")
        return tuple(one.out for one in measure.set_ups() if one.out)

    def _folder(self, arm: PlannedArm, number: int) -> Path:
        return self.folder / f"{arm.name}-{number}"

    def _boot(self, folder: Path, module: str, line: str, measure: float) -> vm.GuestBoot:
        root = Path(lowlat.__file__).resolve().parents[1]
        # -B: bytecode files would fill the guest's memory.
        python = (sys.executable, "-B", "-m", f"lowlat.rehearse.{module}", str(folder))
        command = ("env", f"PYTHONPATH={root}", "PYTHONUNBUFFERED=1", *python)
        limit = _BOOT_S[self.kvm] + _PACE[self.kvm] * measure
        return vm.GuestBoot(self.kernel, line, self.shape, self.kvm, folder, command, limit)

    def line(self, arm: PlannedArm) -> str:
        """The words that a boot of this arm adds to the command line."""
        words = arm.line.split()
        clock = () if self.kvm else (w for w in clock_words(self.machine) if w not in words)
        return " ".join((*clock, *words))


def measure_options(
    options: RehearseOptions, name: str, plan: Plan, cpus: CpuSet, *, emulated: bool
) -> MeasureOptions:
    """The options of measure in a boot of this arm, to measure these CPUs."""
    measure = options.measured()
    return replace(
        measure,
        # Arms may have longer names, TuneD's also other characters; a policy's word is appended.
        label=re.sub(r"[^\w.-]", "_", name[:40], flags=re.ASCII),
        cpus=str(cpus),
        load=measure.load or "mixed",
        load_cpus=str(plan.housekeeping),
        causes=bool(measure.causes),
        # Only on x86 lowlat-measure detects emulation; oslat's durations mean nothing under it.
        oslat=False if emulated else None,
        emulated=emulated,
    )


def clock_words(machine: Machine) -> Iterator[str]:
    """Words for every boot that make the emulated clock behave like this machine's.

    QEMU does not tell its guest that the emulated time-stamp counter is invariant, so the guest's
    kernel watches it with a timer that visits every CPU twice a second. No kernel does so on this
    machine (check_system_tsc_reliable(), arch/x86/kernel/tsc.c).
    """
    if {"constant_tsc", "nonstop_tsc", "tsc_adjust"} <= machine.processor.flags:
        yield "tsc=nowatchdog"


def _fresh(folder: Path) -> Path:
    """An empty folder; files of an interrupted boot are removed."""
    for path in (folder, folder.parent):
        if path.is_symlink():
            raise Refused(f"{path}: is a symbolic link", hint="name another folder with --out")
    exchange.remove(folder)
    folder.mkdir(parents=True)
    return folder
