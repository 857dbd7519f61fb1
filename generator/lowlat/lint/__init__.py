# SPDX-License-Identifier: GPL-2.0-or-later
"""Lint any boot line: judge every word for one machine and kernel, and compare the line with the
one that lowlat would write for the same isolated CPUs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import encode
from lowlat.catalogue import lookup
from lowlat.catalogue.words import BootLine, WordVerdict, missing
from lowlat.kernel.line import Word
from lowlat.lint.judge import JudgedWord, judge
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
    """``plan`` is lowlat's for the CPUs that the line isolates, or None; then ``why`` gives the
    reason."""

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


def against(
    line: BootLine, words: Sequence[JudgedWord], told: Collection[str], wanted: Profile
) -> Against:
    """The differences from the line of a profile; missing words in ``told`` are left out."""
    target = line.target
    if not target.isolated:
        return Against(why="the line isolates no CPU; 'lowlat-gen plan' shows which ones would be")
    try:
        plan = planner.make_plan(target.machine, target.kernel, wanted, Options(), target.isolated)
    except Refused as error:
        return Against(why=f"lowlat would not isolate CPU {target.isolated}: {error.message}")
    return Against(plan, None, tuple(_added(plan, line, told)), tuple(_left_out(plan, words)))


def _added(plan: Plan, line: BootLine, told: Collection[str]) -> Iterator[Difference]:
    names = {word.partition("=")[0] for word in told}
    for name in line.target.enabled:
        names.update(lookup(name).implies)
    for parameter in plan.parameters:
        entry = lookup(parameter.name)
        given = parameter.name in line.values
        if not given and parameter.name not in names:
            yield Difference(parameter.word, parameter.why, entry.cost)


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

#: The evidence in a boot with this line: by name, the verdict and its proof.
Shown = Mapping[str, tuple[WordVerdict, str]]


@dataclass(frozen=True)
class Lint:
    """The words in order, what the line lacks, and its differences from lowlat's line."""

    words: tuple[JudgedWord, ...]
    missing: tuple[tuple[str, str], ...]
    against: Against

    @property
    def bad(self) -> bool:
        return any(word.verdict.bad for word in self.words)

    def to_json(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "words": [word.to_json() for word in self.words],
            "missing": [{"word": word, "why": why} for word, why in self.missing],
            "against": self.against.to_json(),
        }


def lint(words: Sequence[Word], line: BootLine, shown: Shown, wanted: Profile) -> Lint:
    """Judge a line's words, and compare it with the line of a profile. ``shown`` is the running
    kernel's evidence, if the line is running."""
    judged = judge(words, line, shown)
    lacking = tuple(missing(line))
    return Lint(judged, lacking, against(line, judged, {word for word, _ in lacking}, wanted))
