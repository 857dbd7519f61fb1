# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture that ``probe`` and ``plan`` share: in the terminal, and as an SVG file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Optional

from lowlat.base import files
from lowlat.base.arguments import option
from lowlat.base.terminal import Encoded, colour_wanted
from lowlat.draw.layout import arrange
from lowlat.draw.text import draw
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine


def svg_option() -> Any:
    return option("FILE", "write the drawing as SVG too")


def drawing(machine: Machine, isolated: Optional[CpuSet] = None, indent: str = "") -> Iterator[str]:
    """The machine, with the roles of its CPUs where a plan's isolated ones are given."""
    for line in draw(arrange(machine, isolated), colour=colour_wanted(sys.stdout)):
        yield Encoded(f"{indent}{line}")


def write_svg(out: Optional[str], machine: Machine, isolated: Optional[CpuSet] = None) -> None:
    """Write the file of ``--svg``. Raises Refused where it cannot be written."""
    if out is None:
        return
    from lowlat.draw.svg import svg  # rarely asked for

    files.write("--svg", out, svg(arrange(machine, isolated, roomy=True)).encode())
