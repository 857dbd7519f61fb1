# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop over a reboot, on a host tree with GRUB's own generator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tunebed import LoopMachine, at_rest, stock_is_default

from support.cli import SHELL_GEN, Answer, lowlat
from support.hosttree import NEEDS, OLDER, RELEASE, STOCK, linux_lines
from support.machines import CPU
from support.powercut import NEEDS_CC
from support.runs import cpu_run, document

pytest_plugins = ["support.powercut", "tunebed"]
pytestmark = [*NEEDS, NEEDS_CC]


# ------------------------------------------------------------- one trial


def test_a_tuned_boot_that_keeps_its_word_is_promoted(machine: LoopMachine) -> None:
    said = machine.begin().out
    assert "systemctl reboot" in said and machine.reboots() == 0
    assert "needs a power cycle" in said
    assert machine.state()["phase"] == "boot"
    stock_is_default(machine)
    first, last = machine.power_on()
    assert (first.status, last.status) == (0, 0), first
    assert "Noise on the measured CPUs: 1,000 ppm (0.10 %) in " in first.out
    state = machine.state()
    assert (state["schema"], state["outcome"]) == ("lowlat.tune/1", "promoted")
    assert "all settings are in effect" in state["why"]
    assert "interrupts per second 100.0 before, 1.00 after" in state["why"]
    assert machine.host.status()["default"]["entry"] == state["entry"]
    at_rest(machine)
    runs = [json.loads(machine.host.read(leg["run"].lstrip("/"))) for leg in state["legs"]]
    assert [run["boot_id"] for run in runs] == ["boot-0", "boot-1"]
    assert [run["host"]["tuned_profile"] for run in runs] == ["balanced", "lowlat-local"]
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    assert report["verdict"] == "descriptive-only" and report["boots"] == {"before": 1, "after": 1}
    assert machine.power_on() == [] and machine.reboots() == 0


def test_each_policy_is_measured_in_both_boots_and_has_its_report(machine: LoopMachine) -> None:
    """The four set-ups of the article on osnoise with one command."""
    machine.begin("--article", "--reboot")
    machine.power_on()
    state = machine.state()
    assert (state["policy"], state["outcome"]) == ("other,fifo:1", "promoted")
    assert state["causes"] is True
    for leg in state["legs"]:
        names = [Path(path).name for path in (leg["run"], *leg["further"])]
        assert [name.partition(leg["arm"])[2] for name in names] == ["-other.json", "-fifo1.json"]
    base = f"var/lib/lowlat/runs/tune-{state['started']}"
    for name, policy in (("report", "other"), ("report-fifo1", "fifo1")):
        report = json.loads(machine.host.read(f"{base}-{name}.json"))
        assert report["boots"] == {"before": 1, "after": 1}
        assert report["labels"] == {"before": f"stock-{policy}", "after": f"tuned-{policy}"}
    page = machine.host.read(f"{base}-report.html")
    table = machine.host.read(f"{base}-article.md")
    for set_up in ("stock-other", "tuned-other", "stock-fifo1", "tuned-fifo1"):
        assert set_up in page and f"| {set_up} | 1 |" in table
    for title in ("all set-ups", "other", "fifo:1"):
        assert f">{title}</h2>" in page
    said = machine.tune("--status").out
    assert "-01-stock-fifo1.json" in said and f"page: /{base}-report.html" in said
    at_rest(machine)


def test_every_boot_is_measured_as_it_was_asked_for(machine: LoopMachine) -> None:
    asked = ("--load", "vm", "--work", "usleep,kill", "--throughput=3", "--causes")
    machine.begin("--boots", 1, "--reboot", *asked)
    for _ in machine.state()["order"]:
        assert "--load vm" in machine.tune("--status").out
        machine.power_on()
    boots = [row for row in machine.host.read("recorded/argv").splitlines() if "--check" not in row]
    assert len(boots) == 2
    for row in boots:
        words = {"--load=vm", "--work=usleep,kill", "--throughput=3", "--observer=auto"}
        assert words < set(row.split()), row
    state = machine.state()
    assert (state["load"], state["work"], state["throughput"], state["causes"]) == (
        *("vm", "usleep,kill", "3"),
        True,
    )


@pytest.mark.proof
@pytest.mark.parametrize("profile", ["lowlat-rt", "lowlat-audio"])
def test_a_profile_that_is_judged_by_wake_ups_has_them_measured(
    machine: LoopMachine, profile: str
) -> None:
    for name, entries, us in (("stock", 100.0, 80.0), ("tuned", 1.0, 20.0)):
        late = {"p99.9": 1e3 * us, "max": 2e3 * us}
        woken = {"interval_ns": 1e6, "late_ns": late, "skipping_ns": late, "longest": []}
        machine.record(name, entries, wakeup=woken)
    machine.begin("--profile", profile, "--boots", 1, "--reboot")
    for _ in machine.state()["order"]:
        machine.power_on()
    boots = [row for row in machine.host.read("recorded/argv").splitlines() if "--check" not in row]
    assert len(boots) == 2
    assert all({"--cpus=1-3", "--wakeup=1ms"} <= {*row.split()} for row in boots)
    state = machine.state()
    assert state["wakeup"] == "1ms"
    assert "--wakeup 1ms" in machine.tune("--status").out
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    (primary,) = [one for one in report["endpoints"] if one["primary"]]
    assert (primary["name"], primary["ratio"]) == ("wakeup_p99.9_ns", 4.0)
    assert any(f"profile {profile} is judged by it" in flag for flag in report["flags"])


def test_what_loses_throughput_falls_back(machine: LoopMachine) -> None:
    for name, rate, noise in (("stock", 1000.0, 1000.0), ("tuned", 900.0, 100.0)):
        runs = [{"value": rate + n} for n in range(3)]
        parsed = {"version": "0.19", "figures": {"matrix alone": rate + 1}}
        work = [{"kind": "throughput", "tool": "stress-ng", "parsed": parsed, "runs": runs}]
        machine.record(name, 100.0 if name == "stock" else 1.0, noise, work=work)
    assert "add --throughput" in refusal(machine, "--throughput-margin", "5")
    machine.begin("--throughput", "3", "--throughput-margin", "8")
    first, _ = machine.power_on()
    assert first.status == 1
    assert "more than 8 % of the throughput may be lost: throughput changed by -10.0 %" in first.err
    page = machine.host.read(machine.state()["report"].replace(".json", ".html").lstrip("/"))
    assert "in stock, 100.0 ppm" in page and ">What to know before quoting this</h2>" in page
    stock_is_default(machine)
    at_rest(machine)


def test_a_policy_that_is_none_is_refused_before_anything_is_done(machine: LoopMachine) -> None:
    answer = machine.tune("--policy", "other,rt:1")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "'rt:1' is no scheduling policy" in answer.err
    assert not (machine.host.path / "var/lib/lowlat/tune.json").exists()


def test_what_the_gate_does_not_pass_falls_back(machine: LoopMachine) -> None:
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


def test_what_verify_finds_missing_falls_back(machine: LoopMachine) -> None:
    machine.begin()
    # The kernel reverts the setting before verify looks.
    machine.host.write("recorded/tuned.sh", f'echo 3 >"$TREE/{CPU}/nohz_full"')
    first, _ = machine.power_on()
    assert first.status == 1 and "verify finds not in effect: nohz_full" in first.err
    assert "nohz_full" in machine.state()["legs"][1]["bad"]
    stock_is_default(machine)
    at_rest(machine)


def test_a_trial_that_does_not_come_up_has_failed(machine: LoopMachine) -> None:
    machine.begin("--reboot")
    first, _ = machine.power_on(reaches=False)
    assert first.status == 1 and "did not come up: this is a stock one" in first.err
    assert "did not reach its target" in first.err
    stock_is_default(machine)
    at_rest(machine)
    assert machine.reboots() == 1, "it is in a stock boot already"


def test_another_kernel_or_plan_than_the_one_due_is_told(machine: LoopMachine) -> None:
    machine.begin()
    entry = next(
        item["entry"] for item in machine.host.status()["kernels"] if item["kernel"] == OLDER
    )
    first, _ = machine.power_on(entry)
    assert first.status == 1 and f"Linux {OLDER} was booted, not {RELEASE}" in first.err
    stock_is_default(machine)
    at_rest(machine)
    assert len(machine.state()["legs"]) == 1


def test_a_run_that_counts_for_nothing_falls_back(machine: LoopMachine) -> None:
    machine.begin()
    machine.host.write("recorded/tuned.sh", "exit 143")
    first, _ = machine.power_on()
    assert first.status == 1 and "partial or invalid" in first.err
    stock_is_default(machine)
    at_rest(machine)


def test_a_first_run_that_fails_leaves_no_loop(machine: LoopMachine) -> None:
    machine.host.write("recorded/stock.sh", "exit 1")
    answer = machine.tune()
    assert answer.status == 1 and "partial or invalid" in answer.err
    assert machine.state() == {"schema": "lowlat.tune/1", "phase": None}
    assert machine.host.status()["state"] == "none"


# -------------------------------------------------------------- many boots


def test_many_boots_alternate_by_themselves_and_leave_the_default(machine: LoopMachine) -> None:
    machine.begin("--boots", 2, "--reboot")
    order = machine.state()["order"]
    assert sorted(order) == ["stock", "stock", "tuned", "tuned"]
    # It is written down before the first boot, with the lines that the boots will have.
    base = f"var/lib/lowlat/runs/tune-{machine.state()['started']}"
    campaign = json.loads(machine.host.read(f"{base}-campaign.json"))
    assert (campaign["order"], campaign["pairs"], campaign["stop"]) == (order, 2, "at-end")
    assert (campaign["endpoint"], campaign["kexec"]) == ("noise_ppm", False)
    (lines,) = campaign["hosts"].values()
    trial = linux_lines(machine.host.config)[f"{machine.state()['entry']}-trial"]
    assert set(lines["tuned"].split()) <= set(trial) and "lowlat.plan=" in lines["tuned"]
    assert "lowlat.plan=" not in lines["stock"]
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
    runs = [json.loads(machine.host.read(leg["run"].lstrip("/"))) for leg in state["legs"]]
    places = [{"digest": state["campaign"], "number": number} for number in (1, 2, 3, 4)]
    assert [run["campaign"] for run in runs] == places
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    assert report["boots"] == {"before": 2, "after": 2}
    stock_is_default(machine)
    at_rest(machine)
    # One reboot for each boot, and one more if the last boot was tuned: the machine ends in a stock
    # boot.
    assert machine.reboots() == 4 + (order[-1] == "tuned")
    assert machine.power_on() == []


def test_a_plain_loop_does_not_start_a_kernel_that_somebody_loaded(machine: LoopMachine) -> None:
    machine.begin("--boots", 2, "--reboot")
    order = machine.state()["order"]
    for _ in range(order.index("stock", 1)):
        before = machine.reboots()
        machine.host.write("sys/kernel/kexec_loaded", "0\n")
        if order[len(machine.state()["legs"]) + 1] == "stock":
            machine.host.write("sys/kernel/kexec_loaded", "1\n")
        machine.power_on()
        assert machine.reboots() == before + 1


@pytest.mark.proof
def test_many_boots_end_with_the_first_that_fails(machine: LoopMachine) -> None:
    machine.begin("--boots", 2, "--reboot")
    answers: list[Answer] = []
    while machine.state()["phase"] != "done":
        answers = machine.power_on(reaches=not machine.host.status()["next"])
    assert answers[0].status == 1 and "did not come up" in answers[0].err
    assert not [leg for leg in machine.state()["legs"] if leg["arm"] == "tuned"]
    stock_is_default(machine)
    at_rest(machine)


def test_a_tuned_boot_where_the_stock_one_is_due_is_told(machine: LoopMachine) -> None:
    machine.begin("--boots", 1, "--reboot")
    entry = machine.state()["entry"]
    if machine.state()["order"][0] == "tuned":
        machine.power_on()
    first, _ = machine.power_on(entry)
    assert first.status == 1 and "where the stock one was due" in first.err
    at_rest(machine)


# ------------------------------------------------------- refused, told, ended


def refusal(machine: LoopMachine, *words: object) -> str:
    before = machine.host.snapshot()
    line = machine.tune(*words).refused()
    assert machine.host.snapshot() == before
    return line


def test_what_could_not_end_well_is_refused_before_it_begins(machine: LoopMachine) -> None:
    host = machine.host
    assert "--reboot" in refusal(machine, "--boots", 2)
    assert "--boots N" in refusal(machine, "--kexec")
    assert "two kernels" in refusal(machine, "--kernel", OLDER)
    assert "not a time" in refusal(machine, "--duration", "10")
    for words in (("--load", "nosuch"), ("--work", "nosuch"), ("--throughput", "0")):
        # The stand-in for the harness knows no options.
        host.write("recorded/stock.sh", 'echo "lowlat-measure: $3: no" >&2; exit 2')
        assert ": no" in refusal(machine, *words)
        (host.path / "recorded/stock.sh").unlink()
    assert "no loop is under way" in refusal(machine, "--resume")
    assert "no effect" in refusal(machine, "--status", "--profile", "lowlat-poll")
    assert "the loop keeps its options" in refusal(machine, "--resume", "--load", "vm")
    host.write("etc/default/kexec", "LOAD_KEXEC=true\n")
    assert "kexec" in refusal(machine)
    host.write("etc/default/kexec", "")
    boot_id = host.read("proc/sys/kernel/random/boot_id")
    host.write("proc/sys/kernel/random/boot_id", "")
    assert "boot_id cannot be read" in refusal(machine)
    host.write("proc/sys/kernel/random/boot_id", boot_id)
    host.write("proc/sys/kernel/osrelease", f"{OLDER}\n")
    assert f"the default boots Linux {RELEASE}, not {OLDER}" in refusal(machine)


def test_a_dry_run_by_kexec_looks_for_the_images(
    machine: LoopMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tree starts no kernel, by --root no systemd runs, and the harness knows this machine's CPUs.
    monkeypatch.setattr("lowlat.measure.runner.check", lambda options: None)
    monkeypatch.setattr("lowlat.boot.kexec.check", lambda root: None)
    monkeypatch.setattr("lowlat.boot.hooks.has_systemd", lambda root: True)
    for program in ("usr/sbin/tuned", "usr/bin/lowlat-gen"):
        machine.host.write(program, "")
        (machine.host.path / program).chmod(0o755)
    words = ("tune", "--kexec", "--boots", "1", "--reboot", "--dry-run", "--root")
    assert "2 kexec boots are measured" in lowlat(*words, machine.host.path).out
    for image in (machine.host.path / "boot").glob("vmlinuz-*"):
        image.unlink()
    assert "its image was not found below /boot" in lowlat(*words, machine.host.path).refused()


def test_a_promoted_or_tuned_boot_is_not_compared_with_itself(machine: LoopMachine) -> None:
    machine.begin()
    machine.power_on()
    assert "nothing to compare with" in refusal(machine)
    machine.power_on(STOCK)
    assert "'lowlat-gen rollback' first" in refusal(machine)


def test_somebody_elses_pending_change_is_refused(machine: LoopMachine) -> None:
    text = machine.host.read("etc/default/grub").replace('"quiet"', '"quiet splash"')
    machine.host.write("etc/default/grub", text)
    assert "--accept-pending" in refusal(machine)
    machine.begin("--accept-pending")
    tuned = linux_lines(machine.host.config)[machine.state()["entry"]]
    assert "splash" in tuned


def test_a_dry_run_changes_nothing(machine: LoopMachine) -> None:
    config = machine.host.read(f"boot/config-{RELEASE}")
    machine.host.write(f"boot/config-{RELEASE}", config.replace("CONFIG_NO_HZ_FULL=y\n", ""))
    before = machine.host.snapshot()
    said = machine.begin("--dry-run", "--boots", 3, "--reboot").out
    assert f"note: Linux {RELEASE}: the kernel is built without CONFIG_NO_HZ_FULL" in said
    assert "3 pairs of a stock and a tuned boot, each in random order" in said
    told = " ".join(said.split())
    assert "6 boots are measured: " in told and "order, drawn anew when it begins" in told
    assert "the report will describe: a claim takes 6 pairs, better 8" in told
    assert "how much boots differ here is not known" in told
    assert f"would boot Linux {RELEASE} with" in said
    assert "unless the tuned boot has the planned effect" in machine.begin("--dry-run").out
    # Where nothing is isolated, the CPUs that measure would take, and load on all of them.
    audio = ("--profile", "lowlat-audio", "--boots", 8, "--reboot", "--load", "mixed")
    said = machine.begin("--dry-run", *audio).out
    assert "would measure CPU 1-3 for 10s" in said and "--load mixed --load-cpus all" in said
    assert machine.host.snapshot() == before
    for number, noise in enumerate((100.0, 110.0, 90.0, 105.0)):
        cpus = [cpu_run(cpu, 1.0, noise) for cpu in (1, 2, 3)]
        run = document(f"stock{number}", 1.0, cpus=cpus, kernel=RELEASE, host={"name": "node"})
        machine.host.write(f"var/lib/lowlat/runs/{number}.json", json.dumps(run))
    said = machine.begin("--dry-run", "--boots", 8, "--reboot", "--discard").out
    told = " ".join(said.split())
    spread = r"noise_ppm of 4 stock boots here differs by 8\.[4-6] %: 8 pairs find a change of"
    assert re.search(spread, told), told
    assert "the report can claim a change from 8 pairs: the smallest p is 0.0078" in told
    assert "16 boots are measured and " in told and " that are not: " in told
    machine.begin()
    before = machine.host.snapshot()
    assert "waits for a reboot" in machine.begin("--resume", "--dry-run").out
    assert "would end the loop" in machine.begin("--abort", "--dry-run").out
    assert machine.host.snapshot() == before


def test_there_is_one_loop_at_a_time(machine: LoopMachine) -> None:
    machine.begin()
    assert "under way" in refusal(machine)
    assert "waits for a reboot (boot 2 of 2, tuned)" in machine.begin("--status").out
    machine.begin("--resume")
    assert machine.state()["phase"] == "boot"


def test_abort_ends_it_and_keeps_the_runs(machine: LoopMachine) -> None:
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


@pytest.mark.proof
def test_abort_takes_back_what_was_promoted_meanwhile(machine: LoopMachine) -> None:
    machine.begin()
    machine.power_on(units=False)
    machine.host.done("promote")
    assert machine.host.status()["default"]["ours"]
    machine.begin("--abort")
    stock_is_default(machine)
    at_rest(machine)
    assert machine.host.status()["state"] == "tried"


@pytest.mark.proof
def test_abort_while_a_boot_is_measured_wins(machine: LoopMachine) -> None:
    machine.begin()
    abort = f'{SHELL_GEN} tune --abort --root "$TREE" >/dev/null || exit 1'
    machine.host.write("recorded/tuned.sh", abort)
    first, last = machine.power_on()
    assert first.status == 1 and "another lowlat-gen ended the loop" in first.err
    assert last.status == 0
    assert machine.state()["outcome"] == "aborted"
    stock_is_default(machine)
    at_rest(machine)


def test_rollback_in_the_middle_leaves_nothing_to_go_on(machine: LoopMachine) -> None:
    before = machine.host.config
    machine.begin()
    machine.host.done("rollback")
    assert machine.host.config == before
    assert machine.power_on() == []
    machine.begin("--abort")
    assert machine.state()["phase"] == "done"


def test_a_damaged_record_is_named(machine: LoopMachine) -> None:
    machine.begin()
    path = "var/lib/lowlat/tune.json"
    good = machine.host.read(path)
    state = json.loads(good)
    outside = {**state["legs"][0], "run": "/etc/shadow"}
    for bad in (
        good[:-20],
        "[]",
        json.dumps({**state, "schema": "lowlat.other/1"}),
        json.dumps({**state, "phase": "rest"}),
        json.dumps({**state, "isolated": "1-"}),
        json.dumps({**state, "started": "../../etc"}),
        json.dumps({**state, "legs": [outside]}),
        json.dumps({**state, "legs": state["legs"] * 2}),
        json.dumps({**state, "duration": "10"}),
        json.dumps({**state, "policy": "batch"}),
    ):
        machine.host.write(path, bad)
        for word in ("--status", "--resume", "--abort"):
            assert "tune.json is damaged" in refusal(machine, word)
    machine.host.write(path, json.dumps({**state, "schema": "lowlat.tune/2", "writer": "9.9"}))
    assert "written by a newer lowlat (9.9)" in refusal(machine, "--resume")
    machine.host.write(path, json.dumps({**state, "more": 1}))
    machine.host.done("tune", "--status")


def test_nothing_is_written_through_a_link(machine: LoopMachine) -> None:
    elsewhere = machine.host.path / "elsewhere"
    elsewhere.mkdir()
    state = machine.host.path / "var/lib/lowlat"
    state.mkdir()
    (state / "runs").symlink_to("/elsewhere")
    assert "link" in refusal(machine)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.proof
def test_pairs_end_when_the_difference_is_clear(machine: LoopMachine) -> None:
    """Six pairs that agree are clear. A boot that is not measured comes first wherever the kind of
    boot changes."""
    machine.begin("--until-clear", "--discard", "--reboot")
    state = machine.state()
    assert (len(state["order"]), state["until_clear"], state["discard"]) == (40, True, True)
    base = f"var/lib/lowlat/runs/tune-{state['started']}"
    campaign = json.loads(machine.host.read(f"{base}-campaign.json"))
    assert (campaign["pairs"], campaign["stop"], campaign["discard"]) == (20, "when-clear", True)
    boots = 0
    while machine.state()["phase"] != "done":
        answers = machine.power_on()
        assert [answer.status for answer in answers] == [0, 0], answers
        boots += 1
        if len(machine.state()["legs"]) == 2:
            report = json.loads(machine.host.read(f"{base}-report.json"))
            assert report["more_pairs"][0] == 5 and "looking often costs nothing" in report["why"]
    state = machine.state()
    changes = sum(one != other for one, other in zip(["", *state["order"]], state["order"][:12]))
    assert (len(state["legs"]), boots, state["outcome"]) == (12, 12 + changes, "compared")
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    assert (report["verdict"], report["pairs"]) == ("reduced", 6)
    assert report["e_value"] > 20 and report["campaign"]["departures"] == []
    at_rest(machine)


@pytest.mark.proof
def test_pairs_end_where_they_cannot_become_clear_any_more(machine: LoopMachine) -> None:
    """Four pairs without a difference leave too few of twenty."""
    machine.record("tuned", 100.0)
    machine.begin("--until-clear", "--reboot")
    while machine.state()["phase"] != "done":
        answers = machine.power_on()
        assert [answer.status for answer in answers] == [0, 0], answers
    state = machine.state()
    assert (len(state["legs"]), state["outcome"]) == (8, "compared")
    report = json.loads(machine.host.read(state["report"].lstrip("/")))
    assert (report["verdict"], report["more_pairs"]) == ("no-measurable-change", None)
    assert "after 4 pairs" in report["why"] and "20 pairs are the most" in report["why"]
    assert report["campaign"]["departures"] == []
    at_rest(machine)
