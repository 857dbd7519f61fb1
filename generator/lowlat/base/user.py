# SPDX-License-Identifier: GPL-2.0-or-later
"""The user for whom root acts: who called sudo (sudo(8), SUDO_UID)."""

import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class User:
    name: str
    uid: int
    gid: int
    home: str

    @property
    def environment(self) -> dict[str, str]:
        """What sudo changed in the environment, as this user has it."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}

    def become(self) -> None:
        """Give up root's rights for good. Raises OSError."""
        os.initgroups(self.name, self.gid)
        os.setgid(self.gid)
        os.setuid(self.uid)
        os.environ.update(self.environment)


def asking() -> Optional[User]:
    """The user who called sudo; None for anybody else's process, and for root's own."""
    uid = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not uid.isdecimal() or int(uid) == 0:
        return None
    with suppress(KeyError, OverflowError):
        known = pwd.getpwuid(int(uid))
        return User(known.pw_name, known.pw_uid, known.pw_gid, known.pw_dir)
    return None
