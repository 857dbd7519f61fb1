# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop over a reboot, on a host tree with GRUB's own generator.

The tests are the firmware and systemd: they boot what GRUB would boot next, by changing the tree's
/proc, and call what the unit in the tree says. The harness is played by recorded runs with figures
of their own, systemctl by a script that writes down what it is asked.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from hosttree import NEEDS, OLDER, RELEASE, Host, Namespace, linux_lines, make
from powercut import ALL, NEEDS_CC, build

from trees import CPU, Answer

pytest_plugins = ["powercut"]
pytestmark = [*NEEDS, NEEDS_CC]

STOCK = "gnulinux-simple-0a1b-2c3d"
UNIT = "etc/systemd/system/lowlat-tune.service"
WANTED = "etc/systemd/system/multi-user.target.wants/lowlat-tune.service"
RECORDED = Path(__file__).parents[1] / "data/runs/harness.json"
HARNESS = Path(sys.executable).with_name("lowlat-measure")

#: Prints the run recorded for this kind of boot, and does what a file beside it says.
_HARNESS = """#!/bin/sh
arm=stock
grep -q lowlat.plan= "$TREE/proc/cmdline" && arm=tuned
sed "s/BOOT/$(cat "$TREE/proc/sys/kernel/random/boot_id")/" "$TREE/recorded/$arm.json"
[ ! -e "$TREE/recorded/$arm.sh" ] || . "$TREE/recorded/$arm.sh"
"""

#: systemctl of the tree: writes down what it is asked.
_SYSTEMCTL = '#!/bin/sh\necho "$*" >>/asked\n'

#: The power is cut in every call that writes, or in a sample of them.
STRIDE = 1 if ALL else 7


class Bed(Namespace):
    """A namespace in which the harness and systemctl are played, and the power can be cut."""

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


class Machine:
    """A host that boots: GRUB, systemd's units and the power button."""

    def __init__(self, host: Host, harness: Path) -> None:
        self.host = host
        self._harness = harness
        self._boots = 0
        self.record("stock", 100.0)
        self.record("tuned", 1.0, noise=100.0)

    def record(self, arm: str, entries: float, noise: float = 1000.0, **changes: Any) -> None:
        """What the harness says in such a boot: a recorded run with these figures."""
        document = {
            **json.loads(RECORDED.read_text()),
            "boot_id": "BOOT",
            "cmdline": arm,
            **changes,
        }
        first = document["cpus"][0]
        figures = {"noise_ppm": noise, "kernel_entries_per_s": {"LOC": entries, "total": entries}}
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
        """How often the loop asked for a reboot."""
        path = self.host.path / "asked"
        return path.read_text().splitlines().count("reboot") if path.exists() else 0

    def power_on(
        self, entry: str = "", *, reaches: bool = True, units: bool = True
    ) -> list[Answer]:
        """Boot what GRUB boots next; the answers of our unit, where it is enabled. A boot that
        does not reach it reboots, as panic=30 does."""
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
        """What TuneD does with lowlat-local; what the kernel shows is a plain file here."""
        plan = json.loads(self.host.read("var/lib/lowlat/plan.json"))
        for item in plan["runtime"]:
            if item["target"].startswith("/") and "*" not in item["target"]:
                value = item["value"]
                shown = f"[{value}]" if "hugepage" in item["target"] else value
                self.host.write(item["target"].lstrip("/"), f"{shown}\n")

    def systemd(self) -> list[Answer]:
        """Runs the unit as it stands in /etc."""
        assert (self.host.path / WANTED).readlink() == Path("/") / UNIT
        rows = dict(row.split("=", 1) for row in self.host.read(UNIT).splitlines() if "=" in row)
        first = self.tune(*shlex.split(rows["ExecStart"])[2:])
        result = {0: "success", -9: "signal"}.get(first.status, "exit-code")
        last = self.tune(*shlex.split(rows["ExecStopPost"])[2:], SERVICE_RESULT=result)
        return [first, last]


@pytest.fixture
def machine(tmp_path: Path, bed: Bed) -> Machine:
    return Machine(make(tmp_path / "host", bed), bed.harness)


def at_rest(machine: Machine) -> None:
    """Nothing of a loop is left but its record: no unit, no one shot, no pending trial."""
    assert not (machine.host.path / UNIT).exists() and not (machine.host.path / WANTED).is_symlink()
    status = machine.host.status()
    assert status["next"] is None
    assert machine.state()["phase"] == "done"
    trials = machine.host.path / "var/lib/lowlat/trials.json"
    assert not trials.exists() or json.loads(trials.read_text())["pending"] is None


def stock_is_default(machine: Machine) -> None:
    assert machine.host.status()["default"]["entry"] == STOCK


# ------------------------------------------------------------- one trial


def test_a_tuned_boot_that_keeps_its_word_is_promoted(machine: Machine) -> None:
    said = machine.begin().out
    assert "systemctl reboot" in said and machine.reboots() == 0
    assert "needs a power cycle" in said
    assert machine.state()["phase"] == "boot"
    stock_is_default(machine)
    first, last = machine.power_on()
    assert (first.status, last.status) == (0, 0), first
    assert "Noise on the measured CPUs fell from 1,000 ppm to 100.0 ppm" in first.out
    state = machine.state()
    assert (state["schema"], state["outcome"]) == ("lowlat.tune/1", "promoted")
    assert "all settings are in effect" in state["why"]
    assert "kernel entries per second 100.0 before, 1.00 after" in state["why"]
    assert machine.host.status()["default"]["entry"] == state["entry"]
    at_rest(machine)
    runs = [json.loads(machine.host.read(leg["run"].lstrip("/"))) for leg in state["legs"]]
    assert [run["boot_id"] for run in runs] == ["boot-0", "boot-1"]
    assert [run["host"]["tuned_profile"] for run in runs] == ["balanced", "lowlat-local"]
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    assert report["verdict"] == "descriptive-only" and report["boots"] == {"before": 1, "after": 1}
    assert machine.power_on() == [] and machine.reboots() == 0


def test_each_policy_is_measured_in_both_boots_and_has_its_report(machine: Machine) -> None:
    """The four set-ups of the osnoise paper with one command."""
    machine.begin("--policy", "other,fifo:1", "--reboot")
    machine.power_on()
    state = machine.state()
    assert (state["policy"], state["outcome"]) == ("other,fifo:1", "promoted")
    for leg in state["legs"]:
        names = [Path(path).name for path in (leg["run"], *leg["further"])]
        assert [name.partition(leg["arm"])[2] for name in names] == ["-other.json", "-fifo1.json"]
    for name in ("report", "report-fifo1"):
        path = f"var/lib/lowlat/runs/tune-{state['started']}-{name}.json"
        report = json.loads(machine.host.read(path))
        assert report["boots"] == {"before": 1, "after": 1}
    assert "-01-stock-fifo1.json" in machine.tune("--status").out
    at_rest(machine)


def test_a_policy_that_is_none_is_refused_before_anything_is_done(machine: Machine) -> None:
    answer = machine.tune("--policy", "other,rr:1")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "'rr:1' is no scheduling policy" in answer.err
    assert not (machine.host.path / "var/lib/lowlat/tune.json").exists()


def test_what_the_gate_does_not_pass_falls_back(machine: Machine) -> None:
    machine.record("tuned", 100.0, noise=1200.0)
    machine.begin("--reboot")
    assert machine.reboots() == 1
    first, _ = machine.power_on()
    assert first.status == 1 and first.err.count("\n") == 1
    why = machine.state()["why"]
    assert "not lower on CPU 1-3" in why and "1,200 ppm, more than 1.1 times" in why
    assert machine.state()["outcome"] == "fell-back"
    assert machine.reboots() == 2
    stock_is_default(machine)
    at_rest(machine)
    assert machine.power_on() == []


def test_what_verify_finds_missing_falls_back(machine: Machine) -> None:
    machine.begin()
    # The kernel takes it back before verify looks.
    machine.host.write("recorded/tuned.sh", f'echo 3 >"$TREE/{CPU}/nohz_full"')
    first, _ = machine.power_on()
    assert first.status == 1 and "verify finds not in effect: nohz_full" in first.err
    assert "nohz_full" in machine.state()["legs"][1]["bad"]
    stock_is_default(machine)
    at_rest(machine)


def test_a_trial_that_does_not_come_up_has_failed(machine: Machine) -> None:
    machine.begin("--reboot")
    first, _ = machine.power_on(reaches=False)
    assert first.status == 1 and "did not come up: this is a stock one" in first.err
    assert "did not reach its target" in first.err
    stock_is_default(machine)
    at_rest(machine)
    assert machine.reboots() == 1, "it is in a stock boot already"


def test_another_kernel_or_plan_than_the_one_due_is_told(machine: Machine) -> None:
    machine.begin()
    entry = next(
        item["entry"] for item in machine.host.status()["kernels"] if item["kernel"] == OLDER
    )
    first, _ = machine.power_on(entry)
    assert first.status == 1 and f"Linux {OLDER} was booted, not {RELEASE}" in first.err
    stock_is_default(machine)
    at_rest(machine)
    assert len(machine.state()["legs"]) == 1


def test_a_run_that_counts_for_nothing_falls_back(machine: Machine) -> None:
    machine.begin()
    machine.host.write("recorded/tuned.sh", "exit 143")
    first, _ = machine.power_on()
    assert first.status == 1 and "partial or invalid" in first.err
    stock_is_default(machine)
    at_rest(machine)


def test_a_first_run_that_fails_leaves_no_loop(machine: Machine) -> None:
    machine.host.write("recorded/stock.sh", "exit 1")
    answer = machine.tune()
    assert answer.status == 1 and "partial or invalid" in answer.err
    assert machine.state() == {"schema": "lowlat.tune/1", "phase": None}
    assert machine.host.status()["state"] == "none"


# -------------------------------------------------------------- many boots


def test_many_boots_alternate_by_themselves_and_leave_the_default(machine: Machine) -> None:
    machine.begin("--boots", 2, "--reboot")
    order = machine.state()["order"]
    assert sorted(order) == ["stock", "stock", "tuned", "tuned"]
    booted = []
    for _ in order:
        stock_is_default(machine)
        booted.append("tuned" if machine.host.status()["next"] else "stock")
        answers = machine.power_on()
        assert [answer.status for answer in answers] == [0, 0], answers
    assert booted == order
    state = machine.state()
    assert state["outcome"] == "compared"
    assert [leg["boot_id"] for leg in state["legs"]] == [f"boot-{n}" for n in (1, 2, 3, 4)]
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    assert report["boots"] == {"before": 2, "after": 2}
    stock_is_default(machine)
    at_rest(machine)
    # One for each boot, and one more where the last was tuned: the machine ends in a stock one.
    assert machine.reboots() == 4 + (order[-1] == "tuned")
    assert machine.power_on() == []


def test_many_boots_end_with_the_first_that_fails(machine: Machine) -> None:
    machine.begin("--boots", 2, "--reboot")
    answers: list[Answer] = []
    while machine.state()["phase"] != "done":
        answers = machine.power_on(reaches=not machine.host.status()["next"])
    assert answers[0].status == 1 and "did not come up" in answers[0].err
    assert not [leg for leg in machine.state()["legs"] if leg["arm"] == "tuned"]
    stock_is_default(machine)
    at_rest(machine)


def test_a_tuned_boot_where_the_stock_one_is_due_is_told(machine: Machine) -> None:
    machine.begin("--boots", 1, "--reboot")
    entry = machine.state()["entry"]
    if machine.state()["order"][0] == "tuned":
        machine.power_on()
    first, _ = machine.power_on(entry)
    assert first.status == 1 and "where the stock one was due" in first.err
    at_rest(machine)


# ------------------------------------------------------- refused, told, ended


def refusal(machine: Machine, *words: object) -> str:
    before = machine.host.snapshot()
    line = machine.tune(*words).refused()
    assert machine.host.snapshot() == before
    return line


def test_what_could_not_end_well_is_refused_before_it_begins(machine: Machine) -> None:
    host = machine.host
    assert "--reboot" in refusal(machine, "--boots", 2)
    assert "isolates no CPU" in refusal(machine, "--profile", "lowlat-desktop")
    assert "two kernels" in refusal(machine, "--kernel", OLDER)
    assert "not a time" in refusal(machine, "--duration", "10")
    assert "no loop is under way" in refusal(machine, "--resume")
    assert "no effect" in refusal(machine, "--status", "--profile", "lowlat-poll")
    host.write("etc/default/kexec", "LOAD_KEXEC=true\n")
    assert "kexec" in refusal(machine)
    host.write("etc/default/kexec", "")
    boot_id = host.read("proc/sys/kernel/random/boot_id")
    host.write("proc/sys/kernel/random/boot_id", "")
    assert "boot_id cannot be read" in refusal(machine)
    host.write("proc/sys/kernel/random/boot_id", boot_id)
    host.write("proc/sys/kernel/osrelease", f"{OLDER}\n")
    assert f"the default boots Linux {RELEASE}, not {OLDER}" in refusal(machine)


def test_a_promoted_or_tuned_boot_is_not_compared_with_itself(machine: Machine) -> None:
    machine.begin()
    machine.power_on()
    assert "nothing to compare with" in refusal(machine)
    machine.power_on(STOCK)
    assert "'lowlat-gen rollback' first" in refusal(machine)


def test_somebody_elses_pending_change_is_refused(machine: Machine) -> None:
    text = machine.host.read("etc/default/grub").replace('"quiet"', '"quiet splash"')
    machine.host.write("etc/default/grub", text)
    assert "--accept-pending" in refusal(machine)
    machine.begin("--accept-pending")
    tuned = linux_lines(machine.host.config)[machine.state()["entry"]]
    assert "splash" in tuned


def test_a_dry_run_changes_nothing(machine: Machine) -> None:
    before = machine.host.snapshot()
    said = machine.begin("--dry-run", "--boots", 3, "--reboot").out
    assert "3 stock and 3 tuned boots in random order" in said
    assert f"would add an entry for Linux {RELEASE}" in said
    assert machine.host.snapshot() == before
    machine.begin()
    before = machine.host.snapshot()
    assert "waits for the reboot" in machine.begin("--resume", "--dry-run").out
    assert "would end the loop" in machine.begin("--abort", "--dry-run").out
    assert machine.host.snapshot() == before


def test_there_is_one_loop_at_a_time(machine: Machine) -> None:
    machine.begin()
    assert "under way" in refusal(machine)
    assert "waits for a reboot (boot 2 of 2, tuned)" in machine.begin("--status").out
    machine.begin("--resume")
    assert machine.state()["phase"] == "boot"


def test_abort_ends_it_and_keeps_the_runs(machine: Machine) -> None:
    machine.begin()
    kept = machine.state()["legs"][0]["run"]
    assert "the default is as before" in machine.begin("--abort").out
    assert machine.state()["outcome"] == "aborted"
    assert (machine.host.path / kept.lstrip("/")).exists()
    stock_is_default(machine)
    at_rest(machine)
    assert "no loop is under way" in machine.begin("--abort").out
    assert machine.power_on() == []
    machine.begin()


def test_abort_takes_back_what_was_promoted_meanwhile(machine: Machine) -> None:
    machine.begin()
    machine.power_on(units=False)
    machine.host.done("promote")
    assert machine.host.status()["default"]["ours"]
    machine.begin("--abort")
    stock_is_default(machine)
    at_rest(machine)
    assert machine.host.status()["state"] == "tried"


def test_abort_while_a_boot_is_measured_wins(machine: Machine) -> None:
    machine.begin()
    python = f"{sys.executable} -m lowlat tune --abort --root $TREE"
    machine.host.write("recorded/tuned.sh", f"{python} >/dev/null || exit 1")
    first, last = machine.power_on()
    assert first.status == 1 and "another lowlat-gen ended the loop" in first.err
    assert last.status == 0
    assert machine.state()["outcome"] == "aborted"
    stock_is_default(machine)
    at_rest(machine)


def test_rollback_in_the_middle_leaves_nothing_to_go_on(machine: Machine) -> None:
    before = machine.host.config
    machine.begin()
    machine.host.done("rollback")
    assert machine.host.config == before
    assert machine.power_on() == []
    machine.begin("--abort")
    assert machine.state()["phase"] == "done"


def test_a_damaged_record_is_named(machine: Machine) -> None:
    machine.begin()
    path = "var/lib/lowlat/tune.json"
    good = machine.host.read(path)
    state = json.loads(good)
    outside = {**state["legs"][0], "run": "/etc/shadow"}
    for bad in (
        good[:-20],
        "[]",
        json.dumps({**state, "schema": "lowlat.tune/2"}),
        json.dumps({**state, "phase": "rest"}),
        json.dumps({**state, "isolated": "1-"}),
        json.dumps({**state, "started": "../../etc"}),
        json.dumps({**state, "legs": [outside]}),
        json.dumps({**state, "legs": state["legs"] * 2}),
        json.dumps({**state, "duration": "10"}),
        json.dumps({**state, "more": 1}),
    ):
        machine.host.write(path, bad)
        for word in ("--status", "--resume", "--abort"):
            assert "tune.json is damaged" in refusal(machine, word)


def test_nothing_is_written_through_a_link(machine: Machine) -> None:
    elsewhere = machine.host.path / "elsewhere"
    elsewhere.mkdir()
    state = machine.host.path / "var/lib/lowlat"
    state.mkdir()
    (state / "runs").symlink_to("/elsewhere")
    assert "link" in refusal(machine)
    assert list(elsewhere.iterdir()) == []


# -------------------------------------------------------------- power cuts


class Kept:
    """A machine, and the state of its disk to which it is put back before each cut."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self._folder = folder
        for name in _DISK:
            shutil.copytree(machine.host.path / name, folder / name, symlinks=True)

    def again(self) -> Machine:
        path = self.machine.host.path
        for name in _DISK:
            shutil.rmtree(path / name)
            shutil.copytree(self._folder / name, path / name, symlinks=True)
        return self.machine

    def cut(self, at: int) -> dict[str, str]:
        """The environment in which lowlat-gen dies in its call of that number."""
        (self._folder / "count").unlink(missing_ok=True)
        return {
            "LOWLAT_CUT_DEV": str(self.machine.host.path.stat().st_dev),
            "LOWLAT_CUT_COUNT": str(self._folder / "count"),
            "LOWLAT_CUT_AT": str(at),
        }

    def calls(self) -> int:
        return int.from_bytes((self._folder / "count").read_bytes(), "little")


_DISK = ("boot", "etc", "var", "proc", "sys")


def settle(machine: Machine) -> None:
    """What a person does after a power cut: boot, look, and take the loop on."""
    machine.power_on()
    for _ in range(4):
        phase = machine.state()["phase"]
        if phase == "done":
            break
        answer = machine.tune("--resume")
        assert answer.status in (0, 1), answer
        if machine.state()["phase"] == "boot":
            machine.power_on()
    state = machine.state()
    assert state["phase"] == "done", state
    at_rest(machine)
    default = machine.host.status()["default"]["entry"]
    assert default == (state["entry"] if state["outcome"] == "promoted" else STOCK)


def about_to_arm(machine: Machine) -> None:
    """The entries are written and the loop is on the disk, nothing more."""
    machine.begin()
    state = machine.state()
    machine.begin("--abort")
    machine.host.write("var/lib/lowlat/tune.json", json.dumps({**state, "phase": "arm"}))


@pytest.mark.parametrize("step", ["arm", "measure"])
def test_a_power_cut_is_survived(
    machine: Machine, tmp_path: Path, tell: Callable[[str], None], step: str
) -> None:
    """lowlat-gen dies in a call that writes, while it sets the tuned boot up, or in that boot. What
    is then on the disk boots, and the loop goes on to its end."""
    if step == "arm":
        about_to_arm(machine)
    else:
        machine.begin()
        machine.power_on(units=False)
    folder = tmp_path / "kept"
    folder.mkdir()
    kept = Kept(machine, folder)
    assert machine.tune("--resume", **kept.cut(-1)).status == 0
    calls = kept.calls()
    assert calls > 20
    tried = range(1, calls + 1, STRIDE)
    for at in tried:
        assert kept.again().tune("--resume", **kept.cut(at)).status == -9, at
        settle(machine)
    tell(f"tune, {step}: {len(tried)} cuts in {calls} calls tried, {len(tried)} survived")


def test_a_loop_whose_beginning_was_cut_begins_again(machine: Machine) -> None:
    machine.host.write("recorded/stock.sh", "kill -9 $PPID")
    assert machine.tune().status == -9
    assert machine.state()["phase"] is None
    (machine.host.path / "recorded/stock.sh").unlink()
    machine.begin()
    machine.power_on()
    assert machine.state()["outcome"] == "promoted"


def test_what_was_killed_in_the_tuned_boot_is_given_up_by_the_unit(machine: Machine) -> None:
    machine.begin("--reboot")
    machine.host.write("recorded/tuned.sh", "kill -9 $PPID")
    first, last = machine.power_on()
    assert first.status == -9 and last.status == 1
    assert "measures (boot 2 of 2, tuned), and was ended there (signal)" in last.err
    assert machine.reboots() == 2
    stock_is_default(machine)
    at_rest(machine)
