# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat in a guest, as its package installs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lowlat.base import process
from support.guest import REPOSITORY, VM
from support.waits import GUARD_S

#: What a guest's task begins with, in the shared folder.
UNPACK = "tar -C / --no-overwrite-dir -xf tree.tar || exit\n"


def lay_out(folder: Path, *scripts: str, packages: Iterable[Path] = ()) -> None:
    """Put the installed files, scripts of tests/vm/guest and packages to install into the folder
    that a guest shares."""
    tree = folder / "tree"
    where = {"DESTDIR": str(tree), "prefix": "/usr"}
    where["pythondir"] = "/usr/lib/python3/dist-packages"
    argv = [str(REPOSITORY / "packaging/install-files"), "gen"]
    ended = process.run(argv, timeout=GUARD_S, env={**os.environ, **where})
    assert ended.status == 0, ended.stderr
    # Packed: in what a guest shares, links lead nowhere.
    names = [path.name for path in tree.iterdir()]
    pack = ["tar", "-C", str(tree), "-cf", str(folder / "tree.tar"), *names]
    packed = process.run(pack, timeout=GUARD_S)
    assert packed.status == 0, packed.stderr
    shutil.rmtree(tree)
    for script in scripts:
        shutil.copy(VM / "guest" / script, folder)
    (folder / "packages").mkdir()
    for package in packages:
        shutil.copy(package, folder / "packages")
