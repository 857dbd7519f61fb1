# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report shows of the cross-checks: other programs that measure the same CPUs."""

from lowlat.measure.tools.known import KNOWN, CrossCheck
from lowlat.report.measure import Endpoint, Pooling, TableSection

#: By tool that tells the longest time of each CPU: the title of its column.
_COLUMNS = {"oslat": "oslat max, us"}

#: The beginnings of the harness's notes on one that is missing or failed.
NOTES = tuple({f"{word} " for one in KNOWN.second_opinions for word in (one.name, one.program)})


def _longest(check: CrossCheck) -> Endpoint:
    command = check.name if check.name == check.program else f"{check.program} {check.name}"
    return Endpoint(
        f"{check.name}_max_us",
        "us",
        pooling=Pooling.LARGEST,
        section=TableSection.CROSS_CHECK,
        title=f"{command} maximum of any CPU, us",
        column=_COLUMNS.get(check.name, ""),
    )


#: By tool: the longest time of any CPU.
LONGEST = {check.name: _longest(check) for check in KNOWN.second_opinions}
