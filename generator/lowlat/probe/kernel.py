# SPDX-License-Identifier: GPL-2.0-or-later
"""The running kernel and installed ones, with their build configuration."""

import re
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import FEATURES
from lowlat.host.root import Root
from lowlat.model.machine import RELEASE, Config, Kernel

_OPTION = re.compile(r"^CONFIG_(\w+)=(.*)$", re.MULTILINE)
_PARAMETER = re.compile(r"\.parmtype=(\w+):")


def running_release(root: Root) -> Optional[str]:
    """The running kernel's release; None if no valid one is found."""
    release = root.read("/proc/sys/kernel/osrelease")
    if release is None:
        match = re.match(r"Linux version (\S+)", root.read("/proc/version") or "")
        # Else the release of the image that the boot loader named.
        line = root.read("/proc/cmdline") or ""
        match = match or re.search(r"(?:^|\s)BOOT_IMAGE=\S*vmlinuz-(\S+)", line)
        release = match[1] if match else None
    return release if release and RELEASE.fullmatch(release) else None


def read_running(root: Root) -> Kernel:
    """The running kernel; for a captured machine, the one that ran then."""
    release, version = running_release(root), root.read("/proc/version") or ""
    config = _read_config(root, release) if release else None
    text = root.read("/proc/config.gz") if config is None else None
    if text:
        config = parse_config(text, "/proc/config.gz")
    features = frozenset(path for path in sorted(FEATURES) if root.exists(path))
    return Kernel(release, _realtime(config, version, release), config, features)


def read_installed(root: Root, release: str) -> Optional[Kernel]:
    """An installed kernel by its release; None if the machine has no trace of it."""
    if not RELEASE.fullmatch(release):
        return None
    config = _read_config(root, release)
    traces = (f"/boot/vmlinuz-{release}", f"/lib/modules/{release}")
    if config is None and not any(root.exists(path) for path in traces):
        return None
    built_in = f"/lib/modules/{release}/modules.builtin.modinfo"
    text = root.answer(
        f"features-{release}", lambda it: "\n".join(sorted(parse_modinfo(it.read(built_in) or "")))
    )
    features = FEATURES.intersection(text.split())
    return Kernel(release, _realtime(config, "", release), config, features)


def read_release(root: Root, release: Optional[str], running: Kernel) -> Kernel:
    """The kernel of a release, or the running one for None. Raises Refused if it is not
    installed."""
    if release is None or release == running.release:
        return running
    kernel = read_installed(root, release)
    if kernel is None:
        hint = f"the running one is {running.release or 'unknown'}"
        raise Refused(f"kernel {release[:64]}: not installed", hint=hint)
    return kernel


def parse_modinfo(text: str) -> frozenset[str]:
    """The parameter files among the catalogue's features that a kernel with this
    modules.builtin.modinfo has. Built-in code is listed by its file ("tree.parmtype=NAME:int" for
    rcutree.NAME), so only the parameter's name is compared."""
    known = set(_PARAMETER.findall(text))
    modules = (path for path in FEATURES if path.startswith("/sys/module/"))
    return frozenset(path for path in modules if path.rpartition("/")[2] in known)


def parse_config(text: str, path: str) -> Config:
    """Parse a kernel configuration; unset options are left out."""
    return Config(path, {name: value.strip('"') for name, value in _OPTION.findall(text)})


def _read_config(root: Root, release: str) -> Optional[Config]:
    for path in (f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        text = root.read(path)
        if text:
            return parse_config(text, path)
    return None


def _realtime(config: Optional[Config], version: str, release: Optional[str]) -> Optional[bool]:
    if config is not None:
        return config.enabled("PREEMPT_RT")
    if re.search(r"PREEMPT[_ ]RT", version) or re.search(r"[-.+]rt\d*\b", release or ""):
        return True
    return False if version else None
