# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's release as uname -r prints it: its version, pre-release and the vendor's build."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Optional

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?![0-9])")

#: 7.0-rc4, 7.0.0-0.rc7.20260405git.fc45, 7.0.0-070000rc7-generic; not the "rc" of -arch1.
_CANDIDATE = re.compile(r"(?<![a-z])rc(\d{1,4})(?![a-z])")

#: A vendor's builds of one version, which take features and faults one by one: Red Hat's
#: 5.14.0-611.54.1.el9_7.x86_64, and Ubuntu's 7.0.0-14-generic, which has no fourth part.
_BUILDS = (
    ("el", re.compile(r"-(\d{1,6})[^-]*\.el\d{1,2}(?![0-9a-z])")),
    ("abi", re.compile(r"-(\d{1,6})-[a-z]")),
)


@dataclass(frozen=True)
class Release:
    """``version`` is (major, minor, patch); ``candidate`` the number of a pre-release; ``build``
    the vendor's number in ``family`` ("el", "abi" or "")."""

    version: tuple[int, int, int]
    candidate: float = math.inf
    family: str = ""
    build: int = 0

    @classmethod
    def parse(cls, text: Optional[str]) -> Optional[Release]:
        """Read a release; None if it does not begin with a version of Linux."""
        found = _VERSION.match(text or "")
        if not text or not found:
            return None
        candidate = _CANDIDATE.search(text, found.end())
        version = (int(found[1]), int(found[2]), int(found[3] or 0))
        for family, pattern in _BUILDS:
            build = pattern.match(text, found.end())
            if build:
                return cls(version, _number(candidate), family, int(build[1]))
        return cls(version, _number(candidate))

    @property
    def branch(self) -> tuple[int, int]:
        """The version without the patch."""
        return self.version[:2]

    def reached(self, first: Release) -> bool:
        """Whether it is this release or a later one. A pre-release comes before its release."""
        return (self.version, self.candidate) >= (first.version, first.candidate)


def _number(candidate: Optional[re.Match[str]]) -> float:
    return int(candidate[1]) if candidate else math.inf
