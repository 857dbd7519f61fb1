# SPDX-License-Identifier: GPL-2.0-or-later
"""TuneD itself judges lowlat's profiles: the installed version, and Debian 13's, unpacked from its
package. TuneD's code runs in the system's Python, since no virtual environment can import TuneD."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Optional

from support import debs, needs
from support.waits import GUARD_S

SYSTEM_PYTHON = "/usr/bin/python3"

#: Loads profiles as the daemon does (tuned/daemon/daemon.py) and prints the result of each. The
#: class names are those of TuneD 2.20 to 2.25.
LOADER = """
import json, sys
from tuned.profiles import Factory, Loader, Locator, Merger
from tuned.profiles.variables import Variables

class Watched(Merger):
    def merge(self, profiles):
        self.order = [profile.name for profile in profiles]
        return super().merge(profiles)

def load(folders, name):
    known, merger = Variables(), Watched()
    merger.order = [name]
    profile = Loader(Locator(folders), Factory(), merger, None, known).load(name)
    units, scripts = {}, []
    for unit, held in profile.units.items():
        options = dict(held.options)
        scripts += options.pop("script", None) or []
        units[unit] = {key: known.expand(value) for key, value in options.items()}
    return {"order": merger.order, "units": units, "scripts": scripts, "variables": known.get_env()}

asked = json.load(sys.stdin)
answers = {}
for name in asked["names"]:
    try:
        answers[name] = load(asked["folders"], name)
    except Exception as error:
        answers[name] = {"error": str(error)}
json.dump(answers, sys.stdout)
"""


@dataclass(frozen=True)
class TunedOracle:
    """One TuneD. ``tree`` is where it was unpacked; None for the installed one."""

    version: str
    tree: Optional[Path] = None

    @property
    def environment(self) -> dict[str, str]:
        if self.tree is None:
            return dict(os.environ)
        return {**os.environ, "PYTHONPATH": str(self.tree / "usr/lib/python3/dist-packages")}

    @property
    def program(self) -> str:
        return f"{self.tree or ''}/usr/sbin/tuned"

    @property
    def _below(self) -> str:
        major, minor = map(int, self.version.split("."))
        return "tuned/profiles" if (major, minor) >= (2, 23) else "tuned"

    @property
    def stock_profiles(self) -> str:
        """The folder of TuneD's own profiles."""
        return f"/usr/lib/{self._below}"

    @property
    def user_profiles(self) -> str:
        """The folder in which TuneD looks for an administrator's profiles."""
        return f"/etc/{self._below}"

    def load(
        self, names: Iterable[str], folders: Iterable[object], prefix: Iterable[str] = ()
    ) -> tuple[dict[str, Any], str]:
        """The result of TuneD's loader for each profile, and its log."""
        done = subprocess.run(
            [*prefix, SYSTEM_PYTHON, "-c", LOADER],
            input=json.dumps({"names": [*names], "folders": [str(path) for path in folders]}),
            capture_output=True,
            text=True,
            timeout=3 * GUARD_S,
            env=self.environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers: dict[str, Any] = json.loads(done.stdout)
        return answers, done.stderr


@cache
def installed() -> Optional[TunedOracle]:
    """The installed TuneD of the host, or None."""
    asked = "from tuned.version import *; print(TUNED_VERSION_MAJOR, TUNED_VERSION_MINOR, sep='.')"
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", asked], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    return TunedOracle(done.stdout.strip()) if done.returncode == 0 else None


def oracle(version: str) -> TunedOracle:
    """The installed TuneD or Debian 13's; skips the test with a reason if it is not available."""
    here = installed()
    if here is None:
        needs.absent("TuneD is not installed (package tuned)")
    return here if version == "installed" else TunedOracle("2.25", debs.TUNED.tree())
