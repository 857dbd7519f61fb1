# SPDX-License-Identifier: GPL-2.0-or-later
"""Rooms-wide helpers that know nothing of lowlat: errors, files, programs, the terminal, JSON."""
