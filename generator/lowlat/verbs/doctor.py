# SPDX-License-Identifier: GPL-2.0-or-later
"""``doctor``: show what each verb lacks on this machine, and how to get it."""

import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Callable

from lowlat.base import process
from lowlat.base.arguments import flag, positional
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import bold, filled, item, section
from lowlat.boot import apply, decision, entry_line, kexec, places, trials
from lowlat.boot.loaders import detect
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import Unwritable
from lowlat.host import noise, tuned
from lowlat.host.archive import Archive, open_root
from lowlat.host.root import CPU, Root
from lowlat.measure.child import find_harness
from lowlat.measure.tools.known import KNOWN
from lowlat.model.cpuset import CpuSet
from lowlat.plan import profile
from lowlat.plan.interrupt_movers import on_host
from lowlat.plan.read_back import read_planned
from lowlat.probe.container import read_container, told
from lowlat.rehearse import packages as kernels
from lowlat.rehearse import qemu, vm
from lowlat.verbs import VERBS, chosen_plan, options
from lowlat.verbs.options import PlanChoice

SCHEMA = "lowlat.doctor/1"

_SUDO = "run it with sudo"


@dataclass(frozen=True)
class DoctorArguments:
    verbs: tuple[str, ...] = positional(
        "VERB", "check these verbs only; default: all", (), nargs="*", action="store"
    )
    all: bool = flag("also what to do about each limit, as with a VERB")
    root: str = options.root()
    json: bool = options.as_json()


@dataclass(frozen=True)
class Lack:
    """A thing that ``verbs`` lack. ``use`` is the function that needs it, "" if the whole verb
    does; ``mend`` is the remedy."""

    verbs: tuple[str, ...]
    what: str
    use: str
    mend: str


def main(args: DoctorArguments) -> int:
    """Returns 1 if a requested verb lacks something that it cannot work without."""
    unknown = [verb for verb in args.verbs if verb not in VERBS]
    if unknown:
        raise Refused(f"there is no verb '{unknown[0][:40]}'", hint="'lowlat-gen help' lists them")
    verbs = args.verbs or tuple(verb for verb in VERBS if verb != "boot")
    lacking = tuple(lack for lack in lacks(open_root(args.root)) if set(lack.verbs) & set(verbs))
    full = bool(args.verbs) or args.all
    options.show(args.json, lambda: _document(verbs, lacking), _describe(verbs, lacking, full))
    return 1 if any(not lack.use for lack in lacking) else 0


def _document(verbs: tuple[str, ...], lacking: tuple[Lack, ...]) -> dict[str, object]:
    """The contract lowlat.doctor/1: {"schema", "verbs": [{"verb", "ready": bool, "missing":
    [{"what", "needed": bool, "for": str|null, "mend"}]}]}."""
    rows = []
    for verb in verbs:
        own = [lack for lack in lacking if verb in lack.verbs]
        missing = [
            {"what": one.what, "needed": not one.use, "for": one.use or None, "mend": one.mend}
            for one in own
        ]
        rows.append({"verb": verb, "ready": all(one.use for one in own), "missing": missing})
    return {"schema": SCHEMA, "verbs": rows}


def _describe(verbs: tuple[str, ...], lacking: tuple[Lack, ...], full: bool) -> Iterator[str]:
    """What stops a verb with its remedy; what limits one so too if wanted in ``full``, else only
    named."""
    blocked = {verb for lack in lacking if not lack.use for verb in lack.verbs}
    ready = [verb for verb in verbs if verb not in blocked]
    told = "all verbs" if not blocked and len(ready) > 1 else ", ".join(ready) or "none"
    limits = [lack for lack in lacking if lack.use]
    yield from filled(told, bold("Ready with limits" if limits else "Ready") + ": ", "  ")
    yield from section("Not ready", _items(verbs, [lack for lack in lacking if not lack.use]))
    if full:
        yield from section("Limits", _items(verbs, limits))
    elif limits:
        named = dict.fromkeys(f"{lack.what} ({lack.use})" for lack in limits)
        yield from filled(", ".join(named), bold("Limits") + ": ", "  ")
        yield "'lowlat-gen doctor --all' tells what to do about each."


def _items(verbs: tuple[str, ...], rows: Iterable[Lack]) -> Iterator[str]:
    for lack in rows:
        named = ", ".join(verb for verb in lack.verbs if verb in verbs)
        use = f" ({lack.use})" if lack.use else ""
        yield from item(named, f"{lack.what}{use}: {lack.mend}")


def lacks(root: Root) -> Iterator[Lack]:
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
            hint = "'trial --kexec' needs no loader"
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
    tools: list[Callable[[], object]] = [vm.runner, qemu.program]
    tools += [partial(process.need, tool) for tool in vm.TOOLS]
    for tool in tools:
        try:
            tool()
        except process.NotInstalled as error:
            yield Lack(("rehearse",), error.what, "", error.hint or "")
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        closed = Root().exists("/dev/kvm")
        mend = "join the group kvm" if closed else "switch virtualisation on in the firmware"
        yield Lack(("rehearse",), "KVM", "durations: without KVM only events are counted", mend)
    yield from _refused(kernels.detect, ("rehearse",), "packages of kernels", "--fetch-kernel")


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
            mend = "boot a kernel that has the option; 'rehearse --kernel' tries one"
            what = skipped.why[len(without) :]
            yield Lack(("plan", "apply"), what, skipped.name, mend)


def _refused(
    check: Callable[[], object], verbs: tuple[str, ...], what: str, use: str = ""
) -> Iterator[Lack]:
    """What is lacking if a check fails; its error is the remedy."""
    try:
        check()
    except LowlatError as error:
        yield Lack(verbs, what, use, str(error))
