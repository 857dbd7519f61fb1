# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that measures itself across its reboots, for the tests of ``tune``. (PYTEST_DONT_REWRITE)

The tests play firmware and systemd: they boot what GRUB would boot next, by changing the tree's
/proc, and run the unit in the tree. Recorded runs with changed figures stand in for the harness,
and a script that logs its arguments for systemctl.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli import Answer
from support.hosttree import STOCK, Host, Namespace, make
from support.machines import CPU
from support.powercut import build

UNIT = "etc/systemd/system/lowlat-tune.service"
WANTED = "etc/systemd/system/multi-user.target.wants/lowlat-tune.service"
RECORDED = Path(__file__).parents[1] / "data/runs/harness.json"
HARNESS = Path(sys.executable).with_name("lowlat-measure")

#: Prints the run recorded for this kind of boot, and runs the commands of a file beside that run.
_HARNESS = """#!/bin/sh
arm=stock
grep -q lowlat.plan= "$TREE/proc/cmdline" && arm=tuned
grep -qs isolated "$TREE/sys/fs/cgroup/lowlat.slice/cpuset.cpus.partition" && arm=now
policy=other
for word; do case $word in --policy=*) policy=${word#--policy=} ;; esac; done
boot=$(cat "$TREE/proc/sys/kernel/random/boot_id")
number=$(cat "$TREE/recorded/argv" 2>/dev/null | wc -l)
started=$(date -u -d "2100-01-01 +$number hours" +%FT%TZ)
sed "s/BOOT/$boot/; s/POLICY/$policy/; s/STARTED/$started/; s/123456789.5/123456$number/
    s|LINE|$(cat "$TREE/proc/cmdline")|" "$TREE/recorded/$arm.json"
echo "$@" >>"$TREE/recorded/argv"
[ ! -e "$TREE/recorded/$arm.sh" ] || . "$TREE/recorded/$arm.sh"
"""

#: The tree's systemctl: logs its arguments.
_SYSTEMCTL = '#!/bin/sh\necho "$*" >>/asked\n'


class Bed(Namespace):
    """A namespace with stand-ins for the harness and systemctl, where the power can be cut."""

    preloaded = ("lowlat.verbs.tune", "lowlat.claim.comparison", "scipy.stats")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "usr")
        self.harness = folder / "bin" / "lowlat-measure"
        self.harness.parent.mkdir()
        self.harness.write_text(_HARNESS)
        self.harness.chmod(0o755)

    def prepare(self) -> None:
        if HARNESS.exists():
            self.must("mount", "--bind", self.harness, HARNESS.resolve())
        path, write = self._folder / "usr/local/sbin/systemctl", 'cat >"$1" && chmod 755 "$1"'
        assert self.program("sh", "-c", write, "sh", path, stdin=_SYSTEMCTL).status == 0


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("bed")
    started = Bed(folder)
    started.start({"LD_PRELOAD": str(build(folder))})
    started.prepare()
    yield started
    started.stop()


class LoopMachine:
    """A host that boots: GRUB, systemd's units and the power button."""

    def __init__(self, host: Host, harness: Path) -> None:
        self.host = host
        self._harness = harness
        self._boots = 0
        self.record("stock", 100.0)
        self.record("tuned", 1.0, noise=100.0)

    def record(
        self, arm: str, entries: float, noise: float = 1000.0, wakeup: object = None, **changes: Any
    ) -> None:
        """Set the harness's result in such a boot: a recorded run with these figures."""
        document = {
            **json.loads(RECORDED.read_text()),
            "boot_id": "BOOT",
            "started": "STARTED",
            "cmdline": "LINE",
            "policy": "POLICY",
            "host": {"name": "node"},
            **changes,
        }
        first = document["cpus"][0]
        rows = {"LOC": entries, "total": entries}
        figures = {"noise_ppm": noise, "interrupts_per_s": rows, "wakeup": wakeup}
        figures["noise_ns"] = 123456789.5  # stands for another one in every run
        document["cpus"] = [{**first, **figures, "cpu": cpu} for cpu in (1, 2, 3)]
        self.host.write(f"recorded/{arm}.json", json.dumps(document))

    def tune(self, *words: object, **env: str) -> Answer:
        path = f"{self._harness.parent}:{os.environ['PATH']}"
        return self.host.lowlat("tune", *words, TREE=str(self.host.path), PATH=path, **env)

    def begin(self, *words: object) -> Answer:
        answer = self.tune(*words)
        assert (answer.status, answer.err) == (0, ""), answer
        return answer

    def state(self) -> Any:
        return json.loads(self.tune("--status", "--json").out)

    def reboots(self) -> int:
        """The number of reboots that the loop requested."""
        path = self.host.path / "asked"
        return path.read_text().splitlines().count("reboot") if path.exists() else 0

    def power_on(
        self, entry: str = "", *, reaches: bool = True, units: bool = True
    ) -> list[Answer]:
        """Boot the entry that GRUB boots next; returns the answers of lowlat's unit if enabled.
        Without ``reaches`` the boot fails before the unit and reboots, as panic=30 does."""
        status = self.host.status()
        entry = entry or (status["next"] or status["default"])["entry"]
        self._boots += 1
        self.host.boot(entry, f"boot-{self._boots}")
        if not reaches:
            return self.power_on()
        tuned = entry.startswith("lowlat-")
        isolated = "1-3\n" if tuned else "\n"
        self.host.write(f"{CPU}/isolated", isolated)
        self.host.write(f"{CPU}/nohz_full", isolated)
        self.host.done("boot", "start")
        if entry.endswith("-trial"):
            self.host.done("boot", "record")
        if tuned:
            self.tuned()
        return self.systemd() if units and (self.host.path / WANTED).is_symlink() else []

    def tuned(self) -> None:
        """Apply lowlat-local as TuneD does; here the kernel's files are plain files."""
        plan = json.loads(self.host.read("var/lib/lowlat/plan.json"))
        for item in plan["runtime"]:
            if item["target"].startswith("/") and "*" not in item["target"]:
                value = item["value"]
                shown = f"[{value}]" if "hugepage" in item["target"] else value
                self.host.write(item["target"].lstrip("/"), f"{shown}\n")

    def systemd(self) -> list[Answer]:
        """Run the unit in /etc as systemd does; returns the answers of its two commands."""
        assert (self.host.path / WANTED).readlink() == Path("/") / UNIT
        rows = dict(row.split("=", 1) for row in self.host.read(UNIT).splitlines() if "=" in row)
        first = self.tune(*shlex.split(rows["ExecStart"])[2:])
        result = {0: "success", -9: "signal"}.get(first.status, "exit-code")
        last = self.tune(*shlex.split(rows["ExecStopPost"])[2:], SERVICE_RESULT=result)
        return [first, last]


@pytest.fixture
def machine(tmp_path: Path, bed: Bed) -> LoopMachine:
    return LoopMachine(make(tmp_path / "host", bed), bed.harness)


def at_rest(machine: LoopMachine) -> None:
    """Only the loop's record is left: no unit, no one-shot entry, no pending trial."""
    assert not (machine.host.path / UNIT).exists() and not (machine.host.path / WANTED).is_symlink()
    status = machine.host.status()
    assert status["next"] is None
    assert machine.state()["phase"] == "done"
    trials = machine.host.path / "var/lib/lowlat/trials.json"
    assert not trials.exists() or json.loads(trials.read_text())["pending"] is None


def stock_is_default(machine: LoopMachine) -> None:
    assert machine.host.status()["default"]["entry"] == STOCK
