# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` and its rollback are killed before each of their writes in a whole guest, with
systemd and irqbalance: a rollback puts every value back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_now_guest import moved_by_nobody

from support.guest import image, installed, results

pytestmark = [pytest.mark.vm, pytest.mark.proof]

#: In CPU seconds.
_LIMIT_S = 7200.0


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one boot found."""
    disk = image.image_or_skip()
    packages = image.packages_or_skip(disk, *image.IRQBALANCE)
    folder = tmp_path_factory.mktemp("cuts")
    installed.lay_out(folder, "now.py", "now_cuts.py", packages=packages)
    (folder / "task").write_text(f"{installed.UNPACK}exec /usr/bin/python3 now_cuts.py .\n")
    image.boot(disk, folder, limit=_LIMIT_S)
    return json.loads((folder / "cuts.json").read_text())


@pytest.mark.parametrize("verb", ["apply", "rollback"])
def test_a_kill_before_any_write_is_put_right(found: Any, verb: str) -> None:
    *killed, whole = found[verb]["rows"]
    assert whole["status"] == 0, whole
    assert {row["status"] for row in killed} == {-9}
    assert len(killed) == len(found[verb]["writes"]) > 10
    for row in (*killed, whole):
        assert row["back"] == 0, row
        assert moved_by_nobody(row["left"]) == {}, row
    told = f"killed before each of {len(killed)} writes; every value was put back"
    results.add(found["kernel"], f"{verb} --now", "all planned", told)
