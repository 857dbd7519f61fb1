# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's trace: its events, who sends interrupts, and the clock of a run beside its clock."""
