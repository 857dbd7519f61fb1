# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole loop across reboots: measure, apply, try, measure again, and decide."""
