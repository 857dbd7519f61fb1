# SPDX-License-Identifier: GPL-2.0-or-later
"""Needs that several tunables share, and reasons why one is unneeded."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Callable, Optional

from lowlat.catalogue.entry import Need, Target
from lowlat.kernel import facts
from lowlat.model.machine import ARM

#: Hypervisors whose guests run on KVM (probe/hypervisor.py names them).
_KVM = frozenset({"kvm", "amazon", "google", "alibaba"})

#: Those that are not KVM, whatever the machine below them runs.
_OTHERS = frozenset(
    {"hyperv", "vmware", "xen", "xen-dom0", "virtualbox", "parallels", "bhyve", "powervm", "apple"}
)


def config(*names: str) -> Need:
    """The kernel is built with at least one of these configuration options."""

    def test(target: Target) -> Optional[bool]:
        known, release = target.kernel.config, target.kernel.release
        has = (known and (known.enabled(name) or facts.predates(name, release)) for name in names)
        return None if known is None else any(has)

    options = " or ".join(f"CONFIG_{name}" for name in names)
    return Need(
        test,
        f"the kernel is built without {options}",
        "assumed: kernel configuration not found",
        wants=options,
        of_kernel=True,
    )


def known_by(name: str) -> Need:
    """The kernel has the fact of this name."""
    fact = facts.FACTS[name]
    shown, gone = fact.bound, not fact.since
    return Need(
        lambda target: target.has(name),
        f"kernels {f'from {shown} on' if gone else f'before {shown}'} do not have it",
        "assumed: kernel version not known",
        wants=f"Linux {'before ' if gone else ''}{shown}",
        of_kernel=True,
    )


def feature(path: str, name: str) -> Need:
    """The kernel has this file, or by the fact of that name should. The file is asked first,
    because distributions backport features."""
    fact = known_by(name)
    older = f", or an older kernel with {path}" if facts.FACTS[name].since else ""
    return replace(
        fact,
        test=lambda target: path in target.kernel.features or target.has(name),
        wants=f"{fact.wants}{older}",
        features=(path,),
    )


def without_fault(name: str, instead: str) -> Need:
    """The kernel is known to be without a fault of kernel/facts.ini; ``instead`` is what to rely
    on where it has the fault."""
    fact = facts.FACTS[name]
    firsts = ", ".join(fact.until)
    return Need(
        lambda target: target.has(name) is False,
        f"{facts.told(name, 'this kernel')}; {instead}",
        wants=f"a kernel without the {name}: Linux before {fact.bound}, or from {firsts} on",
        fault=name,
    )


#: The kernel takes isolcpus.
ISOLATES = config("CPU_ISOLATION")

ISOLATION = Need(
    lambda target: bool(target.isolated), "no CPU is isolated here", wants="isolated CPUs"
)

PHYSICAL = Need(
    lambda target: not target.guest,
    "this is a virtual machine: the host controls the hardware",
    wants="hardware, not a virtual machine",
)

#: Large cloud instances give a guest the processor's own idle states and frequencies.
OWNS_IDLE = replace(
    PHYSICAL,
    test=lambda target: not target.guest or target.machine.power.idle_driver == "intel_idle",
    wants="hardware, or a virtual machine that shows the driver intel_idle",
)

OWNS_FREQUENCY = replace(
    PHYSICAL,
    test=lambda target: not target.guest or bool(target.machine.power.frequency_driver),
    wants="hardware, or a virtual machine that shows a frequency driver",
)

X86 = Need(lambda target: target.machine.is_x86, "x86 only", wants="x86", of_kernel=True)

NODES = Need(
    lambda target: bool(target.machine.nodes),
    "the kernel shows no memory nodes",
    wants="a kernel that shows memory nodes",
)


def _made_by(vendor: str, name: str) -> Need:
    def test(target: Target) -> Optional[bool]:
        known = target.machine.processor.vendor
        return None if known is None else known == vendor

    return Need(
        test,
        f"{name} processors only",
        "assumed: processor vendor not known",
        wants=f"a processor of {name}'s",
        of_kernel=True,
    )


INTEL = _made_by("GenuineIntel", "Intel")
AMD = _made_by("AuthenticAMD", "AMD")

ARM_ONLY = Need(lambda target: target.machine.arch in ARM, "ARM only", wants="ARM", of_kernel=True)


def _by_kvm(target: Target) -> Optional[bool]:
    if not target.guest:
        return False
    if target.machine.hypervisor in _OTHERS:
        return False
    # An emulator's name, or none, does not tell whether the guest runs on KVM.
    return True if target.machine.hypervisor in _KVM else None


KVM_GUEST = Need(
    _by_kvm,
    "this machine is not a KVM guest",
    "assumed: the hypervisor is KVM",
    wants="a KVM guest",
)

REALTIME = Need(
    lambda target: target.kernel.realtime,
    "only PREEMPT_RT kernels use this",
    "assumed: not known whether the kernel is PREEMPT_RT",
    wants="a PREEMPT_RT kernel",
)

NOT_REALTIME = Need(
    lambda target: None if target.kernel.realtime is None else not target.kernel.realtime,
    "PREEMPT_RT kernels do not have it",
    "assumed: not known whether the kernel is PREEMPT_RT",
    wants="a kernel without PREEMPT_RT",
)


def built_in(option: str, how: str) -> Callable[[Target], Optional[str]]:
    """Unneeded if the kernel is built with this option, which has the same effect."""

    def reason(target: Target) -> Optional[str]:
        known = target.kernel.config
        built = known is not None and known.enabled(option)
        return f"the kernel is built {how} (CONFIG_{option})" if built else None

    return reason


def done_by(names: Sequence[str], why: str) -> Callable[[Target], Optional[str]]:
    """Unneeded if one of these tunables is set; ``why`` has a placeholder for its name."""
    return lambda target: next((why.format(name) for name in names if name in target.enabled), None)


def done_by_realtime(why: str) -> Callable[[Target], Optional[str]]:
    """Unneeded if the kernel is PREEMPT_RT."""
    return lambda target: why if target.kernel.realtime else None
