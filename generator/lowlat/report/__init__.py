# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs as tables for notebooks (packaging/doc/statistics.md)."""

from lowlat.figures.tables_for_notebooks import load

__all__ = ["load"]
