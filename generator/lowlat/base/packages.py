# SPDX-License-Identifier: GPL-2.0-or-later
"""Which package brings a program, by the name that this distribution gives it."""

import shutil

from lowlat.base import resources

#: By program: its package in Debian and Ubuntu, and in Fedora and RHEL.
PACKAGES = {
    program: tuple(names.split(", "))
    for program, names in resources.texts("base/packages.ini")["packages"].items()
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
