# SPDX-License-Identifier: GPL-2.0-or-later
"""Man pages are complete compared with the programs' own --help, and well formed."""

from __future__ import annotations

import re
import runpy
import subprocess
from functools import cache
from pathlib import Path

import pytest

from lowlat.verbs import VERBS
from support import machines, needs
from support.cli import lowlat
from support.waits import GUARD_S

ROOT = Path(__file__).parents[2]
MAN = ROOT / "packaging/man"
MEASURE = ROOT / "measure/build/lowlat-measure"
PAGES = sorted(page.name for page in MAN.glob("*.[1-9]"))

needs_measure = needs.file(MEASURE, "make harness")


def answer(*words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=GUARD_S, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@cache
def help_of(verb: str) -> str:
    return lowlat(verb, "--help").out


def options_of(verb: str) -> set[str]:
    """The long options in a verb's help."""
    lines = re.findall(r"(?m)^  (-.*)$", help_of(verb))
    return {flag for line in lines for flag in re.findall(r"--[a-z-]+", line.split("  ")[0])}


def choices_of(verb: str) -> set[str]:
    found = re.search(r"(?m)^  \{([a-z,]+)\}", help_of(verb))
    return set(found[1].split(",")) if found else set()


@needs_measure
def test_the_products_are_fresh() -> None:
    products = runpy.run_path(str(ROOT / "packaging/produce-cli"))["products"]()
    stale = [path.name for path, text in products.items() if path.read_text("utf-8") != text]
    assert not stale, "run make products"


# ------------------------------------------------------------------ man pages


def plain(page: str) -> str:
    """A page's text without roff's markup."""
    text = (MAN / page).read_text("utf-8")
    return re.sub(r"\\f.|\\&", "", text).replace("\\-", "-")


@pytest.mark.parametrize("page", PAGES)
@needs.program("mandoc", "packaging/install-dependencies package")
def test_a_page_is_well_formed(page: str) -> None:
    done = subprocess.run(
        ["mandoc", "-Tlint", MAN / page], capture_output=True, text=True, timeout=GUARD_S
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("page", PAGES)
@needs.program("man", "packaging/install-dependencies package")
def test_groff_finds_nothing(page: str) -> None:
    done = subprocess.run(
        ["man", "-l", "--warnings", "-E", "UTF-8", MAN / page],
        capture_output=True,
        text=True,
        timeout=GUARD_S,
    )
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_in_the_man_page(verb: str) -> None:
    sections = plain("lowlat-gen.8").split("\n.SS ")
    (section,) = (text for text in sections if text.startswith(f"lowlat-gen {verb}\n"))
    named = set(re.findall(r"--[a-z-]+", section))
    assert options_of(verb) <= {*named, "--help"}
    assert choices_of(verb) <= set(re.findall(r"[a-z]+", section))


def test_the_exit_status_names_the_option_that_asks_for_a_condition() -> None:
    assert "--require" in plain("lowlat-gen.8").split("\n.SH EXIT STATUS\n")[1].split("\n.SH ")[0]


@needs_measure
def test_every_option_of_the_harness_is_documented() -> None:
    options = set(re.findall(r"(?m)^  (--[a-z-]+)", answer(MEASURE, "--help")))
    assert len(options) > 10
    page = set(re.findall(r"--[a-z-]+", plain("lowlat-measure.1")))
    assert options <= page


@pytest.mark.parametrize("section", ["main", "cpus"])
def test_every_key_of_a_profile_is_documented(tmp_path: Path, section: str) -> None:
    """The refusal of an unknown key lists the known ones."""
    text = f"[{section}]\nno_such = 1\n"
    files = {**machines.machine(), "etc/lowlat/profiles/own/lowlat.conf": text}
    tree = machines.write_tree(tmp_path, files)
    refusal = lowlat("plan", "--root", tree, "--profile", "own").refused()
    words = re.split("there are:|has only", refusal)[-1]
    known = set(re.findall(r"[a-z_]+", words)) - {"and"}
    assert len(known) >= 4, refusal
    page = plain("lowlat.conf.5").split(f"\n.SS [{section}]\n")[1].split("\n.SS ")[0]
    documented = set(re.findall(r"(?m)^\.B ([a-z_]+)$", page))
    assert known <= documented
