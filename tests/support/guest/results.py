# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of boots: each boot adds a line to the file that LOWLAT_RESULTS names, with the digest
LOWLAT_DIGEST of what was tested; ``make proofs`` sets both, and a line of another digest counts
for nothing.

    python tests/support/guest/results.py PROOF COMMIT FILE TABLE...

writes the proof's part of RESULTS.md or POWER_CUTS.md anew.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

_HEADS = {
    "RESULTS.md": """| kernel | profile | in effect | remarks |
|---|---|---|---|
""",
    "POWER_CUTS.md": """| verb | cut in | came up | rolled back |
|---|---|---|---|
""",
}


def add(kernel: str, what: str, count: str, remark: str) -> None:
    """Store one row if LOWLAT_RESULTS names a file."""
    _keep("RESULTS.md", kernel, what, count, remark)


def add_cut(verb: str, where: str, entry: str) -> None:
    """The same for the table of power cuts."""
    _keep("POWER_CUTS.md", verb, where, entry, "yes")


def cuts_done() -> set[tuple[str, str]]:
    """The verb and place of each power cut in the file."""
    path = Path(os.environ.get("LOWLAT_RESULTS", os.devnull))
    lines = path.read_text() if path.exists() else ""
    return {(verb, where) for verb, where, *_ in rows("POWER_CUTS.md", lines)}


def _digest() -> str:
    return os.environ.get("LOWLAT_DIGEST", "")


def _keep(table: str, *cells: str) -> None:
    path = os.environ.get("LOWLAT_RESULTS")
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps([table, _digest(), *cells]) + "\n")


def rows(table: str, lines: str) -> list[tuple[str, ...]]:
    """The rows of one table, each once, with the digest of now."""
    found = [tuple(row) for row in map(json.loads, lines.splitlines())]
    here = [cells for name, digest, *cells in found if (name, digest) == (table, _digest())]
    unique = list(dict.fromkeys(map(tuple, here)))
    if table == "POWER_CUTS.md":  # booted in parallel, and by several runs
        verbs = ("apply", "promote", "rollback")
        unique.sort(key=lambda cells: (verbs.index(cells[0]), int(cells[1].split()[0])))
    return unique


def replaced(page: str, table: str, proof: str, commit: str, lines: str) -> str:
    """The page with the proof's rows in place of its earlier ones."""
    cells = (f"| {' | '.join(map(_cell, row))} |\n" for row in rows(table, lines))
    made = f"Made at commit {commit}.\n\n{_HEADS[table]}{''.join(cells)}"
    head, *parts = re.split(r"(?m)^## (.*)\n\n", page)
    known = {**dict(zip(parts[::2], parts[1::2])), proof: made}
    body = (f"## {name}\n\n{text.rstrip()}\n" for name, text in known.items())
    return "\n".join([head.rstrip() + "\n", *body])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(proof: str, commit: str, file: str, *tables: str) -> None:
    for path in map(Path, tables):
        page, lines = path.read_text("utf-8"), Path(file).read_text("utf-8")
        path.write_text(replaced(page, path.name, proof, commit, lines), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
