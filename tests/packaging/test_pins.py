# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests need of Python is pinned, and `make` installs what is pinned or nothing."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from support import waits

ROOT = Path(__file__).parents[2]
DEPENDENCIES = ROOT / "packaging/dependencies"
CONSTRAINTS = Path("packaging/dependencies/constraints.txt")

# -------------------------------------------------------------- the files


def pins(name: str) -> list[tuple[Requirement, int]]:
    """The pinned packages, each with the number of its hashes."""
    text = re.sub(r"(?m)^ *#.*\n", "", (DEPENDENCIES / name).read_text()).replace("\\\n", "")
    words = [line.split("--hash=sha256:") for line in text.splitlines()]
    return [(Requirement(pinned), len(hashes)) for pinned, *hashes in words]


def wanted() -> list[Requirement]:
    """What setup.cfg and the build system ask for."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lists = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    build = re.search(r"(?m)^requires = \[(.*)\]$", (ROOT / "pyproject.toml").read_text())
    assert build
    words = [line for text in lists for line in text.splitlines() if line]
    return [Requirement(word) for word in (*words, *re.findall('"(.*?)"', build[1]))]


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "ppc64le"])
def test_each_requirement_has_one_pin_that_meets_it(python: str, machine: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    here |= {"platform_machine": machine, "sys_platform": "linux", "os_name": "posix"}

    def applies(requirement: Requirement) -> bool:
        return requirement.marker is None or requirement.marker.evaluate(dict(here))

    chosen = [each for each, _ in pins("constraints.txt") if applies(each)]
    versions = {each.name: str(each.specifier).removeprefix("==") for each in chosen}
    assert len(versions) == len(chosen)
    missing = [
        str(each)
        for each in wanted()
        if applies(each)
        and (each.name not in versions or not each.specifier.contains(versions[each.name]))
    ]
    assert missing == [], "packaging/dependencies/update --no-upgrade"


def test_the_ansible_of_the_tests_is_the_pinned_one() -> None:
    rows = [line.split() for line in (DEPENDENCIES / "ansible.txt").read_text().splitlines()]
    [version] = [words[1] for words in rows if words[0] == "newest"]
    assert version in [str(each) for each, _ in pins("ansible-newest.txt")]


@pytest.mark.parametrize("name", ["constraints.txt", "ansible-newest.txt"])
def test_each_pin_is_one_version_with_hashes(name: str) -> None:
    assert len(pins(name)) > 5
    for pinned, hashes in pins(name):
        assert str(pinned.specifier).startswith("=="), pinned
        assert hashes, pinned


# -------------------------------------------------------------- make

PYTHON = """#!/bin/sh
case "$*" in
*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*"-m pip"*) echo "${*##*check }" >>pip; [ ! -e fails ] ;;
*"(3, 11)"*) exit $OLD ;;
esac
"""

PINNED = [
    f"--require-hashes --requirement={CONSTRAINTS}",
    "--no-deps --no-build-isolation --editable=.",
]


def checkout(folder: Path) -> Path:
    for name in ("Makefile", "setup.cfg", "setup.py", "pyproject.toml", CONSTRAINTS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for path, text in (("python3", PYTHON), ("packaging/install-dependencies", "#!/bin/sh\n")):
        (folder / path).write_text(text)
        (folder / path).chmod(0o755)
    return folder


def make(folder: Path, python: object, **env: str) -> subprocess.CompletedProcess[str]:
    rest = {name: text for name, text in os.environ.items() if name != "LOWLAT_UNPINNED"}
    return subprocess.run(
        ["make", "python", f"PYTHON={python}"],
        cwd=folder,
        env={**rest, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=waits.GUARD_S,
    )


@pytest.mark.parametrize(
    ("old", "unpinned", "installed"),
    [
        ("0", "", PINNED),
        ("0", "1", ["pip >= 21.3", "--editable=.[rehearse,report,test]"]),
        ("1", "", ["pip >= 21.3", "--editable=."]),
    ],
)
def test_each_python_gets_what_runs_on_it(
    tmp_path: Path, old: str, unpinned: str, installed: list[str]
) -> None:
    folder = checkout(tmp_path)
    done = make(folder, folder / "python3", OLD=old, LOWLAT_UNPINNED=unpinned)
    assert done.returncode == 0, done.stderr
    assert (folder / "pip").read_text().splitlines() == installed
    assert ("need Python 3.11" in done.stdout) is (old == "1")


def test_other_pins_are_installed_over_what_is_there(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    for added, installed in (("", 1), ("", 1), ("# other\n", 2)):
        with (folder / CONSTRAINTS).open("a") as file:
            file.write(added)
        done = make(folder, folder / "python3", OLD="0")
        assert done.returncode == 0, done.stderr
        assert (folder / "pip").read_text().splitlines() == PINNED * installed


def test_what_was_taken_unpinned_does_not_count_as_pinned(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    for unpinned in ("1", ""):
        done = make(folder, folder / "python3", OLD="0", LOWLAT_UNPINNED=unpinned)
        assert done.returncode == 0, done.stderr
    assert (folder / "pip").read_text().splitlines()[2:] == PINNED


def test_without_what_is_pinned_nothing_else_is_tried(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    (folder / "fails").touch()
    done = make(folder, folder / "python3", OLD="0")
    assert done.returncode == 2
    assert f"python: {CONSTRAINTS} cannot be installed" in done.stderr
    assert (folder / "pip").read_text().splitlines() == PINNED[:1]
    assert not (folder / ".venv/installed").exists()
