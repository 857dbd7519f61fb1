# SPDX-License-Identifier: GPL-2.0-or-later
"""The newest Ansible (from Debian sid) in a clean root: it reads the collection, checks the
playbooks, and its modules plan for a machine made of files."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from test_gates import MODULES

from support.ansible_hosts import COLLECTION
from support.machines import machine, write_tree
from support.roots import copied
from support.waits import GUARD_S

pytest_plugins = ["support.powercut"]
pytestmark = [pytest.mark.ansible, pytest.mark.proof, pytest.mark.root]

_ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_COLLECTIONS_PATH": "/collections",
}

_SOURCES = COLLECTION.parents[1]

#: The sources alone. jinja2 and pyudev are left out: planning below --root does not need them.
_PROGRAM = '#!/bin/sh\nPYTHONPATH=/generator exec python3 -m lowlat "$@"\n'


class Sid:
    def __init__(self, path: Path) -> None:
        self._path = path
        shutil.copytree(COLLECTION, path / "collections/ansible_collections/lowlat/lowlat")
        for name in ("generator", "profiles"):
            shutil.copytree(_SOURCES / name, path / name)
        program = path / "usr/bin/lowlat-gen"
        program.write_text(_PROGRAM)
        program.chmod(0o755)
        write_tree(path / "host", machine(cpus=8))

    def answer(self, *words: str) -> str:
        done = subprocess.run(
            ["unshare", f"--root={self._path}", "--pid", "--fork", "--mount-proc", *words],
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=3 * GUARD_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def sid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sid]:
    with copied("sid", ("ansible-core",), tmp_path_factory.mktemp("sid") / "root") as path:
        yield Sid(path)


def test_the_newest_reads_the_collection(sid: Sid, tell: Callable[[str], None]) -> None:
    tell(sid.answer("ansible", "--version").splitlines()[0])
    names = [f"lowlat.lowlat.{name}" for name in MODULES]
    assert json.loads(sid.answer("ansible-doc", "--json", *names)).keys() == set(names)
    for book in sorted(COLLECTION.glob("playbooks/*.yml")):
        argv = ("ansible-playbook", "--syntax-check", "-i", "localhost,")
        assert book.name in sid.answer(*argv, f"lowlat.lowlat.{book.stem}")
    assert "Created collection" in sid.answer(
        "ansible-galaxy",
        "collection",
        "build",
        "--force",
        "--output-path",
        "/tmp",
        "/collections/ansible_collections/lowlat/lowlat",
    )


def test_the_newest_plans(sid: Sid) -> None:
    argv = ("ansible", "localhost", "--connection", "local", "--check", "-m")
    said = sid.answer(*argv, "lowlat.lowlat.lowlat_plan", "-a", "root=/host profile=lowlat")
    assert "localhost | SUCCESS" in said and '"isolated": "2-7"' in said, said
