# SPDX-License-Identifier: GPL-2.0-or-later
"""Arithmetic of claims; it knows numbers, not runs."""
