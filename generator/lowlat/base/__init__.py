# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything without a subject of lowlat's: errors, files, programs, the terminal, JSON fields."""
