# SPDX-License-Identifier: GPL-2.0-or-later
"""The task of one boot and its results: files in the folder that host and guest share."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lowlat.base import bounds, process, reader
from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import read_value
from lowlat.measure.options import MeasureOptions
from lowlat.model.cpuset import CpuSet
from lowlat.rehearse.arm import PlannedArm

#: Names of the files in a boot's folder.
TASK = "task.json"
PLAN_FILES = "files"
FACTS = "facts.json"
VERIFY = "verify.json"
MESSAGES = "dmesg.txt"
TUNED_LOG = "tuned.log"
ARMS = "arms.json"

#: The reason, if there is no plan.
REFUSED = "refused.txt"

#: The folder within a boot's folder that its guest can write; its content is not trusted.
SHARE = "guest"

_REMOVE_S = 120.0


@dataclass(frozen=True)
class GuestTask:
    """A measured boot's task: its arm, the isolated CPUs, the measuring program and its options;
    the runs go to the folder."""

    arm: PlannedArm
    isolated: CpuSet
    harness: str
    measure: MeasureOptions


@dataclass(frozen=True)
class Facts:
    """A boot seen from inside. ``refused`` is the reason if it stopped early, else ""."""

    cmdline: str
    isolated: CpuSet
    nohz_full: CpuSet
    complaints: tuple[str, ...]
    runtime_by: str
    problems: tuple[str, ...]
    seconds: Mapping[str, float]
    refused: str


@contextmanager
def shared(folder: Path, more: tuple[str, ...] = ()) -> Iterator[Path]:
    """A new folder to share with a guest while the block runs. Afterwards, files with the names
    above or in ``more`` are copied to ``folder``; all others are removed unread."""
    share = folder / SHARE
    share.mkdir(mode=0o700)
    try:
        yield share
    finally:
        for name in (ARMS, FACTS, VERIFY, MESSAGES, TUNED_LOG, REFUSED, *more):
            with suppress(OSError):
                data = reader.read(share / name, bounds.GUEST_FILE, follow=False)
                (folder / name).write_bytes(data)
        remove(share)


def remove(folder: Path) -> None:
    """Remove a folder with all its content, however much a guest wrote. Raises LowlatError if that
    fails."""
    # Not shutil.rmtree(): it fails on folders nested without end.
    ended = process.run(["rm", "-rf", "--", str(folder)], timeout=_REMOVE_S)
    if ended.status:
        raise LowlatError(f"cannot remove {folder}: {ended.last_words}")


def read_facts(folder: Path) -> Facts:
    """A boot's facts. Raises LowlatError if the guest failed before it wrote them."""
    try:
        return read_value(folder / FACTS, Facts)
    except (OSError, ValueError, TypeError) as error:
        why = f"the guest left no result in {folder}"
        raise LowlatError(why, hint="its serial.log tells more") from error
