# SPDX-License-Identifier: GPL-2.0-or-later
"""Showing a page to the person at this machine."""

import os
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError

#: An opener that fails does so within this time; one that goes on shows the page.
_SOON_S = 2.0


def show(page: Path) -> str:
    """Open the page with the desktop's own opener; what came of it in one line."""
    opener = process.find("xdg-open")
    if opener is None or not {"DISPLAY", "WAYLAND_DISPLAY"}.intersection(os.environ):
        return f"No browser to open it in: the page is {page}"
    silent = process.NOWHERE
    try:
        child = process.start([opener, page.as_uri()], stdout=silent, stderr=silent)
    except LowlatError as error:
        return f"{error.message}: the page is {page}"
    if process.wait(child, _SOON_S):
        return f"xdg-open ended with status {child.returncode}: the page is {page}"
    return f"Opened {page}"
