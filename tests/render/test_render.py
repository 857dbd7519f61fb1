# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: the complete files of a plan, in their places; ``cpus``: the bare lists."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lowlat import __version__
from support import needs
from support.cli import GEN, SHELL_GEN, lowlat
from support.machines import CPU, machine, write_tree

ROOT_ONLY = needs.root("mounts in a namespace")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "host", machine())


@pytest.fixture
def out(tmp_path: Path, host: Path) -> Path:
    answer = lowlat("render", "--root", host, "--out", tmp_path / "out")
    assert answer.status == 0, answer.err
    return tmp_path / "out"


def plan_of(out: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((out / "var/lib/lowlat/plan.json").read_text())
    return document


def test_every_path_is_printed_and_lies_below_the_folder(tmp_path: Path, host: Path) -> None:
    answer = lowlat("render", "--root", host, "--out", tmp_path / "out")
    files = sorted(str(path) for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert sorted(answer.out.split()) == files
    assert (tmp_path / "out/etc/grub.d/99_lowlat").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


def test_the_stored_plan_is_the_plan(out: Path, host: Path) -> None:
    planned = lowlat("plan", "--root", host, "--json").json()
    assert plan_of(out) == {**planned, "writer": __version__}


def test_a_stored_plan_renders_the_same(tmp_path: Path, out: Path) -> None:
    again = tmp_path / "again"
    lowlat("render", "--plan", out / "var/lib/lowlat/plan.json", "--out", again)
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        assert (again / path.relative_to(out)).read_bytes() == path.read_bytes()


def test_the_line_to_add_by_hand_is_the_plans(out: Path) -> None:
    plan = plan_of(out)
    line = f"{plan['cmdline']['text']} lowlat.plan={plan['id']}"
    assert (out / "etc/lowlat/cmdline").read_text() == f"{line}\n"


def test_grubs_script_and_its_settings_are_read_by_the_shell(out: Path) -> None:
    script = '. "$1" && printf "%s\\n" "$LOWLAT_GEN"'
    words = ["/bin/sh", "-euc", script, "sh", str(out / "etc/lowlat/boot.conf")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "/usr/bin/lowlat-gen\n"
    subprocess.run(["/bin/sh", "-n", out / "etc/grub.d/99_lowlat"], check=True)


def test_rendering_again_replaces(out: Path, host: Path) -> None:
    assert lowlat("render", "--root", host, "--isolate", "3", "--out", out).status == 0
    assert plan_of(out)["cpus"]["isolated"] == "3"
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]


@ROOT_ONLY
def test_a_read_only_file_system_is_refused(tmp_path: Path, host: Path) -> None:
    script = f'mount -t tmpfs -o ro none "$1" && exec {SHELL_GEN} render --root "$2" --out "$1/out"'
    folder = tmp_path / "ro"
    folder.mkdir()
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", folder, host],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Read-only" in done.stderr


# -------------------------------------------------------------------- cpus


def test_cpus_prints_the_bare_list(host: Path) -> None:
    assert lowlat("cpus", "isolated", "--root", host).out == "1-3\n"
    assert lowlat("cpus", "housekeeping", "--root", host).out == "0\n"
    (host / CPU / "isolated").write_text("2-3\n")
    assert lowlat("cpus", "isolated", "--root", host).out == "2-3\n"
    assert lowlat("cpus", "housekeeping", "--root", host).out == "0-1\n"


def test_cpus_follows_the_applied_plan_in_a_boot_of_ours(host: Path, out: Path) -> None:
    plan = plan_of(out)
    shutil.copytree(out / "var", host / "var")
    (host / CPU / "isolated").write_text("2\n")
    (host / "proc/cmdline").write_text(f"quiet lowlat.plan={plan['id']}\n")
    assert lowlat("cpus", "isolated", "--root", host).out == "1-3\n"
    (host / "proc/cmdline").write_text("quiet lowlat.plan=other\n")
    assert lowlat("cpus", "isolated", "--root", host).out == "2\n"


def test_what_could_only_be_half_replaced_is_refused_before_anything_is(
    tmp_path: Path, host: Path, out: Path
) -> None:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    shutil.rmtree(out / "etc/tuned/lowlat-local")
    (out / "etc/tuned/lowlat-local").write_text("in the way")
    again = ("render", "--root", host, "--isolate", "3", "--out")
    assert "no folder" in lowlat(*again, out).refused()
    kept = out / "var/lib/lowlat/plan.json"
    assert kept.read_bytes() == before[kept]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/etc").symlink_to(tmp_path / "elsewhere")
    lowlat(*again, tmp_path / "linked").refused()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_umask_does_not_hide_the_files(tmp_path: Path, host: Path) -> None:
    words = ("render", "--root", str(host), "--out", str(tmp_path / "out"))
    command = [*GEN, *words]
    subprocess.run(command, check=True, capture_output=True, umask=0o077)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_dir()}
    assert modes == {0o755}
