# SPDX-License-Identifier: GPL-2.0-or-later
"""What verbs lack on a machine, and how to get it."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Callable

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import apply, decision, entry_line, kexec, places, trials
from lowlat.boot.loaders import detect
from lowlat.boot.loaders.by_hand import ByHand, no_kexec
from lowlat.boot.loaders.interface import Unwritable
from lowlat.host import noise, tuned
from lowlat.host.archive import Archive
from lowlat.host.root import CPU, Root
from lowlat.measure.child import PROGRAM, find_harness
from lowlat.measure.tools.known import KNOWN
from lowlat.model.cpuset import CpuSet
from lowlat.plan import profile
from lowlat.plan.interrupt_movers import on_host
from lowlat.plan.read_back import read_planned
from lowlat.probe.container import read_container, told
from lowlat.rehearse import packages as kernels
from lowlat.rehearse import ready
from lowlat.verbs import chosen_plan, refusals
from lowlat.verbs.options import PlanChoice

_SUDO = "run it with sudo"


@dataclass(frozen=True)
class Lack:
    """A thing that ``verbs`` lack. ``use`` is the function that needs it, "" if the whole verb
    does; ``mend`` is the remedy."""

    verbs: tuple[str, ...]
    what: str
    use: str
    mend: str


def find_gaps(root: Root) -> Iterator[Lack]:
    """What verbs lack on a machine; gaps that stop a verb come first. Of another machine than this
    one, only what its files tell: its boot and its kernel."""
    if not root.live:
        yield from _container(root)
        yield from _boot(root)
        yield from _kernel(root)
        return
    yield from _rights()
    yield from _container(root)
    yield from _boot(root)
    yield from _measuring(root)
    yield from _rehearsing()
    yield from _kernel(root)
    for module, verbs, use in (
        ("numpy", ("report", "fleet"), "intervals and tests"),
        ("scipy", ("report", "fleet"), "intervals and tests"),
        ("yaml", ("lint",), "PerformanceProfiles"),
        ("rich", ("report",), "tables on a terminal"),
        ("pyudev", ("probe", "capture"), "names of devices"),
    ):
        if find_spec(module) is None:
            yield Lack(verbs, f"Python's {module}", use, process.package_hint(module))


def _rights() -> Iterator[Lack]:
    if os.geteuid() == 0:
        return
    writers = ("apply", "trial", "promote", "rollback", "runtime", "tune")
    yield Lack(writers, "root's rights", "", _SUDO)
    yield Lack(("verify", "capture"), "root's rights", "kernel messages and debugfs", _SUDO)
    yield Lack(("run",), "root's rights", "--audit of more than page faults", _SUDO)
    if resource.getrlimit(resource.RLIMIT_RTPRIO)[0] == 0:
        mend = f"{_SUDO}, or set rtprio in /etc/security/limits.d"
        yield Lack(("run", "measure"), "real-time priorities", "--policy fifo:N", mend)


def _container(root: Root) -> Iterator[Lack]:
    name = read_container(root)
    if name:
        verbs = ("plan", "apply", "trial", "promote", "tune", "runtime", "render")
        what, instead = told(name)
        yield Lack(verbs, f"the host: {what}", "", instead)
    if not root.live:
        return
    allowed, online = CpuSet.of(os.sched_getaffinity(0)), root.read_cpus(f"{CPU}/online")
    missing = (online or CpuSet()) - allowed - (root.read_cpus(f"{CPU}/isolated") or CpuSet())
    if missing:
        mend = "a container, a cpuset or taskset keeps this process off the others"
        yield Lack(("run", "measure"), f"CPU {missing}", f"this process may use {allowed}", mend)


def _boot(root: Root) -> Iterator[Lack]:
    # An archive has no programs: whether they are installed there is not known.
    lacking = () if isinstance(root, Archive) else tuple(apply.lacks(root, _runtime(root)))
    for lack in lacking:
        yield Lack(("apply", "tune"), lack.message, "", lack.hint or "")
    advice = tuned.advice(root)
    if advice and not lacking:
        yield Lack(("apply", "tune"), "TuneD", "run-time settings", advice)
    yield from _loader(root)
    changing = ("apply", "trial", "promote", "tune")
    yield from _refused(partial(places.check_state, root), changing, "a disk for what is written")
    for read in (decision.read, trials.read):
        verbs = ("apply", "trial", "promote", "status", "tune")
        yield from _refused(partial(read, root), verbs, "a record of what was applied")
    if not entry_line.has_watchdog(root):
        mend = "without it, a hard hang needs a power cycle; QEMU has a virtual one (i6300esb)"
        yield Lack(("trial", "tune"), "a hardware watchdog", "reset after a hang", mend)
    if os.geteuid() == 0 and root.live:
        yield from _refused(lambda: kexec.check(root), ("trial", "tune"), "kexec", "--kexec")


def _runtime(root: Root) -> str:
    """Who sets the run-time settings, as ``apply`` repeats it."""
    with suppress(Refused):  # 'status' names a damaged decision
        made = decision.read(root)
        return made.runtime if made else "tuned"
    return "tuned"


def _loader(root: Root) -> Iterator[Lack]:
    verbs, what, use = ("apply", "trial", "promote", "tune"), "a boot loader that lowlat writes", ""
    try:
        loader = detect.detect(root)
        if isinstance(loader, ByHand):
            why_not = no_kexec(root)
            hint = f"nor can kexec try it: {why_not}" if why_not else "kexec can try the line"
            raise Unwritable(f"it boots with {loader.name}", hint=hint)
        loader.check()
    except LowlatError as error:
        if isinstance(error, Unwritable) or isinstance(root, Archive):
            use = "boot entries"
        yield Lack(verbs, what, use, str(error))


def _measuring(root: Root) -> Iterator[Lack]:
    yield from _refused(find_harness, ("measure", "top", "rehearse", "tune"), "lowlat-measure")
    uses = {"stress-ng": "--load, --throughput"}
    for tool in KNOWN.second_opinions:
        before = uses.get(tool.program)
        uses[tool.program] = f"{before}, {tool.name}" if before else f"--second-opinion {tool.name}"
    for program, use in uses.items():
        if process.find(program) is None:
            yield Lack(("measure",), program, use, process.package_hint(program))
    if process.find("perf") is None:
        yield Lack(("run",), "perf", "--audit by place", process.package_hint("perf"))
    if os.geteuid() != 0:
        mend = _SUDO
    elif "[confidentiality]" in (root.read("/sys/kernel/security/lockdown") or ""):
        mend = "the kernel is locked down for confidentiality (kernel_lockdown(7))"
    elif "tracefs" not in (root.read("/proc/filesystems") or ""):
        mend = "boot a kernel with CONFIG_FTRACE"
    else:
        return
    yield Lack(("measure", "top"), "the kernel's trace", "--causes", mend)


def _rehearsing() -> Iterator[Lack]:
    for error in ready.missing_programs():
        if isinstance(error, process.NotInstalled) and error.what != PROGRAM:
            yield Lack(("rehearse",), error.what, "", error.hint or "")
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        closed = Root().exists("/dev/kvm")
        mend = "join the group kvm" if closed else "switch virtualisation on in the firmware"
        yield Lack(("rehearse",), "KVM", "durations: without KVM only events are counted", mend)
    yield from _refused(kernels.check_host, ("rehearse",), "packages of kernels", "--fetch-kernel")


def _kernel(root: Root) -> Iterator[Lack]:
    """CPUs that can be planned for, and options that the plan needs and the running kernel was
    built without."""
    yield from _refused(lambda: chosen_plan.here(root, PlanChoice()), ("cpus",), "CPUs to isolate")
    if read_container(root):
        return
    try:
        chosen = chosen_plan.make_plan(PlanChoice(), root)
        wanted = profile.load(chosen.plan.profile, root).settings
    except Refused as error:
        yield Lack(("plan", "apply", "tune"), "a plan", "", str(error))
        return
    if not chosen.machine.cpus.isolated:
        now = partial(chosen_plan.make_now, PlanChoice(), root)
        yield from _refused(now, ("plan", "apply"), "isolation without a boot", "--now")
    plan = chosen.plan
    effect = read_planned(chosen.at_boot, chosen.kernel, plan.parameters)
    for why in on_host(plan, effect.isolated, root).warnings():
        yield Lack(("apply", "run", "verify"), "interrupts that stay", "isolated CPUs", why)
    for name, sign in noise.here(root).items() if effect.isolated else ():
        told = f"{sign}: {noise.SOURCES[name].told}"
        yield Lack(("run", "measure"), f"CPUs without {name}", "isolated CPUs", told)
    without = "the kernel is built without "
    for skipped in plan.skipped:
        if skipped.why.startswith(without) and wanted.get(skipped.name, "off") != "off":
            mend = f"boot a kernel that has the option{_kernel_to_try(root)}"
            what = skipped.why[len(without) :]
            yield Lack(("plan", "apply"), what, skipped.name, mend)


def _kernel_to_try(root: Root) -> str:
    """How to try another kernel, if that is possible here."""
    if not root.live or refusals.refusal("rehearse --fetch-kernel", root):
        return ""
    return "; 'lowlat-gen rehearse --fetch-kernel --kernel RELEASE' tries one"


def _refused(
    check: Callable[[], object], verbs: tuple[str, ...], what: str, use: str = ""
) -> Iterator[Lack]:
    """What is lacking if a check fails; its error is the remedy."""
    try:
        check()
    except LowlatError as error:
        yield Lack(verbs, what, use, str(error))
