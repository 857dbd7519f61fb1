# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of what was booted: each boot adds a line to the file that LOWLAT_RESULTS names, and

    python tests/vm/results.py FILE

prints them as the page that ``make test-vm-full`` leaves in the repository.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
# What was booted

Written by `make test-vm-full`. Each row is a boot under QEMU without KVM: of a Debian kernel with
the command line that `lowlat-gen plan` made for it, or of a whole guest whose TuneD applied and
reverted the profile. The kernel took each without a complaint, and what was planned was found in
effect but for what the remarks name. Where a fault was planted, the remark is what verify said.

| kernel | profile | in effect | remarks |
|---|---|---|---|
"""


def add(kernel: str, what: str, count: str, remark: str) -> None:
    """Keep one row, where a file for them is named."""
    path = os.environ.get("LOWLAT_RESULTS")
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps([kernel, what, count, remark]) + "\n")


def page(lines: str) -> str:
    rows = (json.loads(line) for line in lines.splitlines())
    return _HEAD + "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(Path(sys.argv[1]).read_text()), end="")
