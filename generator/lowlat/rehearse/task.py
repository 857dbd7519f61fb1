# SPDX-License-Identifier: GPL-2.0-or-later
"""What one boot shall do, and what it brought: files in the folder that host and guest share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

from lowlat.base.errors import LowlatError
from lowlat.rehearse.arm import Arm

#: Names of the files in a boot's folder.
TASK = "task.json"
FACTS = "facts.json"
VERIFY = "verify.json"
MESSAGES = "dmesg.txt"
TUNED_LOG = "tuned.log"
ARMS = "arms.json"


@dataclass(frozen=True)
class Task:
    """A measured boot's work. ``files`` is where the plan's files lie, laid out as below /."""

    label: str
    arm: Arm
    files: Optional[str]
    isolated: str
    housekeeping: str
    harness: str
    duration: str
    warmup: str
    measure_limit: float
    emulated: bool

    def write(self, folder: Path) -> None:
        fields = {**vars(self), "arm": self.arm.to_json()}
        (folder / TASK).write_text(json.dumps(fields, indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Task:
        fields = json.loads((folder / TASK).read_text())
        return cls(**{**fields, "arm": Arm.from_json(fields["arm"])})


@dataclass(frozen=True)
class Facts:
    """What a boot looked like from inside. ``refused`` is why it stopped early, else empty."""

    cmdline: str
    release: str
    isolated: str
    nohz_full: str
    complaints: tuple[str, ...]
    runtime_by: str
    problems: tuple[str, ...]
    seconds: Mapping[str, float]
    refused: str

    def write(self, folder: Path) -> None:
        (folder / FACTS).write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Facts:
        """Raises LowlatError where the guest did not come as far as writing them."""
        try:
            fields: dict[str, Any] = json.loads((folder / FACTS).read_text())
            for name in ("complaints", "problems"):
                fields[name] = tuple(fields[name])
            return cls(**fields)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise LowlatError(
                f"the guest left no result in {folder}", hint="its serial.log tells more"
            ) from error
