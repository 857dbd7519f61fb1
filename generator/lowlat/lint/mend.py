# SPDX-License-Identifier: GPL-2.0-or-later
"""A line with the advice of lint followed, read again before it is offered."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

from lowlat.catalogue.words import missing
from lowlat.kernel.line import ReadBy
from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import JudgedWord, judge
from lowlat.lint.opinion import TWICE

#: One word's advice may be the cause of another's; after that many rounds it is no advice.
_ROUNDS = 12


class Mended(NamedTuple):
    """``line`` is the line with all advice followed that is one word or none, and with ``missing``,
    the words that it then lacks, each with its reason. It is None if there is nothing to change, or
    if lint would object to the result: then ``why`` tells to what."""

    line: Optional[LintedLine]
    missing: tuple[tuple[str, str], ...]
    why: Optional[str] = None


def mended(line: LintedLine, judged: Sequence[JudgedWord]) -> Mended:
    """Replace words and leave out repeated ones, add what is missing, and only then leave out other
    words: some are needless without what is missing. The result is read again."""
    kept = {word.word for word in judged if word.verdict.bad and word.put is None}
    better, added = line, list[tuple[str, str]]()
    for _ in range(_ROUNDS):
        lacking = next(missing(better.boot_line), None)
        puts = _puts(better, judged)
        twice = {better.first + at for at, word in enumerate(judged) if word.why == TWICE}
        others = {at: word for at, word in puts.items() if word or at in twice}
        if lacking and not others:
            added.append(lacking)
            puts = _adding(lacking[0], better)
        if not puts:
            break
        better = better.put(others or puts)
        judged = judge(better, {})
    worse = [word for word in judged if word.verdict.bad and word.word not in kept]
    if worse or _puts(better, judged) or any(missing(better.boot_line)):
        return Mended(None, tuple(missing(line.boot_line)), _objection(worse))
    return Mended(better if better.text != line.text else None, tuple(added))


def _puts(line: LintedLine, judged: Sequence[JudgedWord]) -> dict[int, str]:
    """By index, the word to write instead, "" for none."""
    return {line.first + at: word.put for at, word in enumerate(judged) if word.put is not None}


def _adding(text: str, line: LintedLine) -> dict[int, str]:
    """A word that the line lacks: in the place of those of its name, else behind the last one."""
    name = text.partition("=")[0]
    old = [w.at for w in line.words if w.name == name and w.reader is ReadBy.KERNEL]
    if old:
        return {**dict.fromkeys(old, ""), old[0]: text}
    last = [word for word in line.words if word.reader is ReadBy.KERNEL][-1]
    return {last.at: f"{last.text} {text}"}


def _objection(worse: Sequence[JudgedWord]) -> str:
    if not worse:
        return "the advice on one word calls for other advice on another"
    return f"with this advice followed, {worse[0].word[:60]} would be in the way: {worse[0].why}"
