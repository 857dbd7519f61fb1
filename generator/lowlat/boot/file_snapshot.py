# SPDX-License-Identifier: GPL-2.0-or-later
"""A file as a value: its content and all that goes with it. Its JSON form is the journal's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional


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

    def __post_init__(self) -> None:
        if not 0 <= self.mode <= 0o7777:
            raise ValueError("no mode of a file")

    def finish(self, fd: int) -> None:
        """Give a file that has the content all the rest."""
        if (self.uid, self.gid) != (os.geteuid(), os.getegid()):
            os.fchown(fd, self.uid, self.gid)
        os.fchmod(fd, self.mode)
        for label, value in self.xattrs.items():
            os.setxattr(fd, label, value)


def digest(held: Optional[FileSnapshot]) -> str:
    """What tells two states of a file apart; "absent" where there is none."""
    if held is None:
        return "absent"
    kind = "link" if held.link else f"{held.mode:o} {held.uid} {held.gid}"
    return hashlib.sha256(kind.encode() + b"\0" + held.content).hexdigest()
