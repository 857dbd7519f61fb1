# SPDX-License-Identifier: GPL-2.0-or-later
"""Valid input, damaged at random; the same number gives the same damage.

LOWLAT_FUZZ=1 tries as many inputs as `make proofs NAME=fuzz` promises; otherwise the tests try a
sample."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support import work
from support.cli import lowlat

_FULL = "LOWLAT_FUZZ" in os.environ

_TOKENS = (
    *(
        b"",
        b"\0",
        b"\n",
        b"\n\n",
        b"\\",
        b"\\x",
        b"\\xff",
        b"\x1b[2J",
        b"\xff\xfe",
        b"|",
        b" ",
        b"/",
    ),
    *(
        b"-1",
        b"0",
        b"65536",
        b"99999",
        b"4294967296",
        b"9" * 400,
        b"1e999",
        b"0-8191",
        b"N",
        b"all",
    ),
    *(b"null", b"true", b"[]", b"{}", b'""', b"NaN", b"../..", "é\u202e".encode(), b"a" * 5000),
    *(b"e /sys", b"d /sys/devices/system/cpu cpu65536", b"f /proc/stat", b"l / /", b"m / 7777"),
)

_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1.5, 1e300, 2**70, "", "x", "\0", "\x1b[2J", "../..", "0-8191"),
    *("9" * 400, [], {}, [[]], [None], {"": None}, [1, "a"], "é\u202e", "a" * 5000),
)


def count(full: int, sample: int) -> int:
    return full if _FULL else sample


def damaged(data: bytes, number: int) -> bytes:
    """The text with a few places cut, doubled, exchanged or overwritten."""
    rng = random.Random(number)  # noqa: S311
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((0, 1, 1, 4, 30, 300)))
        piece = rng.choice(
            (rng.choice(_TOKENS), data[at:end] * 2, _elsewhere(rng, data), rng.randbytes(3))
        )
        data = data[:at] + piece + data[end:]
    return data if rng.random() < 0.95 else data[: rng.randrange(len(data) + 1)]


def _elsewhere(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[at : at + rng.choice((1, 10, 100))]


def changed(document: Any, number: int) -> bytes:
    """JSON with a few values replaced, missing or doubled; sometimes the text is damaged too."""
    rng = random.Random(number)  # noqa: S311
    other = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(rng, other)
    text = json.dumps(other).encode()
    return damaged(text, number) if rng.random() < 0.2 else text


def _change(rng: random.Random, at: Any) -> None:
    while isinstance(at, (dict, list)) and at:
        key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        if isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.8:
            at = at[key]
            continue
        if rng.random() < 0.2:
            del at[key]
        elif isinstance(at, list) and rng.random() < 0.3:
            at.append(copy.deepcopy(at[key]))
        else:
            at[key] = copy.deepcopy(rng.choice(_VALUES))
        return


def check(words: Sequence[object], path: Path, data: bytes, number: int) -> int:
    """Write the data and call the verb; asserts a status, at most a line of error, and a limit of
    work."""
    path.write_bytes(data)
    try:
        with work.bounded(f"mutation {number}, {words}"):
            answer = lowlat(*words)
    except Exception as error:
        raise AssertionError(f"mutation {number}, {words}: {error!r}") from error
    assert answer.status in (0, 1, 2), (number, words, answer)
    assert answer.err.count("\n") == bool(answer.err), (number, words, answer.err)
    assert answer.status < 2 or answer.out == "", (number, words, answer)
    return answer.status
