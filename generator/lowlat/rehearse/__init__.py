# SPDX-License-Identifier: GPL-2.0-or-later
"""Rehearse a plan: boot real kernels in virtual machines, stock and tuned, and measure both."""
