# SPDX-License-Identifier: GPL-2.0-or-later
"""Run-time settings: the values in the running kernel, who undid them, and who overrides them."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Optional

from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import Evidence, Tunable, Value, ValueFormat
from lowlat.host import kernel_threads
from lowlat.host.root import glob
from lowlat.model import cmdline
from lowlat.model.finding import Finding, Standing
from lowlat.model.plan import PlannedSetting
from lowlat.runtime import faults, settings
from lowlat.runtime.settings import Inspected
from lowlat.verify.behaviour import Behaviour


class RuntimeFindings:
    """The run-time settings of one plan on one machine."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._plan = behaviour.plan
        self._root = behaviour.root
        self._overrides = behaviour.overrides

    def rows(self) -> list[Finding]:
        seen = self._behaviour
        known = (seen.root, seen.journal, seen.threads)
        once = dict.fromkeys(self._plan.runtime)
        rows = [self._row(one, settings.inspect([one], *known)) for one in once]
        planned = {row.name for row in rows}
        rows += self._covered(planned)
        return [*rows, *self._left_alone({row.name for row in rows})]

    def _covered(self, planned: Container[str]) -> Iterator[Finding]:
        """A row for each setting that is not planned because the kernel makes it hold by itself,
        and for those that this one makes needless, if somebody undid it."""
        line = self._root.read("/proc/cmdline") or ""
        booted = (item.name for item in self._plan.parameters if cmdline.values(line, item.name))
        failed = dict.fromkeys(booted, Standing.EFFECTIVE)
        for entry in CATALOGUE:
            state = failed.get(entry.covered_by or "")
            for row in entry.rows if state and entry.name not in planned else ():
                held, value = self._root.read(row.path), self._covering(entry, row)
                same = settings.equal(entry.reads, held, value)
                if held is None or (state is Standing.UNDONE and same):
                    continue
                judged = Standing.EFFECTIVE if same else Standing.UNDONE
                by = None if same else self._overrides.undoing(row.path)
                fault = faults.of(entry, self._root)
                evidence = "; ".join(filter(None, (f"{row.path} is {held or 'empty'}", fault)))
                yield Finding(entry.name, row.path, value, held, judged, by, evidence)
                failed.update({} if same else {entry.name: Standing.UNDONE})

    def _covering(self, entry: Tunable, row: Value) -> str:
        cpus = self._plan.housekeeping
        masked = entry.reads is ValueFormat.MASK
        return row.value.format(housekeeping=cpus.mask() if masked else cpus)

    def _left_alone(self, planned: Container[str]) -> Iterator[Finding]:
        """A row for each setting that is not planned because of a fault of this kernel."""
        for entry in CATALOGUE if self._plan.isolated else ():
            fault = faults.of(entry, self._root)
            for row in entry.rows if fault and entry.name not in planned else ():
                held = self._root.read(row.path)
                if held is not None:
                    yield Finding(entry.name, row.path, "", held, Standing.NOT_PLANNED, None, fault)

    def _row(self, setting: PlannedSetting, outcomes: Sequence[Inspected]) -> Finding:
        astray = [item for item in outcomes if item.failed]
        share = f"{sum(item.effective for item in outcomes)} of {len(outcomes)}"
        held = outcomes[0].value if len(outcomes) == 1 else share
        if astray:
            state, by = self._blame(astray)
            evidence = _some([_held(item) for item in astray])
        else:
            state, by, evidence = self._shown(outcomes)
            fault = faults.of(lookup(setting.name), self._root)
            evidence = "; ".join(filter(None, (evidence, fault)))
        return Finding(setting.name, setting.target, setting.value, held, state, by, evidence)

    def _blame(self, astray: Sequence[Inspected]) -> tuple[Standing, Optional[str]]:
        """The state of values that are not as planned, and the program that set them."""
        if all(item.value is None and item.problem == "cannot be read" for item in astray):
            return Standing.UNVERIFIABLE, None
        overriding = {self._overrides.overriding(item.path) for item in astray}
        if None not in overriding:
            return Standing.OVERRIDDEN, _names(overriding)
        undone = [item.path for item in astray if item.path in self._behaviour.journal.done]
        if any(item.value and _invalid(item) for item in astray):
            return Standing.IGNORED, _names(self._overrides.undoing(item.path) for item in astray)
        if undone:
            return Standing.UNDONE, _names(map(self._overrides.undoing, undone))
        return Standing.NOT_APPLIED, _names(self._overrides.instead(item.path) for item in astray)

    def _shown(self, outcomes: Sequence[Inspected]) -> tuple[Standing, Optional[str], str]:
        """The state of values that are as planned, by their effect in the kernel."""
        if not outcomes:
            return Standing.UNVERIFIABLE, None, "nothing of that name exists here"
        evidence = self._held(outcomes)
        sign, value = outcomes[0].entry.sign, outcomes[0].setting.value
        if sign.path is None or sign.expected(value) is None:
            return Standing.EFFECTIVE, None, evidence
        moved = {path: item for path, item in self._signs(sign.path, outcomes) if item.effective}
        shown = {path: self._root.read(path) for path in moved}
        other = [
            f"{path} is {held}"
            for path, held in shown.items()
            if held and not settings.equal(sign.reads, held, self._expected(path, sign, value))
        ]
        kept = {item.path.split("/")[3] for item in outcomes if item.fixed and _is_irq(item.path)}
        came = self._behaviour.came(kept)
        if came:
            return Standing.UNVERIFIABLE, None, f"{evidence}; {came}"
        if other:
            return Standing.UNVERIFIABLE, None, f"{evidence}; but still {_some(other)}"
        if not shown and "/" in sign.path:
            return Standing.UNVERIFIABLE, None, f"{evidence}; there is no {sign.path} to show it"
        return Standing.EFFECTIVE, None, evidence

    def _expected(self, path: str, sign: Evidence, value: str) -> str:
        """The expected content of a file that shows the effect; any content without ``like``."""
        if sign.like is None:
            return sign.expected(value) or ""
        beside = self._root.read(f"{path.rpartition('/')[0]}/{sign.like}")
        return (beside or self._root.read(path)) or ""

    def _signs(self, path: str, outcomes: Sequence[Inspected]) -> Iterator[tuple[str, Inspected]]:
        """The files in which the kernel shows the effect of the values: one beside each value's
        file, or other files."""
        for item in outcomes:
            beside = f"{item.path.rpartition('/')[0]}/{path}"
            for shown in glob(self._root, path) if "/" in path else [beside]:
                yield shown, item

    def _held(self, outcomes: Sequence[Inspected]) -> str:
        fixed = [item for item in outcomes if item.fixed]
        if fixed:
            names = [kernel_threads.display_name(item.path) for item in fixed]
            return "; ".join(
                [
                    f"the kernel keeps these where they are: {_some(names)}",
                    *self._on_isolated(fixed),
                ]
            )
        if len(outcomes) == 1:
            return f"{kernel_threads.display_name(outcomes[0].path)} is {outcomes[0].value}"
        return "all have this value"

    def _on_isolated(self, fixed: Sequence[Inspected]) -> Iterator[str]:
        """Messages about interrupts that the kernel keeps on an isolated CPU."""
        for path, _ in self._signs("effective_affinity", fixed):
            cpus = self._root.read_cpus("", path) if _is_irq(path) else None
            if cpus and cpus & self._plan.isolated:
                yield f"delivered to an isolated CPU: {path} is {self._root.read(path)}"


def _is_irq(path: str) -> bool:
    return path.startswith("/proc/irq/")


def _invalid(outcome: Inspected) -> bool:
    """Whether the kernel calls a cpuset partition invalid."""
    return (outcome.value or "").startswith(f"{outcome.setting.value} invalid")


def _held(outcome: Inspected) -> str:
    where = kernel_threads.display_name(outcome.path)
    if outcome.value is None:
        return f"{where} {outcome.problem}"
    problem = f" ({outcome.problem})" if outcome.problem and not _invalid(outcome) else ""
    return f"{where} is {outcome.value or 'empty'}{problem}"


def _names(names: Iterable[Optional[str]]) -> Optional[str]:
    return ", ".join(sorted({name for name in names if name})) or None


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")
