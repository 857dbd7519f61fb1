# SPDX-License-Identifier: GPL-2.0-or-later
"""A file as a value: its content and all that goes with it, with a JSON form for the journal."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class FileSnapshot:
    """A plain file, or a symbolic link whose content is where it points: all that is needed to put
    it back exactly."""

    content: bytes
    mode: int = 0o644
    uid: int = field(default_factory=os.geteuid)
    gid: int = field(default_factory=os.getegid)
    xattrs: Mapping[str, bytes] = field(default_factory=dict)
    link: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "content": base64.b64encode(self.content).decode(),
            "mode": self.mode,
            "uid": self.uid,
            "gid": self.gid,
            "xattrs": {
                name: base64.b64encode(value).decode() for name, value in self.xattrs.items()
            },
            "link": self.link,
        }

    @classmethod
    def from_json(cls, document: Any) -> FileSnapshot:
        """Raises ValueError, KeyError or TypeError where the document is none."""
        return cls(
            content=base64.b64decode(document["content"], validate=True),
            mode=int(document["mode"]) & 0o7777,
            uid=int(document["uid"]),
            gid=int(document["gid"]),
            xattrs={
                str(name): base64.b64decode(value, validate=True)
                for name, value in document["xattrs"].items()
            },
            link=bool(document["link"]),
        )


def digest(held: Optional[FileSnapshot]) -> str:
    """What tells two states of a file apart; "absent" where there is none."""
    if held is None:
        return "absent"
    kind = "link" if held.link else f"{held.mode:o} {held.uid} {held.gid}"
    return hashlib.sha256(kind.encode() + b"\0" + held.content).hexdigest()
