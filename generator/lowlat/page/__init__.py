# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as a page with drawings, as a screen of a terminal, and as a table for programs."""
