# SPDX-License-Identifier: GPL-2.0-or-later
"""The processor by name, as /proc/cpuinfo has it: in words, or as numbers (processors.ini)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Optional

from lowlat.base import resources
from lowlat.host.root import Root
from lowlat.model.machine import Processor

#: CPU flags that change a plan; the other 150 or so flags of a modern CPU are left out.
_FLAGS = frozenset(
    ("constant_tsc", "nonstop_tsc", "tsc_adjust", "tsc_reliable")
    + ("split_lock_detect", "bus_lock_detect", "hypervisor", "pdpe1gb", "arch_perfmon")
)

#: Bugs of x86 processors for which the kernel may switch SMT off.
_BUGS = frozenset(("l1tf", "mds", "msbds_only", "mmio_stale_data"))

#: Keys of a processor in words. "Processor" is one in the oldest ARM kernels, elsewhere the CPU's
#: number; "uarch" is RISC-V's.
_WORDS = ("model name", "cpu", "processor", "cpu model", "model", "uarch")

#: What ARM kernels say of every processor.
_GENERIC = re.compile(r"(ARM|AArch)(v?\d+) Processor rev \d+( \(\w+\))?")

_NAMES = resources.texts("probe/processors.ini")


def read_processor(root: Root, cpuinfo: str) -> Processor:
    """The first CPU's vendor and relevant flags, and the name of all kinds of CPUs. Where
    /proc/cpuinfo has no name, it is the product's, from the firmware."""
    found = parse_processor(cpuinfo)
    return found if found.model else replace(found, model=_product(root))


def _product(root: Root) -> Optional[str]:
    """DMI's maker and product, else the model in the device tree."""
    dmi = (root.read(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
    tree = (root.read("/proc/device-tree/model") or "").rstrip("\0")
    return _joined(" ".join(filter(None, dmi))) or _joined(tree)


def parse_processor(cpuinfo: str) -> Processor:
    """The processor in a /proc/cpuinfo. An ARM board's name follows the last CPU."""
    first, *rest = cpuinfo.split("\n\n")
    values: dict[str, str] = {}
    for line in "\n".join((first, *rest[-1:])).splitlines():
        key, colon, value = line.partition(":")
        if colon:
            values.setdefault(key.strip().lower(), value.strip())
    flags, parts = values.get("flags"), _arm_parts(cpuinfo)
    words = [values[key] for key in _WORDS if values.get(key) and not values[key].isdigit()]
    named = (name for name in words if not _GENERIC.fullmatch(name))
    names = [*named, *_numbered(values, cpuinfo, parts)]
    return Processor(
        vendor=values.get("vendor_id") or values.get("vendor") or values.get("cpu implementer"),
        model=next(filter(None, map(_joined, (*names, *words))), None),
        flags=frozenset((flags or "").split()) & _FLAGS,
        flags_known=flags is not None,
        microcode=values.get("microcode"),
        bugs=frozenset(values.get("bugs", "").split()) & _BUGS,
        threads=_threads(parts),
    )


def _arm_parts(cpuinfo: str) -> list[tuple[str, str]]:
    """The implementer and part of each kind of ARM core, by their lowest CPU."""
    makers, parts = (
        re.findall(rf"^CPU {key}\s*:\s*(0x[0-9a-f]{{1,3}})\s*$", cpuinfo, re.MULTILINE)
        for key in ("implementer", "part")
    )
    return list(dict.fromkeys(zip(makers, parts)))


def _threads(parts: list[tuple[str, str]]) -> Optional[int]:
    """The most threads of a core of these ARM parts; None if one of them is not known."""
    table = _NAMES["arm threads"]
    named = [part for part in parts if _NAMES.has_option(*part)]
    found = (table.get(f"{maker} {part}", table.get(maker)) for maker, part in named)
    known = [int(threads) for threads in found if threads]
    return max(known) if parts and len(known) == len(parts) else None


def _numbered(
    values: Mapping[str, str], cpuinfo: str, parts: list[tuple[str, str]]
) -> Iterator[str]:
    """The names of processors that are given as numbers."""
    yield _named("arm", "", parts)
    maker = values.get("mvendorid", "")
    yield _named("riscv", "riscv ", [(maker, values.get("marchid", "unknown"))])
    machine = re.search(r"^processor \d+:.*\bmachine = (\d{4})\s*$", cpuinfo, re.MULTILINE)
    yield _NAMES["s390"].get(machine[1], f"IBM machine {machine[1]}") if machine else ""


def _named(makers: str, parts: str, kinds: list[tuple[str, str]]) -> str:
    """The maker of the first kind, and all kinds of parts; "" if the maker is not known."""
    maker = _NAMES[makers].get(kinds[0][0]) if kinds else None
    if maker is None:
        return ""
    named = (_NAMES.get(f"{parts}{by}", part, fallback=f"part {part}") for by, part in kinds)
    return f"{maker} {' + '.join(named)}"


def _joined(text: str) -> Optional[str]:
    return " ".join(text.split()) or None
