# SPDX-License-Identifier: GPL-2.0-or-later
"""Words without which a boot comes to the same."""

from collections.abc import Iterator

from lowlat.kernel.isolation import ISOLATING
from lowlat.kernel.line import Word
from lowlat.kernel.settings import acts_with_others
from lowlat.lint.booted import LintedLine


def spare(line: LintedLine, left_out: frozenset[int]) -> frozenset[int]:
    """The indices of the judged words without all of which the effect is the same, where those of
    ``left_out`` go anyway: those that a later word repeats, then found from the last word on."""
    gone = left_out | {word.at for word in line.words if repeated(word, line)}
    wanted = line.without(gone)
    for word in reversed(line.words):
        # A setting of its own, and not the default, is missed in any case.
        alone = not acts_with_others(word) and word.name in wanted.settings
        if not line.taken(word) or word.at in gone or alone:
            continue
        if _second(word, line, gone) or line.without(gone | {word.at}) == wanted:
            gone |= {word.at}
    return gone - left_out


def _second(word: Word, line: LintedLine, gone: frozenset[int]) -> bool:
    """Whether the word is the second one of a list that the kernel takes once."""
    before = (one for one in line.effect.words[: word.at] if one.name == word.name in ISOLATING)
    return any(one.value == word.value and one.at not in gone and line.taken(one) for one in before)


def repeated(word: Word, line: LintedLine) -> bool:
    """Whether the word that overrides this one is the same."""
    by = line.fate(word).by
    return by is not None and line.effect.words[by].normal == word.normal


def also_by(word: Word, line: LintedLine) -> Iterator[Word]:
    """The words that bring what a spare word brings: without one of them it is not spare, or where
    each of several brings it, without these."""

    def counts_without(others: frozenset[int]) -> bool:
        return line.without(others) != line.without(others | {word.at})

    if not acts_with_others(word):
        return
    among = frozenset(other.at for other in line.effect.words if _may_bring(other, word, line))
    found = frozenset(at for at in among if counts_without(frozenset([at])))
    if not found and counts_without(among):
        found = among
        for at in sorted(among):
            found = found - {at} if counts_without(found - {at}) else found
    yield from (line.effect.words[at] for at in sorted(found))


def _may_bring(other: Word, word: Word, line: LintedLine) -> bool:
    if "hugepages" in word.name and _size(other) != _size(word):
        return False  # another size stands for itself
    return other.at != word.at and line.taken(other) and acts_with_others(other)


def _size(word: Word) -> str:
    return word.value.upper().rstrip("B")
