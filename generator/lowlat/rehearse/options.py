# SPDX-License-Identifier: GPL-2.0-or-later
"""What to rehearse, as the user asked for it, and what of that can be refused before any boot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional

from lowlat import profile
from lowlat.catalogue import lookup
from lowlat.cpuset import CpuSet
from lowlat.errors import Refused
from lowlat.harness import seconds
from lowlat.harness_output import state_folder
from lowlat.machine import Core, Cpus, Machine
from lowlat.planner import Options
from lowlat.split import split
from lowlat.wishes import merge

#: QEMU and virtme-ng give commas and equals signs in paths a meaning of their own.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/+@~-]+")


@dataclass(frozen=True)
class RehearseOptions:
    """What to rehearse. CPU lists name the guest's CPUs, with ``as_host`` this machine's."""

    kernel: str = ""
    fetch: bool = False
    profile: str = "lowlat"
    plan: Options = field(default_factory=Options)
    as_host: bool = False
    cpus: Optional[int] = None
    memory: str = "2G"
    duration: str = "30s"
    warmup: str = "10s"
    boots: int = 1
    out: Optional[Path] = None

    def seconds(self) -> float:
        """Of one run with its warm-up; raises Refused where a time has no unit."""
        return seconds("--duration", self.duration) + seconds("--warmup", self.warmup)

    def plan_arguments(self) -> Iterator[str]:
        """The options of ``lowlat-gen plan`` for the plan made inside the stock boot."""
        wishes = self.plan.wishes
        yield f"--profile={self.profile}"
        for name, value in (
            ("isolate", wishes.isolate),
            ("housekeeping", wishes.housekeeping),
            ("housekeeping-cores", wishes.housekeeping_cores),
        ):
            if value is not None:
                yield f"--{name}={value}"
        if wishes.keep_efficiency_cores:
            yield "--keep-efficiency-cores"
        yield from (f"--enable={name}" for name in self.plan.enable)
        yield from (f"--disable={name}" for name in self.plan.disable)

    def check(self, cpus: int) -> None:
        """Refuse what cannot be right in a guest of so many CPUs, before a minute goes by booting.

        The rest is for the planner in the guest to refuse.
        """
        self.seconds()
        if self.plan.wishes.for_device and not self.as_host:
            raise Refused(
                f"--for-device {self.plan.wishes.for_device[:60]}: the guest has other devices",
                hint="leave it out, or rehearse this machine's own plan with --as-host",
            )
        wanted = profile.load(self.profile)
        for name in (*self.plan.enable, *self.plan.disable):
            lookup(name)
        if not self.as_host:
            split(_guest(cpus), merge(wanted.wishes, self.plan.wishes))


def _guest(cpus: int) -> Machine:
    """As much of the guest as is known before it runs: its CPUs, each taken for a core."""
    online = CpuSet.of(range(cpus))
    cores = tuple(Core(CpuSet.of([cpu])) for cpu in online)
    return Machine(None, Cpus(online=online, offline=CpuSet(), possible=online, boot=0), cores)


def result_folder(out: Optional[Path]) -> Path:
    """The folder for all results, made here; the state folder's runs where none is named.

    Raises Refused where it cannot be written or shared with a guest.
    """
    folder = out.absolute() if out else state_folder() / "runs" / _now()
    if not _PLAIN_PATH.fullmatch(str(folder)):
        raise Refused(
            f"--out {folder}: only letters, digits and ._/+@~- can be shared with a guest"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Refused(f"--out {folder}: {error.strerror}", hint="name a writable folder") from error
    return folder


def _now() -> str:
    return f"rehearsal-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
