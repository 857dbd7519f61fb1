# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs on which the kernel looks for lockups (kernel/watchdog.c)."""

from lowlat.kernel.booting import Booting
from lowlat.model.cpuset import CpuSet

#: Hypervisors of KVM; a guest switches hard lockup detection off (arch/x86/kernel/kvm.c,
#: kvm_guest_init()).
_KVM = frozenset({"kvm", "amazon", "google", "alibaba"})


def lockup_detection(noise: CpuSet, boot: Booting) -> tuple[CpuSet, CpuSet]:
    """The CPUs with soft and with hard lockup detection; ``noise`` are those of nohz_full, which
    lockup_detector_init() leaves out."""
    everywhere = boot.given("nowatchdog")
    soft = boot.needs("SOFTLOCKUP_DETECTOR", *boot.given("nosoftlockup"))
    hard = boot.needs("HARDLOCKUP_DETECTOR", *boot.given("nmi_watchdog"))
    if not soft and not hard:
        for word in everywhere:
            boot.drop(word, "the kernel is built without lockup detection")
    off = bool(boot.given("nowatchdog"))
    cpus = boot.online - noise
    soft = soft and not off and not boot.given("nosoftlockup")
    hard = hard and not off and _hard(boot) and _can_count(boot)
    return (cpus if soft else CpuSet()), (cpus if hard else CpuSet())


def _hard(boot: Booting) -> bool:
    """hardlockup_panic_setup(): 0 and 1 switch it, other values only say what a lockup does."""
    guest = boot.machine.is_x86 and boot.machine.hypervisor in _KVM
    on = not guest
    for word in boot.given("nmi_watchdog"):
        for value in word.value.split(","):
            on = {"0": False, "1": True}.get(value, on)
    return on


def _can_count(boot: Booting) -> bool:
    """Whether the hard lockup detector has a counter, or CPUs watch each other: an Intel guest
    without the flag has none (arch/x86/events/intel/core.c, intel_pmu_init())."""
    machine, processor = boot.machine, boot.machine.processor
    known = machine.hypervisor is not None and processor.flags_known
    bare = known and processor.vendor == "GenuineIntel" and "arch_perfmon" not in processor.flags
    return not bare or boot.built("HARDLOCKUP_DETECTOR_BUDDY") is True
