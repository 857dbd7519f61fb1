# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of the command line, one module for each."""

from lowlat.base import resources

#: By module of this package, its line of help.
VERBS = dict(resources.texts("verbs/verbs.ini")["verbs"])
