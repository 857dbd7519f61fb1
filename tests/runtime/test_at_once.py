# SPDX-License-Identifier: GPL-2.0-or-later
"""Two programs act on the running kernel at the same time: the result equals one of the two serial
orders."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from lowlat.host import runstate
from lowlat.host.root import Root
from trees import lowlat, machine, write_tree

pytestmark = pytest.mark.security

#: The number of tries of each pair; `make test-pairs-full` raises it.
TIMES = int(os.environ.get("LOWLAT_PAIRS", "3"))

_IRQS = 60
MASK = "sys/devices/virtual/workqueue/cpumask"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A tree with many interrupts, whose plan is applied."""
    irqs = {f"proc/irq/{number}/smp_affinity": "f\n" for number in range(24, 24 + _IRQS)}
    tree = write_tree(tmp_path / "host", {**machine(), **irqs, MASK: "f\n"})
    plan = lowlat("plan", "--root", tree, "--json").out
    return write_tree(tree, {"var/lib/lowlat/plan.json": plan})


def moved(host: Path) -> int:
    """The number of interrupts that are not in their original place."""
    return sum(path.read_text().strip() != "f" for path in host.glob("proc/irq/*/smp_affinity"))


def at_once(host: Path, offset: float, *pair: Sequence[str]) -> list[int]:
    """Run both, the second one a little later; returns their statuses."""
    started = []
    for words in pair:
        argv = [sys.executable, "-m", "lowlat", *words, "--root", str(host)]
        started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(offset)
    return [child.wait(timeout=300) for child in started]


START, STOP = ("runtime", "start"), ("runtime", "stop")
RESTORE = ("watch", "--restore", "--once")


@pytest.mark.parametrize("pair", [(STOP, RESTORE), (RESTORE, STOP), (START, STOP), (START, START)])
def test_pairs_end_as_if_one_followed_the_other(
    host: Path, pair: tuple[Sequence[str], Sequence[str]]
) -> None:
    dice = random.Random(7)
    for number in range(TIMES):
        lowlat(*START, "--root", host)
        assert moved(host) == _IRQS
        (host / MASK).write_text("f\n")
        (host / "proc/irq/30/smp_affinity").write_text("f\n")
        statuses = at_once(host, dice.uniform(0, 0.4), *pair)
        where = f"{pair}, number {number}: {statuses}"
        # A tree lacks some files of the plan: start reports this with status 1.
        assert set(statuses) <= {0, 1}, where
        if RESTORE in pair:
            assert moved(host) == 0, where  # in either order
        else:
            assert moved(host) in ((_IRQS,) if STOP not in pair else (0, _IRQS)), where
        # Every old value is still known.
        assert lowlat(*STOP, "--root", host).status == 0, where
        assert moved(host) == 0 and (host / MASK).read_text().strip() == "f", where
        assert {path.name for path in (host / "run/lowlat").iterdir()} <= {"lock"}, where


def test_a_look_that_restores_waits_for_stop(host: Path) -> None:
    lowlat(*START, "--root", host)
    argv = [sys.executable, "-m", "lowlat", *RESTORE, "--root", str(host)]
    (host / MASK).write_text("f\n")
    with runstate.alone(Root(str(host))):
        looking = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)
        assert looking.poll() is None and (host / MASK).read_text() == "f\n"
    out, _ = looking.communicate(timeout=60)
    assert "back in effect" in out


def test_no_two_writers_share_a_name(tmp_path: Path) -> None:
    """The half-done work of a process with another number has no owner any more."""
    root = Root(str(tmp_path))
    runstate.keep(root, "/run/lowlat/runtime.json", "one\n")
    left = tmp_path / f"run/lowlat/runtime.json.{os.getpid()}.new"
    left.write_text("half")
    runstate.keep(root, "/run/lowlat/runtime.json", "two\n")
    assert (tmp_path / "run/lowlat/runtime.json").read_text() == "two\n"
    assert not left.exists()
