# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's command at a long gap: what ``measure --on-gap`` runs while the run goes on."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from time import monotonic
from typing import Callable, Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import encode
from lowlat.model.cpuset import CpuSet

#: The least time between two starts, in seconds.
_PAUSE_S = 60.0


@dataclass(frozen=True)
class Reaction:
    """One start of the command: the gap's CPU and length, when it was told, and the exit status,
    negative for the signal that ended it, None if it could not be started."""

    cpu: int
    gap_ns: int
    at: str
    status: Optional[int] = None


class OnGap:
    """Starts a command for the gaps of one run, on other CPUs than the measured ones; one at a time
    and at most once a minute. ``gaps`` counts all that were told."""

    def __init__(
        self, command: Sequence[str], measured: CpuSet, clock: Callable[[], float] = monotonic
    ) -> None:
        self._command = command
        self._measured = measured
        self._clock = clock
        self._child: Optional[process.Child] = None
        self._next = 0.0
        self._reactions: list[Reaction] = []
        self.gaps = 0

    def hear(self, line: str) -> None:
        """A line of the harness's ``--phases``: "gap CPU NS", or a phase."""
        word, *numbers = line.split()
        if word != "gap":
            return
        self.gaps += 1
        now = self._clock()
        if now >= self._next and not self.running():
            self._next = now + _PAUSE_S
            self._react(*map(int, numbers))

    def running(self) -> bool:
        """Whether the command runs."""
        if self._child is not None and self._child.poll() is not None:
            self._note_status()
        return self._child is not None

    def _react(self, cpu: int, gap_ns: int) -> None:
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._reactions.append(Reaction(cpu, gap_ns, at))
        told = {"LOWLAT_GAP_CPU": cpu, "LOWLAT_GAP_NS": gap_ns, "LOWLAT_GAP_TIME": at}
        environment = {**os.environ, **{name: str(value) for name, value in told.items()}}
        # Standard output is the run's.
        to = sys.stderr.fileno()
        try:
            with process.aside(self._measured):
                self._child = process.start(
                    self._command, env=environment, stdout=to, stderr=to, named=True
                )
        except LowlatError:  # the status tells it
            return

    def _note_status(self) -> None:
        assert self._child is not None  # noqa: S101 (the caller looked)
        self._reactions[-1] = replace(self._reactions[-1], status=self._child.returncode)
        self._child = None

    def __enter__(self) -> None:
        """The run begins."""

    def __exit__(self, *error: object) -> None:
        """The run has ended: what still runs is ended too."""
        if self.running() and self._child is not None:
            process.end_group(self._child)
            self._note_status()

    def to_json(self) -> dict[str, object]:
        """The key ``on_gap`` of the run."""
        runs = encode(tuple(self._reactions))
        return {"command": list(self._command), "gaps": self.gaps, "runs": runs}
