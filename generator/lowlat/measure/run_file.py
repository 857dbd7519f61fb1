# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a run's file once, for all its uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lowlat.base.typed_json import read_document
from lowlat.measure.tools import results
from lowlat.model.run import SCHEMA, Run


@dataclass(frozen=True)
class _Document:
    """A run, with figures added from the output of tools: lowlat-measure alone stores only that."""

    run: Run

    @classmethod
    def from_json(cls, value: dict[str, object]) -> _Document:
        results.add(value)
        return cls(Run.from_json(value))


def read_run(path: Path) -> Run:
    """Read a file of ``lowlat-gen measure`` or ``lowlat-measure --json``. Raises Refused if it is
    missing, not JSON, of another schema, or lacks a key."""
    found = read_document(path, _Document, SCHEMA, "'lowlat-gen measure'", "measure again")
    return replace(found.run, path=path)
