# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels for the tests that boot one: their sources, and the cache."""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.files import user_folder
from lowlat.rehearse import packages
from lowlat.rehearse.kernel import BootableKernel, newest
from lowlat.rehearse.ready import find_kernel
from support import needs
from support.guest import VM
from support.waits import GUARD_S

#: What each kernel is, written by `make update-locks`.
LOCK = VM / "kernels.lock"
_HEAD = "# kernel, suite, package, version, sha256: written by `make update-locks`\n"

#: In seconds, for a kernel's packages.
_DOWNLOAD_S = 900.0


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


#: Built without CONFIG_NO_HZ_FULL, and too old to report unknown parameters.
OLD = Packaged("bullseye", "5.10")

#: By the names that the tests use.
KERNELS = {
    "6.1": Packaged("bookworm", "6.1"),
    "6.1-rt": Packaged("bookworm", "6.1-rt"),
    "6.12": Packaged("trixie", "6.12"),
    "6.12-rt": Packaged("trixie", "6.12-rt"),
    "newest": Packaged("sid", ""),
    "6.12-arm64": Packaged("trixie", "6.12", "arm64"),
}

#: All that a lock names.
LOCKED = {**KERNELS, "5.10": OLD}

#: The kernel of the one boot of `make test`.
SMOKE = "6.12"


@dataclass(frozen=True)
class Pin:
    """One package of a kernel."""

    package: str
    version: str
    digest: str


def folder() -> Path:
    """The cache of the tests that boot, kept between runs."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "vm"


def smoke_kernel_or_skip() -> BootableKernel:
    """The pinned kernel, else one of the host, the cache or the distribution's packages; skips the
    test with a reason if there is none at all."""
    try:
        return _packaged(KERNELS[SMOKE])
    except LowlatError as missing:
        warnings.warn(f"the pinned kernel is not available: {missing}", stacklevel=2)
    try:
        return find_kernel("", fetch=True)
    except LowlatError as error:
        needs.absent(f"no kernel can be had: {error}")


def packaged_or_skip(wanted: Packaged) -> BootableKernel:
    """The pinned kernel from the cache, else from its suite; skips the test with a reason if it is
    not available."""
    try:
        return _packaged(wanted)
    except LowlatError as error:
        needs.absent(f"no kernel {wanted.version or 'at all'} from {wanted.suite}: {error}")


@cache
def _packaged(wanted: Packaged) -> BootableKernel:
    pins = locked(next(name for name, each in LOCKED.items() if each == wanted))
    pinned = _release(pins)
    if pinned and (kept := _kept(wanted, pinned)):
        return kept
    others = _kept(wanted, wanted.version)
    try:
        distribution = _distribution(wanted)
        with packages.apt(next(distribution.rounds()), wanted.arch) as environment:
            if pins and set(pins) <= set(_offered([pin.package for pin in pins], environment)):
                return _take(pins, wanted, environment)
            if others is None:
                newer = _newest(wanted, distribution, environment)
                _warn(pinned, _release(newer), wanted.suite)
                return _take(newer, wanted, environment)
    except LowlatError:
        if others is None:
            raise
    assert others is not None
    _warn(pinned, others.release, wanted.suite)
    return others


def _warn(pinned: str, release: str, suite: str) -> None:
    why = f"{pinned or 'nothing'} is pinned and not in {suite} any more: {release} is taken"
    warnings.warn(why, stacklevel=2)


def _kept(wanted: Packaged, release: str) -> BootableKernel | None:
    images = {path.parents[1].name: path for path in wanted.cache.glob("*/boot/vmlinuz-*")}
    found = newest(release, images)
    return BootableKernel(found, images[found]) if found else None


# -------------------------------------------------------------------- the lock


def locked(name: str) -> tuple[Pin, ...]:
    """The packages of this kernel; () if the lock does not name it."""
    rows = (line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    return tuple(Pin(*row[2:]) for row in rows if row[0] == name)


def write_lock() -> None:
    """Pin each suite's newest. Raises LowlatError if one is not available."""
    rows = []
    for name, wanted in LOCKED.items():
        distribution = _distribution(wanted)
        with packages.apt(next(distribution.rounds()), wanted.arch) as environment:
            for pin in _newest(wanted, distribution, environment):
                rows.append(f"{name} {wanted.suite} {pin.package} {pin.version} {pin.digest}\n")
    LOCK.write_text(_HEAD + "".join(rows))


def _release(pins: Iterable[Pin]) -> str:
    names = (pin.package.partition("linux-image-")[2] for pin in pins)
    return next(filter(None, names), "")


def _newest(
    wanted: Packaged, distribution: packages.Distribution, environment: Mapping[str, str]
) -> tuple[Pin, ...]:
    """The packages of the suite's newest. Raises Refused if it has none."""
    leads = (*distribution.leads, f"linux-image-{wanted.version or wanted.arch}")
    release = newest(wanted.version, packages.offers(_shown(leads, environment)))
    if release is None:
        raise Refused(f"{wanted.suite} has no kernel {wanted.version}")
    image = f"linux-image-{release}"
    more = packages.needed(release, _shown([image], environment))
    # The first version of each is the one that apt would install.
    first: dict[str, Pin] = {}
    for pin in _offered(dict.fromkeys((image, *more)), environment):
        first.setdefault(pin.package, pin)
    return tuple(first.values())


def _offered(names: Iterable[str], environment: Mapping[str, str]) -> Iterator[Pin]:
    """Every version of these packages that the suite has."""
    for text in _shown(names, environment).split("\n\n"):
        rows = dict(re.findall(r"^(Package|Version|SHA256): (\S+)", text, re.MULTILINE))
        if len(rows) == 3:
            yield Pin(rows["Package"], rows["Version"], rows["SHA256"])


def _shown(names: Iterable[str], environment: Mapping[str, str]) -> str:
    argv = ["apt-cache", "show", *names]
    return process.run(argv, timeout=GUARD_S, env=environment).stdout


def _take(pins: Iterable[Pin], wanted: Packaged, environment: Mapping[str, str]) -> BootableKernel:
    """Download and unpack these; apt compares them with the digests of its signed lists."""
    pins, release = tuple(pins), _release(pins)
    wanted.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=wanted.cache) as name:
        versions = (f"{pin.package}={pin.version}" for pin in pins)
        argv = ["apt-get", *packages.SIGNED, "-q", "download", *versions]
        got = process.run(argv, timeout=_DOWNLOAD_S, env=environment, cwd=name)
        files = sorted(Path(name).glob("*.deb"))
        if got.status or len(files) != len(pins):
            raise LowlatError(f"cannot download {release}: {got.last_words}")
        tree = packages.unpack(files, release, Path(name) / "tree")
        target = wanted.cache / release
        shutil.rmtree(target, ignore_errors=True)
        tree.rename(target)
    return BootableKernel(release, target / "boot" / f"vmlinuz-{release}")


# --------------------------------------------------------------------- busybox


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
        needs.absent(f"no busybox for {arch}: {error}")


def _fetched_busybox(wanted: packages.Distribution, kept: Path) -> Path:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        with packages.apt(next(wanted.rounds()), wanted.arch) as environment:
            argv = ["apt-get", "-q", "download", "busybox-static"]
            got = process.run(argv, timeout=_DOWNLOAD_S, env=environment, cwd=name)
        package = next(Path(name).glob("busybox-static_*.deb"), None)
        if package is None:
            raise Refused(f"busybox-static cannot be downloaded: {got.stderr.strip()[-200:]}")
        process.run(["dpkg-deb", "-x", str(package), name], timeout=GUARD_S)
        (Path(name) / "usr/bin/busybox").rename(kept)
    return kept


def _distribution(wanted: Packaged) -> packages.Distribution:
    here = packages.detect()
    if here.name != "debian":
        raise Refused(f"Debian's kernels are not looked for on {here.name}")
    return replace(here, codename=wanted.suite, arch=wanted.arch)
