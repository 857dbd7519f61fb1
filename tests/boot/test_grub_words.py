# SPDX-License-Identifier: GPL-2.0-or-later
"""What GRUB passes on for the words of a linux line, compared with another reading of its rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.boot import entry_line
from lowlat.boot.loaders import grub_words
from lowlat.model import cmdline
from support import grub_script

_ANY = "ab=,-_4x"
_PARTS = st.one_of(
    st.text(_ANY, min_size=1, max_size=4),
    st.text(_ANY + ' "\\$#', max_size=5).map("'{}'".format),
    st.lists(
        st.sampled_from([*_ANY, " ", "'", "#", r"\"", r"\\", r"\$", r"\a", r"\x41"]), max_size=5
    )
    .map("".join)
    .map('"{}"'.format),
    st.sampled_from([*_ANY, " ", "'", '"', "\\", "$", "#", ";"]).map("\\{}".format),
)
_LINES = st.lists(st.lists(_PARTS, min_size=1, max_size=4).map("".join), max_size=5).map(" ".join)


@given(_LINES)
def test_the_kernel_gets_what_grub_passes_on(text: str) -> None:
    line = grub_script.passed(text)
    words = grub_words.passed(text, {})
    assert entry_line.started(words) == " ".join(cmdline.WORD.findall(line))
    assert entry_line.same(line, words) is None
    assert entry_line.same(f"added=1 {line}", words) == "added=1"
    again = grub_words.split(text)
    assert grub_words.passed(" ".join(again), {}) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"""acpi_osi="!Windows 2012" acpi_osi=""", ['"acpi_osi=!Windows 2012"', "acpi_osi="]),
        ("dyndbg='file hub.c +p'", ['"dyndbg=file hub.c +p"']),
        (r"memmap=4G\$4G", [r"memmap=4G\$4G"]),
        ("a$known-b$other '$known' \"$known\"", ["a1", "2-b$other", r"\$known", '"1 2"']),
        (r"a\\$other", [r"a\\$other"]),
        ("quiet # not this", ["quiet"]),
        ("quiet; reboot", ["quiet"]),
        ("quiet -- single", ["quiet", "--", "single"]),
    ],
)
def test_words_with_quotes_and_variables(text: str, words: list[str]) -> None:
    assert list(grub_words.passed(text, {"known": "1 2"})) == words


def test_a_variable_may_add_words_and_a_dollar_may_not() -> None:
    line = r"BOOT_IMAGE=/vmlinuz ro memmap=4G$4G"
    assert (
        entry_line.same(f"{line} splash", grub_words.passed(r"ro memmap=4G\$4G $more", {})) is None
    )
    assert entry_line.same(f"{line} splash", grub_words.passed(r"ro memmap=4G\$4G", {})) == "splash"


def test_fedora_leaves_hexadecimal_escapes_alone() -> None:
    text = r"""a=\x2d b='\x2d' c=\x2"""
    assert grub_words.passed(text, {}) == ("a=x2d", r"b=\\x2d", "c=x2")
    assert grub_words.passed(text, {}, hexadecimal=True) == (r"a=\x2d", r"b=\x2d", "c=x2")
