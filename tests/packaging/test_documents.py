# SPDX-License-Identifier: GPL-2.0-or-later
"""Man pages and shell completions: complete against the programs' own --help, and well formed."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import trees
from lowlat.cli import VERBS
from trees import lowlat

ROOT = Path(__file__).parents[2]
MAN = ROOT / "packaging/man"
COMPLETION = ROOT / "packaging/completion"
MEASURE = ROOT / "measure/build/lowlat-measure"
PAGES = sorted(page.name for page in MAN.glob("*.[1-9]"))

needs_measure = pytest.mark.skipif(
    not MEASURE.exists(), reason="needs measure/build/lowlat-measure: make harness"
)


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        not shutil.which(program),
        reason=f"needs {program}: packaging/install-dependencies package",
    )


def answer(*words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=60, cwd=ROOT
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


def test_the_products_are_fresh() -> None:
    products = runpy.run_path(str(ROOT / "packaging/produce-cli"))["products"]()
    stale = [path.name for path, text in products.items() if path.read_text("utf-8") != text]
    assert not stale, "run make products"


# ------------------------------------------------------------------ man pages


def plain(page: str) -> str:
    """A page's text without the marks of roff."""
    text = (MAN / page).read_text("utf-8")
    return re.sub(r"\\f.|\\&", "", text).replace("\\-", "-")


@pytest.mark.parametrize("page", PAGES)
@needs("mandoc")
def test_a_page_is_well_formed(page: str) -> None:
    done = subprocess.run(
        ["mandoc", "-Tlint", MAN / page], capture_output=True, text=True, timeout=60
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("page", PAGES)
@needs("man")
def test_groff_finds_nothing(page: str) -> None:
    done = subprocess.run(
        ["man", "-l", "--warnings", "-E", "UTF-8", MAN / page],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_in_the_man_page(verb: str) -> None:
    sections = plain("lowlat-gen.8").split("\n.SS ")
    (section,) = (text for text in sections if text.startswith(f"{verb}\n"))
    named = set(re.findall(r"--[a-z-]+", section))
    assert options_of(verb) <= named
    assert choices_of(verb) <= set(re.findall(r"[a-z]+", section))


@needs_measure
def test_every_option_of_the_harness_is_documented() -> None:
    options = set(re.findall(r"(?m)^  (--[a-z-]+)", answer(MEASURE, "--help")))
    assert len(options) > 10
    page = set(re.findall(r"--[a-z-]+", plain("lowlat-measure.1")))
    assert options <= page
    for name in ("lowlat-measure.bash", "_lowlat-measure"):
        text = (COMPLETION / name).read_text("utf-8")
        assert options == set(re.findall(r"--[a-z-]+", text)), name
    fish = (COMPLETION / "lowlat-measure.fish").read_text("utf-8")
    assert options == {f"--{name}" for name in re.findall(r" -l ([a-z-]+)", fish)}


@pytest.mark.parametrize("section", ["main", "cpus"])
def test_every_key_of_a_profile_is_documented(tmp_path: Path, section: str) -> None:
    """The refusal of an unknown key lists the known ones."""
    text = f"[{section}]\nno_such = 1\n"
    files = {**trees.machine(), "etc/lowlat/profiles/own/lowlat.conf": text}
    tree = trees.write_tree(tmp_path, files)
    refusal = lowlat("plan", "--root", tree, "--profile", "own").refused()
    words = re.split("there are:|has only", refusal)[-1]
    known = set(re.findall(r"[a-z_]+", words)) - {"and"}
    assert len(known) >= 4, refusal
    page = plain("lowlat.conf.5").split(f"\n.SS [{section}]\n")[1].split("\n.SS ")[0]
    documented = set(re.findall(r"(?m)^\.B ([a-z_]+)$", page))
    assert known <= documented


# ---------------------------------------------------------------- completions

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { echo "compopt $*" >&2; }
_lowlat_gen
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(*words: str) -> tuple[set[str], str]:
    """What bash offers for the last word, and what it says of files."""
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", COMPLETION / "lowlat-gen.bash", "lowlat-gen", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split()), done.stderr.strip()


@needs("bash")
def test_bash_offers_the_verbs() -> None:
    assert bash("") == ({*VERBS, "--help", "--version"}, "")
    assert bash("rehe") == ({"rehearse"}, "")


@pytest.mark.parametrize("verb", VERBS)
@needs("bash")
def test_bash_offers_every_option(verb: str) -> None:
    assert bash(verb, "") == (options_of(verb) | choices_of(verb), "")


@needs("bash")
def test_bash_offers_values() -> None:
    assert bash("plan", "--svg", "") == (set(), "")
    assert bash("render", "--out", "") == (set(), "compopt -o dirnames")
    assert bash("plan", "--isolate", "") == (set(), "compopt +o default")


@pytest.mark.parametrize("verb", VERBS)
@needs("fish")
def test_fish_offers_every_option(verb: str) -> None:
    script = f"source {COMPLETION}/lowlat-gen.fish; complete -C 'lowlat-gen {verb} --'"
    offered = {line.split("\t")[0] for line in answer("fish", "-c", script).splitlines()}
    assert offered >= options_of(verb)


ZSH = """
_describe() { :; }
_arguments() {
  if [[ $1 == -C ]]; then state=option; return 1; fi
  print -l -- "$@"
}
words=(VERB)
source FILE
"""


@pytest.mark.parametrize("verb", VERBS)
@needs("zsh")
def test_zsh_offers_every_option(verb: str) -> None:
    script = ZSH.replace("VERB", verb).replace("FILE", str(COMPLETION / "_lowlat-gen"))
    specs = answer("zsh", "-f", "-c", script).splitlines()
    offered = {found[1] for spec in specs if (found := re.match(r"\*?(--[a-z-]+)\[", spec))}
    assert offered == options_of(verb)


@pytest.mark.parametrize("program", ["lowlat-gen", "lowlat-measure"])
def test_the_shells_can_read_them(program: str) -> None:
    for shell, name in (("bash", f"{program}.bash"), ("zsh", f"_{program}")):
        if shutil.which(shell):
            answer(shell, "-n", COMPLETION / name)
    if shutil.which("fish"):
        answer("fish", "--no-execute", COMPLETION / f"{program}.fish")
