# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured where a partition owns the CPUs, on a tree that ``apply --now`` isolates."""

from __future__ import annotations

from pathlib import Path

from lowlat.host.root import Root
from lowlat.runtime import partition
from support import now_tree
from support.cli import lowlat
from support.now_tree import GROUP


def test_the_harness_joins_the_partition(tmp_path: Path) -> None:
    """CPUs 2-3 without CPU 1, on which the harness itself runs."""
    tree = now_tree.write(tmp_path)
    root, group = Root(str(tree)), str(tree / GROUP)
    assert partition.joined(None, root) == (None, None)
    assert partition.joined("2", root) == ("2", None)
    assert lowlat("apply", "--now", "--root", tree).status == 0
    (tree / GROUP / "cpuset.cpus.effective").write_text("1-3\n")
    assert partition.joined(None, root) == ("2-3", group)
    assert partition.joined("1-3", root) == ("1-3", group)
    assert partition.joined("a CPU", root) == ("a CPU", None)
    (tree / "run/lowlat/plan.json").write_text("{")
    assert partition.joined(None, root) == (None, None)
    assert partition.joined("2", root) == ("2", group)
