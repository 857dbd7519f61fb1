# SPDX-License-Identifier: GPL-2.0-or-later
"""The claim: runs before against runs after, as text, Markdown and ``lowlat.report/1``."""

from lowlat.figures.tables_for_notebooks import load

__all__ = ["load"]
