# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels for the tests that boot one."""

from __future__ import annotations

import pytest

from lowlat.errors import LowlatError
from lowlat.rehearse.kernel import Kernel
from lowlat.rehearse.rehearsal import find_kernel


def kernel_or_skip(text: str) -> Kernel:
    """A kernel of the host, the cache or the distribution's packages; the test is skipped, with
    the reason, where there is none at all."""
    try:
        return find_kernel(text, fetch=True)
    except LowlatError as error:
        pytest.skip(f"no kernel can be had: {error}")
