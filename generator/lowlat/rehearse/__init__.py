# SPDX-License-Identifier: GPL-2.0-or-later
"""Rehearsing a plan: real kernels booted in a virtual machine, stock and tuned, both measured."""
