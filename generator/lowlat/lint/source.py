# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a boot line comes from: arguments, standard input, a file of this or another program."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Optional

from lowlat.base import bounds, files, reader
from lowlat.base.errors import Refused
from lowlat.catalogue.operator import Version
from lowlat.catalogue.performance_profile import ANOTHER_MACHINE, ProfileSpec
from lowlat.host.archive import SCHEMA as CAPTURE
from lowlat.host.root import Root
from lowlat.lint.line import the_line
from lowlat.lint.profiles import is_performance_profile, profile_of
from lowlat.lint.tuned_profile import is_tuned_profile, tuned_line
from lowlat.model.machine import Machine

#: A mistyped file must not be judged as a word.
_LIKE_A_FILE = re.compile(r"\.?/[^=]*|[^=\s]*\.(?:cfg|conf|json|txt|ya?ml)")

#: Files that hold a line only as the profile of another program.
_OTHERS = (".json", ".yaml", ".yml")

#: What is read of a file: a byte more than it may have.
_MOST = bounds.BOOT_LINE + 1


class Given(NamedTuple):
    """A line, and the PerformanceProfile of which the operator makes it."""

    line: str
    profile: Optional[ProfileSpec] = None


@dataclass(frozen=True)
class Source:
    """``machine`` and ``version``, OpenShift's, decide what other programs write; ``root`` has the
    TuneD profiles that others include."""

    root: Root
    machine: Machine
    version: Version

    def folder(self, arguments: Sequence[str]) -> Optional[Path]:
        """The folder of several lines that the arguments name; None if they name none."""
        path = Path(arguments[0]) if len(arguments) == 1 and _is_file(arguments[0]) else None
        alone = path is None or not path.is_dir() or os.path.lexists(path / "tuned.conf")
        return None if alone else path

    def given(self, arguments: Sequence[str]) -> Optional[Given]:
        """The line from the arguments; None without arguments. Raises Refused if they name a file
        that cannot be read, or that has no boot line or several."""
        if not arguments:
            return None
        text = " ".join(arguments)
        if text == "-":
            content = sys.stdin.buffer.read(_MOST) if sys.stdin else b""
            return self._line(content.decode("utf-8", "replace"), None)
        if len(arguments) > 1 or not _is_file(text):
            return Given(the_line(text) if "GRUB_CMDLINE" in text else text)
        folder = Path(text) if Path(text).is_dir() else None
        path = folder / "tuned.conf" if folder else Path(text)
        with files.reporting_errors(text, "give a file that can be read, or - for standard input"):
            content = reader.read(path, _MOST, inside=folder, whole=False)
        return self._line(content.decode("utf-8", "replace"), path)

    def _line(self, text: str, path: Optional[Path]) -> Given:
        if len(text) > bounds.BOOT_LINE:
            raise Refused(f"{path or '-'}: is too long for a boot line")
        if is_performance_profile(text):
            profile = profile_of(text, "the PerformanceProfile")
            self._refuse_others(profile, path)
            return Given(profile.line(self.machine, self.version), profile)
        if is_tuned_profile(text):
            return Given(tuned_line(text, path, self.root, self.machine))
        if "\0" in text or (path and path.suffix in _OTHERS):
            hint = "give a boot line, a PerformanceProfile or a tuned.conf"
            raise Refused(f"{path or '-'}: holds no boot line", hint=hint)
        if text.startswith(CAPTURE):
            hint = "'lowlat-gen lint --root' and the file judges its line"
            raise Refused(f"{path or '-'}: is a captured machine, no boot line", hint=hint)
        return Given(the_line(text))

    def _refuse_others(self, profile: ProfileSpec, path: Optional[Path]) -> None:
        """Raises Refused for a profile of other machines than the one that runs here."""
        names = self.machine.cpus.online | self.machine.cpus.offline
        gone = (profile.cpu.cpus("isolated") | profile.cpu.cpus("reserved")) - names
        if self.root.live and gone:
            raise Refused(f"{path or '-'}: this machine has no CPU {gone}", hint=ANOTHER_MACHINE)


def _is_file(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists() or bool(_LIKE_A_FILE.fullmatch(text))
    except (OSError, ValueError):
        return False
