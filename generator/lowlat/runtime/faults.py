# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the running kernel that a change of a run-time setting, or its undoing, brings out."""

from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Tunable
from lowlat.host.root import Root
from lowlat.kernel import facts
from lowlat.probe.kernel import running_release
from lowlat.runtime import cgroup


def of(entry: Tunable, root: Root) -> str:
    """Why an entry's values must stay as they are on the kernel that runs, or ""."""
    if not entry.faults:
        return ""
    release = running_release(root)
    where = f"kernel {release}" if release else "this kernel, whose release is not known"
    told = (facts.told(one, where) for one in entry.faults if facts.has(one, release) is not False)
    return "; ".join(told)


def paths(root: Root) -> dict[str, str]:
    """By path of a setting or key of a control group: why it stays as it is until the next boot."""
    found = {}
    for entry in CATALOGUE:
        why = of(entry, root)
        if why:
            names = [row.path for row in entry.rows]
            names += [f"{cgroup.SCHEME}{entry.cgroup}"] if entry.cgroup else []
            found.update({name: f"{name} stays until the next boot: {why}" for name in names})
    return found
