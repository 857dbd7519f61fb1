# SPDX-License-Identifier: GPL-2.0-or-later
"""Values read back from JSON, each of the type that it was written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints


def typed(kind: Any, value: Any) -> Any:
    """``value`` as ``kind``: a dataclass of JSON's object, a tuple of any length of its array, what
    is Optional, or one of JSON's own types.

    Raises TypeError where it is something else, also where a field is missing or unknown.
    """
    if is_dataclass(kind):
        return _object(kind, value)
    inner = get_args(kind)
    if get_origin(kind) is Union:
        return None if value is None else typed(inner[0], value)
    if get_origin(kind) is tuple and isinstance(value, (list, tuple)):
        return tuple(typed(inner[0], item) for item in value)
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind}")
    return value


def _object(kind: Any, value: Any) -> Any:
    names = [field.name for field in fields(kind)]
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    kinds = get_type_hints(kind)
    return kind(**{name: typed(kinds[name], value[name]) for name in names})
