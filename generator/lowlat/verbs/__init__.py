# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of lowlat-gen, one module each: ``add_arguments(parser)`` and ``main(args) -> int``."""
