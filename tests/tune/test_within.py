# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs within a boot, on a tree that ``apply --now`` isolates: the loop's order, its end, and
what a kill, a rollback or a reboot in the middle leave."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Callable

import pytest
from tunebed import Bed, LoopMachine

from lowlat.tune.schedule import order_within
from support import needs, now_tree
from support.cli import SHELL_GEN, Answer
from support.hosttree import Host
from support.machines import write_tree
from support.now_tree import GROUP
from support.powercut import NEEDS_CC, sampled

pytest_plugins = ["support.powercut", "tunebed"]
pytestmark = [NEEDS_CC, needs.root("mounts in a namespace of its own")]

#: So many kills in the gate; each begins and ends a loop.
_MOST = 3

#: Nominally: the stand-in answers at once.
_RUN = ("--duration", "10m", "--warmup", "0s")


class NowMachine(LoopMachine):
    """A running system, isolated or not, and the harness's stand-in."""

    def __init__(self, tree: Path, bed: Bed) -> None:
        super().__init__(Host(tree, bed), bed.harness)
        self.record("stock", 100.0)
        self.record("now", 10.0, noise=100.0)
        self.pristine = self.content()

    def content(self) -> dict[str, str]:
        """All but what lowlat keeps of the loop, and files that were about to be renamed."""
        found = now_tree.content(self.host.path)
        left = ("var/lib/lowlat/", "recorded/", "run/lowlat/tune.lock")
        return {n: t for n, t in found.items() if not n.startswith(left) and n[-4:] != ".new"}

    def within(self, *words: object, **env: str) -> Answer:
        return self.tune("--within", *words, **env)

    def arms(self) -> list[str]:
        """The arms in which the harness measured: inside of the group or not."""
        rows = self.host.read("recorded/argv").splitlines()
        made = [row.split() for row in rows if "--check" not in row]
        group = f"--group={self.host.path / GROUP}"
        return ["now" if group in row else "stock" for row in made]

    def report(self) -> Any:
        return json.loads(self.host.read(self.state()["report"].lstrip("/")))

    def reboot(self) -> None:
        """What a boot leaves: no /run, no partition."""
        shutil.rmtree(self.host.path / "run", ignore_errors=True)
        for name, text in now_tree.VALUES.items():
            self.host.write(name, text)
        self._boots += 1
        self.host.write("proc/sys/kernel/random/boot_id", f"boot-{self._boots}\n")


@pytest.fixture
def bench(tmp_path: Path, bed: Bed) -> NowMachine:
    tree = now_tree.write(tmp_path / "host")
    files = {
        f"{GROUP}/cpuset.cpus.effective": "1-3\n",
        "proc/sys/kernel/random/boot_id": "boot-0\n",
        "proc/sys/kernel/hostname": "node\n",
    }
    return NowMachine(write_tree(tree, files), bed)


# ------------------------------------------------------------------- order


def test_each_boot_has_its_pairs_in_an_order_that_the_seed_tells() -> None:
    assert order_within(6, 4, 7) == order_within(6, 4, 7)
    assert len({order_within(1, 4, seed) for seed in range(50)}) == 4
    for seed in range(50):
        order = order_within(6, 3, seed)
        assert Counter(order) == {"stock": 18, "now": 18}
        assert all(set(order[n : n + 2]) == {"stock", "now"} for n in range(0, 36, 2))
        firsts = [order[n] for n in range(0, 36, 6)]
        turns = sum(one != other for one, other in zip(firsts, firsts[1:]))
        assert 0 < turns < 5, "a boot is what is paired from six on"


# ------------------------------------------------------------------- whole


def test_pairs_within_a_boot_leave_the_system_as_it_was(bench: NowMachine) -> None:
    told = " ".join(bench.begin("--within", 6, *_RUN, "--dry-run").out.split())
    assert "would toggle profile lowlat, isolated CPUs 1-3" in told
    assert "would measure CPU 2-3 for 10m" in told, "CPU 1 serves the harness"
    assert "12 runs are measured in this boot: " in told and "without a reboot" in told
    assert "the report can claim a change in this boot: the smallest p is 0.031" in told
    assert "a claim for boots of this machine takes 6 boots (--boots 6)" in told
    assert bench.content() == bench.pristine and bench.state()["phase"] is None
    said = bench.begin("--within", 6, *_RUN).out
    state = bench.state()
    order = state["order"]
    assert bench.content() == bench.pristine
    assert bench.arms() == order == [leg["arm"] for leg in state["legs"]]
    assert (state["outcome"], state["within"], state["boots"]) == ("compared", 6, 1)
    assert "run 12 of 12, " in said and "the loop ended, the system is as it was: reduced" in said
    base = f"var/lib/lowlat/runs/tune-{state['started']}"
    campaign = json.loads(bench.host.read(f"{base}-campaign.json"))
    assert (campaign["order"], campaign["pairs"], campaign["within"]) == (order, 6, 6)
    runs = [json.loads(bench.host.read(leg["run"].lstrip("/"))) for leg in state["legs"]]
    assert [run["campaign"]["number"] for run in runs] == [*range(1, 13)]
    report = bench.report()
    assert (report["verdict"], report["pairs"]) == ("reduced", 6)
    assert report["boots"] == {"before": 1, "after": 1}
    assert report["campaign"]["claim"] == "in this boot"
    assert report["campaign"]["departures"] == []


def test_a_reboot_in_the_middle_loses_the_rest_of_that_boots_pairs(bench: NowMachine) -> None:
    second = '[ "$(grep -c -e --group "$TREE/recorded/argv")" -lt 2 ] || kill -9 $PPID'
    bench.host.write("recorded/now.sh", second)
    assert bench.within(2, *_RUN, "--boots", 2).status == -9
    done = len(bench.state()["legs"])
    assert 1 <= done < 4
    bench.reboot()
    (bench.host.path / "recorded/now.sh").unlink()
    said = bench.begin("--within").out
    state = bench.state()
    assert state["lost"] == 4 - done and f"{4 - done} runs were lost" in said
    assert [leg["boot_id"] for leg in state["legs"][done:]] == ["boot-1"] * 4
    (departed,) = bench.report()["campaign"]["departures"]
    assert "have no run: run" in departed


def test_each_boot_measures_its_own_pairs(bench: NowMachine) -> None:
    said = bench.begin("--within", 1, *_RUN, "--boots", 2).out
    assert "the next are the runs of boot 2 of 2: reboot when convenient" in said
    assert bench.content() == bench.pristine
    assert "boot 2 of 2" in bench.begin("--within").out, "this boot has its pairs"
    assert len(bench.state()["legs"]) == 2
    bench.reboot()
    bench.begin("--within")
    state = bench.state()
    assert [leg["boot_id"] for leg in state["legs"]] == ["boot-0"] * 2 + ["boot-1"] * 2
    report = bench.report()
    assert (report["verdict"], report["boots"]) == ("descriptive-only", {"before": 2, "after": 2})
    assert report["why"] == "2 runs each; a test needs 6 pairs of runs; in these 2 boots"


# ----------------------------------------------------------- refused, ended


def test_what_could_not_end_well_is_refused(bench: NowMachine) -> None:
    for word in ("--reboot", "--kexec", "--until-clear", "--discard"):
        assert f"--within: {word} is for pairs of boots" in bench.within(2, word).refused()
    assert "no boot (leave out --accept-pending)" in bench.within("--accept-pending").refused()
    bench.host.done("apply", "--now")
    assert "isolated by 'lowlat-gen apply --now' already" in bench.within(2).refused()
    bench.host.done("rollback")
    # A kernel on which a change of these masks can stall devices.
    bench.host.write("proc/sys/kernel/osrelease", "6.12.1-test\n")
    bench.host.write("boot/config-6.12.1-test", bench.host.read("boot/config-6.12.107-test"))
    assert "can stall devices" in bench.within(2).refused()
    assert bench.state()["phase"] is None


def test_what_somebody_else_does_meanwhile_ends_it(bench: NowMachine) -> None:
    rollback = f'{SHELL_GEN} rollback --root "$TREE" >/dev/null || exit 1'
    bench.host.write("recorded/now.sh", rollback)
    answer = bench.within(2, *_RUN)
    assert answer.status == 1 and "the system was rolled back during the run" in answer.err
    assert bench.state()["outcome"] == "fell-back"
    assert bench.content() == bench.pristine


def test_abort_takes_back_what_is_isolated(bench: NowMachine) -> None:
    bench.host.write("recorded/now.sh", "kill -9 $PPID")
    assert bench.within(2, *_RUN).status == -9
    assert bench.content() != bench.pristine
    assert "is under way" in bench.within(2).refused()
    assert "the loop measures (run " in bench.tune("--status").out
    assert "the system is as it was: --abort" in bench.begin("--abort").out
    assert bench.content() == bench.pristine


# ------------------------------------------------------------------- kills


def test_a_kill_in_any_call_is_undone_by_a_rollback_and_it_goes_on(
    bench: NowMachine, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    tree, kept, count = bench.host.path, tmp_path / "kept", tmp_path / "count"
    shutil.copytree(tree, kept)

    def cut(at: int) -> Answer:
        shutil.rmtree(tree)
        shutil.copytree(kept, tree)
        count.unlink(missing_ok=True)
        names = {"DEV": tree.stat().st_dev, "COUNT": count, "AT": at}
        env = {f"LOWLAT_CUT_{name}": str(value) for name, value in names.items()}
        return bench.within(1, *_RUN, **env)

    assert cut(-1).status == 0
    calls = int.from_bytes(count.read_bytes(), "little")
    tried = sampled(range(1, calls + 1), _MOST)
    for at in tried:
        assert cut(at).status == -9, at
        answer = bench.host.lowlat("rollback")
        assert answer.status == 0, (at, answer)
        assert bench.content() == bench.pristine, at
        if bench.state()["phase"] != "done":
            bench.begin(*(("--within",) if bench.state()["phase"] else ("--within", 1, *_RUN)))
        assert (bench.state()["outcome"], len(bench.state()["legs"])) == ("compared", 2), at
        assert bench.content() == bench.pristine, at
    tell(f"tune --within: killed in {len(tried)} of {calls} calls, {len(tried)} survived")
