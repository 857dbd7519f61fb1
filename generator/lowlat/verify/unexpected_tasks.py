# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks on the isolated CPUs that were not placed there, and tasks that may come."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Optional

from lowlat.catalogue.remedies import Remedies, Thread
from lowlat.host.tasks import REAL_TIME
from lowlat.model.finding import Finding, Standing, of_setting
from lowlat.model.plan import Plan
from lowlat.verify import tasks
from lowlat.verify.counters import Counted
from lowlat.verify.tasks import TaskSeen, UnexpectedTask

#: A CPU's own kernel threads run there now and then: from so many runs per second it is a finding.
_OWN_RUNS = 1.0

#: The settings that keep tasks of users off the isolated CPUs, the best first.
_KEEPERS = ("cpuset.partition", "isolcpus", "systemd.cpu_affinity")

#: The limit of findings; further tasks are counted in one row.
_MOST = 12

_PLANNED = "no other task runs on the CPU"

_PLACED = "does not bind a task whose own mask has these CPUs"

#: The thread of an interrupt (kernel/irq/manage.c setup_irq_thread()).
_INTERRUPT = re.compile(r"irq/(\d+)-")


@dataclass(frozen=True)
class UnexpectedTasks:
    """``settings`` are the rows of all settings, ``remedies`` those of the host, ``seen`` the tasks
    if nothing was counted."""

    plan: Plan
    settings: Sequence[Finding]
    remedies: Remedies
    counted: Optional[Counted]
    seen: Sequence[TaskSeen] = field(default=())

    def rows(self) -> Iterator[Finding]:
        here = self.here()
        yield from map(self._row, here[:_MOST])
        if here[_MOST:]:
            yield self._all(here[_MOST:], "are there")
        kernel = of_setting(self.settings, "kthread.affinity")
        candidates = filter(self._may_come, self._candidates())
        may = [one for one in candidates if not (one.task.kernel and kernel)]
        if may:
            yield replace(self._all(may, "may run there"), state=Standing.UNVERIFIABLE)

    def here(self) -> list[UnexpectedTask]:
        """Those on the isolated CPUs, a process or a kernel thread each; the busiest first."""
        return sorted(filter(self._is_there, self._candidates()), key=lambda one: -one.ran_ns)

    def _candidates(self) -> Iterator[UnexpectedTask]:
        """One per process and per kernel thread, except user tasks that may run on isolated CPUs
        alone: they were placed there."""
        if self.counted is None:
            each: Iterable[UnexpectedTask] = map(UnexpectedTask, self.seen)
        else:
            before, after = self.counted.before.tasks, self.counted.after.tasks
            each = (
                UnexpectedTask(*ran, self.counted.seconds) for ran in tasks.between(before, after)
            )
        for _, threads in groupby(each, key=lambda one: one.task.pid):
            yield from self._process(tuple(threads))

    def _process(self, threads: Sequence[UnexpectedTask]) -> Iterator[UnexpectedTask]:
        strays = [s for s in threads if s.task.kernel or not s.task.allowed <= self.plan.isolated]
        if strays:
            last = max(strays, key=lambda one: (self._is_there(one), one.runs))
            yield replace(
                last,
                runs=sum(s.runs for s in strays),
                ran_ns=sum(s.ran_ns for s in strays),
                threads=tuple(s.task.tid for s in strays),
                placed=len(strays) < len(threads),
            )

    def _is_there(self, one: UnexpectedTask) -> bool:
        """Whether it ran on an isolated CPU, or would on its next wake-up."""
        task = one.task
        if task.cpu not in self.plan.isolated:
            return False
        if task.kernel and task.allowed <= self.plan.isolated:
            return bool(one.seconds) and one.runs >= max(_OWN_RUNS * one.seconds, 2)
        return not task.kernel or not one.seconds or one.runs > 0

    def _may_come(self, one: UnexpectedTask) -> bool:
        task = one.task
        return (
            not self._is_there(one)
            and task.kind != "bound"
            and not task.allowed <= self.plan.isolated
        )

    def _row(self, one: UnexpectedTask) -> Finding:
        task = one.task
        name, state, why = self._blame(one)
        if self.counted and task.kernel and task.cpu in self.counted.watching:
            state = Standing.UNVERIFIABLE
        seen = one.words
        why = f"{seen}, may run on CPU {task.allowed}; {why}"
        return Finding(name, f"/proc/{task.pid}", _PLANNED, seen, state, _manager(task), why)

    def _all(self, unexpected: Sequence[UnexpectedTask], what: str) -> Finding:
        """One row for many tasks."""
        ordered = sorted(
            unexpected, key=lambda s: (not s.task.policy.startswith(REAL_TIME), s.task.pid)
        )
        names = ", ".join(one.task.name for one in ordered[:4])
        more = f" and {len(ordered) - 4} more" if len(ordered) > 4 else ""
        name, state, why = self._blame(ordered[0])
        seen, why = f"{len(unexpected)} {what}", f"{names}{more} {what}; {why}"
        return Finding(name, "/proc", _PLANNED, seen, state, _manager(ordered[0].task), why)

    def _blame(self, one: UnexpectedTask) -> tuple[str, Standing, str]:
        """The setting that should keep a task away, its state, and the remedy."""
        task = one.task
        name = self._keeper(task)
        setting = of_setting(self.settings, name)
        state = _state(task, setting) if name else Standing.NO_SETTING
        return name or "isolcpus", state, f"{self._why(task, name, setting)}; {self._mend(one)}"

    def _why(self, task: TaskSeen, name: Optional[str], setting: Optional[Finding]) -> str:
        if name is None:
            return "no setting of lowlat removes it"
        if setting is None or setting.state is Standing.NOT_PLANNED:
            left_out = self.plan.why_skipped(name)
            return f"{name} would keep it away and is not planned{left_out and f': {left_out}'}"
        if setting.state is Standing.EFFECTIVE:
            but = "does not keep it away" if task.kernel else _PLACED
            return f"{name} is in effect and {but}"
        evidence = f": {setting.evidence}" if setting.state.bad else ""
        return f"{name} should keep it away and is {setting.state.value}{evidence}"

    def _keeper(self, task: TaskSeen) -> Optional[str]:
        """The setting that keeps a task away."""
        if task.kernel:
            kind = Thread.of(kernel=True, bound=task.kind == "bound")
            return self.remedies.of_thread(task.comm, kind)
        planned = (name for name in _KEEPERS if of_setting(self.settings, name))
        return next(planned, _KEEPERS[1])

    def _mend(self, one: UnexpectedTask) -> str:
        """The remedy, for these threads alone."""
        task, cpus = one.task, self.plan.housekeeping
        interrupt = _INTERRUPT.match(task.comm) if task.kernel else None
        if interrupt:
            number = int(interrupt[1])
            if number in self.remedies.fixed:
                return f"it follows interrupt {number}, which the kernel lets nobody move"
            mask = f"echo {cpus.mask()} >/proc/irq/{number}/smp_affinity"
            return f"it follows interrupt {number}; mend: {mask}"
        if task.kind == "bound":
            return f"the kernel binds it to CPU {task.allowed}"
        mend = f"mend: {one.moved_to(cpus)}"
        return mend if task.kernel else f"{mend}; this lasts until the task ends: {_lasting(one)}"


def _lasting(one: UnexpectedTask) -> str:
    if one.placed:
        return (
            f"process {one.task.pid} has threads that were placed on these CPUs, so its own option "
            "lasts longer (such as --lcores of DPDK)"
        )
    group = one.task.group
    return f"set the CPUs in what started it{f' ({group})' if group else ''}"


def _manager(task: TaskSeen) -> Optional[str]:
    """The service or container of a task, by its control group."""
    return None if task.kernel else task.group or None


def _state(task: TaskSeen, setting: Optional[Finding]) -> Standing:
    if setting and setting.state.bad:
        return setting.state
    if not task.kernel or setting is None or setting.state is Standing.NOT_PLANNED:
        return Standing.NOT_APPLIED
    return Standing.NO_SETTING if task.kind == "bound" else Standing.IGNORED
