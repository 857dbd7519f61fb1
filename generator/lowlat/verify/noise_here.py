# SPDX-License-Identifier: GPL-2.0-or-later
"""Known sources of noise that this host has, and that no setting removes."""

from lowlat.host import noise
from lowlat.host.root import Root
from lowlat.model.finding import Finding, Standing
from lowlat.probe.container import read_container

_PLANNED = "nothing disturbs isolated CPUs"


def noise_here(root: Root) -> list[Finding]:
    """A row for each; none in a container, which sees its host's files and its own programs."""
    found = {} if read_container(root) else noise.here(root)
    return [
        Finding(
            "noise",
            name,
            _PLANNED,
            sign,
            Standing.NO_SETTING,
            None,
            f"{sign}: {noise.SOURCES[name].told}",
        )
        for name, sign in found.items()
    ]
