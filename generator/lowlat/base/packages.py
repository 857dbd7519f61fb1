# SPDX-License-Identifier: GPL-2.0-or-later
"""Which package brings a program, by the name that this distribution gives it."""

from __future__ import annotations

import shutil

#: By program: its package in Debian and Ubuntu, and in Fedora and RHEL.
PACKAGES = {
    "TuneD": ("tuned", "tuned"),
    "busybox": ("busybox-static", "busybox"),
    "cyclictest": ("rt-tests", "realtime-tests"),
    "file": ("file", "file"),
    "lowlat-measure": ("lowlat-measure", "lowlat-measure"),
    "numpy": ("python3-numpy", "python3-numpy"),
    "oslat": ("rt-tests", "realtime-tests"),
    "pyudev": ("python3-pyudev", "python3-pyudev"),
    "yaml": ("python3-yaml", "python3-pyyaml"),
    "qemu-system-aarch64": ("qemu-system-arm", "qemu-system-aarch64-core"),
    "qemu-system-ppc64le": ("qemu-system-ppc", "qemu-system-ppc-core"),
    "qemu-system-x86_64": ("qemu-system-x86", "qemu-system-x86-core"),
    "rich": ("python3-rich", "python3-rich"),
    "rtla": ("rtla", "rtla"),
    "scipy": ("python3-scipy", "python3-scipy"),
    "stress-ng": ("stress-ng", "stress-ng"),
}


def bringing(program: str) -> str:
    """How to get a program, as a user does it here; "" where no package is known."""
    if program not in PACKAGES:
        return ""
    debian, fedora = PACKAGES[program]
    if shutil.which("apt-get") or debian == fedora:
        return f"install the package {debian}"
    fedora_here = shutil.which("dnf") or shutil.which("yum")
    return (
        f"install the package {fedora}"
        if fedora_here
        else (f"install the package {debian} (Debian) or {fedora} (Fedora)")
    )
