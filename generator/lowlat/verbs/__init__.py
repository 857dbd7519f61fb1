# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of the command line, one module each."""

from lowlat.base import resources

#: Each a module of this package, with its line of help.
VERBS = dict(resources.texts("verbs/verbs.ini")["verbs"])
