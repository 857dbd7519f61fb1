# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verb that changes the host answers, in words or as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from lowlat.boot.loaders.interface import BootEntry
from lowlat.verbs import options


@dataclass(frozen=True)
class ChangeArguments(options.HostArguments):
    json: bool = options.as_json()


def line(entry: Optional[BootEntry]) -> str:
    return " ".join(entry.words) if entry else ""


def show(
    as_json: bool, changed: bool, said: Iterable[str], before: str = "", after: str = ""
) -> None:
    """Print what was said, or the contract lowlat.change/1:

    {"schema", "changed": bool, "before": str, "after": str, "said": [str]}

    ``changed`` tells whether there was anything to do, or with --dry-run is; ``before`` and
    ``after`` are the boot line, or the run-time values, that the verb is about.
    """

    def document() -> dict[str, Any]:
        told = {"changed": changed, "before": before, "after": after, "said": list(said)}
        return {"schema": "lowlat.change/1", **told}

    options.show(as_json, document, said)
