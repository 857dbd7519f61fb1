# SPDX-License-Identifier: GPL-2.0-or-later
"""Run-time settings: what the running kernel holds, who undid it, and who overrides it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.plan import Plan, PlannedSetting
from lowlat.runtime import kthreads, settings
from lowlat.runtime.settings import Inspected
from lowlat.verify.finding import Finding, Standing
from lowlat.verify.overrides import Overrides


class RuntimeFindings:
    """The run-time half of one plan on one machine."""

    def __init__(self, plan: Plan, root: Root) -> None:
        self._plan = plan
        self._root = root
        self._overrides = Overrides(plan, root)
        self._done = settings.read_journal(root).done

    def rows(self) -> list[Finding]:
        found: dict[PlannedSetting, list[Inspected]] = {
            setting: [] for setting in self._plan.runtime
        }
        for outcome in settings.inspect(self._plan.runtime, self._root):
            found[outcome.setting].append(outcome)
        return [self._row(setting, outcomes) for setting, outcomes in found.items()]

    def _row(self, setting: PlannedSetting, outcomes: Sequence[Inspected]) -> Finding:
        astray = [item for item in outcomes if item.failed]
        held = outcomes[0].value if len(outcomes) == 1 else _share(outcomes)
        if astray:
            state, by = self._blame(astray)
            evidence = _said(astray)
        else:
            state, by = (Standing.EFFECTIVE if outcomes else Standing.UNVERIFIABLE), None
            evidence = self._good(setting, outcomes)
        return Finding(setting.name, setting.target, setting.value, held, state, by, evidence)

    def _blame(self, astray: Sequence[Inspected]) -> tuple[Standing, Optional[str]]:
        """The state of values that are not as planned, and whose doing that is."""
        if all(item.value is None and item.problem == "cannot be read" for item in astray):
            return Standing.UNVERIFIABLE, None
        overriding = {self._overrides.overriding(item.path) for item in astray}
        if None not in overriding:
            return Standing.OVERRIDDEN, _names(overriding)
        undone = [item.path for item in astray if item.path in self._done]
        if any(item.value and _invalid(item) for item in astray):
            return Standing.IGNORED, _names(self._overrides.undoing(item.path) for item in astray)
        if undone:
            return Standing.UNDONE, _names(map(self._overrides.undoing, undone))
        return Standing.NOT_APPLIED, _names(self._overrides.instead(item.path) for item in astray)

    def _good(self, setting: PlannedSetting, outcomes: Sequence[Inspected]) -> str:
        fixed = [kthreads.spoken(item.path) for item in outcomes if item.fixed]
        late = list(self._late(setting, outcomes))
        if fixed:
            evidence = f"the kernel keeps these where they are: {_some(fixed)}"
        elif not outcomes:
            evidence = "nothing of that name is here"
        elif len(outcomes) == 1:
            evidence = f"{kthreads.spoken(outcomes[0].path)} is {outcomes[0].value}"
        else:
            evidence = "all hold it"
        return f"{evidence}; {_some(late)}" if late else evidence

    def _late(self, setting: PlannedSetting, outcomes: Sequence[Inspected]) -> Iterable[str]:
        """Interrupts that were told to go and have not gone, as some do at their next arrival, and
        those that the kernel keeps on an isolated CPU."""
        for item in outcomes:
            folder, _, file = item.path.rpartition("/")
            held = (
                self._root.read(f"{folder}/effective_affinity") if file == "smp_affinity" else None
            )
            if held and (item.effective or item.fixed) and _mask(held) & self._plan.isolated:
                yield f"still delivered to an isolated CPU: {folder}/effective_affinity is {held}"


def _mask(text: str) -> CpuSet:
    try:
        return CpuSet.parse_mask(text)
    except CpuSetError:
        return CpuSet()


def _invalid(outcome: Inspected) -> bool:
    """Of a cpuset partition that the kernel does not make one."""
    return (outcome.value or "").startswith(f"{outcome.setting.value} invalid")


def _said(astray: Sequence[Inspected]) -> str:
    return _some([_held(item) for item in astray])


def _held(outcome: Inspected) -> str:
    where = kthreads.spoken(outcome.path)
    if outcome.value is None:
        return f"{where} {outcome.problem}"
    problem = f" ({outcome.problem})" if outcome.problem and not _invalid(outcome) else ""
    return f"{where} is {outcome.value or 'empty'}{problem}"


def _share(outcomes: Sequence[Inspected]) -> str:
    return f"{sum(item.effective for item in outcomes)} of {len(outcomes)}"


def _names(found: Iterable[Optional[str]]) -> Optional[str]:
    return ", ".join(sorted({name for name in found if name})) or None


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")
