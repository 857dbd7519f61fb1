# SPDX-License-Identifier: GPL-2.0-or-later
"""What a boot with a line comes to: one reading for everybody who asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.kernel.booting import Booting, Fate
from lowlat.kernel.clock import Timekeeping, timekeeping
from lowlat.kernel.frequency import frequency_driver
from lowlat.kernel.idle import Idling, idling
from lowlat.kernel.isolation import housekeeping, interrupts, offloaded, ticks_stop, unbound
from lowlat.kernel.line import Word
from lowlat.kernel.lists import read_list
from lowlat.kernel.lockups import lockup_detection
from lowlat.kernel.pages import HugePages, huge_pages
from lowlat.kernel.settings import check, settings
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine

#: Words that want a list; as flags, no kernel knows them.
_LISTS = ("isolcpus", "nohz_full", "irqaffinity", "workqueue.unbound_cpus")


@dataclass(frozen=True)
class Effect:
    """The state of a machine after a boot; every set is a part of ``online``. ``fates`` has one
    item a word of the line, and takes no part in comparisons.

    ``unbalanced`` are out of load balancing, ``managed`` out of managed interrupts, ``tickless``
    stop their tick beside a task, if ``ticks_stop`` at all; ``noiseless`` are also left alone by
    timers and by kernel threads (HK_TYPE_KERNEL_NOISE); ``offloaded`` run no RCU callbacks.
    ``unbound`` run unbound work, ``interrupts`` new interrupts, ``services`` systemd and what it
    starts. ``soft`` and ``hard`` are watched for lockups. ``frequency`` is None where no driver is
    known. ``settings`` are the values that count of every other parameter, where they are not the
    kernel's default.
    """

    online: CpuSet
    unbalanced: CpuSet
    managed: CpuSet
    tickless: CpuSet
    noiseless: CpuSet
    ticks_stop: bool
    offloaded: CpuSet
    unbound: CpuSet
    interrupts: CpuSet
    services: CpuSet
    idle: Idling
    frequency: Optional[str]
    clock: Timekeeping
    pages: HugePages
    soft: CpuSet
    hard: CpuSet
    settings: Mapping[str, tuple[str, ...]]
    words: tuple[Word, ...] = field(compare=False)
    fates: tuple[Fate, ...] = field(compare=False)

    @property
    def stopped(self) -> CpuSet:
        """The CPUs that stop their tick beside a task."""
        return self.tickless if self.ticks_stop else CpuSet()

    @property
    def isolated(self) -> CpuSet:
        return self.unbalanced | self.tickless


def read(line: str, kernel: Kernel, machine: Machine) -> Effect:
    """Read a whole line as a kernel does at a boot of the machine. What a line leaves to the kernel
    is taken from the machine, as far as its own line did not decide it. Raises Refused if the line
    is longer than any boot loader passes on."""
    boot = Booting(line, kernel, machine)
    for word in boot.given(*_LISTS):
        if word.flag:
            boot.drop(word, f"the kernel wants {word.name}=LIST")
    check(boot)
    kept = housekeeping(boot)
    callbacks = offloaded(kept.tickless, boot)
    soft, hard = lockup_detection(kept.noise, boot)
    on = boot.online
    effect = Effect(
        online=on,
        unbalanced=kept.domain & on,
        managed=kept.managed & on,
        tickless=kept.tickless & on,
        noiseless=kept.noise & on,
        ticks_stop=ticks_stop(boot),
        offloaded=callbacks & on,
        unbound=unbound(kept, boot) & on,
        interrupts=interrupts(boot) & on,
        services=_services(kept.domain, boot) & on,
        idle=idling(boot),
        frequency=frequency_driver(boot),
        clock=timekeeping(boot),
        pages=huge_pages(boot),
        soft=soft,
        hard=hard,
        settings=settings(boot),
        words=boot.all,
        fates=(),
    )
    return replace(effect, fates=tuple(boot.fate(word) for word in boot.all))


def _services(domain: CpuSet, boot: Booting) -> CpuSet:
    """The CPUs of systemd (its core/main.c, parse_proc_cmdline_item(); shared/cpu-set-util.c reads
    numbers and ranges only); without a word of its own those of the first process
    (kernel/sched/core.c, sched_init_smp())."""
    for word in boot.given("systemd.cpu_affinity"):
        listed = read_list(word.value, boot)
        why = listed.error or ("" if listed.cpus else "an empty list")
        if word.value.strip("0123456789-, "):
            why = "systemd knows numbers and ranges only"
        if why:
            boot.drop(word, f"{why}: it does not take the list")
    last = boot.last("systemd.cpu_affinity")
    return read_list(last.value, boot).cpus if last else boot.possible - domain
