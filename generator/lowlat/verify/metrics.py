# SPDX-License-Identifier: GPL-2.0-or-later
"""The last look of a watch as metrics, in the text form that the textfile collector of Prometheus'
node_exporter reads (prometheus.io/docs/instrumenting/exposition_formats)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lowlat.base.encode import prometheus
from lowlat.catalogue.remedies import Remedies
from lowlat.host.root import Root
from lowlat.model.finding import Standing
from lowlat.trace.context import ARM_IPI, PARTS, row_name
from lowlat.verify import clock_events, counters
from lowlat.verify.counters import Reading
from lowlat.verify.unexpected_tasks import UnexpectedTasks
from lowlat.verify.watch import Watch

#: The types of interrupts; each CPU has a series of each.
_TYPES = ("device", "ipi", "nmi", "other", "timer")

_Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True)
class Metric:
    """``samples`` are values by their labels."""

    name: str
    type: str
    help: str
    samples: Iterable[_Sample]

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.type}"
        for labels, value in self.samples:
            told = ",".join(f'{name}="{prometheus(text)}"' for name, text in labels.items())
            yield f"{self.name}{'{' if told else ''}{told}{'}' if told else ''} {value:.15g}"


def text(watch: Watch, root: Root, boot: Mapping[str, str], now_s: float) -> str:
    """``boot`` are labels of the running boot, ``now_s`` is the time of the look since 1970. Less
    than 20 series for each isolated CPU."""
    metrics = [*_of_watch(watch, boot, now_s), *_of_settings(watch), *_of_cpus(watch, root)]
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines())


def _of_watch(watch: Watch, boot: Mapping[str, str], now_s: float) -> Iterator[Metric]:
    yield _gauge(
        "watch_last_look_timestamp_seconds",
        "Time of the last look of lowlat-gen watch since 1970.",
        [({}, now_s)],
    )
    yield _gauge(
        "watch_problem",
        "Whether the last look could not check or restore the run-time settings.",
        [({}, bool(watch.problem))],
    )
    yield _gauge(
        "boot_info",
        "The running boot (trial, tuned, stock; now: by apply --now), and what came of trials "
        "(none, pending, failed, tried, promoted).",
        [(boot, 1)],
    )
    plan = watch.plan
    if plan is not None:
        stopped = any(item.name == "nohz_full" for item in plan.parameters)
        labels = {
            "plan": plan.id,
            "profile": plan.profile,
            "isolated": str(plan.isolated),
            "tick": "stopped" if stopped else "running",
        }
        yield _gauge(
            "plan_info",
            "The plan in use, and whether it stops the tick of a busy isolated CPU.",
            [(labels, 1)],
        )


def _of_settings(watch: Watch) -> Iterator[Metric]:
    states = Counter(row.state for row in watch.rows)
    samples = [({"state": state.value}, states[state]) for state in Standing]
    yield _gauge("settings", "Planned run-time settings by the state that verify tells.", samples)
    lost = Counter(
        (row.name, row.state.value, row.by or "") for row in watch.rows if row.state.lost
    )
    yield _gauge(
        "findings",
        "Places where a run-time setting is not as planned, and who set them, if known.",
        [(dict(zip(("setting", "state", "by"), key)), count) for key, count in lost.items()],
    )


def _of_cpus(watch: Watch, root: Root) -> Iterator[Metric]:
    plan = watch.plan
    cpus = plan.isolated if plan else counters.isolated(root)
    reading = counters.now(root, cpus)
    online = sorted({cpu for row in reading.interrupts.values() for cpu in row if cpu in cpus})
    yield _counter(
        "cpu_interrupts_total",
        "Interrupts of an isolated CPU since the boot, as the rows of /proc/interrupts count them.",
        [sample for cpu in online for sample in _interrupts(reading, cpu)],
    )
    yield _counter(
        "cpu_softirqs_total",
        "Softirqs of an isolated CPU since the boot, by their name in /proc/softirqs.",
        [
            ({"cpu": str(cpu), "type": name}, counts[cpu])
            for cpu in online
            for name, counts in reading.softirqs.items()
            if cpu in counts
        ],
    )
    if plan is not None:
        there = UnexpectedTasks(plan, (), Remedies(), None, reading.tasks).here()
        strays = Counter(one.task.cpu for one in there)
        yield _gauge(
            "cpu_unexpected_tasks",
            "Processes and kernel threads on an isolated CPU that were not placed there.",
            [({"cpu": str(cpu)}, strays[cpu]) for cpu in online],
        )


def _interrupts(reading: Reading, cpu: int) -> Iterator[_Sample]:
    counts = dict.fromkeys(_TYPES, 0)
    for label, row in reading.interrupts.items():
        if label not in PARTS:
            counts[_type(label)] += row.get(cpu, 0)
    for kind, count in counts.items():
        yield {"cpu": str(cpu), "type": kind}, count


def _type(label: str) -> str:
    """The type of a row of /proc/interrupts, by its label as in parse_interrupts()."""
    if clock_events.is_row(label):
        return "timer"
    if ":" in label:
        return "device"
    kind = "ipi" if label.startswith(ARM_IPI) else row_name(label)[0]
    return kind if kind in _TYPES else "other"


def _gauge(name: str, help: str, samples: Iterable[_Sample]) -> Metric:
    return Metric(f"lowlat_{name}", "gauge", help, samples)


def _counter(name: str, help: str, samples: Iterable[_Sample]) -> Metric:
    return Metric(f"lowlat_{name}", "counter", help, samples)
