# SPDX-License-Identifier: GPL-2.0-or-later
"""stress-ng's output with ``--yaml``: only its documented keys, at the level of a stressor.

No YAML library is needed: the file is flat. Newer versions nest an ``instances:`` list that repeats
the keys per instance; these must not be added up.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_RATE = "bogo-ops-per-second-real-time"


@dataclass(frozen=True)
class Stress:
    """One run: version and compiler ("" if unknown), and the bogo operations of each stressor per
    second of real time, which a user would lose."""

    version: str
    compiler: str
    throughput: Mapping[str, float]


def parse(text: str) -> Stress:
    """Read the YAML; unknown parts are skipped, so this never fails."""
    info = dict(re.findall(r"^ +(stress-ng-version|compiler): *'?([^'\n]*)'?", text, re.M))
    return Stress(
        version=info.get("stress-ng-version", "").strip(),
        compiler=info.get("compiler", "").strip(),
        throughput=dict(_stressors(text)),
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
