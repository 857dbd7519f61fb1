# SPDX-License-Identifier: GPL-2.0-or-later
"""What to measure: the options of lowlat-measure as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from lowlat.base.duration import seconds
from lowlat.base.process import find
from lowlat.measure.expected_time import (
    opinions_seconds,
    throughput_seconds,
    work_seconds,
)

#: The options that have lowlat-measure's own names.
_PASSED_ON = (
    *("label", "cpus", "duration", "warmup", "threshold", "policy"),
    *("load", "load_cpus", "seed", "events"),
    *("second_opinion", "work", "throughput"),
)


@dataclass(frozen=True)
class MeasureOptions:
    """What to measure. Texts are handed to lowlat-measure as they are; None is its default."""

    label: str
    out: Optional[Path] = None
    cpus: Optional[str] = None
    duration: str = "10s"
    warmup: str = "5s"
    threshold: Optional[str] = None
    policy: Optional[str] = None
    load: Optional[str] = None
    load_cpus: Optional[str] = None
    oslat: Optional[bool] = None
    seed: Optional[str] = None
    events: Optional[str] = None
    causes: Optional[bool] = None
    second_opinion: Optional[str] = None
    work: Optional[str] = None
    work_alone: bool = False
    throughput: Optional[str] = None
    host: Mapping[str, object] = field(default_factory=dict)

    def argv(self, harness: str, capture: Optional[Path] = None) -> list[str]:
        """The harness's argument vector; the result goes to its standard output, what interrupted
        the run into the folder ``capture``."""
        given = [(name, getattr(self, name)) for name in _PASSED_ON]
        options = [f"--{n.replace('_', '-')}={value}" for n, value in given if value is not None]
        if self.oslat is not None:
            options.append("--oslat" if self.oslat else "--no-oslat")
        if self.work_alone:
            options.append("--work-alone")
        if capture is not None:
            options.append(f"--capture={capture}")
            # The trace lengthens the gaps it explains, so it has to be asked for.
            options.append(f"--observer={'auto' if self.causes else 'switches'}")
            if self.events is None:
                options.append(f"--events={gaps_file(capture)}")
        return [harness, *options, "--json=-"]

    def seconds(self) -> float:
        """About how long a run takes: warm-up, measurement, and what follows it.

        Raises Refused where a time has no unit.
        """
        oslat = self.oslat if self.oslat is not None else find("oslat") is not None
        measured = seconds("--duration", self.duration)
        return (
            seconds("--warmup", self.warmup)
            + measured
            + opinions_seconds(self.second_opinion, oslat, measured)
            + work_seconds(self.work, self.work_alone, measured)
            + throughput_seconds(self.throughput)
        )


def gaps_file(folder: Path) -> Path:
    return folder / "gaps.csv"
