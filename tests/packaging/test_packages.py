# SPDX-License-Identifier: GPL-2.0-or-later
"""The DEB and the RPM, each built once: their content, the linters' findings, and real installs.

``LOWLAT_GOLDEN=1`` writes the lists of files anew. The lists omit the Python package: the package
must contain exactly the files of the source.
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
from support import needs
from support.waits import GUARD_S

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).parent
MACHINE = ROOT / "tests/machines/qemu-x86-2s4c-2n-devices.txt"
BUILD_S = 300


def have(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if not shutil.which(program)]
    return needs.that(
        not missing, f"needs {', '.join(missing)}: packaging/install-dependencies package"
    )


with_deb = have("dpkg-buildpackage", "dh", "dh_python3")
with_rpm = have("rpmbuild")
as_root = needs.root("installs below another root")


@dataclass(frozen=True)
class BuiltPackages:
    """Packages by name, the output of the build, and the sources of the packages."""

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


def built(
    kind: str, folder: Path, change: Callable[[Path], object] = lambda source: None
) -> BuiltPackages:
    """The packages of the unchanged sources, or of changed ones."""
    # A private copy of the sources: someone may edit the tree meanwhile.
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
    return BuiltPackages(packages, said, source)


def later(source: Path) -> None:
    """Make this tree the next version, with other hooks."""
    for name in ("debian/changelog", "rpm/lowlat.spec", "../generator/lowlat/__init__.py"):
        path = source / "packaging" / name
        path.write_text(path.read_text().replace(lowlat.__version__, f"{lowlat.__version__}.1"))
    for hook in ("grub/99_lowlat", "kernel-install/95-lowlat.install"):
        with (source / "templates" / hook).open("a") as file:
            file.write("# As a later version has it.\n")


def python_part(source: Path) -> set[str]:
    """The files of the Python package in the sources, without the profiles."""
    found = {"lowlat/profiles/__init__.py"}
    for folder, inside in (("generator/lowlat", "lowlat"), ("templates", "lowlat/templates")):
        for path in (source / folder).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                found.add(f"{inside}/{path.relative_to(source / folder)}")
    return found


def check_files(lines: list[str], modules: str, list_name: str, source: Path) -> None:
    """Lines of the form "package: mode path[ -> target]"; ``modules`` is the folder of Python's
    modules."""
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


@pytest.mark.packages
@pytest.mark.proof
@pytest.mark.parametrize(
    "kind", [pytest.param("deb", marks=with_deb), pytest.param("rpm", marks=with_rpm)]
)
def test_two_builds_are_the_same_to_the_byte(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: BuiltPackages = request.getfixturevalue(kind)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    second = built(kind, tmp_path / "another place")
    assert {name: path.read_bytes() for name, path in first.packages.items()} == {
        name: path.read_bytes() for name, path in second.packages.items()
    }


@pytest.mark.place
def test_another_prefix_is_named_everywhere(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "DESTDIR": str(tmp_path),
        "pythondir": "/opt/own/lib",
        "prefix": "/opt/own",
    }
    subprocess.run([ROOT / "packaging/install-files", "gen"], env=env, check=True, timeout=GUARD_S)
    assert (tmp_path / "opt/own/bin/lowlat-gen").exists()
    texts = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if b"/usr/bin/lowlat-gen" in text] == []
    named = {path.suffix for path, text in texts.items() if b"/opt/own/bin/lowlat-gen" in text}
    assert {".conf", ".sh", ".service"} <= named


@pytest.mark.place
def test_an_install_that_is_refused_has_installed_nothing(tmp_path: Path) -> None:
    where = (f"DESTDIR={tmp_path}", "prefix=/usr", "pythondir=/usr/local/lib/python3/dist-packages")
    refused = subprocess.run(
        ["make", "-C", ROOT, "install", *where], stderr=subprocess.PIPE, timeout=GUARD_S
    )
    assert refused.returncode and b"name pythondir too" in refused.stderr
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------ DEB


@pytest.fixture(scope="module")
def deb(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackages:
    return built("deb", tmp_path_factory.mktemp("deb"))


def deb_lines(package: str, path: Path) -> Iterator[str]:
    for line in done("dpkg-deb", "-c", path).splitlines():
        mode, owner, _, _, _, name = line.split(maxsplit=5)
        assert owner == "root/root"
        # debhelper before 13.12 puts units into /lib, which is /usr/lib.
        name = re.sub(r"^\./(?=lib/)", "./usr/", name)
        if not mode.startswith("d"):
            yield f"{package}: {mode} {name[1:]}"


@with_deb
def test_deb_holds_these_files(deb: BuiltPackages) -> None:
    lines = [line for name, path in deb.packages.items() for line in deb_lines(name, path)]
    check_files(lines, "/usr/lib/python3/dist-packages", "deb.files", deb.source)


@with_deb
@have("lintian")
def test_lintian_says_nothing(deb: BuiltPackages) -> None:
    assert [line for line in deb.said.splitlines() if not line.endswith(".deb")] == []


@with_deb
def test_deb_names_the_version_and_leaves_tuned_alone(deb: BuiltPackages) -> None:
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
def test_unpacked_deb_runs_with_the_systems_python(deb: BuiltPackages, tmp_path: Path) -> None:
    done("dpkg-deb", "-x", deb.packages["lowlat"], tmp_path)
    if run("/usr/bin/python3", "-c", "import jinja2").returncode:
        needs.absent("needs python3-jinja2: packaging/install-dependencies package")
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{tmp_path}/usr/lib/python3/dist-packages"}

    def answer(*words: object) -> str:
        ended = subprocess.run(
            ["/usr/bin/python3", f"{tmp_path}/usr/bin/lowlat-gen", *map(str, words)],
            env=env, cwd="/", capture_output=True, text=True, timeout=GUARD_S,
        )  # fmt: skip
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    plan = json.loads(answer("plan", "--json", "--root", MACHINE))
    assert plan["cpus"]["isolated"] == "1-3,6-7"
    # lowlat-gen finds the profiles and templates.
    for path in sorted((tmp_path / "usr/lib/tuned/profiles").iterdir()):
        assert path.name in answer("explain", path.name)
        assert (tmp_path / "usr/lib/tuned" / path.name / "tuned.conf").is_file()
    out = tmp_path / "out"
    assert str(out) in answer("render", "--out", out, "--root", MACHINE)


@with_deb
@as_root
@pytest.mark.root
@pytest.mark.security
def test_install_changes_nothing_and_purge_leaves_nothing(
    deb: BuiltPackages, tmp_path: Path
) -> None:
    """The install goes to this machine's own system, in an overlay that ends with the test."""
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
    # Neither the boot configuration nor anything that a boot or TuneD would start is installed.
    assert {path.split("/")[1] for path in changed["installed"]} <= {"usr", "lib"}
    assert json.loads(log("plan"))["cpus"]["isolated"] == "1-3,6-7"
    assert log("verbs").count("usage: lowlat-gen ") > 10
    assert log("version") == f"lowlat-measure {lowlat.__version__}\n"
    assert len(log("pages").splitlines()) == 4

    # If rollback is impossible, the package stays.
    assert "journal.json" in log("refused")
    assert log("refused").endswith(f"lowlat-gen {lowlat.__version__}\n")
    # The removal undoes the changes in this order, while the program still exists.
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
    # Measured runs are removed only if the user asks for that.
    assert changed["purged"] == ["./var/lib/lowlat/runs/run.json"]
    assert "runs stay in /var/lib/lowlat/runs" in log("purge")
    assert changed["asked"] == []


# ------------------------------------------------------------------------ RPM


@pytest.fixture(scope="module")
def rpm(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackages:
    return built("rpm", tmp_path_factory.mktemp("rpm"))


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
def test_rpm_holds_these_files(rpm: BuiltPackages) -> None:
    modules = site_packages(rpm.packages["lowlat"])
    lines = [line for name, path in rpm.packages.items() for line in rpm_lines(name, path)]
    lines = [line.replace(modules, "/usr/lib/python3/site-packages") for line in lines]
    check_files(lines, "/usr/lib/python3/site-packages", "rpm.files", rpm.source)


@with_rpm
@have("rpmlint")
def test_rpmlint_says_nothing(rpm: BuiltPackages) -> None:
    assert "0 errors, 0 warnings" in rpm.said


@with_rpm
def test_rpm_names_the_version_and_leaves_tuned_alone(rpm: BuiltPackages) -> None:
    path = rpm.packages["lowlat"]
    assert done("rpm", "-qp", "--qf", "%{VERSION}", path) == lowlat.__version__
    assert "tuned" not in done("rpm", "-qp", "--requires", path)
    assert "tuned" in done("rpm", "-qp", "--recommends", path)


#: A stand-in for the distribution's packages that lowlat's packages require.
_STUB = """Name: stub
Version: 1
Release: 1
Summary: What lowlat needs
License: GPL-2.0-or-later
BuildArch: noarch
{provides}
%description
Nothing.
%files
"""

#: lowlat-gen's interpreter in this root logs the arguments of lowlat-gen; it fails on a damaged
#: journal.
_PYTHON = """#!/bin/sh
echo "$*" >>/calls
case $* in
*rollback) ! grep -q damaged /var/lib/lowlat/journal.json && rm /var/lib/lowlat/journal.json ;;
esac
"""


class RpmTree:
    """An empty root with a shell, and rpm's actions in it. This does not prove that a distribution
    has the required packages."""

    def __init__(self, folder: Path, packages: BuiltPackages) -> None:
        self.path = folder / "tree"
        self._put("bin/busybox", Path(str(shutil.which("busybox"))).read_bytes())
        for name in ("sh", "grep", "rm"):
            (self.path / "bin" / name).symlink_to("busybox")
        self._put("usr/bin/python3", _PYTHON.encode())
        self.must("-i", self._stub(folder, packages))
        self.before = self.files()

    def _put(self, name: str, content: bytes) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(content)
        (self.path / name).chmod(0o755)

    def _stub(self, folder: Path, packages: BuiltPackages) -> Path:
        wanted = {line.replace(">=", "=") for line in requirements(packages)}
        provides = "\n".join(f"Provides: {line}" for line in sorted(wanted))
        (folder / "stub.spec").write_text(_STUB.format(provides=provides))
        done("rpmbuild", "-bb", "--define", f"_topdir {folder}/stub", folder / "stub.spec")
        return next(folder.glob("stub/RPMS/noarch/*.rpm"))

    def rpm(self, *words: object) -> subprocess.CompletedProcess[str]:
        # Only Debian's rpm has this option; there the option is the administrator's consent.
        debian = ("--force-debian",) if shutil.which("dpkg") else ()
        return run("rpm", "--root", self.path, "--dbpath", "/db", *debian, *words)

    def must(self, *words: object) -> None:
        ended = self.rpm(*words)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")

    def apply(self, journal: str = "{}") -> Path:
        self._put("var/lib/lowlat/journal.json", journal.encode())
        return self.path / "var/lib/lowlat/journal.json"

    def files(self) -> set[Path]:
        """All files except rpm's own and the log of lowlat-gen's calls."""
        found = {path for path in self.path.rglob("*") if not path.is_dir()}
        return {path for path in found if path.parts[len(self.path.parts)] not in ("db", "calls")}

    def asked(self) -> list[str]:
        """The calls of lowlat-gen since the last query."""
        calls = self.path / "calls"
        said = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return [line.partition("lowlat-gen ")[2] for line in said]


def requirements(packages: BuiltPackages) -> set[str]:
    listed = done("rpm", "-qp", "--requires", *packages.packages.values()).splitlines()
    return {line for line in listed if not line.startswith("rpmlib(")}


@pytest.fixture
def rpm_tree(rpm: BuiltPackages, tmp_path: Path) -> RpmTree:
    if "statically linked" not in done("file", "-L", str(shutil.which("busybox"))):
        needs.absent("needs a static busybox: packaging/install-dependencies rehearse")
    return RpmTree(tmp_path, rpm)


@with_rpm
def test_rpm_requires_no_more_than_the_spec_file_says(rpm: BuiltPackages) -> None:
    libraries = re.compile(r"lib(c|m|jansson)[.]so|rtld\(|python\(abi\)")
    assert {line for line in requirements(rpm) if not libraries.match(line)} == {
        "/bin/sh",
        "/usr/bin/python3",
        "python3 >= 3.9",
        "python3-jinja2 >= 2.11",
        "python3-pyudev >= 0.22",
    }


@with_rpm
@have("busybox")
@as_root
@pytest.mark.root
def test_rpm_installs_into_an_empty_tree_and_goes_again(
    rpm: BuiltPackages, rpm_tree: RpmTree
) -> None:
    tree = rpm_tree.path
    rpm_tree.must("-i", *rpm.packages.values())
    listed = done("rpm", "-qpl", *rpm.packages.values()).split()
    assert all(os.path.lexists(f"{tree}{path}") for path in listed)
    profiles = sorted(path.name for path in (tree / "usr/lib/tuned/profiles").iterdir())
    assert profiles == sorted(
        path.parent.name for path in rpm.source.glob("profiles/*/lowlat.conf")
    )
    assert all((tree / "usr/lib/tuned" / name / "tuned.conf").is_file() for name in profiles)

    # Applied settings that cannot be undone keep the package.
    journal = rpm_tree.apply("damaged")
    refused = rpm_tree.rpm("-e", "lowlat")
    assert refused.returncode != 0
    assert "preun" in refused.stderr
    assert (tree / "usr/bin/lowlat-gen").exists()
    assert rpm_tree.asked() == ["rollback"]

    journal.write_text("{}")
    rpm_tree.must("-e", "lowlat", "lowlat-measure")
    assert rpm_tree.asked() == ["rollback"]
    assert rpm_tree.files() == rpm_tree.before


@pytest.mark.proof
@with_rpm
@have("busybox")
@as_root
@pytest.mark.root
def test_rpm_goes_a_version_up_and_down(
    rpm: BuiltPackages, rpm_tree: RpmTree, tmp_path: Path
) -> None:
    newer = built("rpm", tmp_path, later)
    hook = rpm_tree.path / "usr/lib/kernel/install.d/95-lowlat.install"
    rpm_tree.must("-i", *rpm.packages.values())
    installed, old = rpm_tree.files(), hook.read_text()
    journal = rpm_tree.apply()
    for version, options in ((newer, ["-U"]), (rpm, ["-U", "--oldpackage"])):
        rpm_tree.must(*options, *version.packages.values())
        assert rpm_tree.asked() == ["boot upgrade"]
        assert (hook.read_text() == old) is (version is rpm)
    assert rpm_tree.files() == {*installed, journal}
    rpm_tree.must("-e", "lowlat", "lowlat-measure")
    assert rpm_tree.files() == rpm_tree.before
