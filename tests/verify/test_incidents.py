# SPDX-License-Identifier: GPL-2.0-or-later
"""Incidents from public reports, each on a machine on which all else is in effect: verify names the
intruder, its setting or that there is none, and calls nothing effective that is not."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from booted import DMESG, count, lowlat, planned

from support.machines import fair_server, write_tree

_QUIET, _TICKS = [250, 0.1, 0.1, 0.1], [250, 250, 250, 250]


@dataclass(frozen=True)
class Incident:
    """``files`` come after the start of the run-time settings, ``counts`` are those of count().
    ``rows`` are parts of rows: the setting, the state, what the evidence and ``by`` have in it."""

    rows: tuple[tuple[str, str, str], ...]
    files: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    rates: tuple[float, ...] = tuple(_QUIET)
    options: tuple[str, ...] = ()


def _calls(rate: float, sender: str) -> dict[str, Any]:
    sent = round(10 * rate)
    seen = "".join(f"seen {cpu} CAL {sent} CPU 0, {sender}\n" for cpu in (1, 2, 3))
    rates = [0, rate, rate, rate]
    return {"stops": f"traced\n{seen}", "CAL": ("Function call interrupts", rates)}


def _threads(*threads: str) -> dict[str, Any]:
    """Threads "TID KIND POLICY ALLOWED GROUP NAME" that ran 100 times on CPU 2."""
    lines: tuple[list[str], list[str]] = ([], [])
    for thread in threads:
        tid, kind, policy, allowed, group, name = thread.split()
        for runs, reading in zip((10, 110), lines):
            who = f"{kind} {policy} 2 {allowed} {runs} {runs}000 {group} {name}"
            reading.append(f"{tid} {tid} {who}\n")
    return {"tasks": tuple(map(tuple, lines))}


def _said(*lines: str) -> dict[str, str]:
    return {"var/log/dmesg": DMESG + "".join(f"{line}\n" for line in lines)}


_IRQ = "proc/irq/24/smp_affinity"
_SITE = "etc/sysctl.d/50-site.conf"
_BY_SITE = "systemd (/etc/sysctl.d/50-site.conf)"
_UNSTABLE = "Marking clocksource 'tsc' as unstable because the skew is too large:"
_BUSY = _threads("4100 user other 0-3 cri-containerd-1f2e3d.scope node_exporter")

INCIDENTS = {
    "a managed interrupt with a queue on each CPU": Incident(
        (("interrupts", "no-setting", "irq 44 mpi3mr0-msix4 150.0 per second; the kernel keeps"),),
        {"proc/irq/44/smp_affinity": "4\n", "proc/irq/44/effective_affinity": "4\n"},
        {"_44": ("PCI-MSIX 4-edge mpi3mr0-msix4", [0, 0, 150, 0])},
    ),
    "the fair server brings the tick back": Incident(
        (
            ("nohz_full", "ignored-by-kernel", "fair_server/cpu1/runtime is 50000000, not 0"),
            ("fair_server.period", "undone", "runtime is 50000000"),
        ),
        fair_server((1, 2, 3), planned=False),
        rates=tuple(_TICKS),
    ),
    "a site's file sets a value back": Incident(
        (("vm.compaction_proactiveness", "undone", _BY_SITE),),
        {_SITE: "vm.compaction_proactiveness=20\n", "proc/sys/vm/compaction_proactiveness": "20\n"},
    ),
    "a ban list replaces irqbalance's own": Incident(
        (
            ("irq.smp_affinity", "undone", "irqbalance"),
            ("irq.smp_affinity", "undone", "irq 24 nvme0q0 5200.0 per second"),
            ("interrupts", "unverifiable", "irqbalance has IRQBALANCE_BANNED_CPUS=00000001"),
        ),
        {
            **{"etc/default/irqbalance": "IRQBALANCE_BANNED_CPUS=00000001\n", _IRQ: "4\n"},
            "proc/7/comm": "irqbalance\n",
        },
        {"_24": ("PCI-MSI 1-edge nvme0q0", [9, 0, 5200, 0])},
    ),
    "the clock becomes unstable": Incident(
        (("nohz_full", "ignored-by-kernel", _UNSTABLE),),
        _said(f"[  512.1] clocksource: timekeeping watchdog on CPU3: {_UNSTABLE}"),
        {"stops": "traced\nseen 2 TICK 2500 CLOCK_UNSTABLE\n"},
        tuple(_TICKS),
    ),
    "a second task in a container": Incident(
        (
            ("nohz_full", "ignored-by-kernel", "the scheduler: more than one task"),
            ("isolcpus", "not-applied", "cri-containerd-1f2e3d.scope"),
            ("isolcpus", "not-applied", "node_exporter (4100) on CPU 2"),
        ),
        counts={**_BUSY, "stops": "traced\nseen 2 TICK 2500 SCHED\n"},
        rates=(250, 0, 250, 0),
    ),
    "the watchdogs come back": Incident(
        (
            ("kernel.watchdog_cpumask", "undone", _BY_SITE),
            ("kernel.nmi_watchdog", "undone", _BY_SITE),
        ),
        {
            _SITE: "kernel.watchdog_cpumask = 0-3\nkernel.nmi_watchdog = 1\n",
            "proc/sys/kernel/watchdog_cpumask": "0-3\n",
            "proc/sys/kernel/nmi_watchdog": "1\n",
        },
    ),
    "a flush of kernel addresses now and then": Incident(
        (("interrupts", "no-setting", "sent by CPU 0, NetworkManager (1405)"),),
        counts=_calls(6, "NetworkManager (1405) from smp_call_function_many_cond (do_flush)"),
    ),
    "an agent reads registers of each CPU": Incident(
        (("interrupts", "no-setting", "sent by CPU 0, telegraf (991)"),),
        counts=_calls(200, "telegraf (991) from generic_exec_single (__rdmsr_safe_on_cpu)"),
    ),
    "real-time tasks are throttled": Incident(
        (("kernel.sched_rt_runtime_us", "not-applied", "157.9 s: sched: RT throttling"),),
        _said("[  157.924835] sched: RT throttling activated"),
    ),
    "threads of RCU on an isolated CPU": Incident(
        (("", "not-applied", "rcu_preempt (16) on CPU 2"), ("", "", "rcuop/2 (33) on CPU 2")),
        counts=_threads("33 kernel other 0-3 - rcuop/2", "16 kernel other 0-3 - rcu_preempt"),
    ),
    "the governor's thread": Incident(
        (("", "", "sugov:2 (700) on CPU 2"),),
        counts=_threads("700 bound deadline 2 - sugov:2"),
    ),
    "work that each CPU does": Incident(
        (("", "", "kworker/2:1 (82) on CPU 2"),),
        counts=_threads("82 bound other 2 - kworker/2:1"),
    ),
    "the tick of Hyper-V": Incident(
        (("nohz_full", "ignored-by-kernel", "HVS 250.0 per second"),),
        counts={"HVS": ("Hyper-V stimer0 interrupts", _TICKS)},
        rates=(0, 0, 0, 0),
    ),
    "a latency guide sets timer_migration": Incident(
        (("kernel.timer_migration", "undone", _BY_SITE),),
        {_SITE: "kernel.timer_migration=0\n", "proc/sys/kernel/timer_migration": "0\n"},
    ),
    "firmware stops the machine": Incident(
        (
            ("interrupts", "no-setting", "90.1 s: perf: interrupt took too long (2512 > 2500)"),
            ("interrupts", "no-setting", "91.3 s: hrtimer: interrupt took 412334 ns"),
            ("interrupts", "no-setting", "92.5 s: clocksource: timekeeping watchdog on CPU1"),
        ),
        _said(
            "[   90.1] perf: interrupt took too long (2512 > 2500), lowering "
            "kernel.perf_event_max_sample_rate to 79500",
            "[   91.3] hrtimer: interrupt took 412334 ns",
            "[   92.5] clocksource: timekeeping watchdog on CPU1: wd-tsc-wd excessive read-back "
            "delay of 231000ns vs. limit of 125000ns, wd-wd read-back delay only 600ns, attempt 3",
        ),
    ),
    "a serial console": Incident((), _said("[    3.1] printk: legacy console [ttyS0] enabled")),
    "threads of memory and of devices": Incident(
        (
            ("", "", "ksmd (90) on CPU 2"),
            ("", "", "kswapd0 (92) on CPU 2"),
            ("", "", "irq/55-mei_me (94, fifo:50) on CPU 2"),
        ),
        counts=_threads(
            "90 kernel other 0-3 - ksmd",
            "92 kernel other 0-3 - kswapd0",
            "94 kernel fifo:50 0-3 - irq/55-mei_me",
        ),
    ),
}


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine on which every setting is in effect."""
    host = planned(tmp_path_factory.mktemp("well") / "host")
    write_tree(host, {"proc/sys/kernel/random/boot_id": "11111111-aaaa\n"})
    assert lowlat("runtime", "start", "--root", host).status == 0
    return host


@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_is_named(name: str, well: Path, tmp_path: Path) -> None:
    incident, host = INCIDENTS[name], tmp_path / "host"
    shutil.copytree(well, host)
    write_tree(host, incident.files)
    for managed in host.glob("proc/irq/44/smp_affinity"):
        managed.chmod(0o444)
    count(host, list(incident.rates), **incident.counts)
    answer = lowlat("verify", "--root", host, "--json")
    rows = [row for row in answer.json()["settings"] if row["state"] != "effective"]
    told = [(row["name"], row["state"], f"{row['by']} {row['evidence']}") for row in rows]
    for setting, state, words in incident.rows:
        assert any(setting in row[0] and state in row[1] and words in row[2] for row in told), (
            words,
            told,
        )
    assert (not incident.rows) == (told == []), told
    bad = {"ignored-by-kernel", "not-applied", "undone"}
    assert answer.status == int(any(row["state"] in bad for row in rows))
    if "managed" in name:
        assert "echo" not in answer.out
