# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages that tests unpack and never install, kept in ~/.cache/lowlat.

    PYTHONPATH=tests python -m support.debs

fetches what is missing, before the tests begin; the exit status is 1 if it cannot.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.base.files import user_folder
from lowlat.rehearse import packages
from support import needs
from support.waits import GUARD_S

#: The versions of trixie's packages.
_LOCK = Path(__file__).parents[1] / "vm/image.lock"


@dataclass(frozen=True)
class Unpacked:
    """A package of a suite, the host's own for ""; and a program of it."""

    name: str
    suite: str
    program: str

    @property
    def version(self) -> str:
        """The pinned version, "" for the suite's newest."""
        rows = (line.split() for line in _LOCK.read_text().splitlines() if self.suite)
        return next((row[1] for row in rows if row[0] == self.name), "")

    def tree(self) -> Path:
        """Skips the test with a reason if the package was not fetched."""
        if not (self._kept / self.program).exists():
            needs.absent(f"{self.name} was not fetched: python -m support.debs")
        return self._kept

    @property
    def _kept(self) -> Path:
        kept = "-".join(filter(None, (self.name, self.suite, self.version.replace(":", "_"))))
        return user_folder("XDG_CACHE_HOME", ".cache") / "debs" / kept

    def fetch(self) -> None:
        """Raises LowlatError if the package cannot be had."""
        if (self._kept / self.program).exists():
            return
        host = packages.detect()
        source = replace(host, codename=self.suite or host.codename)
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=".fetch-", dir=self._kept.parent) as folder,
            packages.apt(next(source.rounds()), source.arch) as environment,
        ):
            pinned = f"{self.name}={self.version}" if self.version else self.name
            for wanted in dict.fromkeys((pinned, self.name)):
                argv = ["apt-get", *packages.SIGNED, "-q", "download", wanted]
                got = process.run(argv, timeout=GUARD_S, env=environment, cwd=folder)
                if got.status == 0:
                    break
                print(f"{wanted}: {got.last_words}", file=sys.stderr)
            for package in Path(folder).glob("*.deb"):
                process.run(["dpkg-deb", "-x", str(package), f"{folder}/tree"], timeout=GUARD_S)
            if not Path(folder, "tree", self.program).exists():
                raise LowlatError(f"{self.name} cannot be downloaded")
            shutil.rmtree(self._kept, ignore_errors=True)
            Path(folder, "tree").rename(self._kept)


TUNED = Unpacked("tuned", "trixie", "usr/sbin/tuned")
#: It needs the libraries of the host's systemd.
SYSTEMD_BOOT = Unpacked("systemd-boot", "", "usr/bin/bootctl")


def main(wanted: Sequence[Unpacked] = (TUNED, SYSTEMD_BOOT)) -> int:
    missing = 0
    for each in wanted:
        try:
            each.fetch()
        except LowlatError as error:
            missing += 1
            print(f"debs: missing: {each.name}: {error}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
