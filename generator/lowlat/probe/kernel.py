# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels: the running one and installed ones, with their build configuration."""

import re
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import FEATURES
from lowlat.host.root import Root
from lowlat.model.machine import RELEASE, Config, Kernel

_OPTION = re.compile(r"^CONFIG_(\w+)=(.*)$", re.MULTILINE)
_PARAMETER = re.compile(r"\.parmtype=(\w+):")


def running_release(root: Root) -> Optional[str]:
    """The release of the kernel that runs; None where what is said to be one is none."""
    release = root.read("/proc/sys/kernel/osrelease")
    if release is None:
        found = re.match(r"Linux version (\S+)", root.read("/proc/version") or "")
        # Else the one whose image the boot loader named.
        line = root.read("/proc/cmdline") or ""
        found = found or re.search(r"(?:^|\s)BOOT_IMAGE=\S*vmlinuz-(\S+)", line)
        release = found[1] if found else None
    return release if release and RELEASE.fullmatch(release) else None


def read_running(root: Root) -> Kernel:
    """The kernel that runs, or ran when the machine was captured."""
    release, version = running_release(root), root.read("/proc/version") or ""
    config = _read_config(root, release) if release else None
    text = root.read("/proc/config.gz") if config is None else None
    if text:
        config = parse_config(text, "/proc/config.gz")
    features = frozenset(path for path in sorted(FEATURES) if root.exists(path))
    return Kernel(release, _realtime(config, version, release), config, features)


def read_installed(root: Root, release: str) -> Optional[Kernel]:
    """An installed kernel by its release; None where nothing of it is on the machine."""
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
    """The kernel of a release; None is the running one. Raises Refused where it is not
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
    rcutree.NAME), so the parameter's own name decides."""
    known = set(_PARAMETER.findall(text))
    modules = (path for path in FEATURES if path.startswith("/sys/module/"))
    return frozenset(path for path in modules if path.rpartition("/")[2] in known)


def parse_config(text: str, path: str) -> Config:
    """Read a kernel configuration; options that are not set are left out."""
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
