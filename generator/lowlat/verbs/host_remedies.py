# SPDX-License-Identifier: GPL-2.0-or-later
"""The remedies of this host, for the verbs that name causes."""

from dataclasses import replace

from lowlat.base.errors import Refused
from lowlat.catalogue.remedies import Remedies, fixed, threads
from lowlat.host.root import Root
from lowlat.plan import current, profile
from lowlat.probe.devices import read_interrupts
from lowlat.verbs import chosen_plan
from lowlat.verify import findings


def read(root: Root) -> Remedies:
    """Without the settings that are in effect or cannot be had."""
    known = Remedies(fixed=fixed(read_interrupts(root)), threads=threads(root))
    try:
        plan = chosen_plan.applied(root) or current.settings(profile.DEFAULT, root)
    except Refused:
        return known
    held = findings.in_effect(findings.verify(plan, root))
    return replace(known, useless=held | {skipped.name for skipped in plan.skipped})
