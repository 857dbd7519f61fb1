# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers, by what their files show: nothing is planned for the host, and what reads still
works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lowlat.host.root import Root
from lowlat.verbs.doctor_lacks import find_gaps
from support import needs
from support.cli import SHELL_GEN, lowlat
from support.machines import CPU, machine, write_tree
from support.waits import GUARD_S

FIELD = Path(__file__).parents[1] / "machines/field"

SIGNS = {
    "lxc": {"proc/1/environ": "PATH=/bin\0container=lxc\0hidden=1\0"},
    "systemd-nspawn": {"run/systemd/container": "systemd-nspawn\n"},
    "podman": {"run/.containerenv": ""},
    "docker": {".dockerenv": ""},
    "kubernetes": {"run/secrets/kubernetes.io/serviceaccount/token": "x\n"},
    "lxcfs": {f"{CPU}/online": "0-1\n", f"{CPU}/offline": "\n", f"{CPU}/present": "0-3\n"},
}

HOST = {
    "proc/1/environ": "TERM=linux\0mycontainer=lxc\0",
    f"{CPU}/offline": "3-7\n",
    f"{CPU}/online": "0-2\n",
    f"{CPU}/present": "0-3\n",
}

REFUSED = (
    ("plan",),
    ("apply", "--dry-run"),
    ("apply",),
    ("trial",),
    ("promote",),
    ("tune",),
    ("runtime", "start", "--profile", "lowlat"),
    ("render", "--out", "nowhere"),
)


def test_a_pod_without_an_account_is_one_by_its_environment(tmp_path: Path) -> None:
    environment = "PATH=/bin\0KUBERNETES_SERVICE_HOST=10.0.0.1\0"
    root = write_tree(tmp_path, {**machine(), "proc/1/environ": environment})
    assert lowlat("plan", "--root", root).refused().startswith("this is a container (kubernetes)")


@pytest.mark.parametrize("name", SIGNS)
def test_a_container_is_named_and_nothing_is_planned_in_it(name: str, tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(), "etc/hostname": "x\n", **SIGNS[name]})
    for verb, *words in REFUSED:
        said = lowlat(verb, "--root", root, *words).refused()
        assert said.startswith(f"this is a container ({name}): ")
        assert said.endswith("(run lowlat-gen on its host)")
    assert lowlat("probe", "--root", root, "--json").json()["container"] == name
    assert f"this is a container ({name})" in lowlat("status", "--root", root).out
    assert lowlat("rollback", "--root", root).status == 0
    lacking = {verb for lack in find_gaps(Root(str(root))) if not lack.use for verb in lack.verbs}
    assert {verb for verb, *_ in REFUSED} <= lacking


@pytest.mark.parametrize("release", ["6.6.87.2-microsoft-standard-WSL2", "4.4.0-19041-Microsoft"])
def test_wsl_is_one_whose_line_windows_has(release: str, tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(release=release), "etc/hostname": "x\n"})
    line = r"kernelCommandLine= below [wsl2] in %UserProfile%\.wslconfig"
    for verb, *words in REFUSED:
        said = lowlat(verb, "--root", root, *words).refused()
        assert said.startswith("this is WSL, whose kernel Windows starts: ")
        assert line in said and said.endswith("after 'wsl --shutdown')")
    assert line in " ".join(lowlat("doctor", "--root", root).out.split())
    noted = f"this is WSL, whose kernel Windows starts: {line}"
    assert noted in " ".join(lowlat("status", "--root", root).out.split())
    assert lowlat("probe", "--root", root, "--json").json()["container"] == "wsl"
    assert "isolcpus" in lowlat("lint", "--root", root, "isolcpus=1").out


def test_what_reads_works_inside_the_cpus_of_the_container(tmp_path: Path) -> None:
    root = FIELD / "lxcfs-4110.txt.gz"
    assert lowlat("cpus", "isolated", "--root", root).out == "9,25\n"
    words = lowlat("lint", "--root", root, "--json", "isolcpus=9,25").json()["words"]
    assert [word["verdict"] for word in words] == ["effective"]
    again = tmp_path / "again.txt"
    assert lowlat("capture", "--root", root, again).status == 0
    for name, path in (("lxc", root), ("lxc", again), ("lxcfs", FIELD / "lxcfs-731.txt.gz")):
        assert f"a container ({name})" in lowlat("plan", "--root", path).refused()


def test_a_capture_holds_no_environment(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "in", {**machine(), **SIGNS["lxc"]})
    archive = tmp_path / "out.txt"
    assert lowlat("capture", "--root", root, archive).status == 0
    assert "hidden" not in archive.read_text()
    assert "a container (lxc)" in lowlat("plan", "--root", archive).refused()


def test_a_host_is_no_container(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(), **HOST})
    assert lowlat("probe", "--root", root, "--json").json()["container"] is None
    # A virtual machine that boots a container's image has the first process namespace.
    write_tree(root, {".dockerenv": "", "proc/self/ns/x": ""})
    (root / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    assert lowlat("plan", "--root", root).status == 0


@needs.root("namespaces of its own")
@needs.two_cpus()
def test_in_a_real_container_no_cpu_but_the_allowed_ones_is_named() -> None:
    """A podman container as far as its files go: /run is its own, and so are the processes."""
    make = "mount -t tmpfs -o mode=755 none /run && touch /run/.containerenv && exec "
    words = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c"]
    for cpu in sorted(os.sched_getaffinity(0))[:2]:
        asked = f"taskset --cpu-list {cpu} {SHELL_GEN} cpus isolated --planned"
        done = subprocess.run(
            [*words, make + asked], capture_output=True, text=True, timeout=GUARD_S, check=True
        )
        assert done.stdout.strip() in ("", str(cpu))
    asked = f"{SHELL_GEN} plan"
    done = subprocess.run(
        [*words, make + asked], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert done.returncode == 2 and "this is a container (podman)" in done.stderr
