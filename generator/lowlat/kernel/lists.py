# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of CPUs as kernels of a release read them (lib/bitmap.c and lib/bitmap-str.c,
bitmap_parselist())."""

import re
from functools import lru_cache
from typing import NamedTuple, Optional

from lowlat.kernel.booting import Booting
from lowlat.model.cpuset import MAX_CPU, CpuSet

_NUMBER = r"([0-9]+|N)"
_REGION = re.compile(rf"(?:(all)|{_NUMBER}(?:-{_NUMBER})?)(?::([0-9]+)/([0-9]+))?")

#: NR_CPUS where the kernel's configuration does not say it.
_MOST = MAX_CPU + 1

#: What only some kernels read in a list.
_FACTS = _ALL, _LAST, _STRIDES = ("all in CPU lists", "N in CPU lists", "strides in CPU lists")


class ReadList(NamedTuple):
    """The possible CPUs of a list, up to the first part that the kernel cannot read; ``error`` says
    why it cannot, and ``assumed`` what is not known."""

    cpus: CpuSet
    error: str = ""
    assumed: str = ""


def read_list(text: str, boot: Booting) -> ReadList:
    """Read a list; without an error the kernel takes it whole."""
    bits, assumed = _bits(boot)
    known = frozenset(fact for fact in _FACTS if boot.has(fact))
    cpus, error = _read(text, bits, known)
    return ReadList(cpus & boot.possible, error, assumed)


@lru_cache(maxsize=128)
def _read(text: str, bits: int, known: frozenset[str]) -> tuple[CpuSet, str]:
    """The CPUs of a list for a kernel with some of _FACTS. One line is read many times, and its
    lists name many CPUs."""
    ids: set[int] = set()
    for part in filter(None, re.split(r"[,\s]", text)):
        found = _region(part, bits, known)
        if isinstance(found, str):
            return CpuSet.of(ids), found
        ids.update(found)
    return CpuSet.of(ids), ""


def isolcpus_flags(value: str) -> str:
    """The flags of isolcpus= with their commas, as they stand before the list."""
    found = re.match(r"(?:[A-Za-z][A-Za-z_]*,)*", value)
    return found[0] if found else ""


def last_id(boot: Booting) -> int:
    """The highest possible CPU: nr_cpu_ids - 1."""
    return max(boot.possible.ids)


def _bits(boot: Booting) -> tuple[int, str]:
    """nr_cpumask_bits (include/linux/cpumask.h): from 6.1 on nr_cpu_ids in every build
    (aa47a7c215e7), before only with CPUMASK_OFFSTACK, else NR_CPUS."""
    config = boot.kernel.config
    if boot.has("CPU lists end with the machine") or boot.built("CPUMASK_OFFSTACK"):
        return last_id(boot) + 1, ""
    number = config.options.get("NR_CPUS", "") if config else ""
    if number.isdecimal():
        return int(number), ""
    return _MOST, "" if config else "assumed: kernel configuration not found"


def _region(part: str, bits: int, known: frozenset[str]) -> "range | list[int] | str":
    found = _REGION.fullmatch(part) if part.isascii() else None
    if not found:
        return f"'{part[:40]}' is no CPU number or range"
    every, first, last, used, group = found.groups()
    if (every or "N" in (first, last)) and _fact(every) not in known:
        return f"this kernel does not know '{every or 'N'}'"
    if group and _STRIDES not in known:
        return "this kernel knows no strides"
    begin = 0 if every else _number(first, bits)
    end = bits - 1 if every else _number(last or first, bits)
    if end < begin:
        return f"'{part[:40]}' runs backwards"
    if end >= bits:
        return f"there is no CPU {max(begin, bits)} here"
    return _strided(begin, end, used, group, part)


def _fact(every: Optional[str]) -> str:
    return _ALL if every else _LAST


def _number(text: str, bits: int) -> int:
    return bits - 1 if text == "N" else int(text[:9])


def _strided(
    begin: int, end: int, used: Optional[str], group: Optional[str], part: str
) -> "range | list[int] | str":
    if used is None or group is None:
        return range(begin, end + 1)
    off, size = int(used[:9]), int(group[:9])
    if size == 0 or off > size:
        return f"'{part[:40]}' uses {off} of each {size} CPUs"
    starts = range(begin, end + 1, size)
    return [cpu for start in starts for cpu in range(start, min(start + off, end + 1))]
