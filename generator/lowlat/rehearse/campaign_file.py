# SPDX-License-Identifier: GPL-2.0-or-later
"""The campaign of each kernel of a rehearsal: a file beside its boots, written before the first."""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from lowlat.base.errors import Refused
from lowlat.base.typed_json import read_value, write_value
from lowlat.figures.endpoint import INTERRUPTS
from lowlat.model.campaign import Campaign, Place
from lowlat.model.run import GUEST
from lowlat.plan import profile
from lowlat.rehearse.arm import PlannedArm
from lowlat.rehearse.boots import KernelBoots


def places(order: Sequence[tuple[KernelBoots, PlannedArm]], boots: int) -> list[Place]:
    """The place of each boot in its kernel's campaign, which is written down if it is not yet, in
    ``boots`` blocks. Raises Refused if the file is damaged or was written for other boots."""
    campaigns, found = {}, []
    for stage, _ in order:
        release = stage.kernel.release
        if release not in campaigns:
            own = [arm for other, arm in order if other is stage]
            campaigns[release] = (_written(stage, own, boots), count(1))
        campaign, numbers = campaigns[release]
        found.append(campaign.place(next(numbers)))
    return found


def _written(stage: KernelBoots, order: Sequence[PlannedArm], boots: int) -> Campaign:
    path = stage.folder / "campaign.json"
    fresh = Campaign(
        written=Campaign.now(),
        endpoint=_endpoint(stage),
        order=tuple(arm.name for arm in order),
        pairs=boots,
        hosts={GUEST: {arm.name: stage.line(arm) for arm in order}},
    )
    if not os.path.lexists(path):
        write_value(path, fresh)
    try:
        known: Campaign = read_value(path, Campaign)
    except (OSError, ValueError) as error:
        raise Refused(f"{path} is damaged", hint="begin another rehearsal") from error
    if replace(known, written=fresh.written) != fresh:
        raise Refused(f"{path} is of other boots", hint="begin another rehearsal")
    return known


def _endpoint(stage: KernelBoots) -> str:
    """The endpoint of the verdicts: durations mean nothing under emulation."""
    return profile.load(stage.options.profiles[0]).judged_by if stage.kvm else INTERRUPTS
