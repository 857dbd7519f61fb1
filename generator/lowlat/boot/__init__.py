# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot entries: written beside the stock ones, tried once, promoted, and taken back."""
