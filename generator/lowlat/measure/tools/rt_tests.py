# SPDX-License-Identifier: GPL-2.0-or-later
"""What the JSON files of rt-tests have in common.

Source: src/lib/rt-utils.c, rt_write_json() of rt-tests 2.4 to 2.10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import PurePath
from typing import Any, Optional

from lowlat.measure.tools.command import settings
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.tool import ToolFile, ToolResult, ToolTimes

#: Versions have two digits after the point: 2.4 is printed as 2.40 (2.10, released later, is not).
_DATE = "%a, %d %b %Y %H:%M:%S %z"


def command(document: Mapping[str, Any]) -> str:
    """The command line, whose key has a stray colon; "" if the document is not one of rt-tests."""
    return str(document.get("cmdline:") or "") if "rt_test_version:" in document else ""


def program(document: Mapping[str, Any]) -> str:
    """The program that wrote the document, "" if it is not one of rt-tests."""
    return PurePath((command(document) or " ").split(" ")[0]).name


def described(document: Mapping[str, Any], result: ToolResult, seconds: float = 0) -> ToolFile:
    """The file without its intervals; without ``seconds`` its time is that from start to end."""
    system = document.get("sysinfo")
    known = system if isinstance(system, dict) else {}
    return ToolFile(
        tool=program(document),
        form="JSON",
        result=result,
        command=command(document),
        options=settings(program(document), command(document)),
        started=_iso(str(document.get("start_time"))),
        kernel=str(known.get("release") or ""),
        host=str(known.get("nodename") or ""),
        seconds=seconds or _span(document),
    )


def on_cpus(times: Sequence[ToolTimes], cpus: str) -> Optional[tuple[ToolTimes, ...]]:
    """The times of threads as those of CPUs: thread N runs on the Nth of the list. None if there
    are fewer CPUs than threads."""
    try:
        listed = [*CpuSet.parse_list(cpus)]
    except CpuSetError:
        return None
    if len(listed) <= max((one.cpu for one in times), default=0):
        return None
    return tuple(replace(one, cpu=listed[one.cpu]) for one in times)


def _span(document: Mapping[str, Any]) -> float:
    try:
        begin, end = (
            datetime.strptime(str(document.get(key)), _DATE) for key in ("start_time", "end_time")
        )
    except ValueError:
        return 0.0
    return max((end - begin).total_seconds(), 0.0)


def _iso(text: str) -> str:
    try:
        moment = datetime.strptime(text, _DATE).astimezone(timezone.utc)
    except ValueError:
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
