# SPDX-License-Identifier: GPL-2.0-or-later
"""Other programs that set lowlat's values: TuneD profiles, daemons, systemd, container runtimes."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Optional

from lowlat.host import interrupt_movers, tuned
from lowlat.host.daemons import read_managers, running
from lowlat.host.root import Root, glob
from lowlat.host.tuned import LOCAL
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.plan import profile

_GROUPS = "/sys/fs/cgroup"

#: In the reverse order of sysctl.d(5): the file that wins comes first.
_SYSCTL = (
    *("/etc/sysctl.conf", "/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf"),
    *("/usr/local/lib/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf"),
)

#: Files that show who set a value, as globs; PRESENT is only checked for existence.
FILES = (
    *_SYSCTL,
    f"{_GROUPS}/*/cpuset.cpus",
    *(f"/etc/tuned/{name}" for name in ("active_profile", "post_loaded_profile")),
    "/etc/tuned/tuned-main.conf",
    *(f"{top}/tuned/*/tuned.conf" for top in ("/etc", "/usr/lib")),
    *(f"{top}/tuned/profiles/*/tuned.conf" for top in ("/etc", "/usr/lib")),
    *interrupt_movers.CONFIGS,
    *interrupt_movers.LINKS,
)
_SYSTEMD = "/run/systemd/system"
PRESENT = (*tuned.PROGRAMS, _SYSTEMD)

CONTAINERS = frozenset({"containerd", "dockerd", "crio", "podman", "kubelet"})

#: Daemons that choose frequency governors.
_POWER = frozenset({"tlp", "power-profiles-daemon", "tuned-ppd", "auto-cpufreq", "thermald"})

#: Files set by options of TuneD's plugins, by plugin and option (tuned/plugins/plugin_*.py).
_PLUGINS = {
    ("cpu", "governor"): ("*/scaling_governor",),
    ("cpu", "pm_qos_resume_latency_us"): ("*/pm_qos_resume_latency_us",),
    ("irq", "affinity"): ("/proc/irq/*",),
    ("scheduler", "default_irq_smp_affinity"): ("/proc/irq/default_smp_affinity",),
    ("scheduler", "isolated_cores"): ("/proc/irq/*/smp_affinity", "kthread:*:affinity"),
    ("vm", "transparent_hugepage"): ("/sys/kernel/mm/transparent_hugepage/enabled",),
    ("vm", "transparent_hugepages"): ("/sys/kernel/mm/transparent_hugepage/enabled",),
    ("vm", "transparent_hugepage.defrag"): ("/sys/kernel/mm/transparent_hugepage/defrag",),
}


def read_containers(root: Root) -> tuple[str, ...]:
    """The container runtimes that run here."""
    return running(root, "containers", CONTAINERS)


class Overrides:
    """The other programs on one machine; each fact is read on first use."""

    def __init__(self, plan: Plan, root: Root) -> None:
        self._plan = plan
        self._root = root

    def overriding(self, path: str) -> Optional[str]:
        """The TuneD profile that sets this file differently and includes lowlat's or is merged."""
        return self.setter(path) if self._includes_ours else None

    def instead(self, path: str) -> Optional[str]:
        """The TuneD profile that is active instead of lowlat's and sets this file."""
        return None if self._includes_ours else self.setter(path)

    def undoing(self, path: str) -> Optional[str]:
        """The program that may have undone a file's value; None if none is known."""
        setter = self.setter(path)
        if setter:
            return setter
        if path.startswith("/proc/irq/"):
            links = interrupt_movers.read_link_files(self._root)
            balancing = ["irqbalance"] if "irqbalance" in self._managers else []
            return ", ".join([*balancing, *(f"systemd ({each.file})" for each in links)]) or None
        if path.startswith("/proc/sys/"):
            return self._sysctl(path)
        if path.startswith(_GROUPS):
            return self._grouping(path)
        if path.endswith("/scaling_governor"):
            return ", ".join(sorted(_POWER.intersection(self._managers))) or None
        return None

    def setter(self, path: str) -> Optional[str]:
        """The active TuneD profile, other than lowlat's, that sets this file."""
        last = ""
        for loaded in self._loaded:
            for section, options in loaded.sections.items():
                plugin = options.get("type", section)
                if any(_sets(plugin, option, path) for option in options):
                    last = loaded.name
        return f"TuneD profile {last}" if last and last not in self._ours else None

    def _sysctl(self, path: str) -> Optional[str]:
        name = re.escape(path[len("/proc/sys/") :]).replace("/", "[./]")
        for pattern in _SYSCTL:
            for file in reversed(glob(self._root, pattern)):
                if re.search(rf"^\s*-?{name}\s*=", self._root.read(file) or "", re.MULTILINE):
                    return f"systemd ({file})"
        return None

    def _grouping(self, path: str) -> Optional[str]:
        """The other control groups that have isolated CPUs, and the programs that make groups."""
        others = list(self._overlapping(path.rpartition("/")[0]))
        runtimes = read_containers(self._root)
        if runtimes:
            return ", ".join([*runtimes, *others])
        systemd = ["systemd"] if self._root.exists(_SYSTEMD) else []
        return ", ".join([*systemd, *others]) or None

    def _overlapping(self, own: str) -> Iterator[str]:
        for path in glob(self._root, f"{_GROUPS}/*/cpuset.cpus"):
            group = path.rpartition("/")[0]
            if group != own and (self._root.read_cpus(path) or CpuSet()) & self._plan.isolated:
                yield group.rpartition("/")[2]

    @cached_property
    def _ours(self) -> frozenset[str]:
        return frozenset({*profile.packaged_names(), self._plan.profile, LOCAL})

    @cached_property
    def _loaded(self) -> tuple[tuned.TunedProfile, ...]:
        names = tuned.active_profiles(self._root)
        return tuple(loaded for name in names for loaded in tuned.chain(self._root, name))

    @cached_property
    def _includes_ours(self) -> bool:
        return any(loaded.name in self._ours for loaded in self._loaded)

    @cached_property
    def _managers(self) -> tuple[str, ...]:
        return read_managers(self._root)


def _sets(plugin: str, option: str, path: str) -> bool:
    if plugin == "sysctl":
        return path == f"/proc/sys/{option.replace('.', '/')}"
    if plugin == "sysfs":
        return fnmatchcase(path, option)
    return any(fnmatchcase(path, pattern) for pattern in _PLUGINS.get((plugin, option), ()))
