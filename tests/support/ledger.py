# SPDX-License-Identifier: GPL-2.0-or-later
"""The proofs of tests/proofs.ini, and what tests/PROOFS.jsonl has recorded of them."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterable
from configparser import ConfigParser, ExtendedInterpolation, SectionProxy
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Optional

PROOFS = "tests/proofs.ini"
LEDGER = "tests/PROOFS.jsonl"
#: Sections of proofs.ini that are no proof.
_NO_PROOF = ("groups", "common", "none")

Line = dict[str, Any]


class Refused(Exception):
    """What keeps a proof from being judged or recorded."""


@dataclass(frozen=True)
class Proof:
    """One section of proofs.ini."""

    name: str
    #: Test files, folders or cases; and the other arguments of pytest.
    tests: tuple[str, ...]
    options: tuple[str, ...]
    #: Targets of make that come before.
    needs: tuple[str, ...]
    env: dict[str, str]
    covers: tuple[str, ...]
    by_case: bool
    seconds: int
    tables: tuple[str, ...]

    @classmethod
    def of(cls, section: SectionProxy) -> Proof:
        words = shlex.split(section["run"])
        return cls(
            name=section.name,
            tests=tuple(word for word in words if word.startswith("tests/")),
            options=tuple(word for word in words if not word.startswith("tests/")),
            needs=tuple(section.get("needs", "").split()),
            env=dict(word.split("=", 1) for word in section.get("env", "").split()),
            covers=tuple(section["covers"].split()),
            by_case=section["part"] == "case",
            seconds=int(section["seconds"]),
            tables=tuple(section.get("tables", "").split()),
        )

    @property
    def minutes(self) -> int:
        return -(-self.seconds // 60)


class Ledger:
    """Of the repository ``root`` at its HEAD."""

    def __init__(self, root: Path) -> None:
        self.root = root
        config = ConfigParser(delimiters="=", interpolation=ExtendedInterpolation())
        config.optionxform = str  # type: ignore[assignment,method-assign]
        config.read_string((root / PROOFS).read_text("utf-8"))
        names = [name for name in config.sections() if name not in _NO_PROOF]
        self.proofs = {name: Proof.of(config[name]) for name in names}
        #: What every proof depends on; only a release asks for that.
        self.common = tuple(config["common"]["covers"].split())
        self.none = dict(config["none"])

    def git(self, *words: str) -> str:
        """Raises CalledProcessError."""
        argv = ["git", "-c", f"safe.directory={self.root}", "-C", str(self.root), *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    @cached_property
    def commit(self) -> str:
        return self.git("rev-parse", "--short", "HEAD").strip()

    @cached_property
    def files(self) -> dict[str, str]:
        """By path of each file of HEAD, a line ``mode blob path``."""
        rows = (row.split("\t", 1) for row in self.git("ls-tree", "-r", "-z", "HEAD").split("\0")
                if row)  # fmt: skip
        return {path: " ".join([*head.split()[::2], path]) for head, path in rows}

    def counts(self, path: str) -> bool:
        """Words and written tables are in no digest."""
        return not path.endswith(".md") and path != LEDGER

    def below(self, entry: str) -> set[str]:
        """The files at or below one path."""
        found = {path for path in self.files if path == entry or path.startswith(f"{entry}/")}
        return set(filter(self.counts, found))

    def digest(self, covers: Iterable[str]) -> str:
        """Of the files at or below these paths. Raises Refused for a path without a file: a digest
        of nothing never changes."""
        paths: set[str] = set()
        for entry in covers:
            found = self.below(entry)
            if not found:
                raise Refused(f"{PROOFS}: {entry} is no file of {self.commit}, or words only")
            paths |= found
        lines = sorted(self.files[path] for path in paths)
        return sha256("\n".join(lines).encode()).hexdigest()[:16]

    def lines(self) -> list[Line]:
        path = self.root / LEDGER
        text = path.read_text("utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def is_current(self, proof: Proof, release: bool = False) -> bool:
        """The last line with the digest of HEAD says pass; for a release, also with that of what
        is common to all proofs."""
        wanted = {"proof": proof.name, "covers": self.digest(proof.covers)}
        if release:
            wanted["common"] = self.digest(self.common)
        results = [line["result"] for line in self.lines() if wanted.items() <= line.items()]
        return results[-1:] == ["pass"]

    def stale(self, release: bool = False) -> list[Proof]:
        """The shortest first."""
        ordered = sorted(self.proofs.values(), key=lambda proof: proof.seconds)
        return [proof for proof in ordered if not self.is_current(proof, release)]

    def last_pass(self, proof: Proof) -> Optional[Line]:
        passes = (line for line in reversed(self.lines()) if line["result"] == "pass")
        return next((line for line in passes if line["proof"] == proof.name), None)

    def behind(self, proof: Proof) -> str:
        """How far its last pass is behind HEAD, in words."""
        last = self.last_pass(proof)
        if last is None:
            return "never passed"
        span = f"{last['commit']}..HEAD"
        try:
            count = self.git("rev-list", "--count", "--first-parent", span, "--", *proof.covers)
        except subprocess.CalledProcessError:  # rebased away, or a shallow clone
            return f"passed at {last['commit']}, which is not in this clone"
        return f"{count.strip()} commits behind"

    def uncommitted(self, covers: Iterable[str]) -> list[str]:
        """The changed and new files below these paths."""
        options = ("--porcelain", "--no-renames", "--untracked-files=all", "-z")
        rows = self.git("status", *options, "--", *covers).split("\0")
        return [row[3:] for row in rows if row and self.counts(row[3:])]

    def add(self, line: Line) -> None:
        with (self.root / LEDGER).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
