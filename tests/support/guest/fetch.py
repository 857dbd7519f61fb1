# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetch what the booting tests need before their time limits start: kernels and the image.

    PYTHONPATH=tests python -m support.guest.fetch [NAME...]
    PYTHONPATH=tests python -m support.guest.fetch --update-locks

All of it, or what is named: "smoke" is the kernel of `make test`. The exit status is 1 if something
is missing; all that is missing is named. What the cache has in the pinned version needs no network.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from lowlat.base.errors import LowlatError
from support.guest import image, kernels
from support.guest.boots import kept_or_skip
from support.guest.cross import jansson_or_skip
from support.guest.kernels import LOCKED, busybox_or_skip, packaged_or_skip, smoke_kernel_or_skip

Part = Callable[[], object]


def _kernel(name: str) -> object:
    return packaged_or_skip(LOCKED[name]).release


def _extra(names: tuple[str, ...]) -> object:
    return image.packages_or_skip(image.image_or_skip(), *names)[0].parent


#: The kernels and the rest take minutes each, and do not depend on each other.
_KERNELS: dict[str, Part] = {
    "smoke": lambda: smoke_kernel_or_skip().release,
    **{name: partial(_kernel, name) for name in LOCKED},
}
_REST: dict[str, Part] = {
    "image": lambda: image.image_or_skip().disk,
    "grub": lambda: kept_or_skip().folder,
    **{name: partial(_extra, names) for name, names in image.EXTRAS.items()},
    "busybox-arm64": lambda: busybox_or_skip("arm64"),
    "libjansson-arm64": lambda: jansson_or_skip("arm64"),
}


def get(parts: Mapping[str, Part]) -> list[str]:
    """Returns the names of what is missing."""
    missing = []
    for name, how in parts.items():
        begin = time.monotonic()
        try:
            found = str(how())
        except (pytest.skip.Exception, LowlatError, AssertionError, OSError) as reason:
            missing.append(name)
            found = f"missing: {reason}"
        print(f"{name}: {found} ({time.monotonic() - begin:.0f} s)", flush=True)
    return missing


def main(words: Sequence[str]) -> int:
    if list(words) == ["--update-locks"]:
        kernels.write_lock()
        image.write_lock()
        return 0
    wanted = set(words or (*_KERNELS, *_REST))
    unknown = wanted - {*_KERNELS, *_REST}
    if unknown:
        known = ", ".join((*_KERNELS, *_REST))
        print(f"fetch.py: {', '.join(sorted(unknown))}: none of {known}", file=sys.stderr)
        return 2
    lanes = [
        {name: how for name, how in lane.items() if name in wanted} for lane in (_KERNELS, _REST)
    ]
    with ThreadPoolExecutor() as pool:
        missing = [name for lane in pool.map(get, lanes) for name in lane]
    if missing:
        print(f"fetch.py: missing: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
