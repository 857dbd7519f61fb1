# SPDX-License-Identifier: GPL-2.0-or-later
"""One real boot: what is planned is what the kernel has in effect, and it does not complain."""

from __future__ import annotations

import json
import platform
from collections import Counter
from pathlib import Path

import pytest

from lowlat.model.campaign import Place
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Kernel, Machine
from lowlat.model.plan import Plan
from lowlat.plan import profile
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options, make_plan
from lowlat.probe.kernel import parse_config
from lowlat.rehearse import kernel, rehearsal, results, vm
from lowlat.rehearse.arm import PlannedArm
from lowlat.rehearse.options import RehearseOptions
from support import needs
from support.guest import emulator
from support.guest.kernels import smoke_kernel_or_skip

#: In CPU seconds.
_LIMIT_S = 400.0


@pytest.mark.smoke
def test_planned_parameters_are_in_effect(tmp_path: Path) -> None:
    if len(vm.runner().split()) > 1:
        needs.absent("virtme-ng takes no space in a path, and is installed below one")
    kernel = smoke_kernel_or_skip()
    options = RehearseOptions(kernels=(str(kernel.image),), duration="5s", warmup="2s")
    *_, (stage,) = rehearsal.prepare(options, tmp_path / "out")
    plan = _plan(kernel)
    arm = PlannedArm("lowlat", plan.boot_line, plan=plan)
    log = tmp_path / "out" / kernel.release / "lowlat-1" / vm.LOG
    booted = emulator.repeated(
        lambda stop: stage.boot(arm, 1, plan, Place("smoke", 1), stop),
        lambda: emulator.RunningBoot(log, _LIMIT_S, f"path={log.parent}/"),
        kernel.release,
    )

    assert booted.facts.isolated == booted.facts.nohz_full == CpuSet.of([2, 3])
    assert booted.facts.complaints == ()
    assert booted.facts.problems == ()
    assert f"lowlat.plan={plan.id}" in booted.facts.cmdline.split()
    assert list(results.bad_settings(booted)) == []
    assert booted.verify is not None
    rows = json.loads(booted.verify.read_text())["settings"]
    assert Counter(row["state"] for row in rows)["effective"] > 8, rows
    run = json.loads(booted.runs[0].read_text())
    assert [cpu["cpu"] for cpu in run["cpus"]] == [2, 3]


def _plan(kernel: kernel.BootableKernel) -> Plan:
    """A plan for the guest, without the boot that would probe it first."""
    online = CpuSet.of(range(4))
    cores = tuple(Core(CpuSet.of([cpu])) for cpu in online)
    cpus = Cpus(online=online, offline=CpuSet(), possible=online, boot=0)
    guest = Machine(platform.machine(), cpus, cores, hypervisor="qemu")
    request = CpuRequest(isolate="2-3")
    return make_plan(guest, _target(kernel), profile.load("lowlat"), Options(request=request))


def _target(kernel: kernel.BootableKernel) -> Kernel:
    path = kernel.image.parent / f"config-{kernel.release}"
    config = parse_config(path.read_text(), str(path)) if path.is_file() else None
    return Kernel(kernel.release, config.enabled("PREEMPT_RT") if config else None, config)
