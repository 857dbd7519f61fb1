# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the proofs of tests/proofs.ini, records them in tests/PROOFS.jsonl, and tells stale ones.

    python tests/proofs.py run [NAME...] [--budget MINUTES]    what is not current, shortest first
    python tests/proofs.py current                             a warning for each stale proof
    python tests/proofs.py release                             refuses a release with a stale proof

A proof is current if its last line with the digest of HEAD says pass. A stopped proof goes on
where it was, in any clone: ~/.cache/lowlat/proofs keeps the parts that passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import figures
from lowlat.base import process
from lowlat.base.files import user_folder
from support.ledger import Ledger, Line, Proof, Refused
from support.waits import GUARD_S

#: The only variable of the caller's that a proof sees, of those that change its tests.
_KEPT = "LOWLAT_PATIENCE"
_HOUR_S = 3600

ROOT = Path(__file__).resolve().parents[1]


class ProofRun:
    """One proof at one digest, with what earlier runs at that digest left behind."""

    def __init__(self, ledger: Ledger, proof: Proof) -> None:
        self.proof, self.root, self.commit = proof, ledger.root, ledger.commit
        self.covers = ledger.digest(proof.covers)
        self.common = ledger.digest(ledger.common)
        self._all = (*proof.covers, *ledger.common)
        self.digest = ledger.digest(self._all)
        self._kept = user_folder("XDG_CACHE_HOME", ".cache") / "proofs"
        self._kept.mkdir(parents=True, exist_ok=True)
        self._check()

    def _check(self) -> None:
        """What is tested is what HEAD has, from the first part to the last."""
        now = Ledger(self.root)
        if changed := now.uncommitted(self._all):
            raise Refused(f"{self.proof.name}: not committed: {' '.join(changed)}")
        if now.digest(self._all) != self.digest:
            raise Refused(f"{self.proof.name}: HEAD has changed meanwhile")

    def _file(self, kind: str) -> Path:
        return self._kept / f"{self.proof.name}-{self.digest}.{kind}"

    def _lines(self, kind: str) -> list[Line]:
        path = self._file(kind)
        return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []

    def _environment(self) -> Mapping[str, str]:
        inherited = {
            name: value for name, value in os.environ.items()
            if not name.startswith("LOWLAT_") or name == _KEPT
        }  # fmt: skip
        files = {"LOWLAT_SPOILT": "boots", "LOWLAT_RESULTS": "rows"}
        named = {name: str(self._file(kind)) for name, kind in files.items()}
        return {**inherited, **self.proof.env, **named, "LOWLAT_DIGEST": self.digest,
                "LOWLAT_COMMIT": self.commit}  # fmt: skip

    def _pytest(self, *words: str) -> list[str]:
        """An empty -m takes back the one of setup.cfg; guests have limits of their own."""
        argv = [sys.executable, "-m", "pytest", "-o", "faulthandler_timeout=0", "-m", ""]
        return [*argv, *self.proof.options, *words]

    def _parts(self) -> list[str]:
        proof = self.proof
        if proof.by_case:
            argv = self._pytest("--collect-only", "-q", *proof.tests)
            listed = subprocess.run(
                argv, cwd=self.root, env=self._environment(), text=True, stdout=subprocess.PIPE,
                check=False,
            )  # fmt: skip
            return [line for line in listed.stdout.splitlines() if "::" in line]
        tests = [self.root / test for test in proof.tests]
        below = (sorted(test.glob("test_*.py")) or [test] for test in tests)
        return [os.path.relpath(path, self.root) for paths in below for path in paths]

    def _run(self, part: str) -> Line:
        report = self._file("xml")
        argv = self._pytest(f"--junitxml={report}", part)
        begin = time.monotonic()
        done = subprocess.run(argv, cwd=self.root, env=self._environment(), check=False)
        seconds = round(time.monotonic() - begin)
        suite = report.read_text("utf-8") if report.exists() else ""
        report.unlink(missing_ok=True)
        head = re.search("<testsuite ([^>]*)>", suite)
        counts = dict(re.findall(r'(\w+)="(\d+)"', head[1])) if head else {}
        cases, skipped = int(counts.get("tests", 0)), int(counts.get("skipped", 0))
        result = "fail" if done.returncode else "skip" if skipped else "pass"
        return {"part": part, "result": result, "cases": cases, "skipped": skipped,
                "seconds": seconds}  # fmt: skip

    def go(self, end: float) -> bool:
        """Run the parts that have not passed yet, as long as there is time. Returns whether the
        proof passed."""
        for target in self.proof.needs:
            if subprocess.run(["make", "-s", target], cwd=self.root, check=False).returncode:
                raise Refused(f"{self.proof.name}: make {target} failed")
        done = {line["part"]: line for line in self._lines("jsonl") if line["result"] == "pass"}
        parts = self._parts()
        if not parts:
            raise Refused(f"{self.proof.name}: no tests were found")
        for part in parts:
            if part not in done and time.monotonic() < end:
                self._check()
                print(f"== {self.proof.name}: {part}", flush=True)
                done[part] = self._run(part)
                with self._file("jsonl").open("a") as file:
                    file.write(json.dumps(done[part]) + "\n")
        self._check()
        return self._judge([done[part] for part in parts if part in done], len(parts))

    def _judge(self, done: Sequence[Line], of: int) -> bool:
        results = {line["result"] for line in done}
        if "fail" in results:
            return self._record("fail", done)
        if "skip" in results:
            skipped = " ".join(line["part"] for line in done if line["result"] == "skip")
            print(f"{self.proof.name}: not recorded, as cases were skipped: {skipped}")
            return False
        if len(done) < of:
            print(f"{self.proof.name}: stopped, {len(done)} of {of} parts passed")
            return False
        return self._record("pass", done)

    def _record(self, result: str, done: Sequence[Line]) -> bool:
        proof, boots = self.proof, self._lines("boots")
        totals = {key: sum(line[key] for line in done) for key in ("cases", "skipped", "seconds")}
        line: Line = {
            "proof": proof.name, "covers": self.covers, "common": self.common,
            "commit": self.commit, "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "result": result, **totals,
            "spoilt": sum(boot["outcome"] == "spoilt" for boot in boots), "host": host(),
            "kernels": sorted({boot["kernel"] for boot in boots if boot.get("kernel")}),
        }  # fmt: skip
        Ledger(self.root).add(line)
        print(f"{proof.name}: {result}, recorded")
        if result == "pass":
            if self._file("rows").exists() and proof.tables:
                script = self.root / "tests/support/guest/results.py"
                argv = [
                    sys.executable,
                    str(script),
                    proof.name,
                    self.commit,
                    str(self._file("rows")),
                ]
                environment = self._environment()
                subprocess.run([*argv, *proof.tables], check=True, cwd=self.root, env=environment)
            for path in self._kept.glob(f"{proof.name}-{self.digest}.*"):
                path.unlink()
            for table in proof.tables:
                print(f"{proof.name} wrote {table}: look at the difference, and commit it")
        return result == "pass"


def host() -> str:
    """Such as ``debian12 qemu7.2.22 tcg 2cpu``."""
    release = dict(re.findall(r'(?m)^(ID|VERSION_ID)="?([^"\n]*)', _text(Path("/etc/os-release"))))
    said = process.run(["qemu-system-x86_64", "--version"], timeout=GUARD_S).stdout \
        if process.find("qemu-system-x86_64") else ""  # fmt: skip
    found = re.search(r"version ([\d.]+)", said)
    qemu = f"qemu{found[1]} tcg " if found else ""
    name = release.get("ID", "") + release.get("VERSION_ID", "")
    return f"{name} {qemu}{len(os.sched_getaffinity(0))}cpu"


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def run(ledger: Ledger, names: Sequence[str], budget: float) -> int:
    if unknown := set(names) - set(ledger.proofs):
        raise Refused(f"no proof is called {' or '.join(sorted(unknown))}")
    wanted = [ledger.proofs[name] for name in names] or ledger.stale()
    end, good = time.monotonic() + 60 * budget, True
    for proof in wanted:
        if time.monotonic() < end:
            good &= ProofRun(ledger, proof).go(end)
    print(*_warnings(ledger), sep="\n")
    return 0 if good else 1


def _warnings(ledger: Ledger, release: bool = False) -> list[str]:
    return [
        f"{proof.name}: {ledger.behind(proof)} ({proof.minutes} min: make proofs NAME={proof.name})"
        for proof in ledger.stale(release)
    ]


def current(ledger: Ledger) -> int:
    """A stale proof is a warning: it refuses no change."""
    stale = [*_warnings(ledger), *figures.drifted(ledger.root)]
    print(*[f"warning: {line}" for line in stale], sep="\n", end="\n" if stale else "")
    print(f"{len(ledger.proofs)} proofs and the figures: {len(stale)} warnings")
    return 0


def release(ledger: Ledger) -> int:
    wrong = [*_warnings(ledger, release=True), *figures.drifted(ledger.root)]
    wrong += [f"{path} is not committed" for path in ledger.uncommitted(["."])]
    for proof in ledger.proofs.values():
        if proof.seconds > _HOUR_S:
            date = (ledger.last_pass(proof) or {"date": "never"})["date"]
            print(f"{proof.name}: last passed {date} ({proof.minutes} min)")
    for line in wrong:
        print(f"no release: {line}", file=sys.stderr)
    return 1 if wrong else 0


def main(words: Sequence[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="proofs")
    commands = parser.add_subparsers(dest="command", required=True)
    running: Any = commands.add_parser("run")
    running.add_argument("names", nargs="*", metavar="NAME")
    running.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    commands.add_parser("current")
    commands.add_parser("release")
    asked = parser.parse_args(words)
    try:
        ledger = Ledger(root)
        if asked.command == "run":
            return run(ledger, asked.names, asked.budget)
        return {"current": current, "release": release}[asked.command](ledger)
    except Refused as error:
        print(f"proofs: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
