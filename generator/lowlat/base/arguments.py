# SPDX-License-Identifier: GPL-2.0-or-later
"""A verb's arguments as the fields of a frozen dataclass; verbs/arguments.py builds the parser from
them. Also times with their unit. A field whose default is a tuple may be repeated."""

import re
from collections.abc import Iterator
from dataclasses import Field, field, fields, is_dataclass
from typing import Any, Optional, get_type_hints

from lowlat.base.errors import Refused


def option(metavar: object, text: str, default: Any = None, **how: object) -> Any:
    """A field for an option that takes a value; ``how`` goes to argparse's add_argument(), except
    ``once``: the option is refused when it is given twice, and ``empty``: it takes an empty
    value, which is refused otherwise."""
    named = {} if metavar is None else {"metavar": metavar}
    return field(default=default, metadata={"help": text, **named, **how})


def flag(text: str, **how: object) -> Any:
    """A field for an option without a value. Options of one ``group`` exclude each other."""
    return option(None, text, False, **how)


def positional(metavar: object, text: str, default: Any = None, **how: object) -> Any:
    """A field for a positional argument."""
    return option(metavar, text, default, positional=True, **how)


def command(text: str) -> Any:
    """A field for the user's program, with its arguments: all that follows the options."""
    return positional("CMD", text, (), nargs="...", action="store", empty=True)


def program(given: tuple[str, ...]) -> tuple[str, ...]:
    """The value of command() without the "--" before it."""
    return given[1:] if given[:1] == ("--",) else given


def asked(kind: Any) -> list[Field[Any]]:
    """The fields of a dataclass that are arguments, or whole dataclasses of them."""
    kinds = get_type_hints(kind)
    return [item for item in fields(kind) if item.metadata or is_dataclass(kinds[item.name])]


def option_name(item: Field[Any]) -> str:
    """The option of a field, such as "--isolate-cores"."""
    return str(item.metadata.get("named", f"--{item.name.replace('_', '-')}"))


def words(value: Any) -> Iterator[str]:
    """The options of a command line that make this value: those that differ from the default."""
    for item in asked(type(value)):
        given = getattr(value, item.name)
        if is_dataclass(given):
            yield from words(given)
        elif given is True:
            yield option_name(item)
        elif given != item.default:
            for each in given if isinstance(given, tuple) else (given,):
                yield from (option_name(item), str(each))


#: The least and the greatest number of seconds, and this range in words.
Span = tuple[float, float, str]

_TIME = re.compile(r"(\d{1,9})(ns|us|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(
    option: str, text: str, span: Optional[Span] = None, such_as: str = "10s or 5m"
) -> float:
    """A time with its unit ("100ns", "10s", "5m") in seconds. Raises Refused if the text is no such
    time, with what it may be ``such_as``, or lies outside the span."""
    match = _TIME.fullmatch(text)
    if not match:
        raise Refused(f"{option} {text!r}: not a time with its unit", hint=f"such as {such_as}")
    result = int(match[1]) * _SECONDS[match[2]]
    if span and not span[0] <= result <= span[1]:
        raise Refused(f"{option} {text}: out of range", hint=f"from {span[2]}")
    return result
