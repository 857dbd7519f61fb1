# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat keeps for itself in /var/lib/lowlat: one JSON object a file, with its schema and
who wrote it."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Generic, Optional, TypeVar

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.schema import is_later, later, stamped
from lowlat.base.typed_json import decode, encode, encode_fields
from lowlat.boot.disk import Disk, FileSnapshot

T = TypeVar("T")

_DAMAGE = (LowlatError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class StateFile(Generic[T]):
    """``build`` makes the value of the object that was read; ``hint`` is for one that is damaged.
    ``frozen``: what ``build`` looks at is the same in every later version (packaging/doc/boot.md),
    so that is read as well."""

    path: str
    schema: str
    build: Callable[[Any], T]
    hint: str
    mode: int = 0o644
    frozen: bool = False

    def read(self, disk: Disk, *, to_write: bool = False) -> Optional[T]:
        """What is kept there; None where there is no such file. Raises Refused where it is damaged,
        where a later lowlat wrote it, in a form that is not frozen or to be written, or, for root,
        where others could have written it."""
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
        document = encode(value) if isinstance(value, dict) else encode_fields(value)
        return json.dumps(stamped(self.schema, document), indent=1) + "\n"


def lenient(kind: type[T]) -> Callable[[Any], T]:
    """Makes a value of an object: keys that are not known are left out."""
    return partial(decode, kind)
