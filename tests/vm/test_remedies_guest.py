# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat calls the remedy of a cause is taken by the kernel: each mask that it names is
written for every interrupt and thread of a guest, each setting is planned and started there."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lowlat.catalogue import CATALOGUE
from lowlat.rehearse.kernel import BootableKernel
from support.guest import VM, host_files, results
from support.guest.kernels import KERNELS, packaged_or_skip

pytestmark = pytest.mark.vm

#: In CPU seconds.
_LIMIT_S = 600.0

_TASK = """cd {folder} || exit
PYTHONPATH={repository}/generator exec {python} -B remedies.py found.json causes
"""

#: A cause of each pattern, as a run has it; numbers and names stand for what a pattern leaves open.
CAUSES = sorted(
    {
        tuple(re.sub(r"\[(.).*?\]", r"\1", pattern).replace("*", "7").split(": ", 1))
        for entry in CATALOGUE
        for pattern in entry.silences
    }
)


def found(kernel: BootableKernel, folder: Path) -> Any:
    """What one boot found, in this host's user space."""
    folder.mkdir()
    shutil.copy(VM / "guest/remedies.py", folder)
    (folder / "causes").write_text(json.dumps(CAUSES))
    host_files.run(kernel, folder, _TASK, _LIMIT_S)
    return json.loads((folder / "found.json").read_text())


@pytest.mark.parametrize("name", ["6.1", "6.12", "6.12-rt", "newest"])
def test_what_is_named_can_be_done(name: str, tmp_path: Path) -> None:
    kernel = packaged_or_skip(KERNELS[name])
    folder = tmp_path / "guest"  # virtme's console lies beside it
    done = found(kernel, folder)
    assert [(what, who, why) for what, who, why in done["moved"] if why] == []
    moved = Counter(what for what, _, _ in done["moved"])
    assert set(moved) == {"irq.smp_affinity", "kthread.affinity"}

    settings = done["settings"]
    assert "refused" not in settings, settings
    named = {*filter(None, done["names"].values())}
    assert len(named) > 10
    assert named - {*settings["boot"], *settings["runtime"]} == set(), settings["skipped"]
    status, said = settings["started"]
    assert status == 0, said
    masks = ", ".join(f"{count} of {what}" for what, count in moved.items())
    told = f"masks written: {masks}; {len(named)} settings named, all to be had"
    results.add(kernel.release, "remedies", "all taken", told)
