# SPDX-License-Identifier: GPL-2.0-or-later
"""The program behaves as README.md and packaging/doc describe its command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from lowlat.cli import parser_of
from lowlat.verbs import VERBS
from support import needs
from support.cli import lowlat
from support.runs import document
from support.screens import DOCUMENTS, README, ROOT, Screen, blocks, commands
from support.waits import GUARD_S

#: Verbs that only the system's hooks and units call.
INTERNAL = {"boot"}

MEASURE = ROOT / "measure/build/lowlat-measure"

names = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def section(title: str) -> str:
    return README.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_readme_takes_five_minutes() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 130


def test_the_number_and_its_picture_come_first_and_are_those_measured() -> None:
    head = README.read_text("utf-8").split("\n## ")[0]
    measured = (ROOT / "packaging/doc/measured.md").read_text("utf-8")
    assert "](packaging/doc/measured.svg)" in head
    for figure in ("298.6", "3.78", "3,100 to 42,000", "8,958", "0.79"):
        assert figure in head and figure in measured


def test_every_verb_is_in_the_table_and_the_table_has_no_other() -> None:
    table = re.findall(r"(?m)^\| [a-z].*$", section("All commands"))
    assert set(re.findall(r"`(\w+)`", "".join(table))) == set(VERBS) - INTERNAL


def test_every_profile_is_in_the_table_and_the_table_has_no_other() -> None:
    table = re.findall(r"(?m)^\| [^|]+\| `([\w-]+)` \|", section("Which profile is yours"))
    assert sorted(table) == sorted(path.parent.name for path in ROOT.glob("profiles/*/lowlat.conf"))


@names
def test_every_named_file_exists(document: Path) -> None:
    text = document.read_text("utf-8")
    for linked in re.findall(r"\]\(([^):]+)\)", text):
        assert (document.parent / linked).exists(), linked
    for quoted in re.findall(r"`((?:packaging|profiles|tests)/[\w/.-]*)`", text):
        assert (ROOT / quoted).exists(), quoted


def test_every_link_of_what_is_installed_leads_to_a_file(tmp_path: Path) -> None:
    place = {**os.environ, "DESTDIR": str(tmp_path), "prefix": "/usr", "pythondir": "/usr/lib/py"}
    subprocess.run([ROOT / "packaging/install-files", "gen"], env=place, check=True)
    pages = list((tmp_path / "usr/share/doc/lowlat").glob("*.md"))
    assert {page.name for page in pages} == {path.name for path in DOCUMENTS}
    for page in pages:
        for linked in re.findall(r"\]\(([^):]+)\)", page.read_text("utf-8")):
            assert (page.parent / linked).exists(), (page.name, linked)


def test_every_document_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\]\(packaging/doc/([^)]+)\)", section("More")))
    assert linked == {path.name for path in DOCUMENTS} - {"README.md"}


@names
def test_every_command_line_is_accepted(document: Path) -> None:
    for verb, *words in commands(document):
        assert verb in VERBS, verb
        if words:
            parser_of(verb).parse_args(words)


@names
def test_every_option_named_is_one_of_some_verb(document: Path) -> None:
    options = {flag for verb in VERBS for flag in parser_of(verb)._option_string_actions}
    # A table names the options of other tools.
    text = re.sub(r"(?ms)^\| tool \| read \|.*?\n\n", "", document.read_text("utf-8"))
    named = set(re.findall(r"[` ](--[a-z][a-z-]*)", text))
    assert named <= options


@names
def test_every_target_of_make_exists(document: Path) -> None:
    rules = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))
    text = document.read_text("utf-8")
    named = re.findall(r"(?m)(?:`|^ {4})make\s([a-z-]+)", text)
    assert set(named) <= rules


def alone() -> list[Screen]:
    """These screens need nothing from a host; tests/boot checks the others."""
    walked = [block for document in DOCUMENTS for block in blocks(document)]
    return [screen for block in walked for screen in block if "--root" in screen.command]


def test_plans_are_what_the_program_prints_today() -> None:
    shown = alone()
    assert shown
    for screen in shown:
        assert len(screen.printed) > 4
        assert screen.fits(lowlat(*screen.words[1:]).out), screen.command


def quick_start() -> list[str]:
    """The command lines of the quick start, in order, without comments and screens."""
    rows = re.findall(r"(?m)^(?:    |\$ )(.*)$", section("Quick start"))
    return [row.partition("  #")[0].strip() for row in rows]


#: What `make test` hands down to the make of a test.
OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}


def shell(script: str) -> str:
    """What a shell in the repository's folder prints, as a person's; asserts that nothing is
    refused. A status of 1 is a finding."""
    apart = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    done = subprocess.run(
        ["sh", "-uc", script], capture_output=True, text=True, timeout=GUARD_S, cwd=ROOT, env=apart
    )
    assert (done.returncode in (0, 1), done.stderr) == (True, ""), done.stderr
    return done.stdout


def test_the_two_commands_that_do_all_the_set_up_come_first() -> None:
    first, second, path, *others = quick_start()
    assert (first, second) == ("make demo", "make test")
    assert path == "export PATH=$PWD/.venv/bin:$PATH"
    assert len(others) >= 4 and all(row.startswith("lowlat-gen ") for row in others)
    assert "git clone" in section("Quick start").split("make demo")[0]
    for command, part in ((first, "packaging/demo\n"), (second, "test-beside")):
        told = shell(f"{command} --dry-run --silent")
        assert part in told and "packaging/install-dependencies setup" in told


def test_make_alone_prints_the_help_and_does_nothing_else() -> None:
    told = shell("make --no-print-directory")
    assert told == shell("make --no-print-directory help")
    assert re.search("(?m)^make demo .*\nmake test ", told)
    assert all(row.startswith("make ") for row in told.splitlines())


@needs.file(ROOT / ".venv/bin/lowlat-gen", "make setup")
def test_the_quick_start_works_as_it_is_typed(tmp_path: Path) -> None:
    """But for the two commands of minutes. Its folders are of files that a reader has."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(document(name, 4.0)))
    path, *others = quick_start()[2:]
    for row in others:
        row = re.sub(r"(before|after)/", rf"{tmp_path}/\1/", row)
        assert shell(f"{path}\n{row}")


@needs.file(MEASURE, "make harness")
def test_the_summary_is_what_the_harness_prints_today() -> None:
    (document,) = (path for path in DOCUMENTS if path.name == "measuring.md")
    ((screen,),) = blocks(document)
    done = subprocess.run(
        [MEASURE, *screen.words[1:]], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert screen.fits(done.stdout), done.stdout + done.stderr


def test_the_import_for_notebooks_works() -> None:
    (document,) = (path for path in DOCUMENTS if path.name == "statistics.md")
    (line,) = re.findall(r"(?m)^    (from lowlat.*)$", document.read_text("utf-8"))
    needs.module("numpy", "the extra `report` is not installed")
    exec(line, {})  # noqa: S102
