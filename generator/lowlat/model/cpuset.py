# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets of CPU numbers, and the kernel's two notations for them: lists and hexadecimal masks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Optional

from lowlat.base import bounds
from lowlat.base.errors import Refused

#: The highest CPU number of any kernel (NR_CPUS is at most 8192); guards against "0-99999999".
MAX_CPU = 8191

#: The limit on the CPUs of all parts of a list together; a person may name a CPU twice.
_MOST_NAMED = 4 * (MAX_CPU + 1)

_RANGE = re.compile(r"(\d{1,9}|N)(?:-(\d{1,9}|N)(?::(\d{1,9})/(\d{1,9}))?)?", re.ASCII)


class CpuSetError(Refused, ValueError):
    """Text that is neither a CPU list nor a CPU mask; the message says which part and why."""


@dataclass(frozen=True)
class CpuSet:
    """An immutable set of CPU (or node) numbers, iterated in ascending order."""

    ids: frozenset[int] = field(default_factory=frozenset)

    @classmethod
    def of(cls, ids: Iterable[int]) -> CpuSet:
        return cls(frozenset(ids))

    @classmethod
    def parse_list(cls, text: str, *, last: Optional[int] = None) -> CpuSet:
        """Read the kernel's CPU-list syntax (admin-guide/kernel-parameters.rst, "cpu lists").

        Ranges ("2-5") and strides ("0-7:1/2"); with ``last`` also ``N`` (that CPU) and ``all``.
        Text without digits is the empty set, and so is "(null)", which kernels before 7.0 print for
        a mask that was never set.
        """
        if len(text) > bounds.CPU_LIST:
            raise CpuSetError("the CPU list is longer than any kernel's")
        text = text.strip()
        if text in ("", "(null)"):
            return cls()
        if text == "all" and last is not None:
            return cls.of(range(last + 1))
        ids: set[int] = set()
        named = 0
        for part in text.split(","):
            found = _parse_range(part.strip(), last)
            named += len(found)
            if named > _MOST_NAMED:
                raise CpuSetError("the CPU list names the same CPUs again and again")
            ids.update(found)
        return cls(frozenset(ids))

    @classmethod
    def parse_mask(cls, text: str) -> CpuSet:
        """Read a hexadecimal mask with a comma every 32 bits, as sysfs and procfs print it."""
        if len(text) > bounds.CPU_LIST:
            raise CpuSetError("the CPU mask is longer than any kernel's")
        words = text.strip().split(",")
        if not all(re.fullmatch(r"[0-9a-fA-F]{1,16}", word) for word in words):
            raise CpuSetError(f"'{text.strip()[:60]}' is not a CPU mask")
        if len(words) > 1 and any(len(word) > 8 for word in words):
            raise CpuSetError(f"'{text.strip()[:60]}' has a group of more than 32 bits")
        value = int("".join(word.zfill(8) for word in words), 16)
        if value.bit_length() > MAX_CPU + 1:
            raise CpuSetError("the CPU mask is longer than any kernel's")
        bits = bin(value)[:1:-1]
        return cls.of(cpu for cpu, bit in enumerate(bits) if bit == "1")

    @classmethod
    def from_json(cls, text: object) -> CpuSet:
        if not isinstance(text, str):
            raise CpuSetError("a CPU list is expected")
        return cls.parse_list(text)

    def to_json(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """The plain list: numbers and ranges only, valid on every kernel."""
        return _listed(self)

    def strided(self) -> str:
        """The list with strides ("9-255:1/2") where they make it shorter. The kernel reads them on
        its boot line (lib/bitmap-str.c, bitmap_parselist()), other programs only plain lists."""
        ranges = list(self.ranges())
        #: From each range on: the length of the rest, its first part, and the range behind that.
        best = [(0, "", 0)] * (len(ranges) + 1)
        ends = _stride_ends(ranges)
        for at in reversed(range(len(ranges))):
            # Of two that are as long, the plain one: it stands first.
            parts = {at + 1: _plain(*ranges[at]), ends[at]: _stride(ranges[at : ends[at]])}
            costs = ((len(text) + 1 + best[to][0], text, to) for to, text in parts.items())
            best[at] = min(costs, key=itemgetter(0))
        parts_of_best, at = [], 0
        while at < len(ranges):
            _, text, at = best[at]
            parts_of_best.append(text)
        return ",".join(parts_of_best)

    def ranges(self) -> Iterator[tuple[int, int]]:
        begins = (cpu for cpu in self if cpu - 1 not in self.ids)
        ends = (cpu for cpu in self if cpu + 1 not in self.ids)
        return zip(begins, ends)

    def mask(self) -> str:
        """The hexadecimal mask, a comma every 32 bits, as the kernel accepts and prints it."""
        value = sum(1 << cpu for cpu in self.ids)
        words = [f"{value & 0xFFFFFFFF:x}"]
        while value := value >> 32:
            words[-1] = words[-1].zfill(8)
            words.append(f"{value & 0xFFFFFFFF:x}")
        return ",".join(reversed(words))

    @property
    def first(self) -> int:
        return min(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self.ids))

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, cpu: object) -> bool:
        return cpu in self.ids

    def __or__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.ids | other.ids)

    def __and__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.ids & other.ids)

    def __sub__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.ids - other.ids)

    def __le__(self, other: CpuSet) -> bool:
        return self.ids <= other.ids


@lru_cache(maxsize=128)
def _listed(cpus: CpuSet) -> str:
    return ",".join(_plain(first, last) for first, last in cpus.ranges())


def _plain(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _stride_ends(ranges: Sequence[tuple[int, int]]) -> list[int]:
    """For each range, the place behind the last one of the stride that begins with it: ranges as
    long as it and equally far apart, of which the last may be shorter."""
    ends = [*range(1, len(ranges) + 1)]
    for at in reversed(range(len(ranges) - 1)):
        (first, last), (begin, end) = ranges[at], ranges[at + 1]
        if end - begin <= last - first:
            goes_on = end - begin == last - first and at + 2 < len(ranges)
            even = goes_on and ranges[at + 2][0] - begin == begin - first
            ends[at] = max(ends[at + 1], at + 2) if even else at + 2
    return ends


def _stride(ranges: Sequence[tuple[int, int]]) -> str:
    (first, last), end = ranges[0], ranges[-1][1]
    if len(ranges) == 1:
        return _plain(first, last)
    return f"{first}-{end}:{last - first + 1}/{ranges[1][0] - first}"


def _parse_range(part: str, last: Optional[int]) -> Sequence[int]:
    found = _RANGE.fullmatch(part)
    if not found:
        raise CpuSetError(f"'{part[:60]}' is not a CPU number or range")
    begin = _number(found[1], last)
    end = _number(found[2], last) if found[2] else begin
    if end < begin:
        raise CpuSetError(f"'{part}' runs backwards")
    if not found[3]:
        return range(begin, end + 1)
    used, group = int(found[3]), int(found[4])
    if group == 0 or used > group:
        raise CpuSetError(f"'{part}' uses {used} of each {group} CPUs")
    starts = range(begin, end + 1, group)
    return [cpu for start in starts for cpu in range(start, min(start + used, end + 1))]


def _number(text: str, last: Optional[int]) -> int:
    if text == "N":
        if last is None:
            raise CpuSetError("'N' (the last CPU) has no meaning here")
        return last
    number = int(text)
    if number > MAX_CPU:
        raise CpuSetError(f"CPU {number} is beyond any kernel's limit of {MAX_CPU}")
    return number
