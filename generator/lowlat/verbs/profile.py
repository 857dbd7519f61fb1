# SPDX-License-Identifier: GPL-2.0-or-later
"""``profile``: check a user's profile before its use."""

from collections.abc import Iterator
from dataclasses import dataclass

from lowlat.base.arguments import positional
from lowlat.base.terminal import filled
from lowlat.explain.entries import explain_profile
from lowlat.host.archive import open_root
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile
from lowlat.plan.planner import Options
from lowlat.plan.profile import Profile
from lowlat.probe import probe
from lowlat.verbs import options


@dataclass(frozen=True)
class ProfileArguments:
    action: str = positional(None, "", choices=("check",))
    file: str = positional("FILE", "a lowlat.conf, in any folder")
    root: str = options.root()


def main(args: ProfileArguments) -> int:
    """Raises Refused if the file is no profile, or no plan can be made from it here."""
    machine = probe(open_root(args.root))
    own = profile.check(args.file)
    plan = planner.make_plan(machine, machine.kernel, own, Options())
    for line in _describe(own, plan):
        print(line)
    return 0


def _describe(own: Profile, plan: Plan) -> Iterator[str]:
    yield explain_profile(own)
    yield ""
    wanted = {name for name, value in own.settings.items() if value != "off"}
    left_out = [skipped.name for skipped in plan.skipped if skipped.name in wanted]
    yield from filled(
        f"It is a profile. Here it would isolate CPU {plan.isolated or '(none)'}, with "
        f"{len(plan.parameters)} boot parameters and {len(plan.runtime)} run-time values."
    )
    yield from filled(f"To use it: /etc/lowlat/profiles/{own.name}/lowlat.conf")
    if left_out:
        names, command = ", ".join(left_out), f"lowlat-gen plan --profile {own.name} --all"
        yield from filled(f"This machine leaves out {names}: '{command}' then says why.")
