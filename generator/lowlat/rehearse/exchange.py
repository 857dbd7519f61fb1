# SPDX-License-Identifier: GPL-2.0-or-later
"""What one boot shall do, and what it brought: files in the folder that host and guest share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lowlat.base.errors import LowlatError
from lowlat.base.json_fields import read_value
from lowlat.rehearse.arm import PlannedArm

#: Names of the files in a boot's folder.
TASK = "task.json"
PLAN_FILES = "files"
FACTS = "facts.json"
VERIFY = "verify.json"
MESSAGES = "dmesg.txt"
TUNED_LOG = "tuned.log"
ARMS = "arms.json"


@dataclass(frozen=True)
class Task:
    """A measured boot's work."""

    arm: PlannedArm
    isolated: str
    housekeeping: str
    harness: str
    duration: str
    warmup: str
    measure_limit: float
    emulated: bool


@dataclass(frozen=True)
class Facts:
    """What a boot looked like from inside. ``refused`` is why it stopped early, else empty."""

    cmdline: str
    isolated: str
    nohz_full: str
    complaints: tuple[str, ...]
    runtime_by: str
    problems: tuple[str, ...]
    seconds: Mapping[str, float]
    refused: str


def read_facts(folder: Path) -> Facts:
    """Raises LowlatError where the guest did not come as far as writing them."""
    try:
        facts: Facts = read_value(folder / FACTS, Facts)
    except (OSError, ValueError, TypeError) as error:
        raise LowlatError(
            f"the guest left no result in {folder}", hint="its serial.log tells more"
        ) from error
    return facts
