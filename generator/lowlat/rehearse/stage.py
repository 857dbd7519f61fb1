# SPDX-License-Identifier: GPL-2.0-or-later
"""The stage on which boots of one rehearsal play: one kernel, one guest, one plan, one folder."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import lowlat
from lowlat import render
from lowlat.errors import LowlatError, Refused
from lowlat.harness_child import find_harness
from lowlat.machine import Machine
from lowlat.plan import Plan
from lowlat.rehearse import vm
from lowlat.rehearse.kernel import Kernel
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.shape import Shape
from lowlat.rehearse.task import PLAN, VERIFY, Facts, Task
from lowlat.root import Root
from lowlat.terminal import say, step

#: From power-on to power-off without the measurement: with KVM, and emulated.
_BOOT_S = {True: 150.0, False: 480.0}


@dataclass(frozen=True)
class Booted:
    """One boot: its own words on the command line, what it looked like, and where its files are."""

    label: str
    line: str
    folder: Path
    facts: Facts

    @property
    def run(self) -> Path:
        return self.folder / f"{self.label}.json"

    @property
    def verify(self) -> Path:
        return self.folder / VERIFY

    @property
    def log(self) -> Path:
        return self.folder / vm.LOG


@dataclass
class Stage:
    """What all boots have in common. ``plan`` is None until the first stock boot has made it."""

    options: RehearseOptions
    machine: Machine
    kernel: Kernel
    shape: Shape
    kvm: bool
    folder: Path
    plan: Optional[Plan] = field(default=None, init=False)

    def use(self, plan: Plan) -> None:
        """Take this plan for all boots to come, and lay its files out for them."""
        self.plan = plan
        (self.folder / PLAN).write_text(json.dumps(plan.to_json(), indent=2) + "\n")
        render.write(render.render(plan, Root()), str(_fresh(self.folder / "files")))
        say(f"  planned: {plan.cmdline}")

    def boot(self, name: str, *, tuned: bool) -> Booted:
        """Boot once, let the guest do its work, and check that it did.

        Raises Refused where the guest's planner refused, LowlatError where the boot failed.
        """
        folder = _fresh(self.folder / name)
        label = "tuned" if tuned else "stock"
        task = self._task(label, tuned)
        task.write(folder)
        boot = vm.Boot(
            kernel=self.kernel,
            line=" ".join(self._words(tuned)),
            shape=self.shape,
            kvm=self.kvm,
            folder=folder,
            command=_command(folder),
            limit=task.measure_limit + _BOOT_S[self.kvm],
        )
        with step(f"{label} boot of {self.kernel.release}"):
            vm.run(boot, lambda text: say(f"    {text}"))
        return self._checked(Booted(label, boot.line, folder, Facts.read(folder)))

    def _checked(self, booted: Booted) -> Booted:
        refused = booted.facts.refused
        if refused and self.plan is None and not (booted.folder / PLAN).exists():
            raise Refused(refused)
        if refused:
            raise LowlatError(f"{booted.label} boot: {refused}", hint=f"see {booted.folder}")
        if self.plan is None:
            self.use(Plan.from_json(json.loads((booted.folder / PLAN).read_text())))
        return booted

    def _task(self, label: str, tuned: bool) -> Task:
        return Task(
            label=label,
            plan=str(self.folder / PLAN) if self.plan else None,
            plan_options=tuple(self.options.plan_arguments()),
            files=str(self.folder / "files") if tuned else None,
            harness=find_harness(),
            duration=self.options.duration,
            warmup=self.options.warmup,
            # With KVM oslat measures as long again.
            measure_limit=3 * self.options.seconds() + 120,
            emulated=not self.kvm,
        )

    def _words(self, tuned: bool) -> Iterator[str]:
        planned = self.planned().boot_line.split() if tuned else []
        if not self.kvm:
            yield from (word for word in clock_words(self.machine) if word not in planned)
        yield from planned

    def planned(self) -> Plan:
        if self.plan is None:
            raise LowlatError("no boot has made a plan yet")
        return self.plan


def clock_words(machine: Machine) -> Iterator[str]:
    """For both boots: what makes the emulated clock behave like this machine's.

    The emulated time-stamp counter is the host's, but QEMU cannot pass on that it is invariant: its
    kernel watches it with a timer that visits every CPU twice a second, which no kernel does on
    this machine (check_system_tsc_reliable(), arch/x86/kernel/tsc.c).
    """
    if {"constant_tsc", "nonstop_tsc", "tsc_adjust"} <= machine.processor.flags:
        yield "tsc=nowatchdog"


def _command(folder: Path) -> tuple[str, ...]:
    root = Path(lowlat.__file__).resolve().parents[1]
    module = "lowlat.rehearse.guest"
    # -B: the guest's bytecode would only fill its memory.
    python = (sys.executable, "-B", "-m", module, str(folder))
    return ("env", f"PYTHONPATH={root}", "PYTHONUNBUFFERED=1", *python)


def _fresh(folder: Path) -> Path:
    """An empty folder; what an earlier rehearsal left there is removed."""
    if folder.is_symlink():
        raise Refused(f"{folder}: is a symbolic link", hint="name another folder with --out")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
