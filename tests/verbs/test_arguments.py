# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments of a verb are one frozen value, which is declared once."""

from __future__ import annotations

import argparse
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Optional

import pytest

from lowlat import cli
from lowlat.base.arguments import flag, option, positional
from lowlat.verbs import VERBS
from lowlat.verbs.arguments import add_arguments, filled
from support.cli import lowlat


@dataclass(frozen=True)
class Nested:
    name: str = option("N", "", "a")
    dry_run: bool = flag("")


@dataclass(frozen=True)
class Asked:
    what: Optional[str] = positional("W", "", nargs="?")
    inner: Nested = Nested()
    again: tuple[str, ...] = option("X", "", ())
    out: Optional[Path] = option("F", "")
    count: int = option("N", "", 3)


def parsed(*words: str) -> Asked:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser, Asked)
    return filled(Asked, parser.parse_args(words))


def test_nothing_given_is_the_default() -> None:
    assert parsed() == Asked()


def test_every_kind_of_argument_arrives_as_its_type() -> None:
    words = ("it", "--name", "b", "--dry-run", "--again", "x", "--again", "y")
    assert parsed(*words, "--out", "/f", "--count", "5") == Asked(
        "it", Nested("b", True), ("x", "y"), Path("/f"), 5
    )


def test_a_verb_cannot_change_what_it_was_asked() -> None:
    args = cli.arguments("plan", ["--isolate", "1-3"])
    assert args.plan.wanted.request.isolate == "1-3"
    with pytest.raises(FrozenInstanceError):
        args.json = True


# ------------------------------------------------------------------- empty values

#: GRUB_DEFAULT may be empty, and so may the arguments of the user's program.
MAY_BE_EMPTY = {("boot", "--default"), ("run", "command"), ("measure", "command")}


def takers() -> list[tuple[str, str]]:
    """Each verb with each option or positional argument that takes a value."""
    return [
        (verb, action.option_strings[-1] if action.option_strings else action.dest)
        for verb in VERBS
        for action in cli.parser_of(verb)._actions
        if action.nargs != 0
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_value_is_refused(verb: str) -> None:
    """A script's variable that is not set must not stand for the default."""
    for name in [name for of, name in takers() if of == verb]:
        if (verb, name) not in MAY_BE_EMPTY:
            said = lowlat(verb, *([name, ""] if name.startswith("-") else [""])).refused()
            assert "the value is empty" in said or "''" in said, (name, said)


def test_there_are_as_many_as_that() -> None:
    assert set(takers()) >= MAY_BE_EMPTY and len(takers()) > 150


@pytest.mark.parametrize("form", ["--profile=", "--root=", "--out="])
def test_an_empty_value_behind_an_equals_sign(form: str) -> None:
    assert "the value is empty" in lowlat("render", form).refused()
