# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON of others, read with care: every missing or mistyped key is named, never guessed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Callable, Optional, TypeVar, get_type_hints

from lowlat.base import bounds, files
from lowlat.base.errors import Refused

#: What is measured lies between these, or is zero; with others ratios would overflow.
_SMALLEST, _GREATEST = 1e-30, 1e30

_T = TypeVar("_T")


class Fields:
    """A JSON object whose keys are asked for by type; ``where`` names it in complaints."""

    def __init__(self, data: Mapping[str, object], where: str) -> None:
        self._data = data
        self.where = where

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._data.get(key) is not None

    def value(self, key: str) -> object:
        if key not in self._data:
            raise Refused(f"{self.where}: '{key}' is missing", hint="measure again")
        return self._data[key]

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str):
            raise self._mistyped(key, "text")
        return value

    def flag(self, key: str) -> bool:
        value = self.value(key)
        if not isinstance(value, bool):
            raise self._mistyped(key, "true or false")
        return value

    def number(self, key: str) -> float:
        """A finite number, zero or above."""
        number = _as_number(self.value(key))
        if number is None:
            raise self._mistyped(key, "a number, zero or above")
        return number

    def maybe_number(self, key: str) -> Optional[float]:
        """Like number(), but null where the measuring side did not know it."""
        return None if self.value(key) is None else self.number(key)

    def status(self, key: str) -> Optional[int]:
        """An exit status; None where there is none."""
        value = self._data.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def numbers(self, key: str) -> dict[str, float]:
        """An object of numbers; nulls in it (unknown) are left out."""
        inner = self.child(key)
        return {name: inner.number(name) for name in inner.names() if inner.has(name)}

    def maybe_numbers(self, key: str) -> Optional[dict[str, float]]:
        """Like numbers(), but null where the measuring side knew none of them."""
        return None if self.value(key) is None else self.numbers(key)

    def row(self, key: str) -> tuple[float, ...]:
        """A list of finite numbers, zero or above."""
        items = self._list(key)
        if not all(map(_plain, items)):
            raise self._mistyped(key, "a list of numbers, zero or above")
        return tuple(items)  # type: ignore[arg-type]

    def texts(self, key: str) -> tuple[str, ...]:
        items = self._list(key)
        if not all(isinstance(item, str) for item in items):
            raise self._mistyped(key, "a list of texts")
        return tuple(str(item) for item in items)

    def child(self, key: str) -> Fields:
        return self._as_child(self.value(key), key)

    def part(self, key: str) -> Fields:
        """Like child(), but empty where the key is missing or null."""
        return self.child(key) if self.has(key) else Fields({}, self.where)

    def children(self, key: str) -> tuple[Fields, ...]:
        items = self._list(key)
        return tuple(self._as_child(item, f"{key}[{n}]") for n, item in enumerate(items))

    def maybe_children(self, key: str) -> tuple[Fields, ...]:
        """Like children(), but none where the key is missing or null."""
        return self.children(key) if self.has(key) else ()

    def rows(self, key: str, width: int) -> tuple[tuple[float, ...], ...]:
        """A list of lists of so many finite numbers each, zero or above."""
        items = self._list(key)
        # Histograms have many thousand of these.
        for item in items:
            if not isinstance(item, list) or len(item) != width or not all(map(_plain, item)):
                raise self._mistyped(key, f"a list of {width} numbers each")
        return tuple(map(tuple, items))  # type: ignore[arg-type]

    def build(self, kind: Callable[..., _T], /, **known: object) -> _T:
        """A dataclass of the keys that are named like its fields, each read by the field's type;
        ``known`` are the other fields."""
        wanted = _kinds(kind).items()
        read = {name: _READERS[of](self, name) for name, of in wanted if name not in known}
        return kind(**read, **known)

    def all(self) -> Mapping[str, object]:
        """The whole object as it was read."""
        return self._data

    def names(self) -> tuple[str, ...]:
        return tuple(self._data)

    def _list(self, key: str) -> list[object]:
        value = self.value(key)
        if not isinstance(value, list):
            raise self._mistyped(key, "a list")
        return value

    def _as_child(self, value: object, key: str) -> Fields:
        if not isinstance(value, dict):
            raise self._mistyped(key, "an object")
        return Fields(value, f"{self.where}: {key}")

    def _mistyped(self, key: str, wanted: str) -> Refused:
        return Refused(f"{self.where}: '{key}' is not {wanted}", hint="measure again")


#: How a field of a dataclass is read.
_READERS: Mapping[object, Callable[[Fields, str], object]] = {
    str: Fields.text,
    bool: Fields.flag,
    float: Fields.number,
    Optional[float]: Fields.maybe_number,
    Mapping[str, float]: Fields.numbers,
    Optional[Mapping[str, float]]: Fields.maybe_numbers,
    tuple[str, ...]: Fields.texts,
    tuple[float, ...]: Fields.row,
}

_kinds = cache(get_type_hints)


def read_document(path: Path, schema: str, writer: str) -> Fields:
    """The JSON object in a file, checked to carry ``schema``; ``writer`` is who makes such files.

    Raises Refused where the file cannot be read, is not JSON or is of another kind.
    """
    try:
        data = bounds.read_json(files.read(path, bounds.DOCUMENT), _no_constant)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", hint=f"give a file of {writer}") from error
    except ValueError as error:
        raise Refused(f"{path}: not JSON: {error}", hint=f"give a file of {writer}") from error
    if not isinstance(data, dict) or data.get("schema") != schema:
        raise Refused(f"{path}: not a {schema} document", hint=f"give a file of {writer}")
    return Fields(data, str(path))


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _plain(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max  # type: ignore[operator]


def _as_number(value: object) -> Optional[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number == 0 or _SMALLEST <= number <= _GREATEST else None
