# SPDX-License-Identifier: GPL-2.0-or-later
"""The isolated partition of a control group: on trees, and under systemd with a stand-in for
systemctl. The VM tests check the kernel's behaviour."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lowlat.host.root import Root
from lowlat.runtime import cgroup
from support import needs, waits
from support.cli import SHELL_GEN, lowlat
from support.machines import CONFIG, machine, write_tree

ROOT_ONLY = needs.root("mounts in a namespace")

TOP = "sys/fs/cgroup"
GROUP = f"{TOP}/lowlat.slice"

UNIFIED = {
    f"{TOP}/cgroup.controllers": "cpuset cpu io memory pids\n",
    f"{TOP}/cgroup.subtree_control": "cpu memory\n",
}

MADE = {
    f"{GROUP}/cpuset.cpus": "\n",
    f"{GROUP}/cpuset.cpus.partition": "member\n",
    f"{GROUP}/cgroup.events": "populated 0\nfrozen 0\n",
}

HOST = {**machine(config=f"{CONFIG}CONFIG_CPUSETS=y\n"), **UNIFIED}

ENABLE = ("--enable", "cpuset.cpus", "--enable", "cpuset.partition", "--disable", "isolcpus")


def plan_for(root: Path) -> str:
    answer = lowlat("plan", "--root", root, *ENABLE, "--json")
    assert answer.status == 0, answer.err
    return answer.out


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A machine whose group exists already."""
    root = write_tree(tmp_path, {**HOST, **MADE})
    return write_tree(root, {"var/lib/lowlat/plan.json": plan_for(root)})


def partition(root: Path) -> tuple[str, str]:
    names = ("cpuset.cpus", "cpuset.cpus.partition")
    cpus, kind = ((root / GROUP / name).read_text().strip() for name in names)
    return cpus, kind


def test_the_partition_is_made_and_given_back(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    assert partition(host) == ("1-3", "isolated")
    assert lowlat("runtime", "stop", "--root", host).status == 0
    assert partition(host) == ("", "member")
    assert lowlat("runtime", "stop", "--root", host).status == 0


def test_what_the_kernel_says_of_a_partition_that_is_none(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    reason = "Cpu list in cpuset.cpus not exclusive"
    (host / GROUP / "cpuset.cpus.partition").write_text(f"isolated invalid ({reason})\n")
    answer = lowlat("runtime", "verify", "--root", host)
    assert answer.status == 1
    [line] = [line for line in answer.out.splitlines() if "partition" in line]
    assert line.endswith(f"is isolated invalid ({reason}), planned isolated")
    # After a new start from this state, stop still restores the original state.
    lowlat("runtime", "start", "--root", host)
    lowlat("runtime", "stop", "--root", host)
    assert partition(host) == ("", "member")


def test_a_dry_run_tells_of_a_group_that_is_not_there(tmp_path: Path) -> None:
    root = write_tree(tmp_path, HOST)
    write_tree(root, {"var/lib/lowlat/plan.json": plan_for(root)})
    said = lowlat("runtime", "start", "--dry-run", "--root", root).out
    assert f"/{GROUP}/cpuset.cpus: missing would become 1-3" in said
    assert not (root / GROUP).exists()


def test_without_systemd_it_is_a_folder_that_goes_again(tmp_path: Path) -> None:
    root = write_tree(tmp_path, HOST)
    write_tree(root, {"var/lib/lowlat/plan.json": plan_for(root)})
    answer = lowlat("runtime", "start", "--root", root)
    # A tree is not a kernel: the new folder gets no files, and start reports this.
    assert answer.status == 1 and f"/{GROUP}/cpuset.cpus, planned 1-3: is not there" in answer.out
    assert (root / GROUP).is_dir()
    assert (root / TOP / "cgroup.subtree_control").read_text() == "+cpuset"
    assert lowlat("runtime", "stop", "--root", root).status == 0
    assert not (root / GROUP).exists()
    assert (root / TOP / "cgroup.subtree_control").read_text() == "-cpuset"


def test_a_controller_that_was_on_stays_on(tmp_path: Path) -> None:
    on = {f"{TOP}/cgroup.subtree_control": "cpuset cpu memory\n"}
    root = Root(str(write_tree(tmp_path, {**UNIFIED, **on})))
    how = cgroup.way(root, f"/{GROUP}")
    assert cgroup.make(root, f"/{GROUP}", how, "1-3") == ""
    assert cgroup.unmake(root, f"/{GROUP}", how) == ("", "")
    assert (tmp_path / TOP / "cgroup.subtree_control").read_text() == "cpuset cpu memory\n"


def test_a_group_with_tasks_in_it_stays_and_is_taken_away_later(tmp_path: Path) -> None:
    root = write_tree(tmp_path, HOST)
    write_tree(root, {"var/lib/lowlat/plan.json": plan_for(root)})
    lowlat("runtime", "start", "--root", root)
    events = root / GROUP / "cgroup.events"
    events.write_text("populated 1\nfrozen 0\n")
    answer = lowlat("runtime", "stop", "--root", root)
    assert answer.status == 0
    assert answer.out == f"/{GROUP} stays, with what runs in it\n"
    events.unlink()  # a real kernel would remove the file with its folder
    assert lowlat("runtime", "stop", "--root", root).status == 0
    assert not (root / GROUP).exists()
    assert not (root / "run/lowlat/runtime.json").exists()


@pytest.mark.security
def test_no_group_is_made_out_of_a_tree(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    write_tree(outside, {"cgroup/cgroup.subtree_control": "cpu\n"})
    root = write_tree(tmp_path, machine(config=f"{CONFIG}CONFIG_CPUSETS=y\n"))
    write_tree(root, {f"{TOP}/cgroup.controllers": "cpuset\n"})
    write_tree(root, {"var/lib/lowlat/plan.json": plan_for(root)})
    shutil.rmtree(root / "sys/fs")
    (root / "sys/fs").symlink_to(outside)
    assert lowlat("runtime", "start", "--root", root).status == 1
    assert [path.name for path in outside.rglob("*")] == ["cgroup", "cgroup.subtree_control"]
    assert (outside / "cgroup/cgroup.subtree_control").read_text() == "cpu\n"


def test_a_group_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    root = write_tree(tmp_path, HOST)
    write_tree(root, {"var/lib/lowlat/plan.json": plan_for(root)})
    write_tree(root, {GROUP: "in the way\n"})
    answer = lowlat("runtime", "start", "--root", root)
    assert answer.status == 1
    assert f"planned isolated: /{GROUP}: Not a directory" in answer.out


# ----------------------------------------------------------------- systemd

#: Makes and removes the files that systemd and the kernel would; the log of its calls is the test's
#: evidence.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$CALLS"
group=/sys/fs/cgroup/lowlat.slice
case "$*" in
*"start lowlat.slice")
	mkdir $group
	echo 1-3 >$group/cpuset.cpus
	# Longer than what is written over it: a plain file keeps the rest.
	echo "member         " >$group/cpuset.cpus.partition
	echo "populated ${POPULATED:-0}" >$group/cgroup.events
	;;
*AllowedCPUs=) [ ! -e $group ] || echo member >$group/cpuset.cpus.partition ;;
*"stop lowlat.slice") rm -r $group ;;
esac
exit "${STATUS:-0}"
"""

PREPARE = f"""
runtime() {{ {SHELL_GEN} runtime "$@"; }}
mount -t tmpfs none /sys/fs/cgroup && mount -t tmpfs -o mode=755 none /run &&
mkdir -p /run/systemd/system && echo 0-3 >/run/possible &&
mount --bind /run/possible /sys/devices/system/cpu/possible &&
"""


def in_namespace(folder: Path, *steps: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run steps as root of a machine with systemd; $1 is the plan."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/systemctl").write_text(SYSTEMCTL)
    (folder / "bin/systemctl").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "CALLS": str(folder / "calls"),
        **environment,
    }
    script = PREPARE + "\n".join(steps)
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(folder / "plan.json")],
        capture_output=True,
        text=True,
        timeout=waits.GUARD_S,
        env=environment,
        check=False,
    )


@pytest.fixture
def slice_plan(tmp_path: Path, host: Path) -> Path:
    """A plan that sets only the partition: the rest of this machine does not change."""
    names = {item["name"] for item in json.loads(plan_for(host))["runtime"]}
    others = (name for name in names if not name.startswith("cpuset."))
    disable = [word for name in others for word in ("--disable", name)]
    answer = lowlat("plan", "--root", host, *ENABLE, *disable, "--json")
    assert {item["name"] for item in answer.json()["runtime"]} == {
        "cpuset.cpus",
        "cpuset.partition",
    }
    (tmp_path / "plan.json").write_text(answer.out)
    return tmp_path


@ROOT_ONLY
def test_under_systemd_it_is_a_slice(slice_plan: Path) -> None:
    done = in_namespace(
        slice_plan,
        'runtime start --plan "$1" || exit',
        "cat /sys/fs/cgroup/lowlat.slice/cpuset.cpus.partition",
        "runtime stop && test ! -e /sys/fs/cgroup/lowlat.slice && runtime stop",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "isolated" in done.stdout and "2 of 2 run-time values are as planned" in done.stdout
    calls = (slice_plan / "calls").read_text().replace("--no-ask-password ", "").splitlines()
    assert calls == [
        "set-property --runtime lowlat.slice AllowedCPUs=1-3",
        "start lowlat.slice",
        "set-property --runtime lowlat.slice AllowedCPUs=",
        "stop lowlat.slice",
    ]


@ROOT_ONLY
def test_a_slice_with_tasks_in_it_is_not_stopped(slice_plan: Path) -> None:
    done = in_namespace(
        slice_plan,
        'runtime start --plan "$1" && runtime stop && runtime stop || exit',
        "head -c 1 /sys/fs/cgroup/lowlat.slice/cpuset.cpus | od -c",
        POPULATED="1",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # An empty line allows all CPUs again; written over a plain file, it leaves the rest of the old
    # text.
    assert "\\n" in done.stdout
    assert done.stdout.count("lowlat.slice stays, with what runs in it") == 2
    assert " stop " not in (slice_plan / "calls").read_text()


@ROOT_ONLY
def test_a_refusing_systemd_is_quoted(slice_plan: Path) -> None:
    done = in_namespace(slice_plan, 'runtime start --plan "$1"', STATUS="4")
    assert done.returncode == 1
    assert "planned isolated: systemctl set-property: exit status 4" in done.stdout
