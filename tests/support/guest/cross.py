# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness, statically linked for another architecture than this host's."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.rehearse import packages
from support import needs
from support.guest import REPOSITORY
from support.guest.kernels import folder
from support.waits import GUARD_S

SOURCE = REPOSITORY / "measure"

#: In seconds, to build or to download.
_BUILD_S = 300.0

#: The compiler's names for Debian's architectures.
TRIPLETS = {"arm64": "aarch64-linux-gnu"}


@dataclass(frozen=True)
class CrossBuilt:
    """A built tree: the program, and its own tests by name."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "lowlat-measure"

    def tests(self) -> dict[str, Path]:
        return {p.name: p for p in sorted((self.folder / "tests").rglob("test_*")) if not p.suffix}


def built_or_skip(arch: str, out: Path) -> CrossBuilt:
    """The harness, built into ``out``; skips the test with a reason if the compiler is missing."""
    triplet = TRIPLETS[arch]
    compiler = process.find(f"{triplet}-gcc")
    if compiler is None:
        needs.absent(f"{triplet}-gcc is not installed (packaging/install-dependencies vm)")
    jansson = jansson_or_skip(arch)
    made = process.run(
        [
            *("make", "-C", str(SOURCE), f"BUILD={out}", f"CC={compiler}", "PKG_CONFIG=false"),
            *(f"JANSSON_CFLAGS=-I{jansson}/usr/include", "LDFLAGS=-static"),
            f"JANSSON_LIBS={jansson}/usr/lib/{triplet}/libjansson.a",
            *("all", "tests"),
        ],
        timeout=_BUILD_S,
    )
    assert made.status == 0, made.stderr
    return CrossBuilt(out)


def jansson_or_skip(arch: str) -> Path:
    """Debian's package of the library for that architecture, unpacked and stored."""
    kept = folder() / f"jansson-{arch}"
    if kept.is_dir():
        return kept
    try:
        return _fetched(arch, kept)
    except LowlatError as error:
        needs.absent(f"no libjansson for {arch}: {error}")


def _fetched(arch: str, kept: Path) -> Path:
    here = packages.detect()
    if here.name != "debian":
        raise Refused(f"Debian's packages are not looked for on {here.name}")
    # This host's suite, to which the compiler's C library belongs.
    wanted = replace(here, arch=arch)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        with packages.apt(next(wanted.rounds()), arch) as environment:
            argv = ["apt-get", "-q", "download", "libjansson-dev"]
            got = process.run(argv, timeout=_BUILD_S, env=environment, cwd=name)
        package = next(Path(name).glob("libjansson-dev_*.deb"), None)
        if package is None:
            raise Refused(f"libjansson-dev cannot be downloaded: {got.stderr.strip()[-200:]}")
        process.run(["dpkg-deb", "-x", str(package), f"{name}/tree"], timeout=GUARD_S)
        (Path(name) / "tree").rename(kept)
    return kept
