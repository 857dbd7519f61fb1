# SPDX-License-Identifier: GPL-2.0-or-later
"""What setup.cfg cannot say: the package list with its mapped folders, and the native step.

The harness lowlat-measure is built by make and travels in the package as libexec/lowlat-measure.
LOWLAT_NO_NATIVE=1 leaves it out (distribution packages build it on their own), and a machine
without a compiler still gets the planner. Editable installs never build it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from email.utils import parsedate_to_datetime
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel  # type: ignore[no-redef]

NATIVE = os.environ.get("LOWLAT_NO_NATIVE") != "1"
HARNESS = Path("measure/build/lowlat-measure")

# The files in a wheel bear the release's date, so that two builds are the same to the byte.
_, _, RELEASED = Path("packaging/debian/changelog").read_text().partition(">  ")
EPOCH = int(parsedate_to_datetime(RELEASED.partition("\n")[0]).timestamp())
os.environ.setdefault("SOURCE_DATE_EPOCH", str(EPOCH))


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        # setuptools before 64 has no such attribute, and no editable installs of this kind.
        if NATIVE and not getattr(self, "editable_mode", False):
            self.build_harness(Path(self.build_lib) / "lowlat" / "libexec")

    def build_harness(self, folder: Path) -> None:
        try:
            subprocess.run(["make", "-C", "measure", "all"], check=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            self.warn(f"lowlat-measure not built, `lowlat-gen measure` will miss it: {error}")
            return
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(HARNESS, folder / HARNESS.name)


class BdistWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        """One wheel serves every Python 3: the program inside depends on the platform alone."""
        _, _, platform = super().get_tag()
        return "py3", "none", platform


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return NATIVE


setup(
    packages=[*find_packages("generator"), "lowlat.profiles", "lowlat.templates"],
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildPy, "bdist_wheel": BdistWheel},
)
