# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine as a picture: text and SVG."""
