# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts on isolated CPUs: each row with its rate, its sender and its setting."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from booted import (
    DISK,
    INTERRUPTS,
    QUIET,
    count,
    lowlat,
    planned,
    rows,
    start,
    unexpected_interrupts,
)

from support.machines import write_tree


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return planned(tmp_path)


@pytest.fixture
def started(host: Path) -> Path:
    return start(host)


def test_an_interrupt_moved_back_and_one_that_cannot_move(host: Path) -> None:
    (host / "proc/irq/24/smp_affinity").write_text("f\n")
    lowlat_rows = lowlat("verify", "--root", host, "--json").json()["settings"]
    row = next(row for row in lowlat_rows if row["where"] == "/proc/irq/[0-9]*/smp_affinity")
    assert row["state"] == "not-applied" and "/proc/irq/24/" in row["evidence"]
    (host / "proc/irq/24/smp_affinity").chmod(0o444)
    lowlat_rows = lowlat("verify", "--root", host, "--json").json()["settings"]
    row = next(row for row in lowlat_rows if row["where"] == "/proc/irq/[0-9]*/smp_affinity")
    assert row["state"] == "effective" and "keeps these" in row["evidence"]
    assert lowlat("verify", "--root", host).status == 0


def test_a_device_that_came_to_an_isolated_cpu_leaves_irqaffinity_open(started: Path) -> None:
    text = INTERRUPTS.replace("        900          0", "        900          7")
    (started / "proc/interrupts").write_text(text)
    row = rows(started, 0)["irqaffinity"]
    assert row["state"] == "unverifiable"
    assert "irq 24 nvme0q0 came to CPU 1 7 times" in row["evidence"]
    (started / "proc/irq/24/smp_affinity").chmod(0o444)
    assert "nvme0q0" not in rows(started, 0)["irqaffinity"]["evidence"]


def test_a_managed_interrupt_on_an_isolated_cpu_is_told(host: Path) -> None:
    for number, seen in ((30, False), (31, True)):
        folder = f"proc/irq/{number}"
        write_tree(host, {f"{folder}/smp_affinity": "7\n", f"{folder}/effective_affinity": "1\n"})
        (host / folder / "smp_affinity").chmod(0o444)
        found = rows(host, 0)
        assert found["isolcpus"]["state"] == "effective"
        assert ("2 managed interrupts" in found["isolcpus"]["evidence"]) == seen
        flag = found.get("managed_irq", {})
        assert flag.get("state") == (None if seen else "unverifiable")
    write_tree(host, {"proc/irq/30/effective_affinity": "4\n"})
    row = rows(host, 1)["isolcpus"]
    assert row["state"] == "ignored-by-kernel"
    assert "irq 30 may go to CPU 0-2 and goes to the isolated CPU 2" in row["evidence"]


def test_whatever_interrupts_an_isolated_cpu_is_a_finding(host: Path) -> None:
    calls = ("Function call interrupts", [0.0, 0.0, 2000.0, 3.0])
    count(host, QUIET, _30=(DISK, [9, 0, 5000, 0]), CAL=calls)
    disk, *call = unexpected_interrupts(host, 1)
    assert (disk["name"], disk["where"]) == ("irq.smp_affinity", "/proc/interrupts CPU 2")
    assert disk["effective"] == "irq 30 eth0-rx-1 5000.0 per second"
    assert disk["state"] == "ignored-by-kernel"
    assert "irq.smp_affinity is effective, and yet it comes" in disk["evidence"]
    few, many = sorted(call, key=lambda row: row["where"], reverse=True)
    assert many["effective"] == "IPI function call 2000.0 per second"
    assert few["effective"] == "IPI function call 3.0 per second"
    assert (many["name"], many["state"]) == ("interrupts", "no-setting")
    assert few["state"] == "no-setting"
    assert "eth0-rx-1 5000.0" in lowlat("verify", "--root", host).out


def test_interrupts_that_no_setting_removes_have_a_limit(host: Path) -> None:
    count(host, QUIET, CAL=("Function call interrupts", [0.0, 0.0, 150.0, 3.0]))
    answer = lowlat("verify", "--root", host)
    said = " ".join(answer.out.split())
    assert answer.status == 0 and "2 rows of noise that no setting removes" in said
    assert "no-setting" not in said.rpartition(" settings: ")[2]
    assert "/isolated is 1-3; no managed interrupts here" in said, "what it shows goes first"
    assert lowlat("verify", "--root", host, "--limit", "500").status == 0
    over = lowlat("verify", "--root", host, "--limit", "100")
    assert over.status == 1 and "--limit 100 not met: CPU 2 takes 15" in over.err
    (host / ".lowlat/counters").unlink()
    unknown = lowlat("verify", "--root", host, "--limit", "100")
    assert unknown.status == 2 and "no interrupts were counted" in unknown.err


def test_a_row_is_told_from_two_events_on_and_blames_a_setting_from_three(host: Path) -> None:
    """An interrupt may come once more after it was moved; NMI and timers come by other causes."""
    rows: dict[str, Any] = {
        "_30": (DISK, [9, 0.1, 0.2, 0.3]),
        "RES": ("Rescheduling interrupts", [0, 0.1, 0.2, 4]),
        "THR": ("Threshold APIC interrupts", [0, 0.1, 0.2, 4]),
        "NEW": ("Interrupts of a later kernel", [0, 0.1, 0.2, 4]),
    }
    count(host, [250, 0.1, 0.4, 5], **rows)
    found = Counter((row["where"][-1], row["state"]) for row in unexpected_interrupts(host, 1))
    assert found == {
        **{("2", "unverifiable"): 1, ("2", "no-setting"): 4},
        **{("3", "ignored-by-kernel"): 1, ("3", "no-setting"): 4},
    }
    two = next(row for row in unexpected_interrupts(host, 1) if "eth0-rx-1 0.2" in row["evidence"])
    assert "too few to tell whether irq.smp_affinity fails" in two["evidence"]
    del rows["_30"]
    count(host, [250, 0.1, 0.4, 5], **rows)
    timers = [row for row in unexpected_interrupts(host, 0) if "local_timer" in row["effective"]]
    assert [row["effective"] for row in timers] == [
        "local_timer 0.4 per second",
        "local_timer 5.0 per second",
    ]


def test_calls_between_cpus_may_be_the_doing_of_the_work_there(host: Path) -> None:
    calls = ("Function call interrupts", [0.0, 0.0, 0.0, 2000.0])
    count(host, QUIET, spinning="1-2", watching="3", CAL=calls)
    (row,) = unexpected_interrupts(host, 0)
    assert row["state"] == "unverifiable" and "the work that runs there" in row["evidence"]
    count(host, QUIET, spinning="1-2", watching="3", _30=(DISK, [9, 0, 0, 50]))
    assert [row["state"] for row in unexpected_interrupts(host, 1)] == ["ignored-by-kernel"]


_SENT = """traced
seen 2 CAL 8 CPU 0, kworker/0:1 (123) from rcu_exp_sel_wait_wake (rcu_exp_handler)
seen 2 CAL 2 CPU 0, bash (77) from on_each_cpu_cond_mask
seen 1 CAL 9 CPU 3, other (5) from elsewhere
"""


@pytest.mark.parametrize(
    ("sent", "words", "name"),
    [
        (
            _SENT,
            "sent by CPU 0, kworker/0:1 (123) from rcu_exp_sel_wait_wake (rcu_exp_handler) "
            "(8 of 10); CPU 0, bash (77) from on_each_cpu_cond_mask (2 of 10)",
            "rcupdate.rcu_normal_after_boot",
        ),
        ("traced\n", "the kernel's trace names no sender", "interrupts"),
        (
            "traced\nunseen CAL this kernel does not have the event ipi:ipi_send_cpu\n",
            "who sends it is not known: this kernel does not have the event ipi:ipi_send_cpu",
            "interrupts",
        ),
        ("", "who sends it is not known: it was not recorded", "interrupts"),
    ],
)
def test_who_calls_an_isolated_cpu_is_told(host: Path, sent: str, words: str, name: str) -> None:
    """The named setting is the one that removes the cause of the calls."""
    calls = ("Function call interrupts", [0.0, 0.0, 2000.0, 0.1])
    count(host, QUIET, stops=sent, CAL=calls)
    (row,) = unexpected_interrupts(host, 0)
    assert row["evidence"].endswith(f"; {words}") and row["state"] == "no-setting"
    assert (f"{name} is in effect and does not stop it" in row["evidence"]) == (
        name != "interrupts"
    )
    count(host, QUIET, stops=sent, spinning="1", watching="2-3", CAL=calls)
    assert unexpected_interrupts(host, 0)[0]["evidence"].endswith(f"work that runs there; {words}")


def test_softirqs_on_an_isolated_cpu_are_findings(host: Path) -> None:
    count(host, QUIET, softirqs={"NET_RX": [9, 0, 300, 0], "TIMER": [250, 1, 1, 1]})
    (row,) = unexpected_interrupts(host, 0)
    assert (row["where"], row["state"]) == ("/proc/softirqs CPU 2", "no-setting")
    assert row["effective"] == "softirq NET_RX 300.0 per second"
    write_tree(host, {"proc/irq/24/smp_affinity": "f\n"})
    (row,) = unexpected_interrupts(host, 1)
    assert (row["name"], row["state"]) == ("irq.smp_affinity", "not-applied")


def test_irqbalance_moved_an_interrupt_back(started: Path) -> None:
    write_tree(started, {"proc/7/comm": "irqbalance\n", "proc/irq/24/smp_affinity": "f\n"})
    row = rows(started, 1)["irq.smp_affinity"]
    assert (row["state"], row["by"]) == ("undone", "irqbalance")
    assert row["evidence"] == "/proc/irq/24/smp_affinity is f"


@pytest.mark.parametrize(
    ("refused", "state"),
    [("Input/output error", "effective"), ("No space left on device", "not-applied")],
)
def test_only_what_the_kernel_manages_stays_where_it_is(
    started: Path, refused: str, state: str
) -> None:
    """A full vector table keeps an interrupt on an isolated CPU that could go elsewhere."""
    record = json.loads((started / "run/lowlat/runtime.json").read_text())
    path = "/proc/irq/24/smp_affinity"
    record["refused"][path] = refused
    record["done"].pop(path, None)
    write_tree(started, {"run/lowlat/runtime.json": json.dumps(record)})
    write_tree(started, {path[1:]: "2\n", "proc/irq/24/effective_affinity": "2\n"})
    row = rows(started, int(state != "effective"))["irq.smp_affinity"]
    assert row["state"] == state, row
    assert refused in row["evidence"] or "delivered to an isolated CPU" in row["evidence"]


def test_an_interrupt_that_has_not_moved_yet_is_told(host: Path) -> None:
    write_tree(host, {"proc/irq/24/effective_affinity": "4\n"})
    row = rows(host, 0)["irq.smp_affinity"]
    assert row["state"] == "unverifiable"
    assert "but still /proc/irq/24/effective_affinity is 4" in row["evidence"]
