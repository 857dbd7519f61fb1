# SPDX-License-Identifier: GPL-2.0-or-later
"""``verify``: compare planned and effective settings, with the evidence."""

from dataclasses import dataclass
from functools import partial
from typing import Optional

from lowlat.base.arguments import flag, option
from lowlat.base.errors import Refused
from lowlat.base.terminal import say
from lowlat.host.archive import Archive, open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.verbs import chosen_plan, options
from lowlat.verbs.verify_output import describe
from lowlat.verify import counters
from lowlat.verify.finding import Standing
from lowlat.verify.verdict import to_json, verify

#: A file of every capture with evidence, and of no other.
_ALWAYS = "/proc/1/status"


@dataclass(frozen=True)
class VerifyArguments:
    plan: Optional[str] = option("FILE", "default: the applied plan")
    duration: Optional[str] = options.count_time(
        "how long to count interrupts on the isolated CPUs"
    )
    strict: bool = flag("also exit with 1 if a setting is unverifiable")
    root: str = options.root()
    json: bool = options.as_json()


def main(args: VerifyArguments) -> int:
    root = open_root(args.root)
    if isinstance(root, Archive) and root.absent(_ALWAYS):
        raise Refused(f"{args.root}: holds no evidence", hint="'capture --evidence' saves it")
    plan = the_plan(args.plan, root)
    store.check_here(plan, args.plan or store.PLAN, root)
    cpus, wanted = plan.isolated, options.count_seconds(args.duration)
    if root.live and cpus and wanted and not args.json:
        say(f"counting interrupts on CPU {cpus} for {wanted:g} s …")
    rows = verify(plan, root, counters.read(root, cpus, wanted))
    options.show(args.json, partial(to_json, rows), describe(plan, rows, root))
    doubt = args.strict and any(row.state is Standing.UNVERIFIABLE for row in rows)
    return 1 if doubt or any(row.state.bad for row in rows) else 0


def the_plan(path: Optional[str], root: Root) -> Plan:
    """The named plan, else that of ``apply --now``, else the applied one, else the one that the
    run-time settings were started with. Raises Refused if there is none."""
    known = None
    if path is None:
        isolated = store.now(root)
        stored = isolated and isolated.plan
        stored = stored or chosen_plan.applied(root) or store.read_kept(store.PLAN, root)
        known = stored or store.in_use(root)
    return known or store.read(path, root)
