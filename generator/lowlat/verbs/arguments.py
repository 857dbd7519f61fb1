# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments of a verb, as a frozen dataclass: its fields (base/arguments.py) are the arguments,
in the order of the help. A field that is itself such a dataclass stands for all of its fields.
Fields without option data are no arguments."""

import argparse
from dataclasses import Field, is_dataclass
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar, get_args, get_type_hints

from lowlat.base.arguments import asked, option_name

_T = TypeVar("_T")


def add_arguments(parser: argparse.ArgumentParser, kind: Any) -> None:
    """Add the arguments that a dataclass declares."""
    kinds = get_type_hints(kind)
    groups: dict[object, argparse._MutuallyExclusiveGroup] = {}
    for item in asked(kind):
        if is_dataclass(kinds[item.name]):
            add_arguments(parser, kinds[item.name])
            continue
        how = {"dest": item.name, **item.metadata}
        name = option_name(item)
        how.pop("named", None)
        if how.pop("positional", False):
            name = how.pop("dest")
        if how.pop("once", False):
            how["action"] = _Once
        if how.pop("empty", False):
            how["type"] = str
        group = how.pop("group", None)
        if group and group not in groups:
            groups[group] = parser.add_mutually_exclusive_group()
        to = groups[group] if group else parser
        to.add_argument(name, **{**_by_default(item.default), **_by_type(kinds[item.name]), **how})


class _Once(argparse.Action):
    """Refuses an option without a default that is given twice: argparse takes the last one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: Optional[str] = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest, values)


def _by_default(default: object) -> dict[str, Any]:
    if default is False:
        return {"action": "store_true"}
    if isinstance(default, tuple):
        return {"action": "append", "default": []}
    return {"default": default}


def _by_type(kind: Any) -> dict[str, Any]:
    if kind == Optional[bool]:
        return {"action": argparse.BooleanOptionalAction}
    if kind is bool:
        return {}
    known: dict[Any, Callable[[str], object]] = {int: positive, Path: _path}
    return {"type": known.get(next(iter(get_args(kind)), kind), _text)}


def _text(text: str) -> str:
    """An argparse type: a text that is not empty, as that of a variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("the value is empty")
    return text


def _path(text: str) -> Path:
    return Path(_text(text))


def positive(text: str) -> int:
    """An argparse type: a whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number from 1 to 65535")
    return int(text)


def filled(kind: Callable[..., _T], args: argparse.Namespace) -> _T:
    """The dataclass's value from the parsed arguments."""
    kinds = get_type_hints(kind)
    return kind(**{item.name: _value(kinds[item.name], item, args) for item in asked(kind)})


def _value(kind: Callable[..., object], item: Field[Any], args: argparse.Namespace) -> object:
    whole = is_dataclass(kind)
    if whole:
        return filled(kind, args)
    value = getattr(args, item.name)
    return tuple(value) or item.default if isinstance(value, list) else value
