# SPDX-License-Identifier: GPL-2.0-or-later
"""``watch``: the changes that it reports, and the values that it restores."""

from __future__ import annotations

import configparser
import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from booted import SWAYED, planned, tuned

from lowlat.host.root import Root
from lowlat.verify.watch import Watch
from support import waits
from support.cli import GEN, Answer, lowlat
from support.files import put
from support.machines import write_tree
from support.waits import GUARD_S

IRQ, MASK = "proc/irq/24/smp_affinity", "sys/devices/virtual/workqueue/cpumask"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A machine whose run-time half was started by ``runtime start`` and nothing else."""
    root = planned(tmp_path)
    (root / IRQ).write_text("f\n")
    assert lowlat("runtime", "start", "--root", root).status == 0
    return root


def told_by(watch: Watch) -> list[str]:
    return [news.text for news in watch.look()]


def test_only_what_changes_is_told(host: Path) -> None:
    watch = Watch(Root(str(host)))
    assert told_by(watch) == []
    write_tree(host, {IRQ: "f\n", "proc/7/comm": "irqbalance\n"})
    assert told_by(watch) == [
        "irq.smp_affinity: undone by irqbalance: /proc/irq/24/smp_affinity is f"
    ]
    assert watch.bad
    assert told_by(watch) == []
    (host / IRQ).write_text("1\n")
    assert told_by(watch) == ["irq.smp_affinity: back in effect: /proc/irq/24/smp_affinity is 1"]
    assert not watch.bad


def test_it_puts_back_only_when_asked_to(host: Path) -> None:
    (host / MASK).write_text("f\n")
    told = "workqueue.cpumask: undone: /sys/devices/virtual/workqueue/cpumask is f"
    assert told_by(Watch(Root(str(host)))) == [told]
    assert (host / MASK).read_text() == "f\n"
    assert told_by(Watch(Root(str(host)), restore=True)) == [
        told,
        "workqueue.cpumask: back in effect: /sys/devices/virtual/workqueue/cpumask is 1",
    ]
    assert (host / MASK).read_text().strip() == "1"


def test_what_is_put_back_is_still_undone_by_stop(host: Path) -> None:
    (host / IRQ).write_text("c\n")
    told_by(Watch(Root(str(host)), restore=True))
    assert (host / IRQ).read_text().strip() == "1"
    assert lowlat("runtime", "stop", "--root", host).status == 0
    assert (host / IRQ).read_text().strip() == "f"


def test_what_an_administrator_overrides_is_told_and_left(host: Path) -> None:
    file = host / "proc/sys/vm/compaction_proactiveness"
    file.write_text("20\n")
    tuned(host, "mine", mine=f"[main]\ninclude = lowlat\n{SWAYED}")
    watch = Watch(Root(str(host)), restore=True)
    (line,) = told_by(watch)
    assert line.startswith("vm.compaction_proactiveness: overridden by TuneD profile mine: ")
    assert not watch.bad
    assert file.read_text() == "20\n"


def test_what_was_taken_back_in_order_is_not_fought(host: Path) -> None:
    watch = Watch(Root(str(host)), restore=True)
    assert told_by(watch) == []
    assert lowlat("runtime", "stop", "--root", host).status == 0
    assert told_by(watch) == [
        "no run-time settings are in use: 'lowlat-gen runtime start' sets them"
    ]
    assert told_by(watch) == []
    assert (host / IRQ).read_text().strip() == "f"


def test_a_journal_that_cannot_be_written_is_told_once(host: Path) -> None:
    (host / MASK).write_text("f\n")
    (host / f"run/lowlat/runtime.json.{os.getpid()}.new").mkdir()
    watch = Watch(Root(str(host)), restore=True)
    _, problem = told_by(watch)
    assert problem.startswith("nothing was put back: /run/lowlat/runtime.json: ")
    assert told_by(watch) == []
    assert (host / MASK).read_text() == "f\n"


def test_once_ends_with_a_status(host: Path) -> None:
    assert lowlat("watch", "--once", "--root", host) == Answer(0, "", "")
    (host / MASK).write_text("f\n")
    answer = lowlat("watch", "--once", "--root", host)
    assert (answer.status, answer.out.count("\n")) == (1, 1)


def test_a_line_of_json_is_the_row_of_verify(host: Path) -> None:
    (host / MASK).write_text("f\n")
    write_tree(host, {"proc/sys/kernel/watchdog_cpumask": "0-3\n"})
    answer = lowlat("watch", "--once", "--root", host, "--json")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert {line.pop("schema") for line in lines} == {"lowlat.watch/1"}
    settings = lowlat("verify", "--root", host, "--json").json()["settings"]
    assert [row for row in settings if row["state"] == "undone"] == lines
    assert [line["name"] for line in lines] == ["workqueue.cpumask", "kernel.watchdog_cpumask"]
    assert lowlat("runtime", "stop", "--root", host).status == 0
    (line,) = lowlat("watch", "--once", "--root", host, "--json").out.splitlines()
    assert list(json.loads(line)) == ["schema", "problem"]


@pytest.fixture
def running(host: Path) -> Iterator[subprocess.Popen[bytes]]:
    argv = [*GEN, "watch", "--interval", "1s", "--root", str(host)]
    (host / MASK).write_text("f\n")
    # Without a buffer: a line that waits there is not seen by select().
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    assert line(child) == "checking the run-time settings every 1s; Ctrl-C ends\n"
    yield child
    child.kill()
    child.communicate()


def line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    assert select.select([child.stdout], [], [], 60)[0], "it says nothing"
    return child.stdout.readline().decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_goes_on_until_it_is_told_to_end(
    running: subprocess.Popen[bytes], host: Path, number: signal.Signals
) -> None:
    assert line(running).startswith("workqueue.cpumask: undone: ")
    put(host / MASK, "1\n")
    assert line(running).startswith("workqueue.cpumask: back in effect: ")
    running.send_signal(number)
    out, err = running.communicate(timeout=GUARD_S)
    assert (running.returncode, out, err) == (0, b"", b"")


def test_being_stopped_does_not_end_it(running: subprocess.Popen[bytes], host: Path) -> None:
    """Ctrl-Z and fg, with a longer pause than the interval between two looks."""
    line(running)
    running.send_signal(signal.SIGSTOP)
    waits.stopped(running.pid, 1.3)
    put(host / MASK, "1\n")
    running.send_signal(signal.SIGCONT)
    assert line(running).startswith("workqueue.cpumask: back in effect: ")


def test_a_plan_may_be_named(host: Path, tmp_path: Path) -> None:
    plan = tmp_path / "other.json"
    plan.write_text((host / "var/lib/lowlat/plan.json").read_text())
    (host / "run/lowlat/plan.json").unlink()
    assert lowlat("watch", "--once", "--root", host).status == 1
    assert lowlat("watch", "--once", "--root", host, "--plan", plan).status == 0


def test_the_service_changes_nothing_unless_edited() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read(Path(__file__).parents[2] / "templates/systemd/lowlat-watch.service")
    service = unit["Service"]
    assert service["ExecStart"] == "/usr/bin/lowlat-gen watch"
    assert service["Type"] == "exec"
    assert service["ProtectSystem"] == "strict"
    assert service["ProtectKernelTunables"] == "yes"
