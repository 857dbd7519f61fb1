# SPDX-License-Identifier: GPL-2.0-or-later
"""The opinion of a word that the kernel drops, does not read, or takes another for."""

import difflib
import re
from typing import Optional

from lowlat.catalogue import BY_NAME
from lowlat.catalogue.names import NEVER, kernel_names
from lowlat.catalogue.words import CPU_LISTS, MEANT, WordVerdict
from lowlat.kernel.booting import End
from lowlat.kernel.line import ReadBy, Word
from lowlat.kernel.lists import isolcpus_flags
from lowlat.kernel.settings import accepted
from lowlat.lint.booted import LintedLine
from lowlat.lint.opinion import DELETE, TWICE, Opinion
from lowlat.lint.reason import UNSET, by_name, entry_of
from lowlat.lint.redundancy import repeated
from lowlat.model.cpuset import CpuSet, CpuSetError


def not_taken(word: Word, line: LintedLine) -> Opinion:
    """The opinion of a word whose fate is another than to be taken."""
    fate = line.fate(word)
    if fate.end is End.NOT_READ:
        known = word.name in kernel_names() or word.name in BY_NAME
        if word.reader is ReadBy.INIT:
            verdict = WordVerdict.IGNORED if known else WordVerdict.UNKNOWN
            return Opinion(verdict, fate.why, "before the --" if known else None)
        return Opinion(WordVerdict.IGNORED, fate.why)
    if repeated(word, line):
        other = by_name(word, line) if entry_of(word) is None else None
        kept = (WordVerdict.IGNORED, WordVerdict.UNKNOWN)
        twice = Opinion(WordVerdict.REDUNDANT, TWICE, DELETE)
        return other if other and other.verdict in kept else twice
    if fate.by is not None:
        why = f"{fate.why}: {line.effect.words[fate.by].text[:40]}"
        return Opinion(WordVerdict.CONTRADICTORY, why, DELETE)
    if fate.end is End.DROPPED and fate.assumed and "not found" in fate.assumed:
        return Opinion(WordVerdict.ASSUMED, f"{fate.why}; {fate.assumed}")
    values = accepted(word.name)
    taken = values is None or re.fullmatch(values, word.value, re.DOTALL)
    said = None if taken else UNSET.get(word.normal)
    return Opinion(WordVerdict.IGNORED, said or fate.why, _instead(word, line))


def _instead(word: Word, line: LintedLine) -> Optional[str]:
    """What to write instead of a dropped word: one that this kernel takes."""
    meant = _meant(word)
    if meant:
        better = line.put({word.at: meant})
        return meant if better.taken(better.effect.words[word.at]) else DELETE
    if line.fate(word).absent:
        return DELETE
    return listed(word, line) if word.name in CPU_LISTS else _without(word, line)


def listed(word: Word, line: LintedLine) -> Optional[str]:
    """The list of a dropped word, of the CPUs that there are; None if it is no list. Typesetting
    makes a longer dash of the one in a range."""
    effect = line.effect
    line.count(len(line.now.cpus.online) // 64)
    flags = isolcpus_flags(word.value) if word.name == "isolcpus" else ""
    try:
        text = re.sub("[\u2010-\u2015\u2212]", "-", word.value[len(flags) :])
        cpus = CpuSet.parse_list(text, last=max(effect.online))
    except CpuSetError:
        return None
    if line.boot_line.target.has("CONFIG_CPU_ISOLATION") is False:
        flags = ""
    elif line.boot_line.built("NO_HZ_FULL") is False:
        flags = flags.replace("nohz,", "")
    elif word.name == "nohz_full":
        cpus = effect.unbalanced or cpus  # a second list that the kernel may want to be the same
    plain = f"{flags}{cpus & effect.online}"
    return f"{word.name}={plain}" if plain not in ("", flags, word.value) else DELETE


def _without(word: Word, line: LintedLine) -> str:
    """To leave a word out; of two counts of huge pages, only the user knows which."""
    counts = [one for one in line.words if one.name == word.name == "hugepages"]
    return "keep the count that you mean" if len(counts) > 1 else DELETE


def _denial(value: str) -> str:
    """The beginning that tells enable from disable, and nopoll from poll."""
    found = re.match("dis|en|no", value)
    return found[0] if found else ""


def _meant(word: Word) -> Optional[str]:
    """The word that was probably meant by one whose value no kernel accepts."""
    values = accepted(word.name)
    if word.normal in MEANT or values is None or re.fullmatch(values, word.value, re.DOTALL):
        return MEANT.get(word.normal)
    choices = [part for part in re.split(r"\W+", values) if len(part) > 1]
    choices = [choice for choice in choices if _denial(choice) == _denial(word.value)]
    near = next(iter(difflib.get_close_matches(word.value[:40], choices, n=1)), None)
    return f"{word.name}={near}" if near and word.normal not in NEVER else None
