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
from lowlat.verbs.arguments import add_arguments, filled


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
