# SPDX-License-Identifier: GPL-2.0-or-later
"""What else manages this system: daemons, TuneD's profile, control groups, page merging, and the
boot parameters of Ubuntu's package lowlatency-kernel."""

from __future__ import annotations

import re
from typing import Optional

from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.machine import LOWLATENCY_KERNEL, Services


def read_services(root: Root) -> Services:
    ksm = root.read_int("/sys/kernel/mm/ksm/run")
    return Services(
        cgroup=_cgroup(root),
        tuned_profile=root.read("/etc/tuned/active_profile") or None,
        ksm=None if ksm is None else ksm == 1,
        lowlatency_kernel=root.answer("lowlatency-kernel", _lowlatency_kernel) or None,
    )


def _lowlatency_kernel(root: Root) -> str:
    # Asked as one question, so that a capture keeps nothing else of the file.
    return " ".join(parse_drop_in(root.read(LOWLATENCY_KERNEL) or ""))


def parse_drop_in(text: str) -> list[str]:
    """The parameters that a file of /etc/default/grub.d adds to GRUB_CMDLINE_LINUX_DEFAULT, or to
    GRUB_CMDLINE_LINUX."""
    found = re.findall(r"^\s*GRUB_CMDLINE_LINUX(?:_DEFAULT)?=(.*)$", text, re.MULTILINE)
    words = (word for line in found for word in cmdline.parse(line.strip().strip("\"'")))
    return [word for word in words if not word.startswith("$")]


def _cgroup(root: Root) -> Optional[str]:
    if root.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2"
    if root.exists("/sys/fs/cgroup/unified/cgroup.controllers"):
        return "hybrid"
    return "v1" if root.names("/sys/fs/cgroup") else None
