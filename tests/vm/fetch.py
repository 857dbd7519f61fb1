# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetch what the booting tests need before their time limits start: kernels and the image.

    python tests/vm/fetch.py [smoke]

``smoke`` fetches only the kernel of the smoke test. Each missing part is named, and the exit status
is then 1.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from boots import OTHER_KERNEL, kept_or_skip
from cross import jansson_or_skip
from image import image_or_skip, packages_or_skip
from kernels import KERNELS, OLD, busybox_or_skip, kernel_or_skip, packaged_or_skip

missing: list[str] = []


def get(what: str, how: Callable[[], object]) -> None:
    begin = time.monotonic()
    try:
        found = how()
    except pytest.skip.Exception as reason:
        found = reason
        missing.append(what)
    print(f"{what}: {found} ({time.monotonic() - begin:.0f} s)", flush=True)


def kernels() -> None:
    for name, wanted in {**KERNELS, "5.10": OLD}.items():
        get(name, lambda wanted=wanted: packaged_or_skip(wanted).release)  # type: ignore[misc]


def image() -> None:
    get("Debian 13", lambda: image_or_skip().disk)
    get("Debian 13 behind GRUB", lambda: kept_or_skip().folder)
    for name in (OTHER_KERNEL, "systemd-boot", "libjansson4"):
        get(name, lambda name=name: packages_or_skip(image_or_skip(), name)[0].name)  # type: ignore[misc]
    get("busybox for arm64", lambda: busybox_or_skip("arm64"))
    get("libjansson for arm64", lambda: jansson_or_skip("arm64"))


def main() -> int:
    if sys.argv[1:] == ["smoke"]:
        get("a kernel for the smoke test", lambda: kernel_or_skip("").release)
    else:
        everything()
    if missing:
        print(f"fetch: cannot be had: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


def everything() -> None:
    # Each takes a minute or two, and they do not depend on each other.
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(kernels), pool.submit(image)]:
            done.result()


if __name__ == "__main__":
    sys.exit(main())
