# SPDX-License-Identifier: GPL-2.0-or-later
"""Values become JSON and back; an error names the place in the document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Optional

import pytest

from lowlat.base.typed_json import FLAT, Mistyped, decode, decode_fields, encode
from lowlat.model.cpuset import CpuSet


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    kind: str = field(metadata={"json": "class"})
    size: float = 0.0


@dataclass(frozen=True)
class Inner:
    inner: str = "i"


@dataclass(frozen=True)
class Whole:
    name: str
    count: int
    on: bool
    cpus: CpuSet
    parts: tuple[Part, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[tuple[float, float], ...] = ()
    names: frozenset[str] = frozenset()
    colour: Colour = Colour.RED
    path: Optional[Path] = None
    data: bytes = b""
    flat: Inner = field(default=Inner(), metadata=FLAT)


WHOLE = Whole(
    *("it", 3, True, CpuSet.of([1, 2])),
    parts=(Part("a", 1.5), Part("b")),
    rates={"x": 2.0},
    rows=((0.0, 1.0), (1.0, 2.5)),
    names=frozenset({"b", "a"}),
    path=Path("/x"),
    data=b"\0\xff",
    flat=Inner("other"),
)
PLAIN = {"name": "it", "count": 3, "on": True, "cpus": "1-2"}


def test_what_is_written_is_read_back() -> None:
    document = json.loads(json.dumps(encode(WHOLE)))
    assert document["cpus"] == "1-2"
    assert document["parts"][0] == {"class": "a", "size": 1.5}
    assert document["names"] == ["a", "b"]
    assert document["inner"] == "other" and "flat" not in document
    assert decode(Whole, document) == WHOLE


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": "3"}, "machine.count: a whole number is expected"),
        ({"count": True}, "machine.count: a whole number is expected"),
        ({"name": None}, "machine.name: a text is expected"),
        ({"on": 1}, "machine.on: true or false is expected"),
        ({"cpus": "x"}, "machine.cpus: 'x' is not a CPU number or range"),
        ({"cpus": 3}, "machine.cpus: a CPU list is expected"),
        ({"parts": {}}, "machine.parts: a list is expected"),
        ({"parts": [{"class": "a"}, 3]}, "machine.parts[1]: an object is expected"),
        ({"parts": [{"class": "a"}, {}]}, "machine.parts[1].class: missing"),
        ({"parts": [{"class": "a", "size": -1}]}, "machine.parts[0].size: a number, zero or above"),
        ({"parts": [{"class": "a", "size": 1e99}]}, "machine.parts[0].size: a number"),
        ({"parts": [{"class": "a", "size": float("nan")}]}, "machine.parts[0].size: a number"),
        ({"rates": {"LOC": "1"}}, "machine.rates.LOC: a number"),
        ({"rows": [[1, 2], [1]]}, "machine.rows[1]: a list of 2 is expected"),
        ({"colour": "blue"}, "machine.colour: one of red is expected"),
        ({"colour": ["red"]}, "machine.colour: one of red is expected"),
        ({"data": "!"}, "machine.data: "),
        ({"path": 3}, "machine.path: a text is expected"),
        ({"inner": 3}, "machine.inner: a text is expected"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(change: dict[str, object], said: str) -> None:
    with pytest.raises(Mistyped) as caught:
        decode(Whole, {**PLAIN, **change}, "machine")
    assert str(caught.value).startswith(said)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(Mistyped, match=r"^name: missing$"):
        decode(Whole, {})


def test_own_state_may_know_more() -> None:
    assert decode(Whole, {**PLAIN, "more": 1}) == decode(Whole, PLAIN)


@pytest.mark.parametrize("change", [{"parts": None}, {"rates": {"x": None}}, {"count": None}])
def test_null_is_no_value(change: dict[str, object]) -> None:
    with pytest.raises(Mistyped):
        decode(Whole, {**PLAIN, **change})


def test_null_is_what_was_not_measured() -> None:
    document = {**PLAIN, "parts": None, "rates": {"x": None, "y": 1}, "path": None}
    found = decode_fields(Whole, document, measured=True)
    assert (found.parts, found.rates, found.path) == ((), {"y": 1}, None)
    with pytest.raises(Mistyped, match=r"^count: a whole number is expected$"):
        decode_fields(Whole, {**PLAIN, "count": None}, measured=True)
