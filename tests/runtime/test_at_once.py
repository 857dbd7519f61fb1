# SPDX-License-Identifier: GPL-2.0-or-later
"""Two programs act on the running kernel at the same time: the result equals one of the two serial
orders."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Callable

import pytest

from lowlat.host import runstate
from lowlat.host.root import Root
from support import procs, waits
from support.cli import GEN, lowlat
from support.machines import machine, write_tree

pytestmark = pytest.mark.security

#: The number of tries of each pair with dice; `make proofs NAME=pairs` raises it.
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


Begin = Callable[[Sequence[str]], "subprocess.Popen[str]"]


@pytest.fixture
def begin(host: Path) -> Iterator[Begin]:
    """Starts a verb that runs beside the test."""
    begun = []

    def start(words: Sequence[str]) -> subprocess.Popen[str]:
        argv = [*GEN, *words, "--root", str(host)]
        begun.append(
            subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        )
        return begun[-1]

    yield start
    for child in begun:
        child.kill()
        child.communicate()


def end(child: subprocess.Popen[str]) -> int:
    child.communicate(timeout=waits.GUARD_S)
    return child.returncode


START, STOP = ("runtime", "start"), ("runtime", "stop")
RESTORE = ("watch", "--restore", "--once")

Pair = tuple[Sequence[str], Sequence[str]]
PAIRS: list[Pair] = [(STOP, RESTORE), (RESTORE, STOP), (START, STOP), (START, START)]


def started(host: Path) -> None:
    """Start, then let another program change an interrupt's CPUs and a mask."""
    lowlat(*START, "--root", host)
    assert moved(host) == _IRQS
    (host / MASK).write_text("f\n")
    (host / "proc/irq/30/smp_affinity").write_text("f\n")


def check(host: Path, pair: Pair, statuses: Sequence[int], moves: set[int], where: object) -> None:
    # A tree lacks some files of the plan: start reports this with status 1.
    assert set(statuses) <= {0, 1}, where
    assert moved(host) in moves, where
    # Every old value is still known.
    assert lowlat(*STOP, "--root", host).status == 0, where
    assert moved(host) == 0 and (host / MASK).read_text().strip() == "f", where
    assert {path.name for path in (host / "run/lowlat").iterdir()} <= {"lock"}, where


@pytest.mark.parametrize("pair", PAIRS)
def test_the_second_of_a_pair_acts_on_what_the_first_left(
    host: Path, begin: Begin, pair: Pair
) -> None:
    """Both began before either acts: what one of them read before the lock is outdated."""
    started(host)
    before = contents(host)
    with runstate.exclusive_lock(Root(str(host))):
        first, second = begin(pair[0]), begin(pair[1])
        for child in (first, second):
            waits.at(child.pid, host / "run/lowlat/lock")
        assert contents(host) == before
        second.send_signal(signal.SIGSTOP)
        waits.until(lambda: procs.state(second.pid) == "T", "it does not stop")
    statuses = [end(first)]
    assert moved(host) == (0 if pair[0] == STOP else _IRQS)
    second.send_signal(signal.SIGCONT)
    statuses.append(end(second))
    check(host, pair, statuses, {0 if STOP in pair else _IRQS}, statuses)


def contents(host: Path) -> dict[Path, str]:
    return {path: path.read_text() for path in host.rglob("*") if path.is_file()}


@pytest.mark.proof
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_end_as_if_one_followed_the_other(host: Path, begin: Begin, pair: Pair) -> None:
    dice = random.Random(7)
    for number in range(TIMES):
        started(host)
        first = begin(pair[0])
        waits.pause(dice.uniform(0, 0.4))
        second = begin(pair[1])
        statuses = [end(first), end(second)]
        # With start, the order decides; what restores leaves what stop took back.
        moves = {_IRQS} if STOP not in pair else {0} if RESTORE in pair else {0, _IRQS}
        check(host, pair, statuses, moves, f"{pair}, number {number}: {statuses}")


def test_a_look_that_restores_waits_for_stop(host: Path, begin: Begin) -> None:
    lowlat(*START, "--root", host)
    (host / MASK).write_text("f\n")
    with runstate.exclusive_lock(Root(str(host))):
        looking = begin(RESTORE)
        waits.at(looking.pid, host / "run/lowlat/lock")
        assert looking.poll() is None and (host / MASK).read_text() == "f\n"
    out, _ = looking.communicate(timeout=waits.GUARD_S)
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
