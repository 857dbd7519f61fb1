# SPDX-License-Identifier: GPL-2.0-or-later
"""Parsers of other tools' output."""
