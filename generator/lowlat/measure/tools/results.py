# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of other tools, beside their output: ``"parsed": {"version", "figures"}`` in each
tool's part of a run. The output is parsed once, when the run is written."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Callable, Optional

from lowlat.measure.tools import cyclictest, oslat, rtla, stress_ng
from lowlat.model.run import ToolResult

#: The kind of work that stress-ng's matrix is in a run, and its name among the stressors. It guards
#: against a tuning that costs throughput. The loads' own counts cannot: they depend on how much
#: else ran.
_ALONE, ALONE = "throughput", "matrix alone"

_Part = dict[str, object]

#: By the name of a cross-check: what reads its output and its JSON.
PARSERS: Mapping[str, Callable[[str, str], Optional[ToolResult]]] = {
    "oslat": oslat.parse,
    "cyclictest": cyclictest.parse,
    "osnoise": rtla.parse,
    "timerlat": rtla.parse,
}


def add(document: Mapping[str, object]) -> None:
    """Add the results to a run (schema lowlat.run/1) that lacks them."""
    for tool, part in _parts(document):
        if "parsed" not in part:
            try:
                part["parsed"] = parsed(tool, part)
            except (ValueError, TypeError, KeyError, RecursionError):
                part["parsed"] = None  # a malformed output of a tool does not invalidate the run


def _parts(document: Mapping[str, object]) -> Iterator[tuple[object, _Part]]:
    oslat_part = document.get("oslat")
    if isinstance(oslat_part, dict):
        yield "oslat", oslat_part
    for key, name in (("loads", "tool"), ("second_opinions", "tool"), ("work", "kind")):
        parts = document.get(key)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and (key != "work" or part.get(name) == _ALONE):
                yield part.get(name), part


def parsed(tool: object, part: Mapping[str, object]) -> Optional[_Part]:
    """The result of one tool; None if its output has none. oslat, cyclictest and rtla: the longest
    times in us, by CPU or thread; if a tool rounds them down, their upper limit. cyclictest has
    percentiles too ("p99.9"). stress-ng: bogo operations per second of real time."""
    text, written = (str(part.get(key) or "") for key in ("output", "json"))
    if tool == "stress-ng":
        ran = stress_ng.parse(text)
        return _result(_version(ran, part), ran.throughput.items())
    if tool == _ALONE:
        return _alone(part)
    result = PARSERS[str(tool)](text, written)
    return _result(result.version, result.figures.items()) if result else None


def _alone(part: Mapping[str, object]) -> Optional[_Part]:
    mean, first = part.get("mean"), _first(_first(part.get("runs")).get("parts"))
    if not isinstance(mean, (int, float)) or not mean or not part.get("samples"):
        return None
    ran = stress_ng.parse(str(first.get("output", "")))
    return _result(_version(ran, part), [(ALONE, float(mean))])


def _first(entries: object) -> _Part:
    first = entries[0] if isinstance(entries, list) and entries else None
    return first if isinstance(first, dict) else {}


def _version(ran: stress_ng.Stress, part: Mapping[str, object]) -> str:
    return " ".join(filter(None, (ran.version or str(part.get("version") or ""), ran.compiler)))


def _result(version: str, figures: Iterable[tuple[object, float]]) -> _Part:
    known = {str(name): value for name, value in figures if value >= 0 and math.isfinite(value)}
    return {"version": version, "figures": known}
