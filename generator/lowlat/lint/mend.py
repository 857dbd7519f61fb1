# SPDX-License-Identifier: GPL-2.0-or-later
"""A line with the advice of lint followed, read again before it is offered."""

from collections.abc import Sequence
from typing import Optional

from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import JudgedWord, judge

#: One word's advice may be the cause of another's; after that many rounds it is no advice.
_ROUNDS = 4


def mended(line: LintedLine, judged: Sequence[JudgedWord]) -> Optional[LintedLine]:
    """The line with all advice followed that is one word or none; None if there is no such
    advice, or if lint would still object to the result."""
    if not _puts(judged):
        return None
    for _ in range(_ROUNDS):
        puts = _puts(judged)
        if not puts:
            break
        line = line.put({line.first + at: word for at, word in puts.items()})
        judged = judge(line, {})
    bad = [word for word in judged if word.verdict.bad]
    return None if bad or _puts(judged) else line


def _puts(judged: Sequence[JudgedWord]) -> dict[int, str]:
    return {at: word.put for at, word in enumerate(judged) if word.put is not None}
