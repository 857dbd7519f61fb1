# SPDX-License-Identifier: GPL-2.0-or-later
"""``run --audit`` on other kernels than this host's, with this host's perf: what a program does is
found at its lines, n of n, and what a kernel cannot tell is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.rehearse.kernel import BootableKernel
from support import needs, planted
from support.guest import host_files, results
from support.guest.kernels import KERNELS, packaged_or_skip

pytestmark = [pytest.mark.vm, needs.program("perf", "linux-perf"), needs.program("cc")]

#: In CPU seconds.
_LIMIT_S = 900.0

#: The program's file lies in the shared folder: the guest's own file system is in memory, where a
#: page of a file is never on the disk alone.
_TASK = """cd {folder} || exit
export PYTHONPATH={repository}/generator
{python} -B -m lowlat run --cpus 0,1 --audit --policy fifo:1 --mark-fd 9 --out audit.json -- \\
	{folder}/planted {folder}/file >said 2>&1
echo $? >status
"""


def audited(kernel: BootableKernel, folder: Path) -> tuple[planted.Planted, Any]:
    """The program, and the result of one audit in one boot."""
    folder.mkdir()
    program = planted.build(folder)
    host_files.run(kernel, folder, _TASK, _LIMIT_S)
    status = (folder / "status").read_text().strip()
    assert status == "7", (folder / "said").read_text()
    return program, json.loads((folder / "audit.json").read_text())


@pytest.mark.parametrize("name", ["6.1", "6.12", "newest"])
def test_what_a_program_does_is_found_n_of_n(name: str, tmp_path: Path) -> None:
    kernel = packaged_or_skip(KERNELS[name])
    folder = tmp_path / "guest"  # virtme's console lies beside it
    program, document = audited(kernel, folder)
    assert document["problems"] == []
    found = planted.by_comment(document, program)
    expected = {**planted.PLANTED, **planted.FLUSHES}
    assert {key: found.get(key) for key in expected} == {
        key: [one] for key, one in expected.items()
    }
    # Before 6.4 there is no event of an interrupt that is sent to several CPUs by name.
    unseen = [what for what in document["unseen"] if "interrupts" in what]
    assert bool(unseen) == (name == "6.1"), document["unseen"]
    count = f"{len(expected)} of {len(expected)} kinds at their lines"
    what = f"{len(document['rows'])} rows; not seen: {', '.join(unseen) or 'nothing'}"
    results.add(kernel.release, "run --audit", count, what)
