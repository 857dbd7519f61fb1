# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the CPUs that are online are those of the plan."""

from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan.online_cpus import ONLINE, difference, read_online
from lowlat.verify.finding import Finding, Standing


def online_cpus(plan: Plan, root: Root) -> Finding:
    online, expected = read_online(root), str(plan.cpus.online)
    if online is None:
        state, evidence = Standing.UNVERIFIABLE, f"{ONLINE} cannot be read"
    elif evidence := difference(plan, online):
        state = Standing.NOT_APPLIED
    else:
        state, evidence = Standing.EFFECTIVE, f"CPU {online} is online"
    return Finding("cpus", ONLINE, expected, str(online), state, None, evidence)
