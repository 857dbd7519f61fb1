# SPDX-License-Identifier: GPL-2.0-or-later
"""The README's claims about the command line are what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from lowlat.cli import VERBS
from trees import lowlat

README = Path("README.md").read_text("utf-8")

#: Verbs that only hooks and units of the system call.
INTERNAL = {"boot"}


def test_every_verb_is_in_the_table_and_the_table_has_no_other() -> None:
    assert set(re.findall(r"\| `lowlat-gen (\w+)", README)) == set(VERBS) - INTERNAL


def test_every_named_file_exists() -> None:
    names = re.findall(r"\]\(([A-Za-z./]+)\)|`((?:packaging|profiles)/[a-z/.]*)`", README)
    assert names
    for linked, quoted in names:
        assert Path(linked or quoted).exists(), (linked, quoted)


def test_the_plan_is_what_the_program_prints_today() -> None:
    found = re.search(r"    \$ lowlat-gen (plan .*)\n((?:    .*\n|\n)*?)    …\n", README)
    assert found
    shown = [line[4:] for line in found[2].splitlines()]
    printed = lowlat(*found[1].split()).out.splitlines()
    assert len(shown) > 10
    assert [line.rstrip() for line in printed[: len(shown)]] == shown
