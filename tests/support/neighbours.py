# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that a machine may have and `make test` does not install. Every test finds each of them
on its PATH, as a stand-in: a test that counts on one of them being absent, or at work, fails on
every machine, not only on some. Such a test gives its program a PATH of its own.
(PYTEST_DONT_REWRITE)
"""

from __future__ import annotations

from pathlib import Path

#: Of those, what lowlat starts or asks, and what its readers' machines have.
NAMES = (
    *("ansible", "ansible-playbook", "bootc", "cpupower", "docker", "grubby", "irqbalance"),
    *("kubectl", "ostree", "podman", "rpm-ostree", "rtla", "tuna", "turbostat", "xdg-open"),
)

_STAND_IN = '#!/bin/sh\necho "$0: no test counts on this program" >&2\nexit 77\n'


def install(folder: Path) -> Path:
    """Put the stand-ins into this folder, for PATH."""
    for name in NAMES:
        (folder / name).write_text(_STAND_IN)
        (folder / name).chmod(0o755)
    return folder
