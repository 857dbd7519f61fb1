# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of nodes, from the names of their captures, and many of them as Slurm writes a list."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Optional

#: A name, its number, and what follows that.
_NUMBERED = re.compile(r"(\D*(?:\d+\D+)*?)(\d{1,9})(\D*)", re.ASCII)


#: What a name may be made of: what slurm.conf and a hostlist take as they are.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def of_capture(path: str) -> Optional[str]:
    """The node's name: "racks/node7.txt.gz" is of node7. None if that cannot be one."""
    name = Path(path).name.removesuffix(".gz").removesuffix(".txt")
    return name if _NAME.fullmatch(name) else None


def hostlist(names: Iterable[str]) -> str:
    """The names as Slurm's hostlist expression: "login,node[001-398,400]"."""
    numbers: dict[tuple[str, int, str], set[int]] = {}
    alone = set()
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found:
            place = found[1], len(found[2]), found[3]
            numbers.setdefault(place, set()).add(int(found[2]))
        else:
            alone.add(name)
    folded = (_folded(*place, sorted(own)) for place, own in sorted(numbers.items()))
    return ",".join((*sorted(alone), *folded))


def _folded(before: str, width: int, after: str, numbers: list[int]) -> str:
    listed = ",".join(_ranges(width, numbers))
    return f"{before}[{listed}]{after}" if len(numbers) > 1 else f"{before}{listed}{after}"


def _ranges(width: int, numbers: list[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        members = [f"{number:0{width}}" for _, number in run]
        yield "-".join(dict.fromkeys((members[0], members[-1])))
