# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of this machine, which tests marked ``figure`` measure."""

from __future__ import annotations

import json
import os
from pathlib import Path


def figure(name: str, value: float, unit: str) -> None:
    """Print the figure; keep it for ``make figures``, which judges it by tests/figures.ini."""
    print(f"{name}: {value:.6g} {unit}")
    if out := os.environ.get("LOWLAT_FIGURES"):
        with Path(out).open("a") as file:
            file.write(json.dumps({"name": name, "value": value, "unit": unit}) + "\n")
