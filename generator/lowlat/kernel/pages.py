# SPDX-License-Identifier: GPL-2.0-or-later
"""Huge pages that the boot reserves, by size (mm/hugetlb.c)."""

import re
from dataclasses import dataclass, field
from typing import Optional

from lowlat.kernel.booting import Booting
from lowlat.kernel.line import Word

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MIB, _GIB = 1 << 10, 1 << 20

#: By page size, the sizes of huge pages on ARM (arch/arm64/mm/hugetlbpage.c), in KiB.
_ARM = {
    "ARM64_16K_PAGES": (2 * _MIB, 32 * _MIB, _GIB),
    "ARM64_64K_PAGES": (2 * _MIB, 512 * _MIB, 16 * _GIB),
    "ARM64_4K_PAGES": (64, 2 * _MIB, 32 * _MIB, _GIB),
}

#: Each word of these names counts in its place; the other modules have no say.
NAMES = ("hugepagesz", "hugepages", "default_hugepagesz")


@dataclass(frozen=True)
class HugePages:
    """``reserved`` are (KiB a page, node or None, count); ``default_kib`` is the size of pages that
    name none, None for the architecture's own."""

    reserved: tuple[tuple[int, Optional[int], int], ...] = ()
    default_kib: Optional[int] = None

    @property
    def kib(self) -> int:
        return sum(size * count for size, _, count in self.reserved)


@dataclass
class _Pools:
    """The state of hugepages_setup() and its neighbours: ``size`` is the one that the next count
    belongs to, 0 for the default one, None after a size that was not taken."""

    size: Optional[int] = 0
    counted: dict[int, Word] = field(default_factory=dict)
    counts: dict[int, dict[Optional[int], int]] = field(default_factory=dict)
    sized: Optional[Word] = None
    default: Optional[int] = None


def huge_pages(boot: Booting) -> HugePages:
    """Read the words in order: a count belongs to the size before it."""
    words = boot.given(*NAMES)
    pools = _Pools()
    if boot.needs("HUGETLBFS", *words):
        for word in words:
            if word.name == "hugepages":
                _count(word, pools, boot)
            elif word.name == "hugepagesz":
                _size(word, pools, boot)
            else:
                _default(word, pools, boot)
        _uncounted(pools, boot)
    usual = pools.default or _usual(boot)
    reserved = [
        (size or usual, node, count)
        for size, nodes in pools.counts.items()
        for node, count in nodes.items()
        if count
    ]
    reserved.sort(key=lambda item: (item[0], -1 if item[1] is None else item[1]))
    default = None if pools.default == _usual(boot) else pools.default
    return HugePages(tuple(reserved), default)


def _count(word: Word, pools: _Pools, boot: Booting) -> None:
    if pools.size is None:
        boot.drop(word, "it follows a size that the kernel does not take")
        pools.size = 0 if not pools.counts else next(reversed(pools.counts))
        return
    if pools.size in pools.counted:
        boot.drop(word, "a second count for the same size is ignored")
        return
    counts = _counts(word, boot)
    if counts is None:
        return
    pools.counted[pools.size] = word
    pools.counts[pools.size] = counts
    pools.sized = None


def _counts(word: Word, boot: Booting) -> Optional[dict[Optional[int], int]]:
    """The counts by node; None for a value that the kernel ignores."""
    if re.match(r"\d+:", word.value):
        if not boot.has("huge pages by node"):
            boot.drop(word, "kernels before 5.16 know no counts by node")
            return None
        if re.fullmatch(r"\d+:\d{1,15}(?:,\d+:\d{1,15})*", word.value):
            parts = (part.split(":") for part in word.value.split(","))
            return {int(node): int(count) for node, count in parts}
    found = re.match(r"\d{1,15}", word.value)
    if not found:
        boot.drop(word, f"'{word.value[:30]}' is no number")
        return None
    return {None: int(found[0])}


def _size(word: Word, pools: _Pools, boot: Booting) -> None:
    _uncounted(pools, boot)
    size, pools.size = _offered(word, boot), None
    if size is None:
        return
    if size in pools.counts or (size == pools.default and 0 in pools.counts):
        boot.drop(word, "the size is given twice: the kernel ignores this one")
        return
    pools.size, pools.sized = size, word


def _default(word: Word, pools: _Pools, boot: Booting) -> None:
    _uncounted(pools, boot)
    if pools.default is not None:
        boot.drop(word, "given twice: the kernel ignores this one")
        pools.size = None
        return
    size, pools.size = _offered(word, boot), None
    if size is not None:
        pools.default = pools.size = size
        if 0 in pools.counts and size not in pools.counts:
            pools.counts[size] = pools.counts.pop(0)
            pools.counted[size] = pools.counted.pop(0)


def _uncounted(pools: _Pools, boot: Booting) -> None:
    if pools.sized is not None:
        boot.drop(pools.sized, "no hugepages= follows this size: no such page is reserved")
        pools.sized = None


def _offered(word: Word, boot: Booting) -> Optional[int]:
    """The size in KiB, or None if the processor lacks it (arch_hugetlb_valid_size())."""
    found = re.match(r"(\d{1,9})([kKmMgGtT]?)", word.value)
    size = int(found[1]) << _UNITS[found[2].lower()] >> 10 if found else 0
    sizes, flags = None, boot.machine.processor
    if boot.machine.is_x86:
        sizes = (2 * _MIB, *((_GIB,) if "pdpe1gb" in flags.flags or not flags.flags_known else ()))
        if size == _GIB and not flags.flags_known:
            boot.note(word, assumed="assumed: processor flags not known")
    elif boot.machine.arch == "aarch64":
        sizes = next((kib for option, kib in _ARM.items() if boot.built(option)), None)
    if size and (sizes is None or size in sizes):
        return size
    boot.drop(word, "this processor has no pages of that size" if size else "no size of pages")
    return None


def _usual(boot: Booting) -> int:
    big = boot.built("ARM64_64K_PAGES")
    return 512 * _MIB if big else 32 * _MIB if boot.built("ARM64_16K_PAGES") else 2 * _MIB
