# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other tools, recognised by their content: which tool wrote one, and in which form."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Callable, Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import Mistyped, decode, encode
from lowlat.measure.tools import cyclictest, oslat, rt_tests, rtla, stress_ng
from lowlat.model.run import SCHEMA
from lowlat.model.tool import ToolFile


class Unknown(Refused):
    """A file of no known tool."""


#: What is read, for a hint.
READ = (
    "oslat, cyclictest, rtla (timerlat, osnoise, hwnoise; top, hist), stress-ng (--metrics, --yaml)"
)

_TEXTS: Mapping[str, Callable[[str], Optional[ToolFile]]] = {
    "oslat": oslat.read,
    "cyclictest": cyclictest.read,
    "rtla": rtla.read,
    "stress-ng": stress_ng.read,
}

_JSON: Mapping[str, Callable[[Mapping[str, Any]], ToolFile]] = {
    "oslat": oslat.read_json,
    "cyclictest": cyclictest.read_json,
}

#: Forms that are recognised and not read, by what they hold; the first that fits tells.
_UNREAD = {
    r"^Thread \d+ Interval: \d+$|^ *\d+: *\d+: *\d+$": (
        "cyclictest's list of single wake-ups (--verbose)",
        "run cyclictest with --quiet, or with --histogram=US",
    ),
    r"^policy: .*: loadavg: |^# /dev/cpu_dma_latency": (
        "cyclictest's output without a result",
        "let cyclictest run to its end",
    ),
    r"^oslat V |^Pre-heat for ": (
        "oslat's output without a result",
        "let oslat run to its end; --trace-threshold ends it without one",
    ),
    r"^# tracer: |^## CPU \d+ hit stop tracing": (
        "a kernel trace or rtla's analysis of one (--trace, --aa-only)",
        "give the table of rtla timerlat or osnoise",
    ),
    r"^# RTLA (?:osnoise|timerlat) histogram": (
        "rtla's histogram without its index or its summary",
        "leave out --no-index and --no-summary",
    ),
    r"^rtla |^osnoise/|^Could not |tracer.* not ": (
        "messages of rtla without a result",
        "see whether the kernel has the tracer: rtla needs CONFIG_OSNOISE_TRACER",
    ),
    r"^stress-ng: (?:[\d:.]+ )?\w+: ": (
        "stress-ng's messages without its metrics",
        "run stress-ng with --metrics or --yaml FILE",
    ),
    r"^---\nbuild-info:|^ +stress-ng-version:": (
        "stress-ng's YAML without metrics",
        "run stress-ng with --metrics",
    ),
}


def read(text: str, document: object = None) -> ToolFile:
    """Read a file of another tool; ``document`` is its JSON, if it is JSON. Raises Refused if it
    has a form that is not read, if none that is known, or if a figure is impossible."""
    found = _read_text(text) if document is None else _read_json(document)
    try:
        return decode(ToolFile, encode(found))
    except Mistyped as error:
        why = f"{found.tool}'s {found.form} is damaged: {error.message}"
        raise Refused(why, hint=f"run {found.tool} again") from error


def _read_text(text: str) -> ToolFile:
    for tool, parser in _TEXTS.items():
        with _whole(f"{tool}'s output", tool):
            found = parser(text)
        if found:
            return found
    for pattern, (form, hint) in _UNREAD.items():
        if re.search(pattern, text, re.M):
            raise Refused(f"{form}, which is not read", hint=hint)
    raise _unknown()


def _read_json(document: object) -> ToolFile:
    program = rt_tests.program(document) if isinstance(document, dict) else ""
    if not isinstance(document, dict) or not program:
        raise _unknown()
    if program not in _JSON:
        raise Refused(f"the JSON of {program} (rt-tests), which is not read", hint=f"give {READ}")
    with _whole(f"{program}'s JSON", program):
        return _JSON[program](document)


@contextmanager
def _whole(what: str, tool: str) -> Iterator[None]:
    """Raises Refused if the block does not find what it expects: the file is cut or garbled."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        why = f"{what} is damaged: {type(error).__name__} {error}"
        raise Refused(why, hint=f"run {tool} again") from error


def _unknown() -> Unknown:
    why = f"not a {SCHEMA} document, nor a file of a known tool"
    return Unknown(why, hint=f"give a file of 'lowlat-gen measure', or of {READ}")


def parsed(written: str, output: str) -> Optional[ToolFile]:
    """The result of a tool that was started here, from the JSON that it wrote, else from its
    output; None if neither has one."""
    with suppress(Refused, ValueError, RecursionError):
        return read(written, json.loads(written))
    with suppress(Refused):
        return read(output)
    return None
