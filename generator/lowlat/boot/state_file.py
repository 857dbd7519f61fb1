# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat keeps for itself in /var/lib/lowlat: one JSON object a file, with its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import FileSnapshot

T = TypeVar("T")


def read(
    disk: Disk, path: str, schema: str, build: Callable[[dict[str, Any]], T], hint: str
) -> Optional[T]:
    """What is kept there; None where there is no such file.

    Raises Refused where it is damaged, with this hint, or, for root, where others could have
    written it.
    """
    held = disk.get_ours(path)
    if held is None:
        return None
    try:
        document = json.loads(held.content)
        if held.link or document.pop("schema") != schema:
            raise ValueError("another schema")
        return build(document)
    except (LowlatError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{path} is damaged", hint=hint) from error


def write(
    disk: Disk, path: str, schema: str, document: Mapping[str, Any], mode: int = 0o644
) -> None:
    disk.put(path, FileSnapshot(text(schema, document).encode(), mode))


def text(schema: str, document: Mapping[str, Any]) -> str:
    return json.dumps({"schema": schema, **document}, indent=1) + "\n"
