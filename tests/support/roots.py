# SPDX-License-Identifier: GPL-2.0-or-later
"""Clean Debian roots in the user's cache, each made once by mmdebstrap, and copies of these
roots."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lowlat.base.errors import LowlatError
from lowlat.base.files import user_folder
from lowlat.rehearse import packages
from support import needs

_MAKE_S = 900

#: A mirror may have an older state of a suite that changes daily.
_OLD = '--aptopt=Acquire::Check-Valid-Until "false"'


@contextmanager
def copied(suite: str, more: tuple[str, ...], target: Path) -> Iterator[Path]:
    """A copy of a suite's root with these packages besides the essential ones, and with the host's
    resolv.conf. The large copy is removed at the end."""
    subprocess.run(["cp", "--archive", _root_or_skip(suite, more), target], check=True)
    shutil.copy("/etc/resolv.conf", target / "etc/resolv.conf")
    try:
        yield target
    finally:
        shutil.rmtree(target)


def _root_or_skip(suite: str, more: tuple[str, ...]) -> Path:
    """The root; skips the test with a reason if it can neither be found nor made."""
    kept = user_folder("XDG_CACHE_HOME", ".cache") / "roots" / f"{suite}-{'-'.join(more)}"
    if kept.is_dir():
        return kept
    if shutil.which("mmdebstrap") is None:
        needs.absent("needs mmdebstrap: packaging/install-dependencies package")
    try:
        lines = next(replace(packages.detect(), codename=suite).rounds())
    except LowlatError as error:
        needs.absent(f"no Debian {suite}: {error}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".made-", dir=kept.parent) as made:
        tree = Path(made) / "tree"
        done = subprocess.run(
            ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", _OLD]
            + [f"--include={','.join(more)}", suite, str(tree), *lines],
            capture_output=True, text=True, check=False, timeout=_MAKE_S,
        )  # fmt: skip
        if done.returncode:
            needs.absent(f"no Debian {suite}: {done.stderr.strip()[-300:]}")
        tree.rename(kept)
    return kept
