# SPDX-License-Identifier: GPL-2.0-or-later
"""What has no lowlat subject: errors, files, programs, the terminal, JSON fields."""
