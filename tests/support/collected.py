# SPDX-License-Identifier: GPL-2.0-or-later
"""A plugin: all tests that were collected, also those that -m leaves out. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import pytest

ITEMS: list[pytest.Item] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ITEMS[:] = items
