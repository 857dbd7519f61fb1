# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages that tests unpack and never install, kept in ~/.cache/lowlat.

``python -m support.debs`` (`make test-setup`) fetches what is missing, before the tests begin, and
``python -m support.debs proofs`` what proofs need; the exit status is 1 if it cannot.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.base.files import user_folder
from lowlat.rehearse import packages
from support import needs
from support.waits import GUARD_S

#: The versions of trixie's packages.
_LOCK = Path(__file__).parents[1] / "vm/image.lock"


def _locked(name: str) -> str:
    rows = (line.split() for line in _LOCK.read_text().splitlines())
    return next((row[1] for row in rows if row[0] == name), "")


@dataclass(frozen=True)
class Unpacked:
    """The packages of a suite whose names match ``names``, a regular expression; the host's own
    suite for "". ``version`` is wanted, "" the suite's newest. A file of them matches ``file``."""

    folder: str
    names: str
    file: str
    suite: str = ""
    version: str = ""

    def tree(self) -> Path:
        """Skips the test with a reason if the packages were not fetched."""
        try:
            kept = self._found(self.version) or self._found("")
        except LowlatError as error:  # the host is not Debian
            needs.absent(f"{self.folder}: {error}")
        if kept is None:
            needs.absent(f"{self.folder} was not fetched: make test-setup")
        return kept

    def _kept(self, version: str) -> Path:
        name = f"{self.folder}-{self.suite or packages.detect().codename}-{version or 'newest'}"
        return user_folder("XDG_CACHE_HOME", ".cache") / "debs" / name

    def _found(self, version: str) -> Optional[Path]:
        kept = self._kept(version)
        return kept if next(kept.glob(self.file), None) else None

    def fetch(self) -> None:
        """Raises LowlatError if the packages cannot be had."""
        if self._found(self.version):
            return
        host = packages.detect()
        source = replace(host, codename=self.suite or host.codename)
        with packages.apt(next(source.rounds()), source.arch) as environment:
            argv = ["apt-cache", "search", "--names-only", self.names]
            rows = process.run(argv, timeout=GUARD_S, env=environment).stdout.splitlines()
            names = [row.split()[0] for row in rows]
            if self.version and self._unpack(names, self.version, environment):
                return
            if not self._found("") and not self._unpack(names, "", environment):
                raise LowlatError(f"{self.names} cannot be downloaded")
        if self.version:
            print(f"debs: {self.folder} {self.version} is gone: the newest is taken")

    def _unpack(self, names: list[str], version: str, environment: Mapping[str, str]) -> bool:
        kept = self._kept(version)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=kept.parent) as folder:
            wanted = [f"{name}={version}" if version else name for name in names]
            argv = ["apt-get", *packages.SIGNED, "-q", "download", *wanted]
            if process.run(argv, timeout=GUARD_S, env=environment, cwd=folder).status:
                return False
            tree = Path(folder, "tree")
            for package in Path(folder).glob("*.deb"):
                argv = ["dpkg-deb", "-x", str(package), str(tree)]
                if process.run(argv, timeout=GUARD_S).status:
                    return False
            shutil.rmtree(kept, ignore_errors=True)
            if tree.exists():
                tree.rename(kept)
        return self._found(version) is not None


TUNED = Unpacked("tuned", "^tuned$", "usr/sbin/tuned", "trixie", _locked("tuned"))
#: These need the libraries of the host.
SYSTEMD_BOOT = Unpacked("systemd-boot", "^systemd-boot$", "usr/bin/bootctl")
CONSUMERS = Unpacked(
    "consumers",
    "^(librte-(eal|kvargs|telemetry)[0-9]+|libvirt0|libvirt-common|libxml2-utils)$",
    "usr/bin/xmllint",
)
SLURM = Unpacked(
    "slurm",
    "^(slurmd|slurm-wlm-basic-plugins|libmunge2|liblua5[.][14]-0)$",
    "usr/sbin/slurmd-wlm",
)
_EMU = "^(grub-emu|libc6|libdevmapper1.02.1|libselinux1|libudev1|libpcre2-8-0|libcap2|libgcc-s1)$"
#: GRUB 2.12, and GRUB 2.14 with its own command for entry files.
GRUB_2_12 = Unpacked("grub-emu", _EMU, "usr/bin/grub-emu", "trixie")
GRUB_2_14 = Unpacked("grub-emu", _EMU, "usr/lib/grub/x86_64-emu/blsuki.mod", "sid")
BTRFS = Unpacked("btrfs-progs", "^btrfs-progs$", "**/sbin/mkfs.btrfs")
PROMTOOL = Unpacked("prometheus", "^prometheus$", "usr/bin/promtool")

_GATE = (TUNED, SYSTEMD_BOOT, CONSUMERS, SLURM)
_PROOFS = (GRUB_2_12, GRUB_2_14, BTRFS, PROMTOOL)


def main() -> int:
    missing = 0
    for each in _PROOFS if "proofs" in sys.argv else _GATE:
        try:
            each.fetch()
        except LowlatError as error:
            missing += 1
            print(f"debs: missing: {each.folder}: {error}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
