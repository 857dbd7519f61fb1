# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict on each word of a boot line: a property of the effect with and without the word, and
where no effect can tell it, a rule of words.ini."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.catalogue.entry import Risk
from lowlat.catalogue.names import is_foreign, is_older
from lowlat.catalogue.words import RULES, WordVerdict
from lowlat.kernel.line import ReadBy, Word, read_words
from lowlat.lint.booted import LintedLine
from lowlat.lint.dropped import not_taken
from lowlat.lint.harm import harms
from lowlat.lint.opinion import DELETE, TWICE, Opinion
from lowlat.lint.reason import UNSET, by_entry, by_name, entry_of, said_of
from lowlat.lint.redundancy import also_by, spare

_FOREIGN = "kernels of this architecture do not have it"
_SAME = "the boot comes to the same without it"

#: By parameter, the evidence of the running kernel: a verdict and its proof.
Shown = Mapping[str, tuple[WordVerdict, str]]


@dataclass(frozen=True)
class JudgedWord:
    """``entry`` is the catalogue's name for what the word sets, if it has one; ``put`` is the word
    to write instead, "" for none, where the advice is that simple."""

    word: str
    verdict: WordVerdict
    why: str
    fix: Optional[str] = None
    risk: Risk = Risk.NONE
    entry: Optional[str] = None
    put: Optional[str] = None

    def to_json(self) -> dict[str, Optional[str]]:
        return {
            "word": self.word,
            "verdict": self.verdict.value,
            "why": self.why,
            "fix": self.fix,
            "risk": self.risk.value,
        }


def judge(line: LintedLine, shown: Shown) -> tuple[JudgedWord, ...]:
    """Every given word with its verdict; ``shown`` is the running kernel's evidence by name."""
    harmful = harms(line)
    needless = spare(line, _left_out(line, harmful))
    judged = []
    for word in line.words:
        finding = _beside_others(_judge(word, line, harmful, needless), word, line)
        if word.reader is ReadBy.KERNEL and word.name in shown:
            finding = _seen(finding, *shown[word.name])
        entry = entry_of(word)
        name = entry.name if entry else None
        judged.append(JudgedWord(word.text, *finding, entry=name, put=finding.put))
    return tuple(judged)


def _left_out(line: LintedLine, harmful: Mapping[int, Opinion]) -> frozenset[int]:
    """The bad words that the advice leaves out, so that they make no other one needless."""

    def bad(word: Word) -> Optional[Opinion]:
        found = harmful.get(word.at) if line.taken(word) else not_taken(word, line)
        return _beside_others(found, word, line) if found and found.verdict.bad else None

    found = ((word.at, bad(word)) for word in line.words)
    return frozenset(at for at, opinion in found if opinion and opinion.put == "")


def _beside_others(finding: Opinion, word: Word, line: LintedLine) -> Opinion:
    """To leave the word out, if the line has the one that the advice names, whatever its value."""
    put = read_words(finding.put or "")
    same = (one for one in line.effect.words if put and one.name == put[0].name)
    other = next((one for one in same if one.at != word.at and line.taken(one)), None)
    return finding._replace(fix=f"{DELETE}: the line has {other.text[:40]}") if other else finding


def _seen(finding: Opinion, verdict: WordVerdict, evidence: str) -> Opinion:
    """The kernel's evidence overrides the expectation, and what it ignores does no harm."""
    if verdict is WordVerdict.IGNORED:
        return Opinion(verdict, evidence, finding.fix)
    if finding.verdict in (WordVerdict.HARMFUL, WordVerdict.CONTRADICTORY, WordVerdict.REDUNDANT):
        return finding
    if verdict is WordVerdict.UNKNOWN:  # the kernel accepts it, though no table here lists it
        return Opinion(verdict, evidence) if finding.verdict is WordVerdict.IGNORED else finding
    if verdict is WordVerdict.ASSUMED and finding.verdict.bad:
        return finding
    return finding._replace(verdict=verdict, why=evidence)


def _judge(
    word: Word, line: LintedLine, harmful: Mapping[int, Opinion], needless: frozenset[int]
) -> Opinion:
    known = not is_older(line.kernel.release)
    if known and entry_of(word) is None and is_foreign(word.name, line.machine.arch):
        return Opinion(WordVerdict.IGNORED, _FOREIGN, DELETE)
    if not line.taken(word):
        return not_taken(word, line)
    rule = _by_rule(word, line)
    if word.at in harmful or (rule and rule.verdict.bad):
        return harmful.get(word.at) or rule or by_name(word, line)
    if word.at in needless and any(
        word.normal == one.normal for one in line.effect.words[: word.at]
    ):
        return Opinion(WordVerdict.REDUNDANT, TWICE, DELETE)
    also = next(also_by(word, line), None) if word.at in needless else None
    if word.at in needless and also is None:
        return Opinion(WordVerdict.REDUNDANT, _why_needless(word, line), DELETE)
    found = rule or by_entry(word, line) or by_name(word, line)
    if also is not None:
        why = f"{found.why}; also by {also.text[:40]}"
        return Opinion(WordVerdict.EFFECTIVE, why, risk=found.risk)
    return _with_notes(found, word, line)


def _with_notes(found: Opinion, word: Word, line: LintedLine) -> Opinion:
    """The opinion of a word that takes effect, with what the kernel makes of it or is assumed."""
    fate = line.fate(word)
    notes = [note for note in (fate.why, fate.assumed) if note and note not in found.why]
    if not notes or found.verdict not in (WordVerdict.EFFECTIVE, WordVerdict.ASSUMED):
        return found
    return found._replace(verdict=WordVerdict.ASSUMED, why="; ".join([found.why, *notes]))


def _why_needless(word: Word, line: LintedLine) -> str:
    entry, driver = entry_of(word), line.effect.idle.driver
    unneeded = entry.unneeded(line.boot_line.target) if entry else None
    if word.name.endswith(".max_cstate") and driver is not None:
        unneeded = f"it bounds nothing here, where {driver} chooses the idle states"
    return unneeded or UNSET.get(word.normal) or line.fate(word).why or _SAME


def _by_rule(word: Word, line: LintedLine) -> Optional[Opinion]:
    for rule in RULES:
        if re.fullmatch(rule.words, word.normal, re.DOTALL) and rule.when(line.boot_line):
            why = rule.why or said_of(word)
            return Opinion(rule.verdict, why or "does nothing of use here", rule.fix, rule.risk)
    return None
