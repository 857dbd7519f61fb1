# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a run's file once, for all its uses."""

from dataclasses import replace
from pathlib import Path

from lowlat.base.typed_json import read_document
from lowlat.measure.tools import results
from lowlat.model.run import SCHEMA, Run


def read_run(path: Path) -> Run:
    """Read a file of ``lowlat-gen measure`` or ``lowlat-measure --json``. Raises Refused if it is
    missing, not JSON, of another schema, or lacks a key."""
    run = read_document(path, _run, SCHEMA, "'lowlat-gen measure'", "measure again")
    return replace(run, path=path)


def _run(value: dict[str, object]) -> Run:
    results.add(value)  # lowlat-measure alone stores only what the tools printed
    return Run.from_json(value)
