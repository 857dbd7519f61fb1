# SPDX-License-Identifier: GPL-2.0-or-later
"""What every test has: synthetic trees, and the number of examples.

``LOWLAT_EXAMPLES=10000 pytest tests/plan/test_split_properties.py`` is the long run; without it the
property tests use the same 25 examples every time.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import HealthCheck, settings

from support import neighbours, synthetic, work

pytest_plugins = ["support.gate"]

EXAMPLES = int(os.environ.get("LOWLAT_EXAMPLES", "25"))

settings.register_profile(
    "lowlat",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="LOWLAT_EXAMPLES" not in os.environ,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("lowlat")

# nohup and background jobs of a shell ignore these signals, and child processes inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

Tree = Callable[[synthetic.Shape], Path]


#: The marker of every test with one of these fixtures: tests that start lowlat-measure, that
#: compare it with its rivals, and slow tests, such as the hosts of tests/boot, packages and a
#: browser.
_MARKED = {
    "program": "harness",
    "programs": "figure",
    **dict.fromkeys(("namespace", "cutting", "beside", "bed"), "slow"),
    **dict.fromkeys(("built", "deb", "rpm"), "packages"),
    "browser": "slow",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name in _MARKED.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(_MARKED[name])
    tests = (getattr(item, "obj", None) for item in items)
    properties = (getattr(test, "hypothesis", None) for test in tests)
    for handle in {id(each): each for each in properties if each is not None}.values():
        handle.inner_test = _bounded(handle.inner_test)


def _bounded(inner: Callable[..., None]) -> Callable[..., None]:
    """A property whose work on each input is bounded, so that none is of endless cost."""

    @functools.wraps(inner)
    def test(*args: object, **given: object) -> None:
        with work.bounded(inner.__qualname__):
            inner(*args, **given)

    return test


@pytest.fixture(scope="session", autouse=True)
def neighbour_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The outcome of a test does not depend on what is installed beside lowlat."""
    folder = neighbours.install(tmp_path_factory.mktemp("neighbours"))
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Makes trees of shapes, each in a new folder."""
    count = iter(range(1000))

    def make(shape: synthetic.Shape) -> Path:
        return synthetic.write(shape.model(), tmp_path / f"machine{next(count)}")

    return make


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Restore signal handlers that a verb set in this process."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
