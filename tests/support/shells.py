# SPDX-License-Identifier: GPL-2.0-or-later
"""The shells that scripts for other hosts meet as /bin/sh."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from support import needs
from support.waits import GUARD_S

SHELLS = ("dash", "busybox", "bash")


def found(program: str) -> str:
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/bin:/bin")
    if path is None:
        needs.absent(f"{program} is not installed")
    return path


@dataclass(frozen=True)
class Shell:
    """A shell by the name "sh", with a PATH that leads to these tools alone."""

    tools: Path

    def run(
        self, *argv: object, cwd: Optional[Path] = None, env: Optional[Mapping[str, str]] = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self.tools / "sh", *map(str, argv)],
            capture_output=True,
            timeout=GUARD_S,
            cwd=cwd,
            env={"PATH": str(self.tools), **(env or {})},
            check=False,
        )


def make(kind: str, folder: Path, tools: str) -> Shell:
    """The shell of this kind, and these tools; busybox brings its own ones."""
    folder.mkdir()
    for tool in tools.split():
        (folder / tool).symlink_to(found("busybox" if kind == "busybox" else tool))
    (folder / "sh").symlink_to(found(kind))
    return Shell(folder)
