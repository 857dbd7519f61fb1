# SPDX-License-Identifier: GPL-2.0-or-later
"""``verify``: compare planned and effective settings, with the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Optional

from lowlat.base.arguments import flag, option
from lowlat.base.errors import Refused, Unmet
from lowlat.base.terminal import say
from lowlat.host.archive import Archive, open_root
from lowlat.model.finding import Standing
from lowlat.verbs import chosen_plan, options
from lowlat.verbs.verify_output import describe
from lowlat.verify import counters
from lowlat.verify.findings import to_json, verify

#: A file of every capture with evidence, and of no other.
_ALWAYS = "/proc/1/status"


@dataclass(frozen=True)
class VerifyArguments:
    plan: Optional[str] = option("FILE", "default: the applied plan")
    duration: Optional[str] = options.count_time(
        "how long to count interrupts on the isolated CPUs"
    )
    limit: Optional[int] = option(
        "N",
        "also exit with 1 if an isolated CPU takes more than N interrupts a second, even if no "
        "setting removes them",
        type=int,
    )
    strict: bool = flag("also exit with 1 if a setting is unverifiable")
    root: str = options.root()
    json: bool = options.as_json()


def main(args: VerifyArguments) -> int:
    root = open_root(args.root)
    if isinstance(root, Archive) and root.absent(_ALWAYS):
        raise Refused(f"{args.root}: holds no evidence", hint="'capture --evidence' saves it")
    plan = chosen_plan.in_force(args.plan, root)
    cpus, wanted = plan.isolated, options.count_seconds(args.duration)
    if root.live and cpus and wanted and not args.json:
        say(f"counting interrupts on CPU {cpus} for {wanted:g} s …")
    counted = counters.read(root, cpus, wanted)
    if args.limit is not None and cpus and counted is None:
        raise Refused("--limit: no interrupts were counted", hint="give a --duration above 0")
    rows = verify(plan, root, counted)
    options.show(args.json, partial(to_json, rows), describe(plan, rows, root))
    if args.limit is not None and counted is not None:
        _check_limit(args.limit, {cpu: sum(counted.rates(cpu).values()) for cpu in cpus})
    doubt = args.strict and any(row.state is Standing.UNVERIFIABLE for row in rows)
    return 1 if doubt or any(row.state.bad for row in rows) else 0


def _check_limit(limit: int, rates: Mapping[int, float]) -> None:
    """Raises Unmet if a CPU takes more interrupts per second."""
    cpu = max(rates, key=rates.__getitem__, default=None)
    if cpu is not None and rates[cpu] > limit:
        what = f"CPU {cpu} takes {rates[cpu]:.1f} interrupts per second"
        raise Unmet(f"--limit {limit} not met: {what}")
