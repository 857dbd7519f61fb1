# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs that are online and in no plan, and CPUs of the plan that are not: verify, watch and status
say so, with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from booted import planned

from lowlat.host.root import Root
from lowlat.verify.watch import Watch
from support.cli import lowlat
from support.machines import CPU, write_tree

ONLINE = f"{CPU}/online"


def test_a_cpu_of_the_system_may_stay_off(tmp_path: Path) -> None:
    """Firmware may keep it off at every boot: verify would fail for good."""
    root = planned(tmp_path)
    write_tree(root, {ONLINE: "1-3\n"})
    rows = lowlat("verify", "--root", root, "--json").json()["settings"]
    assert [row for row in rows if row["name"] == "cpus"] == []


@pytest.mark.parametrize(
    ("online", "said"),
    [
        (
            "0-5",
            "CPU 4-5 is online and the plan does not reckon with it: it takes tasks of the system "
            "and may share cores with isolated CPUs; 'chcpu -d 4-5' switches it off; or "
            "'lowlat-gen apply' plans anew",
        ),
        (
            "0-2",
            "isolated CPU 3 is offline; 'chcpu -e 3' switches it on; or 'lowlat-gen apply' plans "
            "anew",
        ),
    ],
)
def test_other_cpus_than_planned_are_told(tmp_path: Path, online: str, said: str) -> None:
    root = planned(tmp_path)
    assert lowlat("runtime", "start", "--root", root).status == 0
    watch = Watch(Root(str(root)))
    list(watch.look())
    write_tree(root, {ONLINE: f"{online}\n"})
    rows = lowlat("verify", "--root", root, "--json").json()["settings"]
    (row,) = [row for row in rows if row["name"] == "cpus"]
    assert (row["planned"], row["effective"], row["state"]) == ("0-3", online, "not-applied")
    assert row["evidence"] == said
    assert f"cpus: not-applied: {said}" in [news.text for news in watch.look()]
    assert watch.bad
    write_tree(root, {ONLINE: "0-3\n"})
    assert "cpus: back in effect: CPU 0-3 is online" in [news.text for news in watch.look()]
    assert not watch.bad
