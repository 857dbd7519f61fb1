# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line of a file, and the CPUs that its lists name on a machine."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Target
from lowlat.catalogue.words import BootLine
from lowlat.kernel import facts
from lowlat.kernel.line import ReadBy, Word
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Kernel, Machine
from lowlat.plan.boot_machine import UnknownSiblings, boot_machine

_ISOLCPUS = re.compile(r"((?:[A-Za-z][A-Za-z_]*,)*)(.*)", re.DOTALL)

#: The flags that mainline kernels know; domain is the default.
FLAGS = frozenset({"domain", "nohz", "managed_irq"})

#: The forms in which files contain a line: /etc/default/grub, a boot entry, a loader's menu.
_GIVEN = re.compile(
    r"\s*(?:GRUB_CMDLINE_LINUX\w*=(?P<quote>[\"'])(?P<grub>.*)(?P=quote)"
    r"|(?:options|append|linux\w*\s+\S+|kernel\s+\S+)\s+(?P<entry>.*))\s*"
)


def the_line(text: str) -> str:
    """The only line of a file: bare, or from GRUB's settings, a boot entry or a menu. Raises
    Refused if there are several lines, or none."""
    rows = [row for row in text.splitlines() if row.strip() and not row.lstrip().startswith("#")]
    given = [
        match["grub"] or match["entry"] or "" for match in map(_GIVEN.fullmatch, rows) if match
    ]
    settings = [row for row in rows if row.lstrip().startswith("GRUB_CMDLINE_LINUX")]
    if settings and len(settings) == len(given):
        return " ".join(given)
    lines = given or rows
    if len(lines) != 1:
        why = f"the text has {len(lines)} boot lines"
        raise Refused(why, hint="give one: as it is, or in quotes")
    return lines[0]


def flags_of(value: str) -> tuple[frozenset[str], str]:
    """The flags of isolcpus, and its list (kernel/sched/isolation.c)."""
    match = _ISOLCPUS.fullmatch(value)
    flags, cpus = (match[1], match[2]) if match else ("", value)
    return frozenset(filter(None, flags.split(","))), cpus


def read_cpus(text: str, machine: Machine, release: Optional[str] = None) -> Optional[CpuSet]:
    """A list as the kernel of a release, by default the newest, reads it; None if it cannot."""
    if ":" in text and facts.has("strides in CPU lists", release) is False:
        return None
    words = facts.has("N in CPU lists", release) is not False
    last = max(machine.cpus.possible | machine.cpus.online) if words else None
    # The kernel skips superfluous commas (bitmap_find_region() in lib/bitmap-str.c).
    single = re.sub(",+", ",", text).strip(",")
    try:
        return CpuSet.parse_list(single, last=last) if text.isascii() else None
    except CpuSetError:
        return None


def boot_line(words: Sequence[Word], machine: Machine, kernel: Kernel) -> BootLine:
    """The line's values and CPU lists for the machine as it boots with this line."""
    machine, strange = _at_boot(words, replace(machine, kernel=kernel))
    values: dict[str, str] = {}
    for word in words:
        if word.reader is ReadBy.KERNEL and not (word.name == "isolcpus" and word.name in values):
            values[word.name] = word.value
    flags, listed = flags_of(values.get("isolcpus", ""))
    online = machine.cpus.online

    def cpus(text: Optional[str]) -> CpuSet:
        return (read_cpus(text or "", machine, kernel.release) or CpuSet()) & online

    isolated = cpus(listed)
    boot = CpuSet.of([machine.cpus.boot])
    domains = isolated - boot if not flags & FLAGS or "domain" in flags else CpuSet()
    tickless = cpus(values.get("nohz_full")) - boot
    if "nohz" in flags and facts.has("isolcpus=nohz equals nohz_full", kernel.release):
        tickless |= domains
    at_hand = domains | tickless
    target = Target(
        machine=machine,
        kernel=kernel,
        isolated=at_hand,
        housekeeping=online - at_hand,
        guest=machine.hypervisor is not None,
        enabled=_enabled(values, domains, tickless),
    )
    return BootLine(
        target,
        frozenset(word.normal for word in words if word.reader is ReadBy.KERNEL),
        values,
        domains,
        tickless,
        cpus(values.get("rcu_nocbs")),
        isolated if "managed_irq" in flags else CpuSet(),
        strange,
    )


def _at_boot(words: Sequence[Word], machine: Machine) -> tuple[Machine, CpuSet]:
    """The machine in the boot with these words; else the machine as it is, and the CPUs that come
    back without a sign of their siblings. Words without a root= are no whole line: they would be
    added to the running one."""
    line = " ".join(word.text for word in words if word.reader is ReadBy.KERNEL)
    if not any(word.name == "root" for word in words):
        line = f"{' '.join(cmdline.parse(machine.cmdline or ''))} {line}"
    machine = replace(machine, cmdline=line)
    if machine.container:  # its host boots
        return machine, CpuSet()
    try:
        return boot_machine(line, machine)[0], CpuSet()
    except UnknownSiblings as error:
        return machine, error.cpus
    except Refused:
        return machine, CpuSet()


def _enabled(values: Iterable[str], domains: CpuSet, tickless: CpuSet) -> frozenset[str]:
    """The entries that the line sets, as in a plan."""
    names = frozenset(values)
    on = {entry.name for entry in CATALOGUE if entry.at_boot and entry.name in names}
    on -= {"isolcpus", "nohz_full"}
    return frozenset(
        on | ({"isolcpus"} if domains else set()) | ({"nohz_full"} if tickless else set())
    )
