# SPDX-License-Identifier: GPL-2.0-or-later
"""The default that was there before ours, for loaders that keep it outside of files: remembered
before it is changed, put back where nobody chose another one since."""

from __future__ import annotations

import json
from typing import Callable, Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import Held
from lowlat.boot.loaders import bls_entries as snippets
from lowlat.boot.loaders.interface import Boot, Entry
from lowlat.host.root import Root

_DEFAULT = f"{files.STATE}/default.json"


class Default:
    """``get`` and ``set`` read and change the loader's own setting; None is no setting."""

    def __init__(
        self, root: Root, get: Callable[[], Optional[str]], set: Callable[[Optional[str]], None]
    ) -> None:
        self._disk = Disk(root)
        self._get = get
        self._set = set

    def change(self, name: str) -> None:
        """Make this entry the default."""
        now, known = self._get(), self._kept()
        if now == name:
            return
        before, ours = (now, ()) if known is None else known
        # Until this is done, what we set before is there: that stays known as ours.
        document = {"before": before, "ours": [name, *(each for each in ours if each == now)]}
        self._disk.put(_DEFAULT, Held(json.dumps(document).encode(), 0o600))
        self._set(name)

    def choose(self, entry: Optional[Entry], follow: bool, describe: Callable[[], Boot]) -> Boot:
        """Make ``entry`` the default, with ``follow`` the newest tuned one; None puts the first one
        back. Raises Refused where the loader then boots another."""
        if entry is None:
            self.restore()
            return describe()
        wanted = next(describe().tuned(), entry) if follow else entry
        self.change(wanted.name)
        after = describe()
        if after.default != wanted:
            raise Refused(f"the loader did not take {wanted.name} for its default")
        return after

    def restore(self) -> None:
        """Put the first one back, unless somebody else chose another since; twice is once."""
        known = self._kept()
        if known is not None:
            now = self._get()
            if now in known[1] or snippets.is_ours(now or ""):
                self._set(known[0])
        self._disk.unstage(_DEFAULT)
        self._disk.remove(_DEFAULT)

    def _kept(self) -> Optional[tuple[Optional[str], tuple[str, ...]]]:
        held = self._disk.get_ours(_DEFAULT)
        if held is None:
            return None
        try:
            document = json.loads(held.content)
            before = document["before"]
            ours = tuple(str(each) for each in document["ours"])
            return None if before is None else str(before), ours
        except (ValueError, KeyError, TypeError) as error:
            hint = "set the default by hand, then remove it"
            raise Refused(f"{_DEFAULT} is damaged", hint=hint) from error
