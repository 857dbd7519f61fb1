# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes this folder the package lowlat.profiles, so that every install carries its files."""
