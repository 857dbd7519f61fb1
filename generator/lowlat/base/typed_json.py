# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON as typed values and back; the declared types define the form."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar, Union, get_args, get_origin, get_type_hints

from lowlat.base import bounds, files, reader
from lowlat.base.errors import Refused

_T = TypeVar("_T")

_Decoder = Callable[[Any], Any]

#: The metadata of a field that is a dataclass and has no key of its own.
FLAT: Mapping[str, None] = {"json": None}

#: A measured value is zero or lies between these limits; otherwise ratios would overflow.
_SMALLEST, GREATEST = 1e-30, 1e30

_PLAIN = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


class Mistyped(Refused, ValueError):
    """A value of the wrong type: ``what`` is wrong with it, ``where`` its place
    ("cpus[3].core")."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where


def decode(kind: type[_T], value: object, where: str = "") -> _T:
    """JSON's ``value`` as ``kind``: a dataclass (from an object of its fields), a tuple, frozenset
    or Mapping, an Enum, a Path, bytes (base64), an Optional, a type with from_json(), or a plain
    type. A float is zero or above. A field's key is its name, or "json" in its metadata; a field
    with a default may be missing. A field with FLAT metadata has no key: its own fields lie in the
    same object.

    Unknown keys are ignored, since another version of lowlat may have written them. Raises
    Mistyped, which names the place below ``where``.
    """
    wanted: Any = kind
    decoded: _T = _decoded(_decoder(wanted, False), value, where)
    return decoded


def decode_fields(kind: type[_T], value: object, where: str = "", *, measured: bool = False) -> _T:
    """A dataclass from an object of its fields, even if it has its own from_json(). With
    ``measured``, null means unknown: the field's default, or no entry of a mapping."""
    decoded: _T = _decoded(partial(_object, kind, measured), value, where)
    return decoded


def _decoded(decoder: _Decoder, value: object, where: str) -> Any:
    try:
        return decoder(value)
    except ValueError as error:
        wrong = _below(error, where)
        raise Mistyped(wrong.what, wrong.where.lstrip(".")) from error


@cache
def _decoder(kind: Any, measured: bool) -> _Decoder:
    """The decoder for a kind; cached, for histograms hold thousands of values."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return lambda value: value
    if origin is Union:
        known = _decoder(inner[0], measured)
        return lambda value: None if value is None else known(value)
    if origin is tuple and inner[1:] != (...,):
        return partial(_row, [_decoder(item, measured) for item in inner])
    if origin in (tuple, frozenset):
        return partial(_items, origin, _decoder(inner[0], measured))
    if origin in (Mapping, dict):
        null = not measured or _knows_null(inner[1])
        return partial(_mapping, _decoder(inner[1], measured), null)
    if hasattr(kind, "from_json"):
        return lambda value: kind.from_json(value)
    if is_dataclass(kind):
        return partial(_object, kind, measured)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_enum, kind)
    if kind is Path:
        return lambda value: Path(_plain(str, value))
    if kind is bytes:
        return lambda value: base64.b64decode(_plain(str, value), validate=True)
    return _number if kind is float else partial(_plain, kind)


def _below(error: ValueError, where: str) -> Mistyped:
    """The error with ``where`` put before its place."""
    if not isinstance(error, Mistyped):
        return Mistyped(getattr(error, "message", str(error)), where)
    return Mistyped(error.what, where + error.where)


def _plain(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise Mistyped(f"{_PLAIN[kind]} is expected")
    return value


def _number(value: Any) -> float:
    if type(value) in (int, float) and (value == 0 or _SMALLEST <= value <= GREATEST):
        return float(value)
    raise Mistyped("a number, zero or above, is expected")


class Positive(float):
    """A measured value above zero, by which others are divided."""

    @classmethod
    def from_json(cls, value: object) -> "Positive":
        if not _number(value):
            raise Mistyped("a number above zero is expected")
        return cls(_number(value))


def _enum(kind: type[Enum], value: Any) -> Enum:
    for item in kind:
        if item.value == value:
            return item
    raise Mistyped(f"one of {', '.join(str(item.value) for item in kind)} is expected")


def _items(kind: Callable[[Iterable[Any]], Any], inner: _Decoder, value: Any) -> Any:
    read: list[Any] = []
    listed = value if isinstance(value, (tuple, frozenset)) else _plain(list, value)
    try:
        for item in listed:
            read.append(inner(item))
    except ValueError as error:
        raise _below(error, f"[{len(read)}]") from None
    return kind(read)


def _row(inner: list[_Decoder], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)) or len(value) != len(inner):
        raise Mistyped(f"a list of {len(inner)} is expected")
    return tuple([read(item) for read, item in zip(inner, value)])


def _mapping(inner: _Decoder, null: bool, value: Any) -> Mapping[str, Any]:
    read: dict[str, Any] = {}
    name = ""
    try:
        for name, item in _plain(dict, value).items():
            if item is not None or null:
                read[name] = inner(item)
    except ValueError as error:
        raise _below(error, f".{name}" if name else "") from None
    return read


def _object(kind: Any, measured: bool, value: Any) -> Any:
    _plain(dict, value)
    read: dict[str, Any] = {}
    for key, name, inner, default, null in _fields(kind, measured):
        if key is None:
            read[name] = inner(value)
            continue
        if default and (key not in value or (value[key] is None and not null)):
            continue
        if key not in value:
            raise Mistyped("missing", f".{key}")
        try:
            read[name] = inner(value[key])
        except ValueError as error:
            raise _below(error, f".{key}") from None
    return kind(**read)


@cache
def _fields(
    kind: Any, measured: bool
) -> tuple[tuple[Optional[str], str, _Decoder, bool, bool], ...]:
    """For each field: its key, its name, its decoder, whether it has a default, and whether null is
    a valid value."""
    kinds = get_type_hints(kind)
    return tuple(
        (
            _key(field),
            field.name,
            _decoder(kinds[field.name], measured),
            field.default is not MISSING or field.default_factory is not MISSING,
            not measured or _knows_null(kinds[field.name]),
        )
        for field in fields(kind)
    )


def _knows_null(kind: Any) -> bool:
    return get_origin(kind) is Union or kind in (Any, object)


def _key(field: Field[Any]) -> Optional[str]:
    key: Optional[str] = field.metadata.get("json", field.name)
    return key


def encode(value: Any) -> Any:
    """A value as JSON types; decode() reverses it."""
    if value is None or type(value) in (str, int, bool):
        return value  # most values, so the questions below are not asked of them
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return encode_fields(value)
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(map(encode, value))
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return float(value)  # not a kind of its own, such as Positive
    return str(value) if isinstance(value, Path) else value


def encode_fields(value: Any) -> dict[str, object]:
    """A dataclass as an object of its fields, even if it has its own to_json()."""
    document: dict[str, object] = {}
    for field in fields(value):
        key, item = _key(field), encode(getattr(value, field.name))
        document.update(item if key is None else {key: item})
    return document


def read_document(
    path: Path,
    build: Callable[[dict[str, Any]], _T],
    schema: str,
    writer: str,
    redo: str,
    *,
    inside: Optional[Path] = None,
) -> _T:
    """What ``build`` makes of the object in a file with this ``schema``; the hints name its
    ``writer`` and how to ``redo`` it if it is damaged.

    Raises Refused if the file cannot be read, does not lie ``inside`` the folder that was given, is
    not JSON, has another schema or is damaged.
    """
    hint = f"give a file of {writer}"
    with files.reporting_errors(str(path), hint):
        text = reader.read(path, bounds.DOCUMENT, inside=inside)
    try:
        data = parse(text)
    except ValueError as error:
        raise Refused(f"{path}: not JSON: {error}", hint=hint) from error
    if not isinstance(data, dict) or data.get("schema") != schema:
        raise Refused(f"{path}: not a {schema} document", hint=hint)
    return built(path, build, data, redo)


def built(path: Path, build: Callable[[dict[str, Any]], _T], data: dict[str, Any], redo: str) -> _T:
    """What ``build`` makes of the object in a file. Raises Refused, with how to ``redo`` the file,
    if it is damaged."""
    try:
        return build(data)
    except Mistyped as error:
        raise Refused(f"{path}: {error.message}", hint=redo) from error


def parse(data: bytes) -> Any:
    """The JSON in a file that others wrote. Raises ValueError if it is invalid."""
    return bounds.read_json(data, _no_constant)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def write_value(path: Path, value: object) -> None:
    """Write a value as JSON, never through a link; read_value() reads it. Raises OSError."""
    files.replace(str(path), (json.dumps(encode(value), indent=2) + "\n").encode())


def read_value(path: Path, kind: type[_T]) -> _T:
    """The value in a plain file. Raises OSError, or ValueError if it is of another kind."""
    return decode(kind, bounds.read_json(reader.read(path, bounds.GUEST_FILE, follow=False)))
