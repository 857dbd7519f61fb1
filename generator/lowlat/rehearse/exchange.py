# SPDX-License-Identifier: GPL-2.0-or-later
"""The task of one boot and its results: files in the folder that host and guest share."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lowlat.base import bounds, files, process
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

#: Why there is no plan, where there is none.
REFUSED = "refused.txt"

#: The folder in a boot's own that its guest can write: what is in it is the guest's word.
SHARE = "guest"

_REMOVE_S = 120.0


@dataclass(frozen=True)
class GuestTask:
    """A measured boot's work: the isolated CPUs, the program that measures, and what; the runs go
    into the folder."""

    arm: PlannedArm
    isolated: CpuSet
    harness: str
    measure: MeasureOptions


@dataclass(frozen=True)
class Facts:
    """A boot seen from inside. ``refused`` is why it stopped early, else empty."""

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
    """A new folder to share with a guest while the block runs. Files there with the names above or
    in ``more`` are then copied to ``folder``; the others are removed unread."""
    share = folder / SHARE
    share.mkdir(mode=0o700)
    try:
        yield share
    finally:
        for name in (ARMS, FACTS, VERIFY, MESSAGES, TUNED_LOG, REFUSED, *more):
            with suppress(OSError):
                data = files.read(share / name, bounds.GUEST_FILE, follow=False)
                (folder / name).write_bytes(data)
        remove(share)


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however much a guest has put there. Raises
    LowlatError where that is not possible."""
    # Not shutil.rmtree(): folders in folders without end are too deep for it.
    ended = process.run(["rm", "-rf", "--", str(folder)], timeout=_REMOVE_S)
    if ended.status:
        raise LowlatError(f"cannot remove {folder}: {ended.last_words}")


def read_facts(folder: Path) -> Facts:
    """Raises LowlatError where the guest did not come as far as writing them."""
    try:
        return read_value(folder / FACTS, Facts)
    except (OSError, ValueError, TypeError) as error:
        why = f"the guest left no result in {folder}"
        raise LowlatError(why, hint="its serial.log tells more") from error
