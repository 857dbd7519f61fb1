# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` and its rollback are killed before each of their writes in a whole guest, with
systemd and irqbalance: a rollback puts every value back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_now_guest import moved_by_nobody

from support.guest import image, installed, results

pytestmark = [pytest.mark.vm, pytest.mark.proof]

#: In CPU seconds.
_LIMIT_S = 2400.0

#: The emulator spoils long boots more often: each boot tries every so many writes.
_BOOTS = 4


def kill(folder: Path, first: int) -> Any:
    """What one boot found."""
    disk = image.image_or_skip()
    packages = image.packages_or_skip(disk, *image.IRQBALANCE)
    installed.lay_out(folder, "now.py", "now_cuts.py", packages=packages)
    command = f"exec /usr/bin/python3 now_cuts.py . {first} {_BOOTS}\n"
    (folder / "task").write_text(f"{installed.UNPACK}{command}")
    image.boot(disk, folder, limit=_LIMIT_S)
    return json.loads((folder / "cuts.json").read_text())


@pytest.mark.parametrize("first", range(1, _BOOTS + 1))
def test_a_kill_before_any_write_is_put_right(first: int, tmp_path: Path) -> None:
    found = kill(tmp_path, first)
    for verb in ("apply", "rollback"):
        *killed, whole = found[verb]["rows"]
        assert whole["status"] == 0, whole
        writes = range(first, len(found[verb]["writes"]) + 1, _BOOTS)
        assert [row["number"] for row in killed] == [*writes] != []
        for row in (*killed, whole):
            assert row["back"] == 0, row
            assert moved_by_nobody(row["left"]) == {}, row
        told = f"killed before {len(killed)} of {len(found[verb]['writes'])} writes, all put right"
        results.add(found["kernel"], f"{verb} --now, part {first}", "all planned", told)
