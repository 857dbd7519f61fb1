# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat: choose CPUs, write the settings that keep them quiet, verify and measure the effect."""

__version__ = "1.0.0"
