# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's file, read once for all that is told of it."""

from __future__ import annotations

from pathlib import Path

from lowlat.base.json_fields import read_document
from lowlat.measure.tools import results
from lowlat.model import run
from lowlat.model.run import Run


def read_run(path: Path) -> Run:
    """Read a file that ``lowlat-gen measure`` or ``lowlat-measure --json`` wrote.

    Raises Refused where it is missing, not JSON, of another schema, or lacks a key.
    """
    fields = read_document(path, run.SCHEMA, "'lowlat-gen measure'")
    # lowlat-measure by itself writes down only what the tools printed.
    results.add(fields.all())
    return run.from_json(path, fields)
