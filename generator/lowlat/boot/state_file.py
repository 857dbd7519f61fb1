# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat's own state in /var/lib/lowlat: one JSON object a file, with its schema and the version
that wrote it."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Generic, Optional, TypeVar

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.schema import is_later, later, stamped
from lowlat.base.typed_json import decode, encode
from lowlat.boot.disk import Disk, FileSnapshot

T = TypeVar("T")

_DAMAGE = (LowlatError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class StateFile(Generic[T]):
    """``build`` makes the value from the JSON object; ``hint`` is for a damaged file. ``frozen``:
    every later version keeps the fields that ``build`` reads (packaging/doc/boot.md), so its files
    can be read as well."""

    path: str
    schema: str
    build: Callable[[Any], T]
    hint: str
    mode: int = 0o644
    frozen: bool = False

    def read(self, disk: Disk, *, to_write: bool = False) -> Optional[T]:
        """The stored value; None if there is no such file. Raises Refused if it is damaged, if a
        later lowlat wrote it and it is not frozen or ``to_write``, or, for root, if others could
        have written it."""
        disk.root.check_owned(self.path)
        held = disk.get(self.path)
        if held is None:
            return None
        try:
            document = json.loads(held.content)
            if held.link:
                raise ValueError("a link")
            if not is_later(document, self.schema) or (self.frozen and not to_write):
                return self.build(document)
        except _DAMAGE as error:
            raise Refused(f"{self.path} is damaged", hint=self.hint) from error
        raise later(self.path, document)

    def write(self, disk: Disk, value: T) -> None:
        disk.put(self.path, FileSnapshot(self.text(value).encode(), self.mode))

    def text(self, value: T) -> str:
        return json.dumps(stamped(self.schema, encode(value)), indent=1) + "\n"


def lenient(kind: type[T]) -> Callable[[Any], T]:
    """A function that makes a value from an object and ignores unknown keys."""
    return partial(decode, kind)
