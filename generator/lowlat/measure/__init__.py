# SPDX-License-Identifier: GPL-2.0-or-later
"""Running lowlat-measure, and reading what it and other tools wrote."""
