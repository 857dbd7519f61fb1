# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison for people: one HTML page, one terminal screen."""
