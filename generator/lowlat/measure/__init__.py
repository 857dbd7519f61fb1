# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs lowlat-measure, and reads its output and that of other tools."""
