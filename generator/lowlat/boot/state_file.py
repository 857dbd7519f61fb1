# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat keeps for itself in /var/lib/lowlat: one JSON object a file, with its schema and
who wrote it."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional, TypeVar

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.schema import is_later, later, stamped
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import FileSnapshot

T = TypeVar("T")


def read(
    disk: Disk,
    path: str,
    schema: str,
    build: Callable[[dict[str, Any]], T],
    hint: str,
    *,
    frozen: bool = False,
) -> Optional[T]:
    """What is kept there; None where there is no such file. ``frozen``: what ``build`` looks at is
    the same in every later version (packaging/doc/boot.md), so that is read as well.

    Raises Refused where it is damaged, with this hint, where a later lowlat wrote it, or, for root,
    where others could have written it.
    """
    held = disk.get_ours(path)
    if held is None:
        return None
    try:
        document = json.loads(held.content)
        if held.link:
            raise ValueError("a link")
        if not is_later(document, schema) or frozen:
            return build(document)
    except (LowlatError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{path} is damaged", hint=hint) from error
    raise later(path, document)


def write(disk: Disk, path: str, schema: str, document: dict[str, Any], mode: int = 0o644) -> None:
    disk.put(path, FileSnapshot(text(schema, document).encode(), mode))


def text(schema: str, document: dict[str, Any]) -> str:
    return json.dumps(stamped(schema, document), indent=1) + "\n"
