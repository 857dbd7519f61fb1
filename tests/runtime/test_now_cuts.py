# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` is killed in each call that writes, and so is its rollback: a rollback restores
every file whatever was done, and an ``apply --now`` before it sets every one. LOWLAT_CUTS=1 tries
every call."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import needs, now_tree
from support.hosttree import Host
from support.now_tree import IrqbalanceStandIn
from support.powercut import NEEDS_CC, Cutting, calls, sampled

pytest_plugins = ["support.powercut"]
pytestmark = [NEEDS_CC, needs.root("mounts in a namespace of its own"), pytest.mark.security]

#: Of each verb.
_MOST = 4


_WORDS = {"apply": ("apply", "--now"), "rollback": ("rollback",)}


@contextlib.contextmanager
def irqbalance(tree: Path, banned: str = "00000000") -> Iterator[None]:
    daemon = IrqbalanceStandIn(tree, banned=banned)
    daemon.start()
    yield
    daemon.end()


def content(tree: Path) -> dict[str, object]:
    """Of each file, but those that were about to be renamed; of lowlat's own, what they mean."""
    files = now_tree.content(tree).items()
    return {
        name: json.loads(text) if name.endswith(".json") else text
        for name, text in files
        if not name.endswith(".new")
    }


@pytest.mark.parametrize("action", ["apply", "rollback"])
def test_a_kill_in_any_call_is_put_right_by_either_verb(
    tmp_path: Path, cutting: Cutting, tell: Callable[[str], None], action: str
) -> None:
    tree, kept = now_tree.write(tmp_path / "host"), tmp_path / "kept"
    for name in ("tmp", "run/systemd/system"):
        (tree / name).mkdir(parents=True)
    host, words = Host(tree, cutting), _WORDS[action]
    with irqbalance(tree):
        pristine = content(tree)
        host.done("apply", "--now")
        isolated = content(tree)
        if action == "apply":
            host.done("rollback")
        shutil.copytree(tree, kept, ignore=shutil.ignore_patterns("*.sock"))
        assert cutting.run(host, -1, *words).status == 0
    count = calls(host)
    tried = sampled(range(1, count + 1), _MOST)
    for at, again in itertools.product(tried, (False, True)):
        shutil.rmtree(tree)
        shutil.copytree(kept, tree)
        with irqbalance(tree, "0000000e" if action == "rollback" else "00000000"):
            answer = cutting.run(host, at, *words)
            assert answer.status == -9, (at, answer)
            shutil.rmtree(tree / "tmp")
            if again:
                host.done("apply", "--now")
                assert content(tree) == isolated, at
            host.done("rollback")
        (tree / "tmp").mkdir()
        assert content(tree) == pristine, at
    tell(f"{action} --now: killed in {len(tried)} of {count} calls, {len(tried)} survived")
