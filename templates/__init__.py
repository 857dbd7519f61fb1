# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes this folder the package lowlat.templates, so that every install carries its files."""
