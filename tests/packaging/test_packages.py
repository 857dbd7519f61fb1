# SPDX-License-Identifier: GPL-2.0-or-later
"""The DEB and the RPM: built once, their content, what the linters say, and installed for real.

``LOWLAT_GOLDEN=1`` writes the lists of files anew. The Python package is not in them: what is in
the source must be in the package, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import pytest

import lowlat

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).parent
MACHINE = ROOT / "tests/machines/qemu-x86-2s4c-2n-devices.txt"
BUILD_S = 300


def have(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(
        bool(missing),
        reason=f"needs {', '.join(missing)}: packaging/install-dependencies package",
    )


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: installs below another root")


@dataclass(frozen=True)
class Built:
    """Packages by name, what the build said, and the sources they were built from."""

    packages: dict[str, Path]
    said: str
    source: Path


def run(*words: object, timeout: int = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=timeout
    )


def done(*words: object, timeout: int = 120) -> str:
    ended = run(*words, timeout=timeout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def built(kind: str, folder: Path, change: Callable[[Path], object] = lambda source: None) -> Built:
    """The packages of the sources as they are, or after a change of theirs."""
    # Its own copy of the sources: the tree may be edited meanwhile.
    source = folder / "source"
    done(ROOT / "packaging/copy-source", source)
    change(source)
    out = folder / kind
    # `make test` runs the harness's own tests.
    unchecked = ("env", "DEB_BUILD_OPTIONS=nocheck")
    more = ["--nocheck"] if kind == "rpm" else []
    said = done(*unchecked, source / f"packaging/build-{kind}", out, *more, timeout=BUILD_S)
    paths = (Path(line) for line in said.splitlines() if line.endswith(f".{kind}"))
    packages = {re.split(r"[_-]\d", path.name)[0]: path for path in paths}
    assert set(packages) == {"lowlat", "lowlat-measure"}
    return Built(packages, said, source)


def later(source: Path) -> None:
    """Make it the next version, with another hook for GRUB."""
    for name in ("debian/changelog", "rpm/lowlat.spec", "../generator/lowlat/__init__.py"):
        path = source / "packaging" / name
        path.write_text(path.read_text().replace(lowlat.__version__, f"{lowlat.__version__}.1"))
    with (source / "templates/grub/99_lowlat").open("a") as hook:
        hook.write("# As a later version has it.\n")


def python_part(source: Path) -> set[str]:
    """The files of the Python package as they lie in the sources, without the profiles."""
    found = {"lowlat/profiles/__init__.py"}
    for folder, inside in (("generator/lowlat", "lowlat"), ("templates", "lowlat/templates")):
        for path in (source / folder).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                found.add(f"{inside}/{path.relative_to(source / folder)}")
    return found


def check_files(lines: list[str], modules: str, list_name: str, source: Path) -> None:
    """Each line is "package: mode path[ -> target]"; ``modules`` is the folder of Python's."""
    kept, python = [], set()
    for line in lines:
        path = line.split()[2]
        link = line.split()[1].startswith("l")
        if path.startswith(f"{modules}/lowlat/") and not link:
            python.add(path[len(modules) + 1 :])
        else:
            kept.append(line)
    assert python == python_part(source)
    committed = LISTS / list_name
    text = "".join(f"{line}\n" for line in sorted(kept))
    if os.environ.get("LOWLAT_GOLDEN"):
        committed.write_text(text)
    assert text == committed.read_text()


@pytest.mark.place
def test_another_prefix_is_named_everywhere(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "DESTDIR": str(tmp_path),
        "pythondir": "/opt/own/lib",
        "prefix": "/opt/own",
    }
    subprocess.run([ROOT / "packaging/install-files", "gen"], env=env, check=True, timeout=60)
    assert (tmp_path / "opt/own/bin/lowlat-gen").exists()
    texts = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if b"/usr/bin/lowlat-gen" in text] == []
    named = {path.suffix for path, text in texts.items() if b"/opt/own/bin/lowlat-gen" in text}
    assert {".conf", ".sh", ".service"} <= named


# ------------------------------------------------------------------------ DEB


@pytest.fixture(scope="module")
def deb(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built("deb", tmp_path_factory.mktemp("deb"))


with_deb = have("dpkg-buildpackage", "dh", "dh_python3")


def deb_lines(package: str, path: Path) -> Iterator[str]:
    for line in done("dpkg-deb", "-c", path).splitlines():
        mode, owner, _, _, _, name = line.split(maxsplit=5)
        assert owner == "root/root"
        # debhelper before 13.12 puts units into /lib, which is /usr/lib.
        name = re.sub(r"^\./(?=lib/)", "./usr/", name)
        if not mode.startswith("d"):
            yield f"{package}: {mode} {name[1:]}"


@with_deb
def test_deb_holds_these_files(deb: Built) -> None:
    lines = [line for name, path in deb.packages.items() for line in deb_lines(name, path)]
    check_files(lines, "/usr/lib/python3/dist-packages", "deb.files", deb.source)


@with_deb
@have("lintian")
def test_lintian_says_nothing(deb: Built) -> None:
    assert [line for line in deb.said.splitlines() if not line.endswith(".deb")] == []


@with_deb
def test_deb_names_the_version_and_leaves_tuned_alone(deb: Built) -> None:
    field = "${Version} ${Architecture} ${Depends} / ${Recommends}"
    version, arch, rest = done(
        "dpkg-deb", "-W", f"--showformat={field}", deb.packages["lowlat"]
    ).split(maxsplit=2)
    assert (version, arch) == (lowlat.__version__, "all")
    depends, recommends = rest.split(" / ")
    assert "tuned" not in depends and "tuned" in recommends
    scripts = deb.packages["lowlat"].parent / "control"
    done("dpkg-deb", "-e", deb.packages["lowlat"], scripts)
    for script in ("postinst", "prerm", "postrm"):
        text = (scripts / script).read_text()
        assert not re.search(r"(systemctl|deb-systemd-invoke).*(start|enable|tuned)", text)


@with_deb
def test_unpacked_deb_runs_with_the_systems_python(deb: Built, tmp_path: Path) -> None:
    done("dpkg-deb", "-x", deb.packages["lowlat"], tmp_path)
    if run("/usr/bin/python3", "-c", "import jinja2").returncode:
        pytest.skip("needs python3-jinja2: packaging/install-dependencies package")
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{tmp_path}/usr/lib/python3/dist-packages"}

    def answer(*words: object) -> str:
        ended = subprocess.run(
            ["/usr/bin/python3", f"{tmp_path}/usr/bin/lowlat-gen", *map(str, words)],
            env=env, cwd="/", capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    plan = json.loads(answer("plan", "--json", "--root", MACHINE))
    assert plan["cpus"]["isolated"] == "1-3,6-7"
    # Profiles and templates are found.
    for path in sorted((tmp_path / "usr/lib/tuned/profiles").iterdir()):
        assert path.name in answer("explain", path.name)
        assert (tmp_path / "usr/lib/tuned" / path.name / "tuned.conf").is_file()
    out = tmp_path / "out"
    assert str(out) in answer("render", "--out", out, "--root", MACHINE)


@with_deb
@as_root
@pytest.mark.root
@pytest.mark.security
def test_install_changes_nothing_and_purge_leaves_nothing(deb: Built, tmp_path: Path) -> None:
    """On this machine's own system, in an overlay that is gone with the test."""
    given = tmp_path / "given"
    given.mkdir()
    for path in deb.packages.values():
        shutil.copy(path, given)
    shutil.copy(MACHINE, given / "machine.txt")
    space = tmp_path / "space"
    space.mkdir()
    script = LISTS / "install-deb"
    said = done("unshare", "--mount", "--fork", script, space, given, timeout=BUILD_S)
    changed = {part.split()[0]: part.split()[1:] for part in said.split("== ")[1:]}

    def log(name: str) -> str:
        return (given / f"{name}.log").read_text()

    assert "./usr/bin/lowlat-gen" in changed["installed"]
    # Neither the boot configuration, nor anything that a boot or TuneD would start.
    assert {path.split("/")[1] for path in changed["installed"]} <= {"usr", "lib"}
    assert json.loads(log("plan"))["cpus"]["isolated"] == "1-3,6-7"
    assert log("verbs").count("usage: lowlat-gen ") > 10
    assert log("version") == f"lowlat-measure {lowlat.__version__}\n"
    assert len(log("pages").splitlines()) == 4

    # Where the way back cannot be had, the package stays.
    assert "journal.json" in log("refused")
    assert log("refused").endswith(f"lowlat-gen {lowlat.__version__}\n")
    # Taken back in this order, with the program still there.
    assert log("remove").count("dpkg: error") == 0
    assert (given / "calls").read_text().splitlines() == [
        "tune --abort",
        "rollback",
        "runtime stop",
    ]
    assert changed["removed"] == [
        "./etc/lowlat/profiles/own/lowlat.conf",
        "./var/lib/lowlat/runs/run.json",
        "./var/lib/lowlat/tune.json",
    ]
    # Measured runs go only where that is asked for.
    assert changed["purged"] == ["./var/lib/lowlat/runs/run.json"]
    assert "runs stay in /var/lib/lowlat/runs" in log("purge")
    assert changed["asked"] == []


# ------------------------------------------------------------------------ RPM


@pytest.fixture(scope="module")
def rpm(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built("rpm", tmp_path_factory.mktemp("rpm"))


with_rpm = have("rpmbuild")


def rpm_lines(package: str, path: Path) -> Iterator[str]:
    form = "[%{FILEMODES:perms} %{FILENAMES} -> %{FILELINKTOS}\n]"
    for line in done("rpm", "-qp", "--qf", form, path).splitlines():
        line = re.sub(r" -> $", "", line).replace(f"-{lowlat.__version__}", "-VERSION")
        if not line.startswith("d"):
            yield f"{package}: {line}"


def site_packages(path: Path) -> str:
    listed = done("rpm", "-qpl", path)
    found = re.search(r"(?m)^(/usr/lib/python3[^/]*/site-packages)/lowlat$", listed)
    assert found
    return found[1]


@with_rpm
def test_rpm_holds_these_files(rpm: Built) -> None:
    modules = site_packages(rpm.packages["lowlat"])
    lines = [line for name, path in rpm.packages.items() for line in rpm_lines(name, path)]
    lines = [line.replace(modules, "/usr/lib/python3/site-packages") for line in lines]
    check_files(lines, "/usr/lib/python3/site-packages", "rpm.files", rpm.source)


@with_rpm
@have("rpmlint")
def test_rpmlint_says_nothing(rpm: Built) -> None:
    assert "0 errors, 0 warnings" in rpm.said


@with_rpm
def test_rpm_names_the_version_and_leaves_tuned_alone(rpm: Built) -> None:
    path = rpm.packages["lowlat"]
    assert done("rpm", "-qp", "--qf", "%{VERSION}", path) == lowlat.__version__
    assert "tuned" not in done("rpm", "-qp", "--requires", path)
    assert "tuned" in done("rpm", "-qp", "--recommends", path)


@with_rpm
@have("busybox")
@as_root
@pytest.mark.root
def test_rpm_installs_into_an_empty_tree_and_goes_again(rpm: Built, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "bin").mkdir(parents=True)
    busybox = Path(str(shutil.which("busybox")))
    if b"statically linked" not in done("file", "-L", busybox).encode():
        pytest.skip("needs a static busybox: packaging/install-dependencies rehearse")
    shutil.copy(busybox, tree / "bin/busybox")
    for name in ("sh", "grep"):
        (tree / "bin" / name).symlink_to("busybox")
    before = {path for path in tree.rglob("*")}
    command = ("rpm", "--root", tree, "--dbpath", "/db", "--nodeps")
    # Only Debian's rpm has that option; there it is the administrator's consent.
    debian = ("--force-debian",) if shutil.which("dpkg") else ()

    done(*command, *debian, "-i", *rpm.packages.values())
    listed = done("rpm", "-qpl", *rpm.packages.values()).split()
    assert all(os.path.lexists(f"{tree}{path}") for path in listed)
    profiles = sorted(path.name for path in (tree / "usr/lib/tuned/profiles").iterdir())
    assert profiles == sorted(
        path.parent.name for path in rpm.source.glob("profiles/*/lowlat.conf")
    )
    assert all((tree / "usr/lib/tuned" / name / "tuned.conf").is_file() for name in profiles)

    # What is applied and cannot be taken back (nothing can be run here) keeps the package.
    journal = tree / "var/lib/lowlat/journal.json"
    journal.parent.mkdir(parents=True)
    journal.write_text("{}")
    refused = run(*command, *debian, "-e", "lowlat")
    assert refused.returncode != 0
    assert "preun" in refused.stderr
    assert (tree / "usr/bin/lowlat-gen").exists()
    shutil.rmtree(journal.parent)

    done(*command, *debian, "-e", "lowlat", "lowlat-measure")
    left = {path for path in tree.rglob("*") if not path.is_dir()} - before
    assert {path for path in left if not path.is_relative_to(tree / "db")} == set()
