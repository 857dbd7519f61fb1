# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole loop over a reboot: measure, apply, try, measure again, and decide."""
