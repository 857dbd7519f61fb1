# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of the source distribution and of the wheel; the wheel runs on its own.

Expectations come from the repository's own file list, so a new module needs no edit here; a missing
or surplus file fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import pytest

import lowlat
from support import needs
from support.waits import GUARD_S

ROOT = Path(__file__).parents[2]
MACHINE = ROOT / "tests/machines/qemu-x86-2s4c-2n-devices.txt"
NAME = f"lowlat-{lowlat.__version__}"
HARNESS = "lowlat/libexec/lowlat-measure"
# The places of the repository's folders inside the wheel.
MAPPING = {
    "generator/lowlat/": "lowlat/",
    "profiles/": "lowlat/profiles/",
    "templates/": "lowlat/templates/",
}


@dataclass(frozen=True)
class BuiltArchives:
    source: Path
    files: frozenset[str]
    sdist: Path
    wheel: Path


def run(
    *command: object, cwd: Path, env: Optional[Mapping[str, str]] = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=GUARD_S,
    )


def repository_files() -> frozenset[str]:
    """Tracked files, and new files that git does not ignore; a deleted file that is not yet
    committed is neither."""
    listed = run(
        "git", "-c", f"safe.directory={ROOT}",
        "ls-files", "-z", "--cached", "--others", "--exclude-standard",
        cwd=ROOT,
    )  # fmt: skip
    assert listed.returncode == 0, listed.stderr
    return frozenset(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def build(source: Path, out: Path, *options: str, env: Optional[Mapping[str, str]] = None) -> Path:
    """Build with the installed tools: without isolation, pip needs no network."""
    done = run(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", out, *options, source,
        cwd=out.parent, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltArchives:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        needs.absent("needs git and the repository: the expected files are those git lists")
    source = tmp_path_factory.mktemp("packaging") / "source"
    files = repository_files()
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    out = source.parent / "dist"
    # Without options the wheel is built from the source distribution, which proves that complete.
    wheel = build(source, out)
    return BuiltArchives(source, files, out / f"{NAME}.tar.gz", wheel)


def wheel_content(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.startswith(f"{NAME}.dist-info/")}


def expected_package(files: frozenset[str]) -> set[str]:
    return {
        inside + name[len(outside) :]
        for name in files
        for outside, inside in MAPPING.items()
        if name.startswith(outside)
    }


def test_sdist_is_the_repository(built: BuiltArchives) -> None:
    with tarfile.open(built.sdist) as archive:
        found = {entry.name for entry in archive if not entry.isdir()}
    made = {name for name in found if f"{NAME}/generator/lowlat.egg-info/" in name}
    assert found - made == {f"{NAME}/{name}" for name in {*built.files, "PKG-INFO"}}


def test_wheel_is_the_package_and_the_harness(built: BuiltArchives) -> None:
    assert wheel_content(built.wheel) == {*expected_package(built.files), HARNESS}


def test_wheel_serves_every_python_on_one_platform(built: BuiltArchives) -> None:
    assert built.wheel.name.startswith(f"{NAME}-py3-none-linux_")


@pytest.mark.parametrize(
    ("env", "platform"),
    [
        pytest.param({"LOWLAT_NO_NATIVE": "1"}, "any", id="asked for"),
        pytest.param({"PATH": "/nonexistent"}, "linux_*", id="no make or compiler"),
    ],
)
def test_wheel_without_the_harness(
    built: BuiltArchives, tmp_path: Path, env: Mapping[str, str], platform: str
) -> None:
    wheel = build(built.source, tmp_path / "dist", "--wheel", env=env)
    assert wheel.match(f"{NAME}-py3-none-{platform}.whl")
    assert wheel_content(wheel) == expected_package(built.files)


def test_installed_wheel_runs_alone(built: BuiltArchives, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    install = (environment / "bin/python", "-m", "pip", "install", "--no-index", "--no-deps")
    for command in ((sys.executable, "-m", "venv", environment), (*install, built.wheel)):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr

    # --version needs none of the dependencies: lowlat-gen answers before it imports anything.
    version = run(environment / "bin/lowlat-gen", "--version", cwd=tmp_path)
    assert (version.returncode, version.stderr) == (0, "")
    assert lowlat.__version__ in version.stdout

    (harness,) = environment.glob(f"lib/python3*/site-packages/{HARNESS}")
    refused = run(harness, "--cpus", "no such CPU", cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    version = run(harness, "--version", cwd=tmp_path)
    assert version.stdout == f"lowlat-measure {lowlat.__version__}\n"
    assert "--cpus LIST" in run(harness, "--help", cwd=tmp_path).stdout

    # The plan for a captured machine needs no library.
    planned = run(environment / "bin/lowlat-gen", "plan", "--json", "--root", MACHINE, cwd=tmp_path)
    assert (planned.returncode, planned.stderr) == (0, "")
    assert json.loads(planned.stdout)["cpus"]["isolated"] == "1-3,6-7"


def test_two_wheels_are_the_same_to_the_byte(built: BuiltArchives, tmp_path: Path) -> None:
    """The second wheel comes from copied files, in another place, at another time."""
    shutil.copytree(
        built.source, tmp_path / "another place", copy_function=shutil.copy, symlinks=True,
        ignore=shutil.ignore_patterns("build", "*.egg-info"),
    )  # fmt: skip
    again = build(tmp_path / "another place", tmp_path / "dist", "--wheel")
    assert again.read_bytes() == built.wheel.read_bytes()


@pytest.mark.proof
def test_pipx_installs_the_wheel(built: BuiltArchives, tmp_path: Path) -> None:
    """pipx also fetches the wheel's dependencies from the package registry."""
    python = tmp_path / "venv/bin/python"
    assert run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path).returncode == 0
    if run(python, "-m", "pip", "install", "pipx", cwd=tmp_path).returncode:
        needs.absent("pipx cannot be had from the registry")
    env = {f"PIPX_{name}": str(tmp_path / name) for name in ("HOME", "BIN_DIR", "MAN_DIR")}
    done = run(python, "-m", "pipx", "install", built.wheel, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    lowlat_gen = tmp_path / "BIN_DIR/lowlat-gen"
    assert run(lowlat_gen, "--version", cwd=tmp_path).stdout == f"lowlat-gen {lowlat.__version__}\n"
    rendered = run(lowlat_gen, "render", "--out", "made", "--root", MACHINE, cwd=tmp_path)
    assert (rendered.returncode, rendered.stderr) == (0, "")
    help_ = run(lowlat_gen, "measure", "--help", cwd=tmp_path)
    assert (help_.returncode, help_.stderr) == (0, "")


def test_an_old_setuptools_builds_the_harness(built: BuiltArchives, tmp_path: Path) -> None:
    """Before version 64, setuptools' build_py does not know editable installs."""
    code = (
        "import sys, runpy, setuptools.command.build_py as module\n"
        "class Old(module.build_py):\n"
        "    def __getattribute__(self, name):\n"
        "        if name == 'editable_mode':\n"
        "            raise AttributeError(name)\n"
        "        return super().__getattribute__(name)\n"
        "    def run(self):\n"
        "        pass\n"
        "module.build_py = Old\n"
        f"sys.argv = ['setup.py', 'build_py', '--build-lib', {str(tmp_path)!r}]\n"
        "runpy.run_path('setup.py', run_name='__main__')\n"
    )
    done = run(sys.executable, "-c", code, cwd=built.source)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / HARNESS).is_file()


# -------------------------------------------------------------- apt


@pytest.mark.parametrize(
    ("ran", "runs", "enabled", "said"),
    [
        ("no", 1, 1, "not enabled and not running"),
        ("no", 0, 1, "not enabled and STILL RUNNING (systemctl stop tuned.service failed)"),
        ("yes", 0, 1, "not enabled and running, as it was before"),
        ("no", 1, 0, "STILL ENABLED (systemctl disable tuned.service failed) and not running"),
    ],
)
def test_what_became_of_tuned_is_said(ran: str, runs: int, enabled: int, said: str) -> None:
    script = (
        "eval \"$(sed -n '/^settle_tuned()/,/^}/p' packaging/install-dependencies)\"\n"
        'say() { echo "$*"; }\n'
        f"tuned_runs() {{ return {runs}; }}\n"
        f"systemctl() {{ case $1 in is-enabled) return {enabled} ;; *) return 1 ;; esac; }}\n"
        f"tuned_ran={ran}\n"
        "settle_tuned\n"
    )
    done = run("sh", "-euc", script, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"tuned is installed, {said}\n"


@pytest.mark.root
@needs.root("mounts in a namespace")
def test_products_are_those_of_the_packaged_profiles(tmp_path: Path) -> None:
    profiles = tmp_path / "upper/lowlat/profiles"
    for name in ("lowlat", "own"):
        (profiles / name).mkdir(parents=True)
        (profiles / name / "lowlat.conf").write_text("[main]\nsummary = the administrator's\n")
    script = (
        'mount -t tmpfs none "$1/space" && mkdir "$1/space/work" "$1/space/upper" && '
        'cp -r "$1/upper/lowlat" "$1/space/upper/" && mount -t overlay none /etc '
        '-o "lowerdir=/etc,upperdir=$1/space/upper,workdir=$1/space/work" && '
        'test -e /etc/lowlat/profiles/own/lowlat.conf && exec "$2" -c "$3"'
    )
    code = (
        "import runpy\n"
        "for path, content in runpy.run_path('packaging/produce')['products']().items():\n"
        "    assert path.read_text() == content, path\n"
        "    if path.name == 'tuned.conf':\n"
        "        print(path.parent.name)\n"
    )
    (tmp_path / "space").mkdir()
    done = run("unshare", "-m", "sh", "-c", script, "sh", tmp_path, sys.executable, code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {
        path.parent.name for path in (ROOT / "profiles").glob("*/lowlat.conf")
    }
