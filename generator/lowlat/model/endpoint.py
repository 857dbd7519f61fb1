# SPDX-License-Identifier: GPL-2.0-or-later
"""The endpoints that a profile may be judged by."""

NOISE, WAKEUP = "noise_ppm", "wakeup_p99.9_ns"
