# SPDX-License-Identifier: GPL-2.0-or-later
"""An opinion of a word: the verdict, the reason, and what to write instead."""

import re
from typing import NamedTuple, Optional

from lowlat.catalogue.entry import Risk
from lowlat.catalogue.words import WordVerdict

DELETE = "leave it out"
TWICE = "the line has it twice"
KEEP = "keep it: it has an effect with the other advice"

_ONE_WORD = re.compile(r"[\w.-]+(?:=\S*)?")


class Opinion(NamedTuple):
    """``fix`` is one word to write instead, DELETE with or without more, or other advice in words;
    None if there is none. ``risk`` is the price of a word that takes effect."""

    verdict: WordVerdict
    why: str
    fix: Optional[str] = None
    risk: Risk = Risk.NONE

    @property
    def put(self) -> Optional[str]:
        """The word to write instead, "" for none; None if the advice is not that simple."""
        if self.fix is None or not _ONE_WORD.fullmatch(self.fix):
            return "" if (self.fix or "").startswith(DELETE) else None
        return self.fix
