# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat-measure knows of its tools: ``lowlat-measure --tools``, kept in tools.json by ``make
products``, for a guest's harness cannot be asked from here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lowlat.base import resources
from lowlat.base.typed_json import decode


@dataclass(frozen=True)
class CrossCheck:
    """A tool of ``--second-opinion``, the program that it is, and Debian's package of that."""

    name: str
    program: str
    package: str


@dataclass(frozen=True)
class KnownTools:
    """The names of loads and kinds of work, and the longest time in s of each cross-check and
    of each kind of work, and the usual one of a run of stress-ng's matrix."""

    second_opinions: tuple[CrossCheck, ...]
    loads: tuple[str, ...]
    work: tuple[str, ...]
    longest_s: Mapping[str, float]

    @property
    def cross_checks(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.second_opinions)


KNOWN = decode(KnownTools, json.loads(resources.text("measure/tools.json")))
