# SPDX-License-Identifier: GPL-2.0-or-later
"""Run-time settings: what the running kernel holds, who undid it, and who overrides it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.plan import Plan, Setting
from lowlat.runtime import kthreads as threads
from lowlat.runtime import settings as runtime
from lowlat.runtime.settings import Outcome
from lowlat.verify.finding import Row, State
from lowlat.verify.overrides import Overrides


class Runtime:
    """The run-time half of one plan on one machine."""

    def __init__(self, plan: Plan, root: Root) -> None:
        self._plan = plan
        self._root = root
        self._overrides = Overrides(plan, root)
        self._done = runtime.read_journal(root).done

    def rows(self) -> list[Row]:
        found: dict[Setting, list[Outcome]] = {setting: [] for setting in self._plan.runtime}
        for outcome in runtime.inspect(self._plan.runtime, self._root):
            found[outcome.setting].append(outcome)
        return [self._row(setting, outcomes) for setting, outcomes in found.items()]

    def _row(self, setting: Setting, outcomes: Sequence[Outcome]) -> Row:
        astray = [item for item in outcomes if item.failed]
        held = outcomes[0].value if len(outcomes) == 1 else _share(outcomes)
        if astray:
            state, by = self._blame(astray)
            evidence = _said(astray)
        else:
            state, by = (State.EFFECTIVE if outcomes else State.UNVERIFIABLE), None
            evidence = self._good(setting, outcomes)
        return Row(setting.name, setting.target, setting.value, held, state, evidence, by)

    def _blame(self, astray: Sequence[Outcome]) -> tuple[State, Optional[str]]:
        """The state of values that are not as planned, and whose doing that is."""
        if all(item.value is None and item.problem == "cannot be read" for item in astray):
            return State.UNVERIFIABLE, None
        overriding = {self._overrides.overriding(item.path) for item in astray}
        if None not in overriding:
            return State.OVERRIDDEN, _names(overriding)
        undone = [item.path for item in astray if item.path in self._done]
        if any(item.value and _invalid(item) for item in astray):
            return State.IGNORED, _names(self._overrides.undoing(item.path) for item in astray)
        if undone:
            return State.UNDONE, _names(map(self._overrides.undoing, undone))
        return State.NOT_APPLIED, _names(self._overrides.instead(item.path) for item in astray)

    def _good(self, setting: Setting, outcomes: Sequence[Outcome]) -> str:
        fixed = [threads.spoken(item.path) for item in outcomes if item.fixed]
        late = list(self._late(setting, outcomes))
        if fixed:
            evidence = f"the kernel keeps these where they are: {_some(fixed)}"
        elif not outcomes:
            evidence = "nothing of that name is here"
        elif len(outcomes) == 1:
            evidence = f"{threads.spoken(outcomes[0].path)} is {outcomes[0].value}"
        else:
            evidence = "all hold it"
        return f"{evidence}; {_some(late)}" if late else evidence

    def _late(self, setting: Setting, outcomes: Sequence[Outcome]) -> Iterable[str]:
        """Interrupts that are told to go and have not gone: some do at their next arrival."""
        isolated = CpuSet.parse_list(self._plan.isolated)
        for item in outcomes:
            folder, _, file = item.path.rpartition("/")
            held = (
                self._root.read(f"{folder}/effective_affinity") if file == "smp_affinity" else None
            )
            if held and item.effective and _mask(held) & isolated:
                yield f"still delivered to an isolated CPU: {folder}/effective_affinity is {held}"


def _mask(text: str) -> CpuSet:
    try:
        return CpuSet.parse_mask(text)
    except CpuSetError:
        return CpuSet()


def _invalid(outcome: Outcome) -> bool:
    """Of a cpuset partition that the kernel does not make one."""
    return (outcome.value or "").startswith(f"{outcome.setting.value} invalid")


def _said(astray: Sequence[Outcome]) -> str:
    return _some([_held(item) for item in astray])


def _held(outcome: Outcome) -> str:
    where = threads.spoken(outcome.path)
    if outcome.value is None:
        return f"{where} {outcome.problem}"
    problem = f" ({outcome.problem})" if outcome.problem and not _invalid(outcome) else ""
    return f"{where} is {outcome.value or 'empty'}{problem}"


def _share(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(item.effective for item in outcomes)} of {len(outcomes)}"


def _names(found: Iterable[Optional[str]]) -> Optional[str]:
    return ", ".join(sorted({name for name in found if name})) or None


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")
