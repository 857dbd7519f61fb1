# SPDX-License-Identifier: GPL-2.0-or-later
"""KVM: what a guest with dedicated CPUs does not need, and what its host does not need."""

from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    EvidenceKind,
    Need,
    Risk,
    Target,
    Tunable,
    ValueFormat,
)
from lowlat.catalogue.needs import AMD, INTEL, KVM_GUEST, PHYSICAL, X86, config, feature, known_by

_SYNC = "/sys/module/kvm/parameters/kvmclock_periodic_sync"
_GAP = "/sys/module/kvm_intel/parameters/ple_gap"
_RECOVERY = "/sys/module/kvm/parameters/nx_huge_pages_recovery_ratio"
_PAUSE = "/sys/module/kvm_amd/parameters/pause_filter_count"
_AVIC = "/sys/module/kvm_amd/parameters/avic"


def _polls_already(target: Target) -> Optional[str]:
    if target.machine.power.idle_driver == "haltpoll":
        return "the idle driver is already haltpoll"
    return None


_FORCE = "/sys/module/cpuidle_haltpoll/parameters/force"
_HALTPOLL = feature(_FORCE, "cpuidle_haltpoll.force")


def _loaded(target: Target) -> Optional[bool]:
    config = target.kernel.config
    is_module = config is not None and config.options.get("HALTPOLL_CPUIDLE") == "m"
    return None if is_module and _FORCE not in target.kernel.features else True


#: The module has no alias by which udev would load it (Arch Linux builds it so).
_LOADED = Need(
    _loaded,
    "nothing loads this driver",
    "nothing loads this driver, a module here: name cpuidle_haltpoll in /etc/modules-load.d",
    wants="a driver that is built in, or loaded",
)

ENTRIES = (
    Tunable(
        name="nopvspin",
        why="uses plain spin locks instead of paravirtual ones, which halt a waiting virtual CPU "
        "so that another guest can run: suitable if each virtual CPU has its own physical CPU",
        source=f"{PARAMETERS} nopvspin; arch/x86/kernel/kvm.c",
        evidence="kernel message 'PV spinlocks disabled', but not with 'no host support'",
        value="",
        needs=(X86, KVM_GUEST, config("PARAVIRT_SPINLOCKS"), known_by("nopvspin")),
        cost="if the host overcommits its physical CPUs nevertheless, a lock holder that is not "
        "running blocks every waiter",
        risk=Risk.THROUGHPUT,
        # "no host support" leaves the lock that guests use instead of the plain one.
        sign=Evidence(
            proof=r"PV spinlocks disabled(?:, forced by|, single CPU| with KVM_HINTS_REALTIME)"
        ),
    ),
    Tunable(
        name="cpuidle_haltpoll.force",
        why="lets an idle guest CPU poll for a while before it exits to the host, so that most "
        "wake-ups cost no exit",
        source="virt/guest-halt-polling.rst; drivers/cpuidle/cpuidle-haltpoll.c",
        value="1",
        needs=(X86, KVM_GUEST, config("HALTPOLL_CPUIDLE"), _HALTPOLL, _LOADED),
        unneeded=_polls_already,
        cost="CPU time of the host",
        risk=Risk.POWER,
        sign=Evidence(
            path="/sys/devices/system/cpu/cpuidle/current_driver", expected=lambda value: "haltpoll"
        ),
    ),
    Tunable(
        name="kvm.kvmclock_periodic_sync",
        why="stops the host from interrupting every guest CPU every five minutes to set its clock",
        source="arch/x86/kvm/x86.c; TuneD's realtime-virtual-host profile",
        value="0",
        needs=(X86, PHYSICAL, config("KVM"), feature(_SYNC, "kvm.kvmclock_periodic_sync")),
        cost="the clocks of guests may drift a little further from the host's",
        accepts=r"0",
        sign=Evidence(path=_SYNC, expected=lambda value: "N", shows=EvidenceKind.COPY),
    ),
    Tunable(
        name="kvm_intel.ple_gap",
        why="lets guest CPUs spin on a lock without an exit to the host: suitable if each has its "
        "own physical CPU",
        source="arch/x86/kvm/vmx/vmx.c ple_gap; TuneD's realtime-virtual-host profile",
        value="0",
        needs=(X86, PHYSICAL, INTEL, config("KVM_INTEL")),
        cost="guests that share a physical CPU waste its time by spinning",
        risk=Risk.THROUGHPUT,
        accepts=r"0",
        sign=Evidence(path=_GAP, shows=EvidenceKind.COPY),
    ),
    Tunable(
        name="kvm.nx_huge_pages_recovery_ratio",
        silences={"thread: kvm-nx-lpage-re*": "arch/x86/kvm/mmu/mmu.c kvm_nx_huge_page_recovery_*"},
        why="stops the per-guest thread that recovers split huge pages about once an hour, which "
        "makes every CPU of the guest exit",
        source=f"{PARAMETERS} kvm.nx_huge_pages_recovery_ratio; arch/x86/kvm/mmu/mmu.c",
        value="0",
        needs=(
            X86,
            PHYSICAL,
            config("KVM"),
            feature(_RECOVERY, "kvm.nx_huge_pages_recovery_ratio"),
        ),
        cost="huge pages that once held code stay split, and the guest has more TLB misses",
        risk=Risk.THROUGHPUT,
        accepts=r"0",
        # The thread reads it at each round (calc_nx_huge_pages_recovery_period()).
        sign=Evidence(path=_RECOVERY),
    ),
    Tunable(
        name="kvm_amd.pause_filter_count",
        why="lets guest CPUs spin on a lock without an exit to the host, as kvm_intel.ple_gap does",
        source="arch/x86/kvm/svm/svm.c pause_filter_count",
        value="0",
        needs=(X86, PHYSICAL, AMD, config("KVM_AMD")),
        cost="guests that share a physical CPU waste its time by spinning",
        risk=Risk.THROUGHPUT,
        accepts=r"0",
        sign=Evidence(path=_PAUSE, shows=EvidenceKind.COPY),
    ),
    Tunable(
        name="kvm_amd.avic",
        why="lets the processor deliver interrupts to a running guest without an exit",
        source="arch/x86/kvm/svm/avic.c",
        value="1",
        needs=(X86, PHYSICAL, AMD, config("KVM_AMD")),
        cost="guests that use nested virtualization or some Windows clocks fall back to exits",
        # The module clears it if the processor lacks the feature (avic_hardware_setup()).
        sign=Evidence(path=_AVIC, reads=ValueFormat.FLAG, expected=lambda value: "Y"),
    ),
)
