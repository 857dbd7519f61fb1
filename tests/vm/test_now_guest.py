# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` in a whole guest under a mixed load, with systemd and irqbalance: who comes to
the isolated CPUs before, during and after, and that a rollback leaves every value as it was."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from support.guest import image, installed, results

pytestmark = pytest.mark.vm

#: In CPU seconds.
_LIMIT_S = 2400.0

_TASK = f"{installed.UNPACK}exec /usr/bin/python3 now.py .\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one boot found."""
    disk = image.image_or_skip()
    packages = image.packages_or_skip(disk, *image.IRQBALANCE)
    folder = tmp_path_factory.mktemp("now")
    installed.lay_out(folder, "now.py", packages=packages)
    (folder / "task").write_text(_TASK)
    image.boot(disk, folder, limit=_LIMIT_S)
    return json.loads((folder / "now.json").read_text())


def _rate(found: Any, when: str) -> float:
    """Interrupts a second but the tick's, which stays: of the busy CPU that has more of them."""
    rows: list[dict[str, float]] = [*found[when]["rows"].values()]
    return max(sum(rate for label, rate in row.items() if label != "LOC") for row in rows)


def moved_by_nobody(left: dict[str, Any]) -> dict[str, Any]:
    """The differences that irqbalance does not make: it moves interrupts all the time. That those
    were put back at once, the rollback itself has compared."""
    return {path: pair for path, pair in left.items() if not re.match(r"/proc/irq/\d", path)}


def test_the_running_system_is_isolated(found: Any) -> None:
    assert found["applied"][0] == 0, found["applied"]
    assert "isolated now, until the next boot" in found["applied"][1]
    assert "sleep (" in found["applied"][1] and "had asked for CPU 2" in found["applied"][1]
    assert json.loads(found["again"][1])["changed"] is False
    assert json.loads(found["status"][1])["now"]["isolated"] == "2-3"
    rows = json.loads(found["verified"][1])["settings"]
    states = {row["name"]: row["state"] for row in rows}
    assert states["cpuset.partition"] == states["irqbalance.banned_cpus"] == "effective"
    bad = [row for row in rows if row["state"] in ("ignored-by-kernel", "not-applied", "undone")]
    assert bad == [] and found["verified"][0] == 0


def test_nobody_comes_to_the_isolated_cpus(found: Any) -> None:
    assert found["stock"]["strays"], "the load comes everywhere in a stock system"
    assert found["now"]["strays"] == {}
    assert found["restarted"]["strays"] == {}
    for when in ("now", "restarted"):
        moved = [
            label
            for rows in found[when]["rows"].values()
            for label, rate in rows.items()
            if label.isdecimal() and rate > 1
        ]
        assert moved == [], found[when]
    assert _rate(found, "now") < _rate(found, "stock")
    rates = ", ".join(f"{when} {_rate(found, when):.1f}" for when in ("stock", "now", "after"))
    what = f"in {found['seconds']} s; interrupts a second but the tick on a busy CPU: {rates}"
    results.add(found["kernel"], "lowlat, apply --now", "all planned", what)


def test_irqbalance_leaves_these_cpus_alone_after_a_restart_too(found: Any) -> None:
    assert found["set"]["irqbalance"][1].lstrip("0,") == "c"
    assert found["banned after a restart"].lstrip("0,") == "c"


def test_a_rollback_leaves_every_value_as_it_was(found: Any) -> None:
    assert found["rolled back"][0] == 0, found["rolled back"]
    assert moved_by_nobody(found["left"]) == {}


def test_a_pool_balances_inside_its_set_and_never_leaves_it(found: Any) -> None:
    pool = found["pool"]
    assert (pool[""], pool[".partition"]) == ("2-3", "root")
    assert set(pool["seen"]) == {"2", "3"}


def test_a_kill_at_any_moment_is_put_right(found: Any) -> None:
    for one in found["killed"]:
        assert one["back"][0] == 0, one
        assert moved_by_nobody(one["left"]) == {}, one
    assert any(-9 in one["status"] for one in found["killed"])
