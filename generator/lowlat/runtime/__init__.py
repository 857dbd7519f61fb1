# SPDX-License-Identifier: GPL-2.0-or-later
"""Acting on the running kernel."""
