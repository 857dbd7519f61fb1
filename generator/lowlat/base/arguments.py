# SPDX-License-Identifier: GPL-2.0-or-later
"""Fields of a frozen dataclass that a user gives: verbs/arguments.py makes a verb's parser of them.
Where a tuple is the default, it may be repeated."""

from dataclasses import field
from typing import Any


def option(metavar: object, text: str, default: Any = None, **how: object) -> Any:
    """A field that is an option with a value; ``how`` is for argparse's add_argument()."""
    named = {} if metavar is None else {"metavar": metavar}
    return field(default=default, metadata={"help": text, **named, **how})


def flag(text: str, **how: object) -> Any:
    """A field that is an option without a value. Those of one ``group`` exclude each other."""
    return option(None, text, False, **how)


def positional(metavar: object, text: str, default: Any = None, **how: object) -> Any:
    """A field that is an argument without a dash."""
    return option(metavar, text, default, positional=True, **how)
