# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's trace: its events, the senders of interrupts, and its clock in a run's ticks."""
