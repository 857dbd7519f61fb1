# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs that a boot with a line brings online.

Run-time states (cpuN/online, smt/control) end with the boot: only the line keeps a CPU off. CPUs
that maxcpus= or nosmt keep off may come later, by a person or a udev rule.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Optional

from lowlat.kernel.facts import has
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine

#: Values of smt/control of a kernel that does not know nosmt (kernel/cpu.c, CONFIG_HOTPLUG_SMT).
_NO_CONTROL = (None, "notimplemented")

#: The values with which the parameter of a bug switches SMT off on a processor that has the bug;
#: mitigations=auto,nosmt does so for the same bugs, unless the parameter has another value
#: (arch/x86/kernel/cpu/bugs.c). Left out are taa and retbleed, which do so only without TSX_CTRL or
#: STIBP: a second thread that stays off costs less than one that was not reckoned with.
_BUGS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "l1tf": (("flush,nosmt", "full", "full,force"), ()),
    "mds": (("full,nosmt",), ("full",)),
    "mmio_stale_data": (("full,nosmt",), ("full",)),
}

#: The names of words that are about nothing else than CPUs to keep off, and of all that may do so.
KEEPING_OFF = frozenset(("nr_cpus", "possible_cpus", "maxcpus", "nosmp", "smt_enabled", "smt"))
LIMITING = KEEPING_OFF | {"nosmt", "mitigations", *_BUGS}


def cpus_after(line: str, machine: Machine) -> CpuSet:
    """The CPUs that a boot of the machine with this line brings online, the last word of several
    counting as in the kernel. ``machine.cores`` tell which CPUs are threads of one core; where a
    word limits the threads of cores, an offline CPU of no known core is one of those kept off.

    - nr_cpus=N (kernel/smp.c), possible_cpus=N (arch/x86/kernel/cpu/topology.c, arch/s390/kernel/
      smp.c): the CPUs below N; of several nr_cpus= the lowest counts.
    - maxcpus=N, nosmp (kernel/smp.c, bringup_nonboot_cpus() in kernel/cpu.c): the first N, or the
      boot CPU alone for 0. From 6.5 on, x86 counts the first threads of all cores first, and others
      count a thread that nosmt keeps off (18415f33e2ac).
    - nosmt, smt-enabled=, smt=, mitigations=auto,nosmt: see threads_after().
    """
    there = list(_possible(line, machine))
    threads = threads_after(line, machine)
    limit = started_by(line)
    if limit == 0:
        return CpuSet.of([boot_cpu(machine)])
    counts_refused = not machine.is_x86 and _counts_first_threads(machine)
    if limit is not None and counts_refused:
        there = there[:limit]
    if threads is not None:
        there = _first_threads(there, threads, machine)
    if limit is not None and not counts_refused:
        if _counts_first_threads(machine):
            first = _first_threads(there, 1, machine)
            there = [*first, *sorted({*there} - {*first})]
        there = there[:limit]
    return CpuSet.of(there)


def started_by(line: str) -> Optional[int]:
    """The number of CPUs that maxcpus= or nosmp lets the boot start; None without a limit."""
    return _last_number(line, ("maxcpus",), {"nosmp": 0})


def boot_cpu(machine: Machine) -> int:
    """The CPU that boots the machine and keeps time: CPU 0 where it is present, online or not."""
    present = machine.cpus.online | machine.cpus.offline
    return 0 if 0 in present else machine.cpus.boot


def threads_after(line: str, machine: Machine) -> Optional[int]:
    """The most threads of a core that a boot with this line brings online; None without a limit.

    - nosmt, nosmt=force (kernel/cpu.c): 1, on x86 and where the kernel has smt/control.
    - smt-enabled=on|off|N on POWER (check_smt_enabled() in arch/powerpc/kernel/setup_64.c).
    - smt=N, nosmt on s390 (arch/s390/kernel/smp.c).
    - mitigations=auto,nosmt, or a bug's own parameter, on an x86 processor with the bug.
    """
    if _is_s390(machine):
        return _last_number(line, ("smt",), {"nosmt": 1})
    if cmdline.values(line, "nosmt") and takes_nosmt(machine):
        return 1
    if machine.is_x86:
        return 1 if any(_by_bugs(line, machine.processor.bugs)) else None
    if is_power(machine):
        value = next(reversed(cmdline.values(line, "smt-enabled")), "on")
        if re.fullmatch(r"off|\+?[0-9]{1,9}", value):
            return max(int(value), 1) if value != "off" else 1
    return None


def takes_nosmt(machine: Machine) -> bool:
    """Whether the machine's kernels know nosmt."""
    if machine.is_x86 or _is_s390(machine):
        return True
    return machine.power.smt_control not in _NO_CONTROL


def is_power(machine: Machine) -> bool:
    return (machine.arch or "").startswith("ppc")


def _is_s390(machine: Machine) -> bool:
    return machine.arch in ("s390", "s390x")


def possible_below(line: str, machine: Machine) -> Optional[int]:
    """The number of CPUs to which nr_cpus= (kernel/smp.c) or possible_cpus= (arch/x86/kernel/cpu/
    topology.c, arch/s390/kernel/smp.c) limits the kernel; None without a limit. Of several nr_cpus=
    the lowest counts. Where none but the boot CPU may start, x86 has one possible CPU."""
    limits = [number for word in cmdline.values(line, "nr_cpus") if (number := _number(word))]
    if machine.is_x86 or _is_s390(machine):
        limits.append(_last_number(line, ("possible_cpus",), {}) or 0)
    if machine.is_x86 and started_by(line) == 0:
        limits.append(1)
    return min(filter(None, limits), default=None)


def _possible(line: str, machine: Machine) -> Iterable[int]:
    below = possible_below(line, machine)
    boot = boot_cpu(machine)
    for cpu in machine.cpus.online | machine.cpus.offline:
        if below is None or cpu < below or cpu == boot:
            yield cpu


def _first_threads(cpus: Iterable[int], threads: int, machine: Machine) -> list[int]:
    """The first threads of each core among these CPUs. s390 numbers CPUs without gaps, however many
    threads a core has (smp_add_core() in arch/s390/kernel/smp.c)."""
    if _is_s390(machine):
        return list(cpus)[: sum(min(threads, len(core.cpus)) for core in machine.cores)]
    first = {cpu for core in machine.cores for cpu in sorted(core.cpus)[:threads]}
    return [cpu for cpu in cpus if cpu in first]


def _by_bugs(line: str, bugs: frozenset[str]) -> Iterator[bool]:
    """Whether the mitigation of each bug switches SMT off."""
    general = next(reversed(cmdline.values(line, "mitigations")), "")
    auto = general == "auto,nosmt" or general.startswith("auto,nosmt,")
    for bug, (always, by_general) in _BUGS.items():
        own = next(reversed(cmdline.values(line, bug)), None)
        spared = bug not in bugs or (bug == "mds" and "msbds_only" in bugs) or general == "off"
        if not spared:
            yield own in always or (auto and own in (None, *by_general))


def _counts_first_threads(machine: Machine) -> bool:
    return has("maxcpus counts first threads first", machine.kernel.release) is not False


def _last_number(line: str, names: Sequence[str], flags: Mapping[str, int]) -> Optional[int]:
    """The number of the last of these words; a flag stands for its number."""
    found = None
    for word in cmdline.parse(line):
        name, value = cmdline.name_of(word), word.partition("=")[2]
        if name in flags:
            found = flags[name]
        elif name in names:
            number = _number(value)
            found = found if number is None else number
    return found


def _number(text: str) -> Optional[int]:
    """The number at the beginning of the text (get_option() in lib/cmdline.c)."""
    found = re.match(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,9}", text)
    return int(found[0], 16 if found[0][1:2] in ("x", "X") else 10) if found else None
