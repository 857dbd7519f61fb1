# SPDX-License-Identifier: GPL-2.0-or-later
"""The user for whom root acts: who called sudo (sudo(8), SUDO_UID)."""

import os
import pwd
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused


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
    """The user who called sudo; None for anybody else's process, and for root's own. Raises Refused
    if nobody is known by that number."""
    uid = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not uid.isdecimal() or int(uid) == 0:
        return None
    try:
        known = pwd.getpwuid(int(uid))
    except (KeyError, OverflowError):
        hint = "'env -u SUDO_UID' before it runs the program as root"
        raise Refused(f"no user is known by SUDO_UID={uid[:20]}", hint=hint) from None
    return User(known.pw_name, known.pw_uid, known.pw_gid, known.pw_dir)
