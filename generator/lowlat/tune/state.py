# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of the loop: one file, written atomically before every step."""

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

from lowlat.base import files
from lowlat.base.arguments import seconds
from lowlat.base.typed_json import FLAT, encode_fields
from lowlat.boot.disk import Disk
from lowlat.boot.state_file import StateFile, lenient
from lowlat.host.root import Root
from lowlat.measure.options import MeasureChoice
from lowlat.model.cpuset import CpuSet
from lowlat.model.policy import parse_policies

STATE = f"{files.STATE}/tune.json"
RUNS = f"{files.STATE}/runs"

SCHEMA = "lowlat.tune/1"

#: The arms: of boots the first two, within a boot the first and the last.
STOCK, TUNED, NOW = "stock", "tuned", "now"

#: The tolerated loss of throughput in percent, unless the user gives another.
MARGIN = 5


class Phase(str, Enum):
    """The progress: the due boot is prepared, awaited, measured; after the last boot all are
    judged, the preparations are undone, and the loop is done."""

    ARM = "arm"
    BOOT = "boot"
    MEASURE = "measure"
    JUDGE = "judge"
    CLOSE = "close"
    DONE = "done"


class Outcome(str, Enum):
    """The end of the loop. ``COMPARED`` decides nothing: with --boots the default stays."""

    NONE = ""
    PROMOTED = "promoted"
    FELL_BACK = "fell-back"
    COMPARED = "compared"
    ABORTED = "aborted"


@dataclass(frozen=True)
class MeasuredBoot:
    """A measured boot, or within boots one of its runs: the paths of its run and of verify's
    findings, the names of the settings that were not in effect, and the runs under the further
    policies."""

    arm: str
    boot_id: str
    run: str
    verify: Optional[str] = None
    bad: tuple[str, ...] = ()
    further: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoopState:
    """The JSON form is lowlat.tune/1, with these keys.

    ``started`` is UTC and names the runs; ``default`` is the id of the default entry before the
    loop; ``measured`` the CPUs that every boot measures; ``boots`` the requested number of each
    kind, null for one trial; ``order`` the boots from first to last, shuffled with ``seed``;
    ``legs`` the measured ones; ``boot_id`` the boot in which ``phase`` began; ``reboot`` whether
    the loop may reboot. ``measure`` stands for its own keys: ``policy``, the detectors' scheduling
    policies, comma-separated, of which the first decides, and ``load`` to ``causes``, like
    ``wakeup`` options of measure, null for its defaults. ``throughput_margin`` is the tolerated
    loss of throughput in percent; ``kexec`` whether boots bypass the boot loader. ``campaign`` is
    the digest of the campaign that was written down first; ``until_clear`` whether it ends with the
    first pair after which its test is clear. With ``discard`` a boot that is not measured comes
    first wherever the kind of boot changes; ``discarded`` whether it did for the due boot. With
    ``within`` the order is one of runs: so many pairs in each of ``boots`` boots, ``lost`` of them
    ended with their boot before they were made.
    """

    started: str
    profile: str
    plan: str
    kernel: str
    isolated: CpuSet
    measured: CpuSet
    entry: str
    default: str
    duration: str
    warmup: str
    reboot: bool
    boots: Optional[int]
    seed: int
    order: tuple[str, ...]
    phase: Phase
    boot_id: str
    legs: tuple[MeasuredBoot, ...] = ()
    outcome: Outcome = Outcome.NONE
    why: str = ""
    report: Optional[str] = None
    measure: MeasureChoice = field(default=MeasureChoice(), metadata=FLAT)
    wakeup: Optional[str] = None
    throughput_margin: int = MARGIN
    kexec: bool = False
    campaign: str = ""
    until_clear: bool = False
    discard: bool = False
    discarded: bool = False
    within: int = 0
    lost: int = 0

    @property
    def policies(self) -> tuple[str, ...]:
        return parse_policies(self.measure.policy or "other")

    @property
    def load_cpus(self) -> Optional[str]:
        """Where the load runs, as the option of measure: on all CPUs if none is isolated, as the
        work does."""
        return "all" if self.measure.load and not self.isolated else None

    @property
    def due(self) -> str:
        """The kind of the next boot to measure; "" after the last."""
        return self.order[self.number - 1] if self.number <= len(self.order) else ""

    @property
    def number(self) -> int:
        """The number of the next boot to measure, from 1; of runs, that of the next run."""
        return len(self.legs) + self.lost + 1

    @property
    def unit(self) -> str:
        """What the order is one of."""
        return "run" if self.within else "boot"

    @property
    def arms(self) -> tuple[str, str]:
        return (STOCK, NOW if self.within else TUNED)

    @property
    def discards(self) -> bool:
        """Whether the next boot is not measured."""
        last = self.legs[-1].arm if self.legs else ""
        return self.discard and not self.discarded and self.due not in ("", last)

    @property
    def active(self) -> bool:
        return self.phase is not Phase.DONE

    def path(self, name: str) -> str:
        """The path of one of this loop's files."""
        return f"{RUNS}/tune-{self.started}-{name}"

    def arm(self, arm: str) -> tuple[MeasuredBoot, ...]:
        return tuple(boot for boot in self.legs if boot.arm == arm)

    def to_json(self) -> dict[str, object]:
        return {"schema": SCHEMA, **encode_fields(self)}


def _build(document: object) -> LoopState:
    """Raises ValueError, or LowlatError, if a value cannot come from the loop."""
    state: LoopState = lenient(LoopState)(document)
    runs = len(state.policies)
    if any(len(boot.further) + 1 != runs for boot in state.legs):
        raise ValueError("a run is missing")
    paths = [path for boot in state.legs for path in (boot.run, boot.verify, *boot.further) if path]
    if not re.fullmatch(r"\d{8}T\d{6}Z", state.started, re.ASCII):
        raise ValueError("no time")
    if not set(state.order) <= set(state.arms) or state.number > len(state.order) + 1:
        raise ValueError("no order of boots")
    if state.due == "" and state.phase in (Phase.ARM, Phase.BOOT, Phase.MEASURE):
        raise ValueError("no boot is due")
    if not all(re.fullmatch(rf"{RUNS}/[\w.-]+", path) for path in paths):
        raise ValueError("no run of ours")
    for text in (state.duration, state.warmup):
        seconds("--duration", text)
    return state


_FILE = StateFile(
    STATE, SCHEMA, _build, "'lowlat-gen rollback' takes the boot entries back, then remove it"
)


def read(root: Root) -> Optional[LoopState]:
    """The current or last loop. Raises Refused if the file is damaged or, for root, if others can
    write it."""
    return _FILE.read(Disk(root))


def write(root: Root, state: LoopState) -> None:
    """Write the state atomically, and sync it to disk before returning."""
    disk = Disk(root)
    disk.make_folders(STATE)
    _FILE.write(disk, state)
