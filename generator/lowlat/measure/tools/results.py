# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of other tools, beside their output: ``parsed`` in each tool's part of a run, a
ToolResult."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Optional

from lowlat.base.typed_json import encode
from lowlat.measure.tools import files, rt_tests
from lowlat.model.tool import ToolResult

#: The kind of work that stress-ng's matrix is in a run, and its name among the stressors. It guards
#: against a tuning that costs throughput. The loads' own counts cannot: they depend on how much
#: else ran.
_ALONE, ALONE = "throughput", "matrix alone"

_Part = dict[str, object]


def add(document: Mapping[str, object]) -> None:
    """Add the results to a run (schema lowlat.run/1), in place of those that it has."""
    for tool, part in _parts(document):
        if ("mean" if tool == _ALONE else "output") in part:
            part["parsed"] = encode(_alone(part) if tool == _ALONE else _result(part))


def _parts(document: Mapping[str, object]) -> Iterator[tuple[object, _Part]]:
    oslat_part = document.get("oslat")
    if isinstance(oslat_part, dict):
        yield "oslat", oslat_part
    for key, name in (("loads", "tool"), ("second_opinions", "tool"), ("work", "kind")):
        parts = document.get(key)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and (key != "work" or part.get(name) == _ALONE):
                yield part.get(name), part


def _result(part: Mapping[str, object]) -> Optional[ToolResult]:
    """The result of one tool; None if its output has none."""
    written, output = (str(part.get(key) or "") for key in ("json", "output"))
    found = files.parsed(written, output)
    if found is None:
        return None
    version = found.result.version or str(part.get("version") or "")
    times = found.result.times
    if found.threads:
        times = rt_tests.on_cpus(times, str(part.get("cpus") or "")) or times
    return replace(found.result, version=version, times=times)


def _alone(part: Mapping[str, object]) -> Optional[ToolResult]:
    mean, first = part.get("mean"), _first(_first(part.get("runs")).get("parts"))
    if not isinstance(mean, (int, float)) or not mean or not part.get("samples"):
        return None
    ran = _result({"output": first.get("output"), "version": part.get("version")})
    version = ran.version if ran else str(part.get("version") or "")
    return ToolResult(version, {ALONE: float(mean)})


def _first(entries: object) -> _Part:
    first = entries[0] if isinstance(entries, list) and entries else None
    return first if isinstance(first, dict) else {}
