# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` and its rollback are killed before their writes in a whole guest, with systemd
and irqbalance: a rollback puts every value back. On trees every write is tried."""

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


def kill(verb: str, every: int, folder: Path) -> Any:
    """What one boot found."""
    disk = image.image_or_skip()
    packages = image.packages_or_skip(disk, *image.IRQBALANCE)
    installed.lay_out(folder, "now.py", "now_cuts.py", packages=packages)
    command = f"exec /usr/bin/python3 now_cuts.py . {verb} {every}\n"
    (folder / "task").write_text(f"{installed.UNPACK}{command}")
    image.boot(disk, folder, limit=_LIMIT_S)
    return json.loads((folder / "cuts.json").read_text())


# Each kill takes some 20 seconds there.
@pytest.mark.parametrize(("verb", "every"), [("apply", 8), ("rollback", 3)])
def test_a_kill_before_any_write_is_put_right(verb: str, every: int, tmp_path: Path) -> None:
    found = kill(verb, every, tmp_path)
    *killed, whole = found["rows"]
    assert whole["status"] == 0, whole
    assert len(killed) > 5
    for row in (*killed, whole):
        assert row["back"] == 0, row
        assert moved_by_nobody(row["left"]) == {}, row
    told = f"killed before {len(killed)} of {len(found['writes'])} writes, every value put back"
    results.add(found["kernel"], f"{verb} --now, killed", "all planned", told)
