# SPDX-License-Identifier: GPL-2.0-or-later
"""Each encoder's output goes to a reader of its grammar. An accepted text must come out
unchanged."""

from __future__ import annotations

import configparser
import csv
import html
import io
import re
import subprocess
from typing import Callable, Optional, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.base import encode, terminal
from lowlat.base.errors import Refused

pytestmark = pytest.mark.security

TEXT = st.text() | st.text(
    alphabet="ab \t\n\r\x1b\x85\u2028'\"`$\\%#;{}=[]<>&|*_~@-+/", max_size=12
)

T = TypeVar("T")


def taken(encoder: Callable[[str], T], text: str) -> Optional[T]:
    """The encoded form of a text; None if the encoder refuses it, which takes one readable line."""
    try:
        return encoder(text)
    except Refused as error:
        assert str(error).isprintable() and len(str(error)) < 700
        return None


@given(TEXT)
def test_tuneds_configuration(text: str) -> None:
    value = taken(encode.ini, text)
    if value is None:
        return
    # TuneD creates its parser in the same way (tuned/profiles/loader.py).
    parser = configparser.ConfigParser(
        delimiters=("=",), inline_comment_prefixes=("#",), strict=False
    )
    parser.read_file(io.StringIO(f"[main]\nsummary={value}\n[after]\n", newline=None))
    assert parser.get("main", "summary", raw=True) == text
    assert parser.sections() == ["main", "after"] and "${" not in text


@given(TEXT)
def test_prometheus_label(text: str) -> None:
    """As readTokenAsLabelValue() in prometheus/common, expfmt/text_parse.go."""
    value = encode.prometheus(text)
    assert re.fullmatch(r'(?:[^"\\\n]|\\[\\"n])*', value)
    read = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
    assert re.sub(r'\\[\\"n]', lambda match: read[match[0]], value) == text


@given(TEXT)
def test_a_shells_word(text: str) -> None:
    word = taken(encode.shell, text)
    if word is not None:
        assert word == f"'{text}'" and not set(text) & set("'\"`$\\ \n")


def test_a_shell_reads_all_that_may_be_in_a_word() -> None:
    text = "".join(char for char in map(chr, range(256)) if taken(encode.shell, char))
    done = subprocess.run(
        # GRUB reads the text of /etc/default/grub a second time, between double quotes.
        ["/bin/sh", "-c", f'x={encode.shell(text)}; eval \'y="\'"$x"\'"\'; printf %s "$x$y"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == text * 2


@given(TEXT)
def test_a_units_value(text: str) -> None:
    value = taken(encode.unit, text)
    assert value is None or (value == text and not set(text) & set("%$\"'\\\n\r"))


@given(TEXT)
def test_a_row_of_a_boot_entry(text: str) -> None:
    row = taken(lambda it: encode.entry("title", it), text)
    assert row is None or (row == f"title {text}\n" and len(row.splitlines()) == 1)


@given(TEXT)
def test_html(text: str) -> None:
    made = encode.markup(text)
    assert html.unescape(made) == terminal.plain(text)
    assert not set(made) & set("<>\"'\n\x1b\u202e")


@given(TEXT)
def test_a_cell_of_a_table(text: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerow([encode.cell(text), "next"])
    [[cell, after]] = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert (cell.removeprefix("'"), after) == (terminal.plain(text).removeprefix("'"), "next")
    assert cell[:1] not in tuple("=+-@\t\r")


@given(TEXT)
def test_markdown(text: str) -> None:
    made = encode.markdown(text)
    assert len(made.splitlines()) <= 1 and made.replace("\\", "") == terminal.plain(text).replace(
        "\\", ""
    )


@given(TEXT)
def test_a_screen_shows_what_can_be_seen(text: str) -> None:
    out = io.StringIO(newline="")
    print(text, end="", file=terminal.Screen(out))
    shown = out.getvalue()
    assert len(shown) == len(text)
    assert all(terminal.is_shown(char) or char in "\n\t" for char in shown)
    assert all(one in (other, "?") for one, other in zip(shown, text))


def test_a_screen_keeps_what_is_encoded_and_nothing_made_of_it() -> None:
    out = io.StringIO()
    screen = terminal.Screen(out)
    red = terminal.paint("a\x1b[8mb", "31")
    print(red, file=screen)
    print(f" {red}", file=screen)
    assert out.getvalue() == "\x1b[31ma?[8mb\x1b[0m\n ?[31ma?[8mb?[0m\n"
