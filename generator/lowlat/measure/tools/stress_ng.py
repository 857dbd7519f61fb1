# SPDX-License-Identifier: GPL-2.0-or-later
"""What stress-ng wrote with ``--yaml``: only its documented keys, at the level of a stressor.

No YAML library is needed: the file is flat, and newer versions nest an ``instances:`` list that
repeats the keys per instance and must not be added up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_DOCUMENTED = {
    "bogo-ops",
    "bogo-ops-per-second-usr-sys-time",
    "bogo-ops-per-second-real-time",
    "wall-clock-time",
    "user-time",
    "system-time",
    "cpu-usage-per-instance",
    "max-rss",
}


@dataclass(frozen=True)
class Stress:
    """One run: version and compiler ("" where unknown) and the metrics of each stressor.

    Times are seconds, cpu-usage-per-instance is a percentage, max-rss is KiB.
    """

    version: str
    compiler: str
    metrics: Mapping[str, Mapping[str, float]]

    def throughput(self) -> dict[str, float]:
        """Bogo operations per second of real time, by stressor: what a user would lose."""
        key = "bogo-ops-per-second-real-time"
        return {name: values[key] for name, values in self.metrics.items() if key in values}


def parse(text: str) -> Stress:
    """Read the YAML; whatever is not known is skipped, so this never fails."""
    info = dict(re.findall(r"^ +(stress-ng-version|compiler): *'?([^'\n]*)'?", text, re.M))
    return Stress(
        version=info.get("stress-ng-version", "").strip(),
        compiler=info.get("compiler", "").strip(),
        metrics={name: dict(values) for name, values in _stressors(text)},
    )


def _stressors(text: str) -> Iterator[tuple[str, dict[str, float]]]:
    section = re.search(r"^metrics:[^\n]*\n((?:[ \t-][^\n]*\n|\n)*)", text + "\n", re.M)
    for block in re.split(r"^ *- stressor: *", section[1] if section else "", flags=re.M)[1:]:
        name, _, body = block.partition("\n")
        yield name.strip().strip("'\""), _top_level(body)


def _top_level(body: str) -> dict[str, float]:
    values: dict[str, float] = {}
    indent = None
    for line in body.splitlines():
        found = re.match(r"( +)([a-z][a-z0-9-]*): *([-+.\deE]*) *$", line)
        if not found:
            continue
        # The first key sets the level of the stressor; anything deeper belongs to an instance.
        indent = len(found[1]) if indent is None else indent
        if len(found[1]) == indent and found[2] in _DOCUMENTED:
            values.setdefault(found[2], _number(found[3]))
    return values


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
