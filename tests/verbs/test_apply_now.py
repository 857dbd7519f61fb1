# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now`` and its ``rollback``, on a tree: what is written, told, and taken back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.host.root import Root
from lowlat.plan import store
from support import needs, now_tree
from support.cli import Answer, lowlat
from support.machines import write_tree
from support.now_tree import GROUP, GROUPS, VALUES, IrqbalanceStandIn, content, task
from support.waits import GUARD_S

PLANNED = {
    f"{GROUP}/cpuset.cpus": "1-3",
    f"{GROUP}/cpuset.cpus.partition": "isolated",
    "proc/irq/default_smp_affinity": "1",
    "proc/irq/24/smp_affinity": "1",
    "proc/irq/25/smp_affinity": "1",
    # TuneD sets this one in a tuned boot; here nobody else does.
    "proc/sys/kernel/timer_migration": "1",
    "proc/sys/kernel/watchdog_cpumask": "0",
    "sys/devices/virtual/workqueue/cpumask": "1",
    "sys/bus/workqueue/devices/writeback/cpumask": "1",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return now_tree.write(tmp_path / "host")


def act(tree: Path, *words: str) -> Answer:
    return lowlat(words[0], "--root", tree, *words[1:])


def done(tree: Path, *words: str) -> str:
    answer = act(tree, *words)
    assert (answer.status, answer.err) == (0, ""), answer
    return answer.out


def held(tree: Path) -> dict[str, str]:
    return {name: (tree / name).read_text().strip() for name in PLANNED}


def test_it_isolates_and_is_taken_back(tree: Path) -> None:
    before = content(tree)
    said = done(tree, "apply", "--now")
    assert held(tree) == PLANNED
    assert "isolated now, until the next boot: profile lowlat, isolated CPUs 1-3" in said
    assert "only a boot gives isolcpus, nohz_full, rcu_nocbs" in said
    # All that it keeps lies in /run, which no boot keeps.
    assert {name.split("/")[0] for name in content(tree).keys() - before.keys()} == {"run"}
    assert (
        "unchanged" not in said
        and not json.loads(done(tree, "apply", "--now", "--json"))["changed"]
    )
    assert "running system is as it was" in done(tree, "rollback")
    assert content(tree) == before
    assert done(tree, "rollback") == "nothing is applied\n"


def test_a_dry_run_prints_commands_that_do_the_same(tree: Path) -> None:
    before = content(tree)
    said = done(tree, "apply", "--now", "--dry-run")
    assert content(tree) == before
    for line in said.splitlines():
        # The commands name the host's files; here they lie below the tree.
        command = line.replace(">/", f">{tree}/")
        subprocess.run(["sh", "-c", command], check=True, timeout=GUARD_S)
    assert held(tree) == PLANNED
    assert json.loads(done(tree, "apply", "--now", "--dry-run", "--json"))["said"] == []


@pytest.mark.parametrize("kind", ["isolated", "root"])
def test_each_named_set_gets_a_partition(tree: Path, kind: str) -> None:
    # A hyphen in a slice's name stands for one inside another.
    slices = {"feed": "lowlat-feed.slice", "rt-pool": r"lowlat-rt\x2dpool.slice"}
    for name in slices.values():
        files = {"cpuset.cpus": "\n", "cgroup.procs": "", "cpuset.cpus.partition": "member\n"}
        write_tree(tree / GROUP / name, files)
    before = content(tree)
    more = ("--enable", f"cpuset.sets={kind}") if kind == "root" else ()
    done(tree, "apply", "--now", "--isolate", "feed=1,rt-pool=2-3", *more)
    for name, cpus in {"feed": "1", "rt-pool": "2-3"}.items():
        group = tree / GROUP / slices[name]
        assert (group / "cpuset.cpus").read_text() == cpus
        assert (group / "cpuset.cpus.partition").read_text() == kind
        (group / "cpuset.cpus.effective").write_text(cpus)
        told = lowlat("run", "--set", name, "--dry-run", "--root", tree, "--", "true").out
        assert f"It would join /{GROUP}/{slices[name]}, which owns these CPUs.\n" in told
        assert "not isolated" not in told
        (group / "cpuset.cpus.effective").unlink()
    assert done(tree, "cpus", "rt-pool") == "2-3\n"
    done(tree, "rollback")
    assert content(tree) == before


def test_every_verb_speaks_of_what_is_isolated_now(tree: Path) -> None:
    said = done(tree, "apply", "--now", "--isolate", "2-3")
    assert "'lowlat-gen plan --now --isolate 2-3' tells what each is" in said
    status = json.loads(done(tree, "status", "--json"))
    assert (status["state"], status["decision"]) == ("none", None)
    now = status["now"]
    assert (now["profile"], now["isolated"]) == ("lowlat", "2-3")
    assert "isolated now, until the next boot: profile lowlat" in done(tree, "status")
    assert done(tree, "cpus", "isolated") == "2-3\n"
    assert store.facts(Root(str(tree)))["profile"] == "lowlat", "what a run records"
    rows = act(tree, "verify", "--json", "--duration", "0s").json()["settings"]
    states = {row["name"]: row["state"] for row in rows}
    assert states["cpuset.partition"] == states["kernel.timer_migration"] == "effective"
    told = {row["name"]: row["evidence"] for row in rows if row["state"] == "not-planned"}
    assert told["nohz_full"].startswith("only a boot gives it: it stops the scheduler tick")
    assert done(tree, "watch", "--once") == ""
    (tree / "proc/irq/24/smp_affinity").write_text("f\n")
    answer = act(tree, "watch", "--once")
    assert answer.status == 1 and "irq.smp_affinity: undone" in answer.out
    act(tree, "watch", "--once", "--restore")
    assert (tree / "proc/irq/24/smp_affinity").read_text() == "3"
    done(tree, "rollback")
    assert json.loads(done(tree, "status", "--json"))["now"] is None


def test_another_split_needs_a_rollback_first(tree: Path) -> None:
    done(tree, "apply", "--now")
    said = act(tree, "apply", "--now", "--isolate", "2-3").refused()
    assert said.startswith("isolated already: profile lowlat, isolated CPUs 1-3 (")
    for action in ("start", "stop"):
        words = ("runtime", action, "--profile", "lowlat", "--root", tree)
        assert "'lowlat-gen rollback' takes that back" in lowlat(*words).refused()


def test_settings_of_tuned_are_not_mixed_in(tree: Path) -> None:
    lowlat("runtime", "start", "--profile", "lowlat", "--root", tree)
    assert "run-time settings of lowlat are in use" in act(tree, "apply", "--now").refused()


def test_what_it_cannot_set_is_told_and_fails(tree: Path) -> None:
    before = content(tree)
    (tree / "proc/sys/kernel/watchdog_cpumask").unlink()
    answer = act(tree, "apply", "--now")
    assert answer.status == 1
    assert "/proc/sys/kernel/watchdog_cpumask, planned 0: is not there\n" in answer.out
    assert (tree / GROUP / "cpuset.cpus").read_text() == "1-3"
    done(tree, "rollback")
    del before["proc/sys/kernel/watchdog_cpumask"]
    assert content(tree) == before


def test_a_damaged_plan_does_not_prevent_a_rollback(tree: Path) -> None:
    before = content(tree)
    done(tree, "apply", "--now")
    for text in ("{", "[]", '{"plan": {}}'):
        (tree / "run/lowlat/now.json").write_text(text)
        assert "/run/lowlat/now.json: " in act(tree, "status").refused()
    done(tree, "rollback")
    assert content(tree) == before


def test_ordinary_users_read_what_is_isolated(tree: Path) -> None:
    before = os.umask(0o077)
    try:
        done(tree, "apply", "--now")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tree / "run/lowlat").iterdir()}
    assert modes["now.json"] == 0o644 and (tree / "run/lowlat").stat().st_mode & 0o777 == 0o755


def test_without_its_partition_nothing_is_called_isolated(tree: Path) -> None:
    (tree / GROUP / "cpuset.cpus.partition").unlink()
    answer = act(tree, "apply", "--now")
    assert answer.status == 1
    assert "not isolated: without its partition the system shares these CPUs\n" in answer.out
    assert "isolated now" not in answer.out


def test_a_value_that_is_not_as_it_was_is_told(tree: Path) -> None:
    done(tree, "apply", "--now")
    path = tree / "proc/irq/default_smp_affinity"
    path.unlink()
    path.symlink_to("25/smp_affinity")  # a write through it is refused
    answer = act(tree, "rollback")
    assert answer.status == 1 and "/proc/irq/default_smp_affinity" in answer.err
    path.unlink()
    path.write_text("1")
    done(tree, "rollback")
    assert path.read_text() == VALUES["proc/irq/default_smp_affinity"].strip()


def test_who_asked_for_these_cpus_is_named(tree: Path) -> None:
    container = "/system.slice/docker-0123456789abcdef.scope"
    write_tree(tree, task(500, "pinned", "4", "/user.slice/session-1.scope"))
    write_tree(tree, task(501, "anywhere", "f", container))
    write_tree(tree, {f"{GROUPS}{container}/cgroup.procs": "501\n"})
    write_tree(tree, {f"{GROUPS}{container}/cpuset.cpus": "2-3\n"})
    write_tree(tree, {f"{GROUPS}/system.slice/cgroup.procs": ""})
    for pid in range(600, 620):
        write_tree(tree, task(pid, f"more{pid}", "6", "/user.slice/session-2.scope"))
    link = "[Match]\nDriver=virtio_net\n[Link]\nIRQAffinityPolicy=spread\n"
    write_tree(tree, {"etc/systemd/network/10-spread.link": link})
    said = done(tree, "apply", "--now")
    # A tree moves nobody: both may still run there.
    assert "note: pinned (500) may still run on CPU 2, control group session-1.scope" in said
    assert "note: and 10 more tasks\n" in said
    unit = "docker-0123456789abcdef.scope"
    assert (
        f"note: /{GROUPS}{container} has CPU 2-3: 'systemctl set-property --runtime {unit}" in said
    )
    assert "/etc/systemd/network/10-spread.link has IRQAffinityPolicy=spread" in said
    assert (tree / "proc/500/status").read_text().endswith("4\n"), "no mask is rewritten"


# -------------------------------------------------------------- irqbalance


@pytest.fixture
def irqbalance(tree: Path, request: pytest.FixtureRequest) -> Iterator[IrqbalanceStandIn]:
    daemon = IrqbalanceStandIn(tree, banned=getattr(request, "param", "00000000"))
    daemon.start()
    yield daemon
    daemon.end()


@pytest.mark.parametrize(
    ("irqbalance", "told", "back"),
    [("00000000", "1-3", "-"), ("00000001", "0-3", "0")],
    indirect=["irqbalance"],
)
def test_irqbalance_is_told_and_gets_its_list_back(
    tree: Path, irqbalance: IrqbalanceStandIn, told: str, back: str
) -> None:
    before = content(tree)
    done(tree, "apply", "--now")
    assert irqbalance.told == [f"settings cpus {told}"]
    done(tree, "apply", "--now")
    assert irqbalance.told == [f"settings cpus {told}"], "what it has needs no message"
    done(tree, "rollback")
    assert irqbalance.told == [f"settings cpus {told}", f"settings cpus {back}"]
    assert content(tree) == before


def test_an_interrupt_that_irqbalance_moves_at_once_was_put_back(
    tree: Path, irqbalance: IrqbalanceStandIn
) -> None:
    done(tree, "apply", "--now")
    irqbalance.moves = {tree / "proc/irq/24/smp_affinity": "2\n"}
    done(tree, "rollback")
    assert (tree / "proc/irq/24/smp_affinity").read_text() == "2\n"


def test_a_list_that_irqbalance_has_yet_to_take_is_taken_back(
    tree: Path, irqbalance: IrqbalanceStandIn
) -> None:
    """It shows the old list until its next look: apply was killed before that."""
    done(tree, "apply", "--now")
    irqbalance.banned = "00000000"
    done(tree, "rollback")
    assert irqbalance.told[-1] == "settings cpus -"


class _KilledError(BaseException):
    """No program's own: nothing of it catches this."""


@needs.root("only root can act for another user")
def test_a_process_that_calls_itself_irqbalance_is_told_nothing(
    tree: Path, irqbalance: IrqbalanceStandIn
) -> None:
    os.seteuid(1000)
    try:
        irqbalance.listen()
    finally:
        os.seteuid(0)
    act(tree, "apply", "--now")
    assert irqbalance.told == []


@pytest.mark.parametrize("at", range(5))
def test_rollback_removes_what_a_killed_apply_was_writing(
    tree: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Killed before one of its files takes its place."""
    before = content(tree)
    calls = iter(range(at))
    rename = os.rename

    def die(*words: object, **more: object) -> None:
        if next(calls, None) is None:
            raise _KilledError
        rename(*words, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch, pytest.raises(_KilledError):
        patch.setattr("lowlat.base.files.os.rename", die)
        act(tree, "apply", "--now")
    with subprocess.Popen(["true"]) as dead:
        dead.wait(GUARD_S)
    left = list(tree.rglob(f"*.{os.getpid()}.new"))
    assert len(left) == 1
    left[0].rename(f"{left[0]}".replace(f".{os.getpid()}.", f".{dead.pid}."))
    done(tree, "rollback")
    assert list(tree.rglob("*.new")) == [] and content(tree) == before


@pytest.mark.parametrize("words", [("rollback",), ("apply", "--now")])
def test_what_a_killed_verb_told_irqbalance_counts_for_neither_verb_after_it(
    tree: Path,
    irqbalance: IrqbalanceStandIn,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    """Killed before irqbalance's next look: the list that it shows is not the one it will take."""

    def die(_: float) -> None:
        raise _KilledError

    other = ("apply", "--now") if words == ("rollback",) else ("rollback",)
    if words == ("rollback",):
        done(tree, "apply", "--now")
    shown = irqbalance.banned
    irqbalance.late = True
    with monkeypatch.context() as patch, pytest.raises(_KilledError):
        patch.setattr("lowlat.runtime.irqbalance.time.sleep", die)
        act(tree, *words)
    assert irqbalance.banned == shown
    done(tree, *other)
    irqbalance.look()
    assert irqbalance.banned == shown, "the later verb wins"


@pytest.mark.parametrize(
    ("environment", "listed"),
    [
        ("", "1-3"),
        ("IRQBALANCE_BANNED_CPULIST=0\n", "0-3"),
        # Stale ones: irqbalance reads the first part alone, and the mask before the list.
        ("IRQBALANCE_BANNED_CPULIST=0,4-3\n", "0-3"),
        ("IRQBALANCE_BANNED_CPUS=1\nIRQBALANCE_BANNED_CPULIST=2\n", "0-3"),
    ],
)
def test_a_restarted_irqbalance_finds_the_list(
    tree: Path, irqbalance: IrqbalanceStandIn, environment: str, listed: str
) -> None:
    (tree / "run/systemd/system").mkdir(parents=True)
    write_tree(tree, {"etc/default/irqbalance": environment})
    before = content(tree)
    stale = "4-3" in environment
    said = done(tree, "apply", "--now")
    assert ("of which it cannot read 4-3; write IRQBALANCE_BANNED_CPULIST=1-3" in said) == stale
    drop_in = (tree / "run/systemd/system/irqbalance.service.d/lowlat.conf").read_text()
    (file,) = (row for row in drop_in.splitlines() if row.startswith("EnvironmentFile=-"))
    # Behind the unit's own file, a later one wins (systemd.exec(5)).
    rows = (tree / file.partition("=-/")[2]).read_text().splitlines()
    assert "IRQBALANCE_BANNED_CPUS=" in rows
    assert f"IRQBALANCE_BANNED_CPULIST={listed}" in rows
    done(tree, "rollback")
    assert content(tree) == before
    assert not (tree / "run/systemd/system/irqbalance.service.d").exists()


def test_a_drop_in_that_systemd_did_not_load_is_taken_back(
    tree: Path, irqbalance: IrqbalanceStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write may take effect and tell of a problem."""
    (tree / "run/systemd/system").mkdir(parents=True)
    before = content(tree)
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr("lowlat.runtime.irqbalance._systemctl", lambda *words: "no systemd")
            answer = act(tree, "apply", "--now")
        assert answer.status == 1 and "no systemd" in answer.out
        assert irqbalance.told[-1] == "settings cpus 1-3"
        done(tree, "rollback")
        assert content(tree) == before


def test_an_irqbalance_that_starts_later_is_told_by_a_second_apply(tree: Path) -> None:
    before = content(tree)
    done(tree, "apply", "--now")
    daemon = IrqbalanceStandIn(tree)
    daemon.start()
    done(tree, "apply", "--now")
    assert daemon.told == ["settings cpus 1-3"]
    done(tree, "rollback")
    daemon.end()
    assert daemon.told[1:] == ["settings cpus -"]
    assert before.items() <= content(tree).items()


def test_an_irqbalance_that_ended_needs_no_message(
    tree: Path, irqbalance: IrqbalanceStandIn
) -> None:
    done(tree, "apply", "--now")
    (tree / "proc/77/comm").write_text("another\n")
    assert "irqbalance" not in done(tree, "rollback")
    assert irqbalance.told == ["settings cpus 1-3"]


def test_an_irqbalance_without_a_socket_is_named(tree: Path) -> None:
    write_tree(tree, {"proc/77/comm": "irqbalance\n"})
    answer = act(tree, "apply", "--now")
    assert answer.status == 1
    assert "irqbalance:now, planned 1-3: does not answer at its socket\n" in answer.out
