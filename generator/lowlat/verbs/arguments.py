# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verb is asked for, as a frozen dataclass: its fields are the verb's arguments in the order
of its help, and a field that is such a dataclass itself stands for all of its fields. What is () by
default may be repeated."""

from __future__ import annotations

import argparse
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import Any, Callable, TypeVar, get_args, get_type_hints

_T = TypeVar("_T")


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


def add_arguments(parser: argparse.ArgumentParser, kind: Any) -> None:
    """The arguments that a dataclass declares."""
    kinds = get_type_hints(kind)
    groups: dict[object, argparse._MutuallyExclusiveGroup] = {}
    for item in fields(kind):
        if is_dataclass(kinds[item.name]):
            add_arguments(parser, kinds[item.name])
            continue
        how = dict(item.metadata)
        name = item.name if how.pop("positional", False) else f"--{item.name.replace('_', '-')}"
        name = how.pop("named", name)
        group = how.pop("group", None)
        if group and group not in groups:
            groups[group] = parser.add_mutually_exclusive_group()
        to = groups[group] if group else parser
        to.add_argument(name, **{**_by_default(item.default), **_by_type(kinds[item.name]), **how})


def _by_default(default: object) -> dict[str, Any]:
    if default is False:
        return {"action": "store_true"}
    return {"action": "append", "default": []} if default == () else {"default": default}


def _by_type(kind: Any) -> dict[str, Any]:
    known: dict[Any, dict[str, Any]] = {int: {"type": positive}, Path: {"type": Path}}
    return known.get(next(iter(get_args(kind)), kind), {})


def positive(text: str) -> int:
    """An argparse type: a whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number from 1 to 65535")
    return int(text)


def filled(kind: Callable[..., _T], args: argparse.Namespace) -> _T:
    """The value of what was parsed."""
    kinds = get_type_hints(kind)
    return kind(**{name: _value(kinds[name], name, args) for name in _names(kind)})


def _value(kind: Callable[..., object], name: str, args: argparse.Namespace) -> object:
    whole = is_dataclass(kind)
    if whole:
        return filled(kind, args)
    value = getattr(args, name)
    return tuple(value) if isinstance(value, list) else value


def picked(kind: Callable[..., _T], given: object, **known: object) -> _T:
    """A dataclass of what ``given`` has under the names of its fields; ``known`` are others."""
    found = {name: getattr(given, name) for name in _names(kind) if hasattr(given, name)}
    return kind(**{**found, **known})


def _names(kind: Any) -> list[str]:
    return [item.name for item in fields(kind)]
