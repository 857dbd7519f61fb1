# SPDX-License-Identifier: GPL-2.0-or-later
"""Lint any boot line: judge every word for one machine and kernel, and compare the line with the
one that lowlat would write for the same isolated CPUs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import encode
from lowlat.catalogue import lookup
from lowlat.catalogue.words import WordVerdict
from lowlat.kernel.cpus import LIMITING
from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import JudgedWord, Shown, judge
from lowlat.lint.mend import mended
from lowlat.lint.opinion import DELETE, KEEP, TWICE
from lowlat.model.plan import Plan
from lowlat.plan import planner
from lowlat.plan.planner import Options
from lowlat.plan.profile import Profile


@dataclass(frozen=True)
class Difference:
    """A word in only one of the two lines, the reason, and its cost."""

    word: str
    why: str
    cost: str


@dataclass(frozen=True)
class Against:
    """``plan`` is lowlat's for the CPUs that the line isolates, or of a profile that isolates none;
    or None, then ``why`` gives the reason."""

    plan: Optional[Plan] = None
    why: Optional[str] = None
    adds: tuple[Difference, ...] = ()
    leaves_out: tuple[Difference, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "line": self.plan.cmdline.text if self.plan else None,
            "why": self.why,
            "adds": encode(self.adds),
            "leaves_out": encode(self.leaves_out),
        }


def against(line: LintedLine, words: Sequence[JudgedWord], wanted: Profile) -> Against:
    """The differences of a mended line from the line of a profile; ``words`` are those that were
    judged."""
    isolated = line.boot_line.target.isolated if wanted.isolates else None
    if wanted.isolates and not isolated:
        command = f"lowlat-gen plan --profile {wanted.name}"
        return Against(why=f"the line isolates no CPU; '{command}' shows which ones would be")
    limits = (word.text for word in line.effect.words if word.name in LIMITING and line.taken(word))
    machine = replace(line.now, cmdline=" ".join(limits))  # the boot is this line's
    try:
        plan = planner.make_plan(machine, line.kernel, wanted, Options(), isolated)
    except Refused as error:
        return Against(why=f"lowlat would not isolate CPU {isolated}: {error.message}")
    return Against(plan, None, tuple(_added(plan, line)), tuple(_left_out(plan, words)))


def _added(plan: Plan, line: LintedLine) -> Iterator[Difference]:
    names = {word.name for word in line.words}
    for name in line.boot_line.target.enabled:
        names.update([name, *lookup(name).implies])
    for parameter in plan.parameters:
        if parameter.name not in names:
            cost = lookup(parameter.name).cost
            yield Difference(parameter.word, parameter.why, cost)


def _left_out(plan: Plan, words: Sequence[JudgedWord]) -> Iterator[Difference]:
    ours = {parameter.name for parameter in plan.parameters}
    skipped = {item.name: item.why for item in plan.skipped}
    for word in words:
        live = word.verdict in (WordVerdict.EFFECTIVE, WordVerdict.ASSUMED)
        if word.entry and live and word.entry not in ours:
            entry = lookup(word.entry)
            why = skipped.get(word.entry, f"on offer: --enable {word.entry}")
            yield Difference(word.word, why, entry.cost)


SCHEMA = "lowlat.lint/1"


@dataclass(frozen=True)
class Lint:
    """The words in order, with what the kernel does not read as the last one, what the line lacks,
    the line with all simple advice followed and what it lacks added (None if there is nothing to
    change, or it would not do: then ``unmended`` tells why), its differences from lowlat's, and
    what else a plan would do otherwise."""

    words: tuple[JudgedWord, ...]
    missing: tuple[tuple[str, str], ...]
    mended: Optional[str]
    unmended: Optional[str]
    against: Against
    notes: tuple[str, ...] = ()

    @property
    def bad(self) -> bool:
        return any(word.verdict.bad for word in self.words)

    def to_json(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "words": [word.to_json() for word in self.words],
            "missing": [{"word": word, "why": why} for word, why in self.missing],
            "mended": self.mended,
            "unmended": self.unmended,
            "against": self.against.to_json(),
        }


def _kept(word: JudgedWord, words: Sequence[str]) -> JudgedWord:
    """The word without the advice to leave it out, if it is of use on the mended line."""
    if word.put == "" and word.word in words and word.why != TWICE:
        return replace(word, fix=KEEP, put=None)
    return word


def notes_on(line: LintedLine) -> Iterator[str]:
    """Messages about a line that are no findings: it leaves less to the system than a plan."""
    system = line.effect.online - line.effect.isolated
    note = line.system_part.note(system) if line.effect.isolated else ""
    if note and not line.boot_line.ticks_nowhere:
        yield note


def lint(line: LintedLine, shown: Shown, wanted: Profile) -> Lint:
    """Judge a line's words, and compare it with the line of a profile. ``shown`` is the running
    kernel's evidence, if the line is running."""
    judged = judge(line, shown)
    better = mended(line, judged)
    new = better.line.given if better.line else None
    judged = tuple(_kept(word, new.split()) for word in judged) if new else judged
    if line.rest:
        judged = (*judged, JudgedWord(line.rest, WordVerdict.IGNORED, line.unread, DELETE, put=""))
        new = new or (None if better.why else line.given)
    ours = against(better.line or line, judged, wanted)
    notes = tuple(notes_on(line))
    return Lint(judged, better.missing, new, better.why, ours, notes)
