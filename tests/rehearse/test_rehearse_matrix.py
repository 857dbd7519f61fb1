# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole matrix of a rehearsal, from the command line to the page, with stand-ins for guests."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from lowlat.catalogue import lookup
from lowlat.model.order import draw_blocks
from lowlat.plan.cpu_request import CpuRequest
from lowlat.rehearse import arm
from lowlat.rehearse.options import GuestPlanOptions, RehearseOptions
from lowlat.rehearse.vm_size import VmSize, side_by_side
from support import stand_in_guest as guest
from support import waits
from support.rehearsal import RehearsalBench
from support.waits import GUARD_S

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(tmp_path: Path) -> RehearsalBench:
    return RehearsalBench(tmp_path)


def test_a_matrix_is_booted_in_turn_and_reported_as_one(bench: RehearsalBench) -> None:
    bench.forked = False
    status, out, err = bench.matrix(
        *("--kernel", bench.kernel("6.6.1"), "--isolate", "2-3", "--boots", "2", "--jobs", "2"),
        *("--profile", "lowlat", "--profile", "lowlat-poll", "--control", "--now"),
        *("--tuned-profile", "cpu-partitioning"),
    )
    assert (status, err) == (0, "")
    boots = Counter(name.rpartition("-")[0] for name in bench.booted() if "scout" not in name)
    names = ["stock", "lowlat", "lowlat-poll", "cpu-partitioning", "control", "now"]
    assert boots == {f"{kernel}/{name}": 2 for kernel in ("6.12.1", "6.6.1") for name in names}
    # Every kernel and every arm has its first boot before any has its second, except that two boots
    # start at once.
    turns = [int(name.rpartition("-")[2]) for name in bench.booted() if "scout" not in name]
    assert (turns[:11], turns[-11:]) == ([1] * 11, [2] * 11)
    assert "of 24, about" in out and "min left" in out

    # Two are booted at once: no boot is late.
    assert "the campaign was not followed" not in out
    # verify ran in the boots of both profiles.
    assert "Not in effect" not in out

    kernels = bench.result()["kernels"]
    assert [one["release"] for one in kernels] == ["6.12.1", "6.6.1"]
    assert [made["name"] for made in kernels[0]["arms"]] == names
    # Inside of a partition the harness needs a CPU: all arms are measured on the other one.
    runs = [json.loads(Path(boot["run"]).read_text()) for boot in kernels[0]["boots"]]
    assert len(runs) == 12 and all("--cpus=3" in run["argv"] for run in runs)
    assert len(bench.result()["made_with"]["harness_sha256"]) == 64
    assert len(re.findall(r"(?m)^lowlat-poll +2 / 2 .* descriptive only$", out)) == 2
    page = (bench.out / "report.html").read_text()
    assert "6.12.1" in page and "6.6.1" in page and "cpu-partitioning" in page

    # A kernel (with its HZ) is an arm too.
    _, _, kernels = out.partition("── stock on each kernel")
    assert re.search(r"in 6\.12\.1, [\d.]+/s in 6\.6\.1", kernels)


def test_every_boot_is_measured_as_it_was_asked_for(bench: RehearsalBench) -> None:
    """The four set-ups of the osnoise paper, on one page."""
    asked = ("--load", "vm", "--work", "kill", "--throughput", "3", "--causes")
    words = ("--isolate", "2-3", "--policy", "other,fifo:1", *asked)
    status, out, err = bench.matrix(*words, **{guest.PANICS: "lowlat-1"})
    assert status == 1
    status, out, err = bench.call("--resume", str(bench.out))
    assert (status, err) == (0, "")
    for boot in bench.result()["kernels"][0]["boots"]:
        runs = [json.loads(Path(path).read_text()) for path in (boot["run"], *boot["further"])]
        assert [run["policy"] for run in runs] == ["other", "fifo:1"]
        assert [run["label"] for run in runs] == [f"{boot['arm']}-{n}" for n in ("other", "fifo1")]
        for run in runs:
            assert {"--load=vm", "--work=kill", "--throughput=3", "--emulated"} < set(run["argv"])
    page = (bench.out / "report.html").read_text()
    for name in ("stock-other", "lowlat-other", "stock-fifo1", "lowlat-fifo1"):
        assert name in page
    titles = [f"6.12.1, {title}" for title in ("all set-ups", "other", "fifo:1")]
    assert [f">{title}</h2>" in page and f"── {title}" in out for title in titles] == [True] * 3
    assert re.search(r"(?m)^lowlat-fifo1 +1 / 1 .* descriptive only$", out)

    status, _, err = bench.call("--resume", str(bench.out), "--load", "vm")
    assert (status, err.count("\n")) == (2, 1) and "continues with its own options" in err


def test_rounds_in_an_order_that_the_seed_tells_are_tested(bench: RehearsalBench) -> None:
    status, out, _ = bench.matrix("--isolate", "2-3", "--boots", "8", "--control", "--jobs", "1")
    assert status == 0
    # Whoever has the seed can draw the order anew.
    result = bench.result()
    names = [made["name"] for made in result["kernels"][0]["arms"]]
    rounds = draw_blocks(names, 8, random.Random(result["seed"]))
    booted = [name.rpartition("-")[0] for name in bench.booted() if "scout" not in name]
    assert booted == [f"6.12.1/{name}" for one in rounds for name in one]
    assert re.search(r"(?m)^Inter.*: lowlat reduced \(.*\), control no measurable change\.$", out)
    assert len(re.findall(r"(?m)^(?:lowlat|control) +8 / 8 ", out)) == 2
    # The campaign was written down first, and each run has its place in it.
    campaign = json.loads((bench.out / "6.12.1/campaign.json").read_text())
    assert campaign["order"] == [name for one in rounds for name in one]
    assert (campaign["pairs"], campaign["endpoint"]) == (8, "interrupts_per_s")
    assert "nohz_full=2-3" in campaign["hosts"]["rehearsal"]["lowlat"]
    places = {}
    for path in bench.out.glob("6.12.1/*-*/*-[0-9].json"):
        run = json.loads(path.read_text())
        places[run["campaign"]["number"]] = run["label"]
    assert [places[n + 1] for n in range(24)] == campaign["order"]


def test_what_each_setting_buys_is_shown_against_the_whole_profile(bench: RehearsalBench) -> None:
    status, out, _ = bench.matrix("--isolate", "2-3", "--ablate")
    assert status == 0
    planned = RehearseOptions(plan=GuestPlanOptions(request=CpuRequest(isolate="2-3")))
    (whole,) = arm.planned(guest.machine(), planned)
    assert whole.plan is not None
    arms = [made["name"] for made in bench.result()["kernels"][0]["arms"]]
    assert arms == ["stock", "lowlat", *(f"lowlat-without-{n}" for n in arm.settings(whole.plan))]
    ours, theirs = out.split("── 6.12.1: lowlat with one setting left out")
    assert "Interrupts on the isolated CPUs: 262.5/s in stock, 2.08/s in lowlat" in ours
    # These settings were left out on purpose.
    assert "Not in effect" not in theirs
    # The stand-in's CPUs are quiet if its line has nohz_full.
    row = r"(?m)^lowlat-without-(\S+) +1 / 1 .* /s +(\S.*\S) +descriptive only$"
    changes = dict(re.findall(row, theirs))
    assert re.fullmatch(r"1\d\d times more", changes["nohz_full"])
    assert changes["skew_tick"] == "about equal"


def test_a_setting_left_out_is_in_no_plan_without_it() -> None:
    options = RehearseOptions(ablate=True, plan=GuestPlanOptions(request=CpuRequest(isolate="2-3")))
    whole, *ablated = arm.planned(guest.machine(), options)
    assert len(ablated) > 8
    for one in ablated:
        name = one.name.partition("-without-")[2]
        assert lookup(name).name == name and one.base == whole.name
        assert one.plan is not None and name not in arm.settings(one.plan)


def test_further_profiles_get_the_first_ones_cpus() -> None:
    options = RehearseOptions(profiles=("lowlat", "lowlat-rt", "lowlat-desktop"))
    plans = [one.plan for one in arm.planned(guest.machine(), options)]
    assert [str(plan.isolated) for plan in plans if plan] == ["1-3", "1-3", ""]


def test_a_failed_boot_does_not_lose_the_others_and_is_made_up_for(bench: RehearsalBench) -> None:
    words = ("--isolate", "2-3", "--boots", "2")
    status, out, _ = bench.matrix(*words, GUEST_PANICS="lowlat-2")
    assert status == 1
    assert "lowlat 2 on 6.12.1 failed: the boot of 6.12.1 panicked: Kernel panic" in out
    assert "lowlat 2 on 6.12.1: done" not in out
    assert "2 against 1 boots" in out
    first = len(bench.booted())

    status, out, _ = bench.call("--resume", str(bench.out))
    assert status == 0 and "3 boots were done before" in out
    assert bench.booted()[first:] == ["6.12.1/lowlat-2"]
    assert "2 boots each" in out

    status, out, _ = bench.call("--resume", str(bench.out))
    assert status == 0 and len(bench.booted()) == first + 1
    assert "2 boots each" in out


def test_what_never_boots_is_given_up(bench: RehearsalBench) -> None:
    every = " ".join(f"{name}-{n}" for name in ("stock", "lowlat") for n in range(1, 10))
    status, _, err = bench.matrix("--isolate", "2-3", "--boots", "9", GUEST_PANICS=every)
    assert status == 1
    assert err.count("\n") == 1 and "panicked" in err
    # Three boots and the boots beside them; not eighteen boots.
    assert len(bench.booted()) < 18

    status, _, err = bench.call(
        *("--out", str(bench.folder / "other"), "--kernel", bench.kernel("6.12.1")),
        GUEST_PANICS="scout",
    )
    assert status == 1 and err.count("\n") == 1 and "panicked" in err


def test_what_fails_at_its_end_is_not_counted_and_booted_again(bench: RehearsalBench) -> None:
    words = ("--isolate", "2-3", "--boots", "2")
    status, out, _ = bench.matrix(*words, **{guest.LATE: "lowlat-2"})
    assert status == 1
    assert "lowlat 2 on 6.12.1 failed" in out and "2 against 1 boots" in out
    status, out, _ = bench.call("--resume", str(bench.out))
    assert status == 0 and "3 boots were done before" in out and "2 boots each" in out


def test_boots_that_went_well_are_reported_whatever_fails_later(bench: RehearsalBench) -> None:
    every = " ".join(f"lowlat-poll-{n}" for n in range(1, 4))
    words = ("--isolate", "2-3", "--boots", "3", "--profile", "lowlat", "--profile", "lowlat-poll")
    bench.matrix(*words, **{guest.PANICS: every})
    (bench.out / "report.html").unlink()
    status, out, err = bench.call("--resume", str(bench.out), **{guest.PANICS: every})
    assert (status, err) == (1, "") and "6 boots were done before" in out
    assert (bench.out / "report.html").exists()


def test_a_boot_with_damaged_results_is_done_anew(bench: RehearsalBench) -> None:
    bench.matrix("--isolate", "2-3")
    contents = ("", '{"complaints": 1}', "{}", "[]")
    for name, content in product(("facts.json", "lowlat-1.json"), contents):
        (bench.out / "6.12.1" / "lowlat-1" / name).write_text(content)
        status, out, err = bench.call("--resume", str(bench.out))
        assert (status, err) == (0, "") and "1 boots were done before" in out, (name, content)


def test_plans_that_are_damaged_are_refused(bench: RehearsalBench) -> None:
    bench.matrix("--isolate", "2-3")
    for content in ("", "[1]", '[{"name": "stock"}]', '{"a": 1}'):
        (bench.out / "6.12.1" / "arms.json").write_text(content)
        status, _, err = bench.call("--resume", str(bench.out))
        assert (status, err.count("\n")) == (2, 1) and "arms.json is damaged" in err, content


def test_a_rehearsal_goes_on_with_the_very_kernel_that_it_began_with(bench: RehearsalBench) -> None:
    bench.matrix("--isolate", "2-3")
    made_with = bench.result()["made_with"]
    assert len(made_with["image_sha256 6.12.1"]) == 64
    (bench.folder / "vmlinuz-6.12.1").write_bytes(b"built anew")
    status, _, err = bench.call("--resume", str(bench.out))
    assert (status, err.count("\n")) == (2, 1)
    assert "--resume: it was begun with image_sha256 6.12.1" in err
    (bench.folder / "vmlinuz-6.12.1").unlink()
    status, _, err = bench.call("--resume", str(bench.out))
    assert (status, err.count("\n")) == (2, 1) and "vmlinuz-6.12.1: No such file" in err


def test_a_release_that_two_kernels_have_is_refused(bench: RehearsalBench) -> None:
    (bench.folder / "other").mkdir()
    (bench.folder / "other" / "vmlinuz-6.12.1").write_bytes(b"another")
    other = str(bench.folder / "other" / "vmlinuz-6.12.1")
    status, _, err = bench.matrix("--kernel", other)
    assert (status, err.count("\n")) == (2, 1) and "6.12.1 is named twice" in err
    assert not bench.out.exists()


def test_a_folder_has_one_rehearsal_at_a_time(bench: RehearsalBench) -> None:
    words = ("--out", str(bench.out), "--kernel", bench.kernel("6.12.1"), "--isolate", "2-3")
    with bench.start(*words, **{guest.HANGS: "stock-1"}) as child:
        _until_booted(bench, "stock-1")
        status, _, err = bench.call("--resume", str(bench.out))
        assert (status, err.count("\n")) == (2, 1) and "a rehearsal is at work there" in err
        child.send_signal(signal.SIGHUP)
        out, _ = child.communicate(timeout=GUARD_S)
    assert child.returncode == 129
    assert f"'lowlat-gen rehearse --resume {bench.out}' goes on" in out


def test_an_interrupted_matrix_goes_on(bench: RehearsalBench) -> None:
    words = ("--out", str(bench.out), "--kernel", bench.kernel("6.12.1"), "--isolate", "2-3")
    hanging: Mapping[str, str] = {guest.HANGS: "lowlat-2 stock-2"}
    with bench.start(*words, "--boots", "2", "--jobs", "1", **hanging) as child:
        _until_booted(bench, "-2")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=GUARD_S)
    assert child.returncode == 130 and err == "lowlat-gen: interrupted\n"
    assert f"'lowlat-gen rehearse --resume {bench.out}' goes on" in out
    status, out, _ = bench.call("--resume", str(bench.out))
    assert status == 0 and "2 boots were done before" in out
    assert "2 boots each" in out


def test_a_planner_that_refuses_in_the_guest_is_one_line(bench: RehearsalBench) -> None:
    status, _, err = bench.matrix("--enable", "idle=nosuch;x")
    assert (status, err.count("\n")) == (2, 1)


def test_a_profile_that_tuned_does_not_know_is_one_line(bench: RehearsalBench) -> None:
    words = ("--tuned-profile", "cpu-partitioning", "--tuned-profile", "powersave")
    status, _, err = bench.matrix(*words)
    assert (status, err.count("\n")) == (2, 1)
    assert "--tuned-profile powersave: TuneD did not apply powersave; TuneD: no such profile" in err


@pytest.mark.parametrize(("memory", "cpus", "jobs"), [("2G", 2, 2), ("2G", 64, 6), ("64G", 8, 1)])
def test_guests_run_side_by_side_as_the_host_allows(
    memory: str, cpus: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    pages = {"SC_PHYS_PAGES": 24 << 18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    assert side_by_side(VmSize(4, memory=memory)) == jobs


def _until_booted(bench: RehearsalBench, name: str) -> None:
    waits.until(
        lambda: bench.notes.exists() and name in bench.notes.read_text(), f"{name} is not booted"
    )
