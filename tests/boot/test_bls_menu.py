# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of GRUB's and systemd-boot's entry files, and what a default means, against rpm,
sort(1) and systemd-analyze."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lowlat.boot.loaders import bls_menu, version_order
from lowlat.boot.loaders.bls_entries import Snippet, parse
from support import needs
from support.waits import GUARD_S

NAMES = st.text("01289abz.-_~+", min_size=1, max_size=9)
#: Without shrinking, which would call the oracles for minutes.
ONCE = settings(max_examples=4, deadline=None, derandomize=True, phases=[Phase.generate])
#: One call of an oracle for many pairs: programs start slowly.
PAIRS = st.lists(st.tuples(NAMES, NAMES), min_size=100, max_size=100)


def said(*words: str, stdin: str = "") -> list[str]:
    done = subprocess.run(
        words, input=stdin, capture_output=True, text=True, check=True, timeout=GUARD_S
    )
    return done.stdout.splitlines()


def version(program: str) -> tuple[int, ...]:
    """The first numbers that a program says of itself; (0,) without it."""
    first = said(program, "--version")[0] if shutil.which(program) else "0"
    return tuple(map(int, re.findall(r"\d+", first)[:2]))


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@needs.program("rpm", "packaging/install-dependencies package")
@ONCE
@given(PAIRS)
def test_versions_compare_as_rpm_compares_them(pairs: Sequence[tuple[str, str]]) -> None:
    # rpm has no "+" of its own, and splits a whole version at "-": GRUB does so before it compares.
    plain = [[re.sub(r"[+-]", ".", name) for name in pair] for pair in pairs]
    calls = "".join(f"print(rpm.vercmp('{a}','{b}')..' ') " for a, b in plain)
    words = " ".join(said("rpm", "--eval", f"%{{lua: {calls}}}")).split()
    assert [sign(version_order.rpm(a, b)) for a, b in plain] == [int(word) for word in words]


@needs.that(version("sort") >= (9, 1), "needs sort of coreutils 9.1, where gnulib's order changed")
@ONCE
@given(PAIRS)
def test_file_names_compare_as_gnulib_compares_them(pairs: Sequence[tuple[str, str]]) -> None:
    files = {f"m{name}.conf" for pair in pairs for name in pair}
    ordered = bls_menu.ordered([parse(file, "") for file in sorted(files)], bls_menu.UPSTREAM)
    oldest_first = [each.file for each in reversed(ordered)]
    stdin = "\n".join(oldest_first)
    assert said("env", "LC_ALL=C", "sort", "-sV", stdin=f"{stdin}\n") == oldest_first


@needs.that(version("systemd-analyze") >= (249,), "needs systemd-analyze 249: the order is of then")
@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("6.11.11-300.fc41", "6.11.4-301.fc41"),
        ("123.1-1", "123-9"),
        ("123", "123~rc1"),
        ("123^post1", "123"),
        ("123.4-3.1.fc33", "123.4-3"),
        ("6.6.74-gentoo-r1", "6.6.9-gentoo-r1"),
        ("debian-6.1", "debian-0-lowlat-6.12-1f"),
        ("1.0a", "1.0"),
    ],
)
def test_versions_compare_as_systemd_compares_them(newer: str, older: str) -> None:
    assert version_order.uapi(newer, older) == 1 == -version_order.uapi(older, newer)
    assert said("systemd-analyze", "compare-versions", newer, "gt", older) == []


def files(*names: str, version: str = "") -> list[Snippet]:
    return [parse(f"{name}.conf", f"title T {name}\n{version.format(name)}") for name in names]


def order(snippets: Iterable[Snippet], kind: str) -> list[str]:
    return [each.name for each in bls_menu.ordered(list(snippets), kind)]


def test_three_grubs_order_the_same_files_in_three_ways() -> None:
    newest, older = "m-4.18.0-553.8.1.el8_10.x86_64", "m-4.18.0-553.el8_10.x86_64"
    for kind in (bls_menu.VENDOR, bls_menu.RHEL_8):
        assert order(files(older, newest), kind) == [newest, older]
    # "8" is a number to rpm, and to gnulib a sign that stands before letters.
    assert order(files(older, newest), bls_menu.UPSTREAM) == [older, newest]
    versions = [*files("a-1-1", version="version 2-1"), *files("b-1-1", version="version 1-1")]
    assert order(versions, bls_menu.RHEL_8) == ["a-1-1", "b-1-1"]
    assert order(versions, bls_menu.VENDOR) == ["b-1-1", "a-1-1"]
    one_without = [*versions, *files("c-1-1")]
    assert order(one_without, bls_menu.RHEL_8) == ["c-1-1", "b-1-1", "a-1-1"]


@pytest.mark.parametrize(
    ("value", "vendor", "upstream"),
    [
        ("b", 1, 1),
        ("T b", 1, 1),
        ("0", 0, 0),
        ("2", 2, 2),
        ("0x2", 2, 2),
        ("02", 2, 2),
        ("3", 0, 0),
        ("", 0, 0),
        ("gone", 0, 0),
        # An id that begins with a number: to GRUB's own menu it is that number.
        ("2a", 0, 2),
        ("1d", 3, 1),
    ],
)
def test_a_default_means_what_it_means_to_that_grub(value: str, vendor: int, upstream: int) -> None:
    snippets = files("a", "b", "c", *(["1d"] if value == "1d" else []))
    for kind, place in ((bls_menu.VENDOR, vendor), (bls_menu.UPSTREAM, upstream)):
        assert bls_menu.chosen(snippets, value, kind) == snippets[place]
