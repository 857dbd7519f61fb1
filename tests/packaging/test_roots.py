# SPDX-License-Identifier: GPL-2.0-or-later
"""The DEB as a user of Debian 12 or 13 gets it: apt installs the DEB and its dependencies into a
clean root; the test then uses, upgrades, downgrades, removes and purges it. The boot configuration
is GRUB's own, on a machine made of files. Each root's steps are printed with their results. A root
of Debian 11 (Python 3.9) runs the tests of the rooms without extras."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_packages import ROOT, BuiltPackages, as_root, built, done, later, with_deb

import lowlat
from support.cli import Answer
from support.hosttree import PROBE, SETTINGS, Host, Namespace, two_kernels
from support.machines import write_tree
from support.roots import copied
from support.waits import GUARD_S

pytestmark = [pytest.mark.packages, pytest.mark.proof, pytest.mark.root, as_root]

NOW = lowlat.__version__
LATER = f"{NOW}.1"

RUN = "var/lib/lowlat/runs/run.json"

_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}

#: The root is not a machine: packages start nothing in it.
_POLICY = "#!/bin/sh\nexit 101\n"


class Clean(Host):
    """A Debian root with the files of a machine. It has its own programs, lowlat-gen included."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Namespace(path))

    def chroot(self, *words: object, **env: str) -> Answer:
        ended = subprocess.run(
            ["chroot", str(self.path), *map(str, words)],
            env={**_ENVIRONMENT, **env}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=8 * GUARD_S,
        )  # fmt: skip
        assert "Traceback" not in ended.stderr, ended.stderr
        return Answer(ended.returncode, ended.stdout, ended.stderr)

    def lowlat(self, verb: str, *words: object, **env: str) -> Answer:
        return self.chroot("lowlat-gen", verb, *words, **env)

    def must(self, *words: object, **env: str) -> str:
        answer = self.chroot(*words, **env)
        assert answer.status == 0, (words, answer)
        return answer.out

    def apt(self, *words: object, **env: str) -> str:
        """Run apt-get; the output contains the messages of lowlat's own scripts."""
        unsafe = ("-o", "DPkg::Options::=--force-unsafe-io")
        return self.must("apt-get", "-q", "-y", "--allow-downgrades", *unsafe, *words, **env)

    def install(self, version: str, *words: str) -> str:
        """Install both packages of this version; the programs then report this version."""
        files = sorted((self.path / "packages" / version).iterdir())
        said = self.apt("install", *words, *(f"/packages/{version}/{file.name}" for file in files))
        assert self.must("lowlat-gen", "--version") == f"lowlat-gen {version}\n"
        assert self.must("lowlat-measure", "--version") == f"lowlat-measure {version}\n"
        return said

    def boots(self) -> dict[str, tuple[Any, ...]]:
        """All files on which the boot and its services depend."""
        return self.snapshot(("boot", "etc"))

    def ours(self) -> list[str]:
        """Every file and folder whose path contains lowlat's name."""
        words = "/ -xdev -path /packages -prune -o -path *lowlat* -print"
        return sorted(self.must("find", *words.split()).split())

    def apply_and_promote(self) -> None:
        self.done("apply")
        self.done("trial")
        self.boot(self.status()["next"]["entry"], "boot-1")
        self.done("boot", "start")
        self.done("boot", "record")
        self.done("promote")


def hooks(clean: Clean) -> dict[str, tuple[Any, ...]]:
    """The files that an upgrade rewrites."""
    return {name: held for name, held in clean.boots().items() if "/99_lowlat" in name}


def applied(clean: Clean) -> tuple[object, ...]:
    """Everything that an upgrade must not change: the boot without the hooks, the plans, the
    status."""
    names = clean.boots().keys() - hooks(clean).keys()
    boots = {name: held for name, held in clean.boots().items() if name in names}
    return boots, clean.snapshot(("var/lib/lowlat/plans",)), clean.status()


# ------------------------------------------------------------------ the steps


def install(clean: Clean) -> str:
    """The first install brings the required packages only."""
    clean.apt("update")
    boot = clean.snapshot(("boot",))
    clean.install(NOW, "--no-install-recommends")
    assert clean.snapshot(("boot",)) == boot
    assert json.loads(clean.must("lowlat-gen", "plan", "--json"))["cpus"]["isolated"] == "1-3"
    clean.apt("install", "tuned")
    # The first apply takes along what TuneD's package has not generated.
    assert "/etc/grub.d/00_tuned" in clean.done("apply")
    clean.done("trial")
    clean.done("rollback")
    assert not [name for name in clean.boots() if "lowlat" in name]
    tuned = clean.must("dpkg-query", "-W", "-f", "${Version}", "tuned")
    return f"{clean.must('python3', '--version').strip()}, TuneD {tuned}"


def apply(clean: Clean) -> str:
    clean.apply_and_promote()
    status = clean.status()
    assert status["state"] == "promoted", status
    return str(status["default"]["entry"])


def upgrade(clean: Clean) -> str:
    before, old = applied(clean), hooks(clean)
    assert "lowlat:" not in clean.install(LATER)
    assert applied(clean) == before
    assert hooks(clean) != old
    clean.update_grub()
    assert applied(clean) == before
    return "boots as before, with new hooks"


def downgrade(clean: Clean) -> str:
    before, new = applied(clean), hooks(clean)
    assert "lowlat:" not in clean.install(NOW)
    assert applied(clean) == before
    assert hooks(clean) != new
    return "boots as before, with the old hooks"


def roll_back(clean: Clean) -> str:
    clean.done("rollback")
    return "the boot is the one of before"


def remove(clean: Clean) -> str:
    """The start is a promoted state that the later version upgraded."""
    clean.apply_and_promote()
    clean.install(LATER)
    clean.write(RUN, "{}\n")
    assert "warning" not in clean.apt("remove", "lowlat", "lowlat-measure")
    assert [path for path in clean.ours() if not path.startswith("/var/lib/")] == []
    return "the boot is the one of before"


def purge(clean: Clean) -> str:
    said = clean.apt("purge", "lowlat", "lowlat-measure")
    assert "runs stay in /var/lib/lowlat/runs" in said
    assert clean.ours() == ["/var/lib/lowlat", "/var/lib/lowlat/runs", f"/{RUN}"]
    clean.install(NOW)
    clean.apt("purge", "lowlat", "lowlat-measure", LOWLAT_PURGE_RUNS="yes")
    assert clean.ours() == []
    return "nothing is left, runs when asked"


# --------------------------------------------------------------------- a root


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuiltPackages]:
    return {
        NOW: built("deb", tmp_path_factory.mktemp("now")),
        LATER: built("deb", tmp_path_factory.mktemp("later"), later),
    }


@with_deb
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_a_clean_root_takes_it_and_gives_it_back(
    packages: dict[str, BuiltPackages],
    suite: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def step(what: str, came: str) -> None:
        with capsys.disabled():
            print(f"\n{suite:10}{what:10}{came}", end="", flush=True)

    with copied(suite, ("systemd-sysv", "grub-efi-amd64"), tmp_path / "root") as path:
        clean = prepared(path, packages)
        step("install", install(clean))
        stock = clean.boots()
        step("apply", apply(clean))
        step("upgrade", upgrade(clean))
        step("downgrade", downgrade(clean))
        step("rollback", roll_back(clean))
        assert clean.boots() == stock
        step("remove", remove(clean))
        assert clean.boots() == stock
        step("purge", purge(clean))
        assert clean.boots() == stock


def prepared(path: Path, packages: dict[str, BuiltPackages]) -> Clean:
    clean = Clean(path)
    write_tree(path, {**two_kernels(), "etc/default/grub": SETTINGS})
    for name, script in (("policy-rc.d", _POLICY), ("grub-probe", PROBE)):
        (path / "usr/sbin" / name).write_text(script)
        (path / "usr/sbin" / name).chmod(0o755)
    for version, made in packages.items():
        (path / "packages" / version).mkdir(parents=True)
        for file in made.packages.values():
            shutil.copy(file, path / "packages" / version)
    clean.must("grub-editenv", "/boot/grub/grubenv", "create")
    clean.update_grub()
    return clean


# ----------------------------------------------------------------- Python 3.9

_PROGRAMS = (
    "usrmerge", "systemd-sysv", "grub-efi-amd64", "python3-venv", "gcc", "libc6-dev", "make",
    "kmod", "udev", "tuned", "git",
)  # fmt: skip

#: The programs of a tuned host, without the measuring ones.
_ROOMS = (
    "base", "host", "catalogue", "probe", "draw", "plan", "render", "explain", "lint", "verify",
    "runtime", "verbs", "boot",
)  # fmt: skip

#: The parts that Debian 11 cannot run, with the reasons.
_LEFT_OUT = {
    "boot/test_units.py::test_systemd_knows_every_directive_of_a_unit": "systemd before 249 warns "
    "of RestrictAddressFamilies=none",
}

#: Only an upper bound: a machine with two free CPUs takes twelve minutes.
_TESTS_S = 3600

#: A separate mount namespace: the root must be a mount point, so that tests can make namespaces.
_INSIDE = """mount --bind "$1" "$1"; cd "$1"
mount -t proc none proc; mount --rbind /sys sys; mount --bind /dev dev
exec chroot "$1" sh -ec "$2"
"""

_TESTS = f"""cd /src; ulimit -v 8000000
make --assume-old=packages python
.venv/bin/python -m pip install --quiet 'pytest>=7.4' hypothesis jsonschema
timeout --kill-after=10 {_TESTS_S} .venv/bin/python -m pytest -q -p no:cacheprovider \
    -m "not (vm or smoke or harness or packages or ansible or slow or proof)" \
    {" ".join(f"--deselect=tests/{name}" for name in _LEFT_OUT)} \
    {" ".join(f"tests/{room}" for room in _ROOMS)}
"""


def test_the_rooms_without_extras_pass_under_python_3_9(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    with copied("bullseye", _PROGRAMS, tmp_path / "root") as path:
        shutil.copy(certificates, path / certificates.relative_to("/"))
        done(ROOT / "packaging/copy-source", path / "src")
        ended = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", _INSIDE, "sh", path, _TESTS],
            env={**os.environ, **_ENVIRONMENT}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=_TESTS_S + 600,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-1000:]
    told = {"Python 3.9": ended.stdout.splitlines()[-1]}
    told.update((name, f"left out: {why}") for name, why in _LEFT_OUT.items())
    with capsys.disabled():
        for what, came in told.items():
            print(f"\nbullseye  {what}: {came}", end="", flush=True)
