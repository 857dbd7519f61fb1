# SPDX-License-Identifier: GPL-2.0-or-later
"""A load in a memory group of cgroup v2: what runs out of memory is killed there, nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.base import process
from lowlat.measure.child import find_harness
from support import needs
from support.guest import host_files
from support.guest.kernels import KERNELS, packaged_or_skip

pytestmark = pytest.mark.vm

#: In CPU seconds.
_LIMIT_S = 300.0

#: The controller is handed on as systemd does it. The group's folder is looked at while the load
#: runs and when it has ended.
_TASK = """cd {folder} && umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup && echo +memory >/sys/fs/cgroup/cgroup.subtree_control || exit
export TMPDIR=/dev/shm
{harness} --cpus 2-3 --load oom --duration 20s --warmup 5s --emulated --no-oslat --json run.json &
while kill -0 $!; do ls -d /sys/fs/cgroup/lowlat* && grep . /sys/fs/cgroup/lowlat*/memory.max
	sleep 2; done >during 2>/dev/null
wait $!
echo $? >status
ls -d /sys/fs/cgroup/lowlat* >left 2>/dev/null
dmesg >messages
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one boot left."""
    kernel = packaged_or_skip(KERNELS["6.12"])
    if process.find("stress-ng") is None:
        needs.absent("stress-ng is not installed on this host")
    shared = tmp_path_factory.mktemp("group")
    host_files.run(kernel, shared, _TASK, _LIMIT_S, harness=find_harness())
    return shared


def test_what_is_killed_is_the_loads_own(folder: Path) -> None:
    run: Any = json.loads((folder / "run.json").read_text())
    # Out of memory on emulated CPUs, stress-ng may be too slow to tell how it went.
    late = "stress-ng failed at its end (status 137), too late, without metrics"
    assert run["complete"] or late in run["problems"], run["problems"]
    groups = [load["memory_group"] for load in run["loads"]]
    assert {group["cgroup_version"] for group in groups} == {2}
    assert sum(group["oom_kills"] for group in groups) > 0
    killed = [x for x in (folder / "messages").read_text().splitlines() if "Killed process" in x]
    assert killed, "the kernel says whom it killed"
    assert [line for line in killed if "(stress-ng" not in line] == []
    assert "Memory cgroup out of memory" in (folder / "messages").read_text()


def test_the_group_is_bounded_and_gone_afterwards(folder: Path) -> None:
    during = (folder / "during").read_text()
    assert any(line.isdigit() for line in during.splitlines()), during
    assert (folder / "left").read_text() == ""
