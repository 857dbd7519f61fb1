# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue and the profiles in words: entries and reference pages."""
