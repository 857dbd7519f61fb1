# SPDX-License-Identifier: GPL-2.0-or-later
"""Many machines: classes of equal machines, and one claim over all hosts."""
