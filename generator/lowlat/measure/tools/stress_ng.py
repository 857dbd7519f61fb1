# SPDX-License-Identifier: GPL-2.0-or-later
"""stress-ng: the bogo operations of each stressor per second of real time, which a user would lose;
from its YAML (only its documented keys, at the level of a stressor) or the table of ``--metrics``
and ``--metrics-brief``.

No YAML library is needed: the file is flat. Newer versions nest an ``instances:`` list that repeats
the keys per instance; these must not be added up.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Optional

from lowlat.model.tool import ToolFile, ToolResult

_RATE = "bogo-ops-per-second-real-time"

#: What stands before each line, unless --log-brief leaves it out.
_PREFIX = r"(?:stress-ng: (?:[\d:.]+ )?\w+: +\[\d+\] )?"

_NUMBER = r"[-+.\deE]+"

#: The table's head; and a row: operations, seconds of real, user and system time, the two rates.
_HEAD = re.compile(rf"^{_PREFIX}stressor +bogo ops +real time ", re.M)
_ROW = re.compile(
    rf"^{_PREFIX}([a-z][\w-]*) +\d+ +({_NUMBER})(?: +{_NUMBER}){{2}} +({_NUMBER}) +{_NUMBER}"
    r"(?: |$)",
    re.M,
)


def read(text: str) -> Optional[ToolFile]:
    """Read either form; None without a stressor."""
    return _yaml(text) or _table(text)


def _yaml(text: str) -> Optional[ToolFile]:
    rates = dict(_stressors(text))
    keys = r"^ +(stress-ng-version|compiler|hostname|release|epoch-secs|command-line): *(.*)$"
    info = {key: value.strip().strip("'\"") for key, value in re.findall(keys, text, re.M)}
    version = info.get("stress-ng-version", "")
    if not rates:
        return None
    words = " ".join(filter(None, (version, info.get("compiler", ""))))
    return ToolFile(
        "stress-ng",
        "YAML",
        ToolResult(words, rates),
        options=" ".join(f"--{name}" for name in rates),
        started=_iso(info.get("epoch-secs", "")),
        kernel=info.get("release", ""),
        host=info.get("hostname", ""),
        seconds=max(map(_number, re.findall(r"^ +wall-clock-time: *(\S+)", text, re.M)), default=0),
    )


def _table(text: str) -> Optional[ToolFile]:
    head = _HEAD.search(text)
    rows = _ROW.findall(text, head.end()) if head else []
    version = re.search(r"stress-ng: \w+: +\[\d+\] stress-ng ([\d.]+) ", text)
    if not rows:
        return None
    hogs = re.search(rf"^{_PREFIX}dispatching hogs: (.+)$", text, re.M)
    return ToolFile(
        "stress-ng",
        "table",
        ToolResult(version[1] if version else "", {name: _number(rate) for name, _, rate in rows}),
        options=hogs[1] if hogs else " ".join(f"--{name}" for name, *_ in rows),
        seconds=max(_number(time) for _, time, _ in rows),
    )


def _stressors(text: str) -> Iterator[tuple[str, float]]:
    section = re.search(r"^metrics:[^\n]*\n((?:[ \t-][^\n]*\n|\n)*)", text + "\n", re.M)
    for block in re.split(r"^ *- stressor: *", section[1] if section else "", flags=re.M)[1:]:
        name, _, body = block.partition("\n")
        # The first key sets the level of the stressor; anything deeper belongs to an instance.
        level = re.search(r"^( +)[a-z][a-z0-9-]*: *[-+.\deE]* *$", body, re.M)
        rate = level and re.search(rf"^{level[1]}{_RATE}: *([-+.\deE]*) *$", body, re.M)
        if rate:
            yield name.strip().strip("'\""), _number(rate[1])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _iso(epoch: str) -> str:
    if not re.fullmatch(r"\d{1,11}", epoch):
        return ""
    return f"{datetime.fromtimestamp(int(epoch), timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
