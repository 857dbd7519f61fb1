# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel packages as a folder that virtme-ng can boot: boot/ and lib/modules/RELEASE."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError

_UNPACK_S = 300.0

#: What takes a module's compression away, the file with it; and so many of them at once.
_COMPRESSED = {"xz": ("xz", "-d"), "zst": ("zstd", "-q", "-d", "--rm")}
_AT_ONCE = 500


def unpack(packages: Sequence[Path], release: str, tree: Path) -> Path:
    """Unpack below ``tree``, which is made, and list the modules' dependencies.

    Raises LowlatError where a package lacks the kernel or cannot be unpacked.
    """
    tree.mkdir()
    for package in packages:
        _checked(["dpkg-deb", "-x", str(package), str(tree)])
    _merge_usr(tree, release)
    boot, modules = tree / "boot", tree / "lib" / "modules" / release
    boot.mkdir(exist_ok=True)
    # Debian from 7 on has both files beside the modules, and nothing in boot/.
    for name in ("vmlinuz", "config"):
        _copy(modules / name, boot / f"{name}-{release}")
    if not (boot / f"vmlinuz-{release}").is_file() or not modules.is_dir():
        raise LowlatError(f"{packages[0].name} holds no kernel {release} with modules")
    # The guest's probe looks beside the modules: its /boot is the host's.
    _copy(boot / f"config-{release}", modules / "config")
    _decompress(modules)
    _checked([process.find("depmod") or "depmod", "-b", str(tree), release])
    tree.chmod(0o755)
    return tree


def _merge_usr(tree: Path, release: str) -> None:
    # Debian 13 packages hold usr/lib/modules, Debian 12's lib/modules; virtme-ng knows the latter.
    merged = tree / "usr" / "lib" / "modules" / release
    if merged.is_dir():
        (tree / "lib" / "modules").mkdir(parents=True, exist_ok=True)
        merged.rename(tree / "lib" / "modules" / release)
    shutil.rmtree(tree / "usr", ignore_errors=True)


def _decompress(modules: Path) -> None:
    """Modules as they are loaded: unpacking them takes an emulated guest a third of its boot."""
    for suffix, argv in _COMPRESSED.items():
        found = [str(path) for path in modules.rglob(f"*.ko.{suffix}")]
        for first in range(0, len(found), _AT_ONCE):
            _checked([*argv, *found[first : first + _AT_ONCE]])


def _copy(source: Path, target: Path) -> None:
    if source.is_file() and not target.exists():
        shutil.copyfile(source, target)


def _checked(argv: list[str]) -> None:
    ended = process.run(argv, timeout=_UNPACK_S)
    if ended.status:
        raise LowlatError(f"{argv[0]} failed: {ended.stderr.strip() or 'no reason given'}")
