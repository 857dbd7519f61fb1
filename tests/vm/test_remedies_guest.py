# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat calls the remedy of a cause is taken by the kernel: each mask that it names is
written for every interrupt and thread of a guest, each setting is planned and started there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from typing import Any

import pytest

from lowlat.base.errors import LowlatError
from lowlat.catalogue import CATALOGUE
from lowlat.rehearse import vm
from lowlat.rehearse.vm_size import VmSize
from support import needs
from support.guest import REPOSITORY, VM, emulator, results
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


@pytest.fixture(scope="module", params=["6.1", "6.12", "6.12-rt", "newest"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one boot found, in this host's user space."""
    kernel = packaged_or_skip(KERNELS[request.param])
    try:
        vm.check_tools()
    except LowlatError as error:
        needs.absent(str(error))
    folder = tmp_path_factory.mktemp("remedies")
    shutil.copy(VM / "guest/remedies.py", folder)
    (folder / "causes").write_text(json.dumps(CAUSES))
    words = {"folder": folder, "repository": REPOSITORY, "python": sys.executable}
    quoted = {name: shlex.quote(str(word)) for name, word in words.items()}
    (folder / "task").write_text(_TASK.format(**quoted))
    command = ("sh", str(folder / "task"))
    boot = vm.GuestBoot(kernel, "tsc=nowatchdog", VmSize(4), False, folder, command, _LIMIT_S)
    emulator.run_on_host_files(boot)
    return json.loads((folder / "found.json").read_text())


def test_every_mask_that_is_named_can_be_written(found: Any) -> None:
    refused = [(name, who, why) for name, who, why in found["moved"] if why]
    assert refused == []
    tried = {name: 0 for name in ("irq.smp_affinity", "kthread.affinity")}
    for name, _, _ in found["moved"]:
        tried[name] += 1
    assert all(tried.values()), tried
    told = ", ".join(f"{count} of {name}" for name, count in tried.items())
    results.add(found["kernel"], "remedies", "all taken", f"{told}")


def test_every_setting_that_is_named_can_be_had(found: Any) -> None:
    settings = found["settings"]
    assert "refused" not in settings, settings
    named = {*filter(None, found["names"].values())}
    assert len(named) > 10
    assert named - {*settings["boot"], *settings["runtime"]} == set(), settings["skipped"]
    status, said = settings["started"]
    assert status == 0, said
