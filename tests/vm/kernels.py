# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels for the tests that boot one: their sources, and the cache."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.files import user_folder
from lowlat.rehearse import packages
from lowlat.rehearse.kernel import BootableKernel, newest
from lowlat.rehearse.rehearsal import find_kernel

#: In seconds, how long a rolling suite's kernel counts as its newest one.
_FRESH_S = 7 * 86400.0


def kernel_or_skip(text: str) -> BootableKernel:
    """A kernel of the host, the cache or the distribution's packages; skips the test with a reason
    if there is none at all."""
    try:
        return find_kernel(text, fetch=True)
    except LowlatError as error:
        pytest.skip(f"no kernel can be had: {error}")


@dataclass(frozen=True)
class Packaged:
    """A Debian kernel: its suite, the beginning of its version ("" for the newest), and its
    architecture by Debian's name."""

    suite: str
    version: str
    arch: str = "amd64"

    @property
    def cache(self) -> Path:
        # Separate from rehearse's cache, whose newest kernel must not be one of these.
        return folder() / f"{self.suite}-{self.arch}"


#: By the names that the tests use.
KERNELS = {
    "6.1": Packaged("bookworm", "6.1"),
    "6.1-rt": Packaged("bookworm", "6.1-rt"),
    "6.12": Packaged("trixie", "6.12"),
    "6.12-rt": Packaged("trixie", "6.12-rt"),
    "newest": Packaged("sid", ""),
    "6.12-arm64": Packaged("trixie", "6.12", "arm64"),
}

#: Built without CONFIG_NO_HZ_FULL, and too old to report unknown parameters.
OLD = Packaged("bullseye", "5.10")


def folder() -> Path:
    """The cache of the tests that boot, kept between runs."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "vm"


@cache
def packaged_or_skip(wanted: Packaged) -> BootableKernel:
    """The kernel from the cache, else from its suite; skips the test with a reason if it is not
    available."""
    known = _kept(wanted)
    if known and (wanted.version or time.time() - _tree(known).stat().st_mtime < _FRESH_S):
        return known
    try:
        found = packages.fetch(wanted.version, wanted.cache, _distribution(wanted))
    except LowlatError as error:
        if known:
            return known
        pytest.skip(f"no kernel {wanted.version or 'at all'} from {wanted.suite}: {error}")
    os.utime(_tree(found))
    return found


def _kept(wanted: Packaged) -> BootableKernel | None:
    images = {path.parents[1].name: path for path in wanted.cache.glob("*/boot/vmlinuz-*")}
    release = newest(wanted.version, images)
    return BootableKernel(release, images[release]) if release else None


def _tree(kernel: BootableKernel) -> Path:
    return kernel.image.parents[1]


def busybox_or_skip(arch: str) -> Path:
    """A static busybox: this host's, or Debian's for another architecture."""
    here = process.find("busybox")
    if arch == "amd64" and here:
        return Path(here)
    kept = folder() / f"busybox-{arch}"
    if kept.is_file():
        return kept
    try:
        return _fetched_busybox(_distribution(Packaged("trixie", "", arch)), kept)
    except LowlatError as error:
        pytest.skip(f"no busybox for {arch}: {error}")


def _fetched_busybox(wanted: packages.Distribution, kept: Path) -> Path:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        with packages.apt(next(wanted.rounds()), wanted.arch) as environment:
            argv = ["apt-get", "-q", "download", "busybox-static"]
            got = process.run(argv, timeout=300, env=environment, cwd=name)
        package = next(Path(name).glob("busybox-static_*.deb"), None)
        if package is None:
            raise Refused(f"busybox-static cannot be downloaded: {got.stderr.strip()[-200:]}")
        process.run(["dpkg-deb", "-x", str(package), name], timeout=60)
        (Path(name) / "usr/bin/busybox").rename(kept)
    return kept


def _distribution(wanted: Packaged) -> packages.Distribution:
    here = packages.detect()
    if here.name != "debian":
        raise Refused(f"Debian's kernels are not looked for on {here.name}")
    return replace(here, codename=wanted.suite, arch=wanted.arch)
