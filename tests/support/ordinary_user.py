# SPDX-License-Identifier: GPL-2.0-or-later
"""The two programs as an ordinary user starts them. The programs are copied to a readable place,
since the checkout may lie in a folder of root's. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import pytest
import pyudev

from support import needs

REPOSITORY = Path(__file__).resolve().parents[2]
NOBODY = 65534
LAUNCHER = """#!{python} -B
import sys

sys.path.insert(0, {modules!r})
from lowlat.__main__ import main

sys.exit(main())
"""

pytest_plugins = ["support.harness"]


def _become_nobody() -> None:
    """Become nobody, with the priorities of a login instead of the tests' own."""
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    for limit in (resource.RLIMIT_NICE, resource.RLIMIT_RTPRIO):
        resource.setrlimit(limit, (0, 0))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


#: For subprocess.run().
AS_NOBODY: dict[str, Any] = {
    "preexec_fn": _become_nobody,
    "cwd": "/",
    "env": {**os.environ, "HOME": "/"},
}


@dataclass(frozen=True)
class OrdinaryUser:
    """A folder that everybody can read; the programs lie side by side as when installed."""

    folder: Path

    @property
    def gen(self) -> str:
        return str(self.folder / "bin/lowlat-gen")

    @property
    def measure(self) -> str:
        return str(self.folder / "bin/lowlat-measure")


@pytest.fixture(scope="session")
def ordinary_user(program: str) -> Iterator[OrdinaryUser]:
    if os.geteuid() != 0:
        needs.absent("needs root, to start programs as another user")
    with tempfile.TemporaryDirectory(prefix="lowlat-test-", dir="/var/tmp") as folder:
        user = OrdinaryUser(Path(folder))
        modules = _copy_modules(user.folder / "modules")
        (user.folder / "bin").mkdir()
        shutil.copy(program, user.measure)
        python = Path(sys.executable).resolve()
        Path(user.gen).write_text(LAUNCHER.format(python=python, modules=str(modules)))
        Path(user.gen).chmod(0o755)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        yield user


def _copy_modules(folder: Path) -> Path:
    package = folder / "lowlat"
    shutil.copytree(REPOSITORY / "generator/lowlat", package)
    for name in ("profiles", "templates"):
        shutil.copytree(REPOSITORY / name, package / name)
    for module in (jinja2, markupsafe, pyudev):
        shutil.copytree(module.__path__[0], folder / module.__name__)
    return folder
