# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's messages about stopped CPUs: their formats are those of a packaged kernel."""

from __future__ import annotations

import shutil
import subprocess

from lowlat.host.kernel_messages import MESSAGES
from support import needs
from support.guest.kernels import smoke_kernel_or_skip

#: Formats of other releases or options: seen in the image of Debian's kernel of that release, or in
#: the source.
_ELSEWHERE = {
    "sched: RT throttling activated": "6.1.0-56-amd64",
    "timekeeping watchdog on CPU%d: %s read-back delay of %lldns, attempt %d, marking unstable": (
        "6.1.0-56-amd64"
    ),
    "CMCI storm detected: switching to poll mode": "6.1.0-56-amd64",
    "Watchdog detected hard LOCKUP on cpu %u": "7.2.13+deb14-amd64",
    "INFO: task %s:%d blocked%s for more than %ld seconds.": "7.2.13+deb14-amd64",
    "workqueue: %ps hogged CPU for >%luus": "with CONFIG_WQ_CPU_INTENSIVE_REPORT, from 6.5 on",
    "boosted pid %d (%s) (cpu %d) using %s": "stalld",
    "boosted pid %d (%s) using %s": "stalld",
}

_ZSTD = b"\x28\xb5\x2f\xfd"


def test_the_kernel_has_these_messages() -> None:
    if shutil.which("zstd") is None:
        needs.absent("zstd is not installed")
    data = smoke_kernel_or_skip().image.read_bytes()
    argv = ["zstd", "-dcq"]
    # What follows the kernel in its image is no data of zstd: the program ends with 1.
    image = subprocess.run(argv, input=data[data.index(_ZSTD) :], capture_output=True).stdout
    formats = [each for message in MESSAGES for each in message.formats]
    missing = [each for each in formats if each.encode() not in image]
    assert set(missing) <= set(_ELSEWHERE)
    assert set(_ELSEWHERE) <= set(formats)
