# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a profile is made for a PREEMPT_RT kernel and the plan's is none: what to install."""

import re
from collections.abc import Iterator

from lowlat.model.machine import Kernel

#: The package with the PREEMPT_RT kernel, by the release of a distribution's other kernels:
#: Raspberry Pi OS (kernel=kernel8_rt.img in config.txt boots it), Debian, RHEL, openSUSE, Arch.
_PACKAGES = (
    (r"rpi-(?:v8|2712)$", "linux-image-rpi-v8-rt"),
    (r"-(amd64|arm64)$", r"linux-image-rt-\1"),
    (r"\.el\d", "kernel-rt"),
    (r"-default$", "kernel-rt"),
    (r"-arch\d", "linux-rt"),
)


def warning(kernel: Kernel, profile: str) -> Iterator[str]:
    """That this kernel is not PREEMPT_RT, if it is known not to be."""
    if kernel.realtime is False:
        package = _package(kernel.release or "") or "your distribution's, if it has one"
        yield (
            f"the kernel is not PREEMPT_RT, for which {profile} is made: install {package}, or "
            "some wake-ups take far longer than others"
        )


def _package(release: str) -> str:
    found = ((re.search(pattern, release), name) for pattern, name in _PACKAGES)
    return next((f"the package {match.expand(name)}" for match, name in found if match), "")
