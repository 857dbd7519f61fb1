# SPDX-License-Identifier: GPL-2.0-or-later
"""Planned against effective: one row per setting, with the evidence for its state."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

from lowlat.base.typed_json import encode
from lowlat.catalogue.remedies import Remedies
from lowlat.host.kmsg import read_messages
from lowlat.host.root import Root
from lowlat.model.finding import SCHEMA, Finding, Standing
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.verify import tasks
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.boot import BootFindings, online_cpus
from lowlat.verify.counters import Counted
from lowlat.verify.diff import CMDLINE
from lowlat.verify.kernel_words import kernel_words
from lowlat.verify.noise_here import noise_here
from lowlat.verify.runtime import RuntimeFindings
from lowlat.verify.ticks import TickCounts, Ticks
from lowlat.verify.unexpected_interrupts import UnexpectedInterrupts, movers
from lowlat.verify.unexpected_tasks import UnexpectedTasks


def verify(plan: Plan, root: Root, counted: Optional[Counted] = None) -> list[Finding]:
    """A row if other CPUs are online than planned; one for every planned setting, boot parameters
    first, then for what may move interrupts, for what the kernel said of stopped CPUs, for the tick
    of each isolated CPU, its other interrupts, known sources of noise, and its unexpected tasks.
    Reads, never writes."""
    behaviour = Behaviour(plan, root)
    counts = TickCounts(counted, root) if counted else None
    messages = read_messages(root)
    boot = BootFindings(behaviour, messages, counts)
    rows = [row for row in [online_cpus(plan, root)] if row.state.bad] + boot.rows()
    only_boot = list(_only_boot(plan, root))
    rows += only_boot
    rows += RuntimeFindings(behaviour).rows()
    rows += movers(plan, root)
    settings = tuple(rows)
    known = Remedies(fixed=dict.fromkeys(map(int, behaviour.kept), False))
    rows += kernel_words(messages, settings)
    if counts is not None:
        ticks = Ticks(plan, counts, boot.row("nohz_full"), boot.unstable_clock)
        rows = [ticks.of_parameter() or row if row == ticks.nohz_full else row for row in rows]
        rows += ticks.rows
        rows += UnexpectedInterrupts(
            behaviour, counts, settings, {row.name for row in only_boot}
        ).rows()
    if plan.isolated:
        rows += noise_here(root)
        seen = () if counted else tasks.read(root, plan.isolated)
        rows += UnexpectedTasks(plan, settings, known, counted, seen).rows()
    return rows


def _only_boot(plan: Plan, root: Root) -> Iterator[Finding]:
    """A row for each boot parameter that ``apply --now`` leaves out."""
    isolated = store.now(root)
    for one in isolated.only_boot if isolated and isolated.plan == plan else ():
        why = f"only a boot gives it: it {one.told}"
        yield Finding(one.name, CMDLINE, one.value, None, Standing.NOT_PLANNED, None, why)


def in_effect(rows: Sequence[Finding]) -> frozenset[str]:
    """The settings that are in effect wherever they were looked for."""
    held = {row.name for row in rows if row.state is Standing.EFFECTIVE}
    return frozenset(held - {row.name for row in rows if row.state is not Standing.EFFECTIVE})


def to_json(rows: Iterable[Finding]) -> dict[str, object]:
    return {"schema": SCHEMA, "settings": encode(tuple(rows))}
