# SPDX-License-Identifier: GPL-2.0-or-later
"""How boot loaders compare versions and file names. A comparison returns a positive number if the
first argument is the newer one, a negative number if it is the older one, else 0."""

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T", int, str, bool)

_SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+|")
_SUFFIX = re.compile(r"(\.[A-Za-z~][A-Za-z0-9~]*)*$")


def rpm(a: str, b: str) -> int:
    """vercmp() in blscfg.c of Fedora, RHEL and openSUSE (github.com/rhboot/grub2), which is rpm's:
    numbers by value and after letters, "~" before the end, "+" behind it."""
    while a or b:
        a, b = (re.sub(r"^[^A-Za-z0-9~+]+", "", text) for text in (a, b))
        if a[:1] == b[:1] and a[:1] in ("~", "+"):
            a, b = a[1:], b[1:]
            continue
        for sign, by_end in (("~", -1), ("+", 1)):
            if sign in (a[:1], b[:1]):
                rank = by_end if sign == "~" or not (a and b) else -1
                return rank if a[:1] == sign else -rank
        if not (a and b):
            break
        rank, a, b = _by_segment(a, b)
        if rank:
            return rank
    return _sign(len(a), len(b))


def _by_segment(a: str, b: str) -> tuple[int, str, str]:
    """The order by the first segments, and the rest of both; a number is newer than letters."""
    one, two = (next(_SEGMENT.finditer(text))[0] for text in (a, b))
    rank = _sign(one.isdigit(), two.isdigit()) or _segments(one, two)
    return rank, a[len(one) :], b[len(two) :]


def _segments(a: str, b: str) -> int:
    if not (a.isdigit() and b.isdigit()):
        return _sign(a, b)
    a, b = a.lstrip("0"), b.lstrip("0")
    return _sign(len(a), len(b)) or _sign(a, b)


def _sign(a: T, b: T) -> int:
    return (a > b) - (a < b)


def package(a: str, b: str) -> int:
    """split_cmp() in blscfg.c for names: name, version and release, split at the last two hyphens,
    each compared as rpm does. The name of a file has its ".conf"."""
    return _first(map(rpm, (*a.rsplit("-", 2), "", "")[:3], (*b.rsplit("-", 2), "", "")[:3]))


def package_version(a: str, b: str) -> int:
    """split_cmp() in blscfg.c for versions: version and release, split at the last hyphen."""
    return _first(map(rpm, (*a.rsplit("-", 1), "")[:2], (*b.rsplit("-", 1), "")[:2]))


def _first(ranks: Iterator[int]) -> int:
    return next(filter(None, ranks), 0)


def file_name(a: str, b: str) -> int:
    """filevercmp() of gnulib, by which blsuki.c of GRUB 2.14 compares file names: as Debian
    compares versions, at first without suffixes such as ".conf"."""
    return _debian(_SUFFIX.sub("", a), _SUFFIX.sub("", b)) or _debian(a, b)


def _debian(a: str, b: str) -> int:
    """verrevcmp() in gnulib's filevercmp.c."""
    while a or b:
        (text_a, number_a, a), (text_b, number_b, b) = _parts(a), _parts(b)
        ends = [0 if number else -1 for number in (number_a, number_b)]
        weights = zip_longest(map(_weight, text_a), map(_weight, text_b))
        pairs = [(ends[0] if x is None else x, ends[1] if y is None else y) for x, y in weights]
        rank = _first(_sign(*pair) for pair in pairs) or _segments(number_a or "0", number_b or "0")
        if rank:
            return rank
    return 0


def _parts(text: str) -> tuple[str, str, str]:
    """What stands before the first number, the number, and the rest."""
    before, number = re.findall(r"([^0-9]*)([0-9]*)", text)[0]
    return before, number, text[len(before) + len(number) :]


def _weight(sign: str) -> int:
    if sign == "~":
        return -2
    return ord(sign) if sign.isalpha() else ord(sign) + 256


def uapi(a: str, b: str) -> int:
    """strverscmp_improved() of systemd: the version format of the UAPI group (UAPI.10)."""
    while True:
        a, b = (re.sub(r"^[^A-Za-z0-9~^.\-]+", "", text) for text in (a, b))
        for sign in "~-^.":
            if sign in (a[:1], b[:1]):
                if a[:1] != b[:1]:
                    return -1 if a[:1] == sign else 1
                a, b = a[1:], b[1:]
            if sign == "~" and not (a and b):
                return _sign(len(a), len(b))
        rank, a, b = _by_segment(a, b)
        if rank:
            return rank


def newest(versions: Iterable[str]) -> str:
    """The newest of these versions, by the UAPI group's rule."""
    return max(versions, key=functools.cmp_to_key(uapi))
