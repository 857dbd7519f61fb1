# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of boots: each boot adds a line to the file that LOWLAT_RESULTS names, and

    python tests/vm/results.py boots|cuts FILE

prints the page that ``make test-vm-full`` or ``make test-power-cuts-full`` leaves in the
repository.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_BOOTS = """<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
# What was booted

Written by `make test-vm-full`. Each row is a boot under QEMU without KVM: of a Debian kernel with
the command line that `lowlat-gen plan` made for it, or of a whole guest whose TuneD applied and
reverted the profile. The kernel took each without a complaint, and what was planned was found in
effect but for what the remarks name. Where a fault was planted, the remark is what verify said.

| kernel | profile | in effect | remarks |
|---|---|---|---|
"""

_CUTS = """<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
# What a power cut left, booted

Written by `make test-power-cuts-full`, in a Debian 13 guest with firmware, GRUB and systemd. Each
row is a state of /boot and /etc that a cut of the power leaves on ext4, in the write that is named,
the first that leads to it: "none" where nothing since the last fsync was there, "metadata" where a
rename was and the data was not. Each came up by itself in the entry that is named, and
`lowlat-gen rollback` there left what was there before.

| verb | cut in | came up | rolled back |
|---|---|---|---|
"""


def add(kernel: str, what: str, count: str, remark: str) -> None:
    """Store one row if LOWLAT_RESULTS names a file."""
    _keep("boots", kernel, what, count, remark)


def add_cut(verb: str, where: str, entry: str) -> None:
    """The same for the table of power cuts."""
    _keep("cuts", verb, where, entry, "yes")


def cuts_done() -> set[tuple[str, str]]:
    """The verb and place of each power cut in the file."""
    path = Path(os.environ.get("LOWLAT_RESULTS", os.devnull))
    rows = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return {(verb, where) for table, verb, where, *_ in rows if table == "cuts"}


def _keep(table: str, *cells: str) -> None:
    path = os.environ.get("LOWLAT_RESULTS")
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps([table, *cells]) + "\n")


def page(wanted: str, lines: str) -> str:
    rows = [cells for table, *cells in map(json.loads, lines.splitlines()) if table == wanted]
    if wanted == "cuts":  # booted in parallel, and by several runs
        verbs = ("apply", "promote", "rollback")
        rows.sort(key=lambda cells: (verbs.index(cells[0]), int(cells[1].split()[0])))
    table = (f"| {' | '.join(map(_cell, cells))} |\n" for cells in rows)
    return {"boots": _BOOTS, "cuts": _CUTS}[wanted] + "".join(table)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(sys.argv[1], Path(sys.argv[2]).read_text()), end="")
