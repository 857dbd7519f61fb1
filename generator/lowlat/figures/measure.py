# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: a figure's key, how the CPUs of a run give it, and where it is shown."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Callable, NamedTuple, Optional, Union

from lowlat.model.histogram import Histogram
from lowlat.model.run import CpuRun

#: A CPU; "all" is one value for all of them.
Cpu = Union[int, str]

#: A histogram, and the largest of its values.
Counts = tuple[Histogram, float]

#: The units in which people read other units: how many make one of them.
_READ_IN = {"ns": 1e3}


class Key(NamedTuple):
    """A figure: its name, its CPU, and its row if the name has several, such as the rows of
    /proc/interrupts."""

    name: str
    cpu: Cpu = "all"
    row: str = ""

    @property
    def text(self) -> str:
        """The name as documents have it: "interrupts_per_s@LOC"."""
        return f"{self.name}@{self.row}" if self.row else self.name


class Pooling(Enum):
    """How a figure becomes one value for several CPUs, runs and boots (pooling.py does it)."""

    #: What a test is about, boot by boot: the mean of the CPUs; of a boot's runs the median, for
    #: counted events the mean over their time; of the boots the geometric mean, for counted events
    #: the mean.
    BOOTS = "boots"
    #: The largest of all.
    LARGEST = "largest"
    #: The least of all.
    LEAST = "least"
    #: The mean of all single values, such as wake-ups.
    VALUES = "values"
    #: The mean weighted by the time of each CPU in each run: parts add up to their whole.
    TIME = "time"
    #: A percentile of all values together, from the sum of the histograms.
    QUANTILE = "quantile"
    #: The delay that a random moment exceeds with the chance ``beyond``, from the same sum.
    DELAY = "delay"
    #: The standard deviation over the steps of all runs.
    SPREAD = "spread"


@dataclass(frozen=True)
class Measure:
    """One figure of a CPU, ``of`` a run; without ``of`` it is a figure that the run tells itself
    (figures.told()).

    ``durations``: it is a duration, which means nothing under emulation. ``counted``: a rate of
    counted events. ``share`` is that of a percentile, ``beyond`` for a percentile of the time the
    share above it, else 0; ``counts`` is the histogram behind a percentile. ``maximum``: the longer
    one looks, the larger it is.
    """

    name: str
    unit: str
    of: Optional[Callable[[CpuRun], Optional[float]]] = None
    row: str = ""
    pooling: Pooling = Pooling.BOOTS
    durations: bool = True
    counted: bool = False
    share: float = 0.0
    beyond: float = 0.0
    counts: Callable[[CpuRun], Optional[Counts]] = lambda cpu: None
    maximum: bool = False

    def key(self, cpu: Cpu = "all") -> Key:
        return Key(self.name, cpu, self.row)


class TableSection(IntEnum):
    """The parts of a table, in their order."""

    ENTRIES = 0
    SWITCHES = 1
    NOISE = 2
    WAKEUP = 3
    WORST_SECOND = 4
    PACE = 5
    LOAD = 6
    CROSS_CHECK = 7


@dataclass(frozen=True)
class Subject:
    """The names of a figure in words: in a sentence, its unit on an axis and below a large figure
    of each CPU, and, if a verdict may be about it, for a column."""

    name: str = ""
    unit: str = ""
    each: str = ""
    column: str = ""


@dataclass(frozen=True)
class Endpoint(Measure):
    """A figure with its titles, "" where it is not shown: ``title`` in the table over all CPUs,
    ``column`` in that of each CPU, ``osnoise`` in the one like the osnoise tracer's. ``drawn``: run
    by run, and in large print for one arm. ``claimed``: it is an endpoint of a claim; all others
    are shown beside it without a test."""

    section: TableSection = TableSection.NOISE
    title: str = ""
    column: str = ""
    osnoise: str = ""
    subject: Subject = Subject()
    drawn: bool = False
    claimed: bool = False


def size(unit: str) -> float:
    """How many of these units make one of the unit that people read: ns are shown as us."""
    return _READ_IN.get(unit, 1.0)
