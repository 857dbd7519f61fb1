# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel of a release, vendor and configuration makes of its boot line."""
