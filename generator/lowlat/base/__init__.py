# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers that know nothing of lowlat's subject: errors, files, programs, the terminal, JSON."""
