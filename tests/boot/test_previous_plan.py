# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --previous``: back to the plan that another one replaced, with its entries, its trial and
its default."""

from __future__ import annotations

import pytest

from support.hosttree import NEEDS, Host, apply_and_try, refusal

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

OTHER = ("--isolate-cores", "1")


@pytest.fixture
def promoted(host: Host) -> Host:
    """A host whose default is the tuned entry."""
    apply_and_try(host)
    host.done("promote")
    return host


@pytest.mark.parametrize("armed", [False, True], ids=["applied", "armed"])
def test_the_boot_is_as_it_was_before_the_other_plan(promoted: Host, armed: bool) -> None:
    before, state = promoted.snapshot(["boot"]), promoted.status()
    promoted.done("apply", *OTHER)
    assert not promoted.status()["default"]["ours"]
    if armed:
        promoted.done("trial")
    said = promoted.done_as_foreseen("apply", "--previous")
    assert "is replaced by" in said
    assert promoted.status()["kernels"][0]["tried"]
    promoted.done("promote")
    assert promoted.snapshot(["boot"]) == before
    after = promoted.status()
    assert {**after, "notes": []} == {**state, "notes": []}


def test_it_goes_there_and_back(promoted: Host) -> None:
    first = promoted.status()["decision"]
    promoted.done("apply", *OTHER)
    second = promoted.status()["decision"]
    for expected in (first, second, first):
        promoted.done("apply", "--previous")
        assert promoted.status()["decision"] == expected


def test_nothing_stays_after_a_rollback(promoted: Host) -> None:
    promoted.done("apply", *OTHER)
    promoted.done("rollback")
    assert not (promoted.path / "var/lib/lowlat").exists()


def test_without_a_plan_that_was_replaced_it_is_refused(host: Host) -> None:
    assert "no plan was replaced here" in refusal(host, "apply", "--previous")
    host.done("apply")
    host.done("apply")
    assert "no plan was replaced here" in refusal(host, "apply", "--previous")
    assert "leave the other options" in refusal(host, "apply", "--previous", *OTHER)
