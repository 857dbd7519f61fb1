# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot line of anybody's, judged word by word for one machine and kernel."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Optional

from lowlat.catalogue.words import WordVerdict, missing
from lowlat.lint.against import Against, against
from lowlat.lint.judge import JudgedWord, judge
from lowlat.lint.line import boot_line, read_words
from lowlat.model.machine import Kernel, Machine

SCHEMA = "lowlat.lint/1"

#: What a boot of the line showed: by name, the verdict and what proves it.
Shown = Mapping[str, tuple[WordVerdict, str]]


@dataclass(frozen=True)
class Lint:
    """The words in order, what the line lacks, and how it differs from lowlat's."""

    words: tuple[JudgedWord, ...]
    missing: tuple[tuple[str, str], ...]
    against: Against

    @property
    def bad(self) -> bool:
        return any(word.verdict.bad for word in self.words)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "words": [word.to_json() for word in self.words],
            "missing": [{"word": word, "why": why} for word, why in self.missing],
            "against": asdict(self.against),
        }


def lint(line: str, machine: Machine, kernel: Kernel, shown: Optional[Shown] = None) -> Lint:
    """Judge a line. ``shown`` is what the running kernel shows of it, where it runs."""
    words = read_words(line)
    booted = boot_line(words, machine, kernel)
    judged = judge(words, booted, shown or {})
    lacking = tuple(missing(booted))
    return Lint(judged, lacking, against(booted, judged, {word for word, _ in lacking}))
