# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether this is a container, which shows a part of a host as if it were a machine.

The signs are those of systemd-detect-virt (detect_container() in src/basic/virt.c), the folder and
the variable that Kubernetes puts into each pod, and the cut lists of lxcfs. A file that is missing
is no sign. As there, WSL counts as one: Windows starts its kernel.
"""

import re
from typing import Optional

from lowlat.host.root import CPU, Root

_SERVICE_ACCOUNT = "secrets/kubernetes.io/serviceaccount"

#: The first process namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h).
_HOSTS = "pid:[4026531836]"

_WSL = "wsl"
_NAME = r"([A-Za-z0-9][A-Za-z0-9_.-]{0,39})"


def read_container(root: Root) -> Optional[str]:
    """What runs this container, such as "lxc" or "docker"; None without a sign of one."""
    # One question, so that a capture records nothing else of the environment.
    return root.answer("container", _recognise) or None


def told(name: str) -> tuple[str, str]:
    """What a container of this name is, and what to do instead of a change inside."""
    if name == _WSL:
        # https://learn.microsoft.com/windows/wsl/wsl-config
        line = r"kernelCommandLine= below [wsl2] in %UserProfile%\.wslconfig adds words to the line"
        return "this is WSL, whose kernel Windows starts", f"{line}, after 'wsl --shutdown'"
    return f"this is a container ({name})", "run lowlat-gen on its host"


def _recognise(root: Root) -> str:
    environment = (root.read_bytes("/proc/1/environ") or b"").decode("utf-8", "replace")
    named = re.search(rf"(?:^|\0)container={_NAME}", environment)
    named = named or re.match(_NAME, root.read("/run/systemd/container") or "")
    if named:
        return named[1]
    if root.exists("/run/.containerenv"):
        return "podman"
    # An image that boots a virtual machine keeps the file.
    if root.exists("/.dockerenv") and root.link("/proc/self/ns/pid") != _HOSTS:
        return "docker"
    if "KUBERNETES_SERVICE_HOST=" in environment:
        return "kubernetes"
    if any(root.exists(f"{folder}/{_SERVICE_ACCOUNT}") for folder in ("/run", "/var/run")):
        return "kubernetes"
    if re.search(r"[Mm]icrosoft|WSL", root.read("/proc/sys/kernel/osrelease") or ""):
        return _WSL
    return "lxcfs" if _is_cut(root) else ""


def _is_cut(root: Root) -> bool:
    """Whether a present CPU is neither online nor offline: lxcfs replaces the list of the online
    ones alone (lxc/lxcfs#433, #731)."""
    present, online, offline = (
        root.read_cpus(f"{CPU}/{name}") for name in ("present", "online", "offline")
    )
    return bool(present and online and offline is not None and present - online - offline)
