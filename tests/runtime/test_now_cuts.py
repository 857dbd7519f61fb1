# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` is killed in each call that writes, and so is its rollback: a rollback restores
every file whatever was done. LOWLAT_CUTS=1 tries every call."""

from __future__ import annotations

import contextlib
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
_MOST = 6


_WORDS = {"apply": ("apply", "--now"), "rollback": ("rollback",)}


@contextlib.contextmanager
def irqbalance(tree: Path, banned: str = "00000000") -> Iterator[None]:
    daemon = IrqbalanceStandIn(tree, banned=banned)
    daemon.start()
    yield
    daemon.end()


@pytest.mark.parametrize("action", ["apply", "rollback"])
def test_a_kill_in_any_call_is_put_right_by_a_rollback(
    tmp_path: Path, cutting: Cutting, tell: Callable[[str], None], action: str
) -> None:
    tree = now_tree.write(tmp_path / "host")
    for name in ("tmp", "run/systemd/system"):
        (tree / name).mkdir(parents=True)
    host, words = Host(tree, cutting), _WORDS[action]
    with irqbalance(tree):
        pristine = now_tree.content(tree)
        if action == "rollback":
            host.done("apply", "--now")
        shutil.copytree(tree, tmp_path / "kept", ignore=shutil.ignore_patterns("*.sock"))
        assert cutting.run(host, -1, *words).status == 0
    count = calls(host)
    tried = sampled(range(1, count + 1), _MOST)
    for at in tried:
        shutil.rmtree(tree)
        shutil.copytree(tmp_path / "kept", tree)
        with irqbalance(tree, "0000000e" if action == "rollback" else "00000000"):
            answer = cutting.run(host, at, *words)
            assert answer.status == -9, (at, answer)
            shutil.rmtree(tree / "tmp")
            host.done("rollback")
        (tree / "tmp").mkdir()
        left = {
            name: text
            for name, text in now_tree.content(tree).items()
            # A file that was about to be renamed.
            if not name.endswith(".new")
        }
        assert left == pristine, at
    tell(f"{action} --now: killed in {len(tried)} of {count} calls, {len(tried)} survived")
