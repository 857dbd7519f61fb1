# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test needs of this host; the only place that skips a test.

In CI a skip fails unless ``tests/skips.ini`` lists it (conftest.py).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

#: Set by .ci/run: what cannot be had is a failure.
CI = bool(os.environ.get("CI"))


def absent(reason: str) -> NoReturn:
    """Skip the running test, because the host lacks something."""
    pytest.skip(reason)


def that(condition: bool, reason: str) -> pytest.MarkDecorator:
    """The mark of a test that needs this condition."""
    return pytest.mark.skipif(not condition, reason=reason)


def root(why: str = "") -> pytest.MarkDecorator:
    return that(os.geteuid() == 0, f"needs root{': ' if why else ''}{why}")


def program(name: str, hint: str = "") -> pytest.MarkDecorator:
    """``hint`` says how to get it."""
    return that(shutil.which(name) is not None, f"needs {name}{': ' if hint else ''}{hint}")


def file(path: Path, hint: str = "") -> pytest.MarkDecorator:
    return that(path.exists(), f"needs {path}{': ' if hint else ''}{hint}")


def two_cpus() -> pytest.MarkDecorator:
    return that(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")


def module(name: str, hint: str = "") -> Any:
    """Import a module that an extra brings; skips without it."""
    return pytest.importorskip(name, reason=f"needs {name}{': ' if hint else ''}{hint}")
