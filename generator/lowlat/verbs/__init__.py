# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of the command line, one module for each."""

from lowlat.base import resources

_TEXTS = resources.texts("verbs/verbs.ini")

#: By module of this package, its line of help.
VERBS = dict(_TEXTS["verbs"])

#: Words that are no verbs, and the verb that is meant.
WORDS = dict(_TEXTS["words"])
