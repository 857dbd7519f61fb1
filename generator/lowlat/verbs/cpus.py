# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the bare list of isolated or housekeeping CPUs, or of a named set, for scripts and
TuneD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import ROLES, Plan
from lowlat.plan import current, store
from lowlat.verbs import options
from lowlat.verbs.arguments import option, positional


@dataclass(frozen=True)
class CpusArguments:
    which: str = positional("|".join((*ROLES, "SET")), "a side, or a set that --isolate named")
    profile: Optional[str] = option(
        "P", "as this profile chooses; default: the applied plan, else " + options.DEFAULT_PROFILE
    )
    root: str = options.root()


def main(asked: CpusArguments) -> int:
    plan = plan_of(open_root(asked.root), asked.profile)
    print(plan.cpus_of(asked.which))
    return 0


def plan_of(root: Root, name: Optional[str] = None) -> Plan:
    """The plan whose CPUs count: that of the profile where one is named, else the applied one in a
    boot of it, else the default profile's."""
    plan = None if name else store.applied(root)
    return plan or current.plan(name or options.DEFAULT_PROFILE, root)
