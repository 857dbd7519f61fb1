# SPDX-License-Identifier: GPL-2.0-or-later
"""The run-time settings over time: their changes, who made them and, on request, their restoration.

It reads only what verify reads of the running kernel: no MSR, no firmware variable, nothing that
would interrupt an isolated CPU.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import encode_fields
from lowlat.host import runstate
from lowlat.host.root import Root
from lowlat.model.finding import Finding, Standing
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.runtime import journal, settings
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.boot import online_cpus
from lowlat.verify.runtime import RuntimeFindings

_QUIET = (Standing.EFFECTIVE, Standing.UNVERIFIABLE)

_Rows = dict[tuple[str, str], Finding]

SCHEMA = "lowlat.watch/1"


@dataclass(frozen=True)
class News:
    """What a look found: a text, and verify's row if a setting changed."""

    text: str
    row: Optional[Finding] = None

    def to_json(self) -> dict[str, object]:
        own = encode_fields(self.row) if self.row else {"problem": self.text}
        return {"schema": SCHEMA, **own}


class Watch:
    """Compares again and again; each look() yields the changes since the last one. ``plan`` is that
    of the last look, None if no run-time settings are in use; ``problem`` is why it could not check
    or restore them, or ""."""

    def __init__(self, root: Root, plan: Optional[Plan] = None, *, restore: bool = False) -> None:
        self._root = root
        self._named = plan
        self._restore = restore
        self._rows: _Rows = {}
        self.plan: Optional[Plan] = None
        self.problem = ""

    @property
    def bad(self) -> bool:
        """Whether a setting was not as planned at the last look."""
        return bool(self.problem) or any(row.state.bad for row in self.rows)

    @property
    def rows(self) -> tuple[Finding, ...]:
        """verify's rows of the run-time settings at the last look."""
        return tuple(self._rows.values())

    def look(self) -> Iterator[News]:
        """Look once; no run-time settings start or stop meanwhile if it restores. Raises Refused if
        another process that starts or stops them does not end."""
        with runstate.exclusive_lock(self._root) if self._restore else nullcontext():
            lines = list(self._look())
        yield from lines

    def _look(self) -> Iterator[News]:
        plan = self._named or store.in_use(self._root)
        # Settings that were stopped on purpose are not undone, and must not be restored.
        if plan is None or not journal.read(self._root).done:
            self._rows, self.plan = {}, None
            why = "no run-time settings are in use: 'lowlat-gen runtime start' sets them"
            yield from self._trouble(why)
            return
        self.plan = plan
        if self._root.live:
            process.keep_off(plan.isolated)
        rows = self._read(plan)
        yield from self._news(rows)
        undone = [row for row in rows.values() if row.state is Standing.UNDONE]
        problem = ""
        if undone and self._restore:
            problem = self._put_back(plan, undone)
            yield from self._news(self._read(plan))
        yield from self._trouble(problem)

    def _read(self, plan: Plan) -> _Rows:
        rows = RuntimeFindings(Behaviour(plan, self._root)).rows()
        rows.append(online_cpus(plan, self._root))
        return {(row.name, row.where): row for row in rows}

    def _news(self, rows: _Rows) -> Iterator[News]:
        for key, row in rows.items():
            before = self._rows.get(key)
            if row.state not in _QUIET:
                if before is None or before.told != row.told:
                    yield News(f"{row.name}: {row.told}", row)
            elif before is not None and before.state not in _QUIET:
                yield News(f"{row.name}: back in effect: {row.evidence}", row)
        self._rows = rows

    def _put_back(self, plan: Plan, undone: Sequence[Finding]) -> str:
        """Restore the undone settings alone, except those of TuneD's own plugins. Returns the
        problem as text, or ""."""
        names = {(row.name, row.where) for row in undone}
        planned = [
            item for item in settings.ours(plan, self._root) if (item.name, item.target) in names
        ]
        try:
            settings.start(replace(plan, runtime=tuple(planned)), self._root)
        except LowlatError as error:
            return f"nothing was put back: {error}"
        return ""

    def _trouble(self, text: str) -> Iterator[News]:
        if text and text != self.problem:
            yield News(text)
        self.problem = text
