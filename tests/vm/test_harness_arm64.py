# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness cross-built for arm64, in a guest of that kind: its own tests, clock, events,
counters, and what its kernel grants to real-time loops."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from support.guest import emulator, initramfs
from support.guest.cross import built_or_skip
from support.guest.kernels import KERNELS, busybox_or_skip, packaged_or_skip

pytestmark = pytest.mark.vm

ARCH = "arm64"
CPUS = 4

#: In CPU seconds.
_LIMIT_S = 800.0

#: Counters of CPU 2 are read around the run, which lies inside.
_INIT = r"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 none /sys/fs/cgroup
dmesg -n 1
mkdir -p /dev/shm
for test in /tests/*; do
	timeout 100 "$test" >/tmp/out 2>&1
	echo "=== test ${test##*/} $?"
	grep -A1 '^not' /tmp/out
done

measure() {
	name=$1; shift
	lowlat-measure --emulated --no-oslat --warmup 500ms --duration 2s \
		--json /tmp/run "$@" >/tmp/out 2>&1
	echo "=== run $name $?"
	grep '^lowlat-measure:' /tmp/out
	[ ! -e /tmp/run ] || gzip -c /tmp/run | base64
	rm -f /tmp/run
}

cat /proc/interrupts >/tmp/before
measure other --cpus 2-3 --threshold 20us --events /tmp/events
echo "=== file before"; gzip -c /tmp/before | base64
echo "=== file after"; gzip -c /proc/interrupts | base64
echo "=== file events"; gzip -c /tmp/events | base64
measure fifo --cpus 2 --policy fifo:1
measure refused --cpus 2 --policy deadline:50ms/100ms
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
measure unbound --cpus 2 --policy deadline:50ms/100ms
echo 950000 >/proc/sys/kernel/sched_rt_runtime_us
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/alone
echo 3 >/sys/fs/cgroup/alone/cpuset.cpus
echo root >/sys/fs/cgroup/alone/cpuset.cpus.partition
echo $$ >/sys/fs/cgroup/alone/cgroup.procs
measure partition --cpus 3 --policy deadline:50ms/100ms
echo "=== end"
poweroff -f
"""

_SECTION = re.compile(
    r"^=== (test|run|file) (\S+) ?(\d*)\n(.*?)(?=^=== )", re.MULTILINE | re.DOTALL
)


_BASE64 = re.compile(r"[A-Za-z0-9+/]+=*")


@dataclass(frozen=True)
class Arm64Guest:
    """What came out of the guest: statuses and words of the tests and runs, and files."""

    tests: dict[str, tuple[int, str]]
    runs: dict[str, tuple[int, str]]
    files: dict[str, str]

    def run(self, name: str) -> dict[str, Any]:
        status, text = self.runs[name]
        assert status == 0, text
        run: dict[str, Any] = json.loads(_unpacked(text))
        return run


def _unpacked(text: str) -> str:
    # The kernel may say something in between.
    lines = [line for line in text.splitlines() if _BASE64.fullmatch(line)]
    return gzip.decompress(base64.b64decode("".join(lines))).decode()


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Arm64Guest:
    folder = tmp_path_factory.mktemp("arm64")
    hardware = emulator.Hardware(ARCH, cpus=CPUS)
    argv = hardware.argv()
    kernel = packaged_or_skip(KERNELS["6.12-arm64"])
    built = built_or_skip(ARCH, folder / "build")
    more = {"bin/lowlat-measure": built.program.read_bytes()}
    more |= {f"tests/{name}": path.read_bytes() for name, path in built.tests().items()}
    initrd = folder / "initrd"
    initrd.write_bytes(initramfs.build(busybox_or_skip(ARCH), _INIT, more))
    argv += ["-kernel", str(kernel.image), "-initrd", str(initrd)]
    argv += ["-append", f"console={hardware.console} panic=-1 quiet"]
    text = emulator.run(argv, limit=_LIMIT_S, log=folder / "console.log").replace("\r", "")
    found = {"test": {}, "run": {}, "file": {}}  # type: dict[str, dict[str, tuple[int, str]]]
    for kind, name, status, body in _SECTION.findall(text):
        found[kind][name] = (int(status or 0), body.strip())
    assert "=== end" in text, text[-2000:]
    files = {name: _unpacked(body) for name, (_, body) in found["file"].items()}
    return Arm64Guest(found["test"], found["run"], files)


def test_its_own_tests_pass(guest: Arm64Guest) -> None:
    assert len(guest.tests) > 8
    assert {name: said for name, (status, said) in guest.tests.items() if status} == {}


def test_clock_is_the_virtual_counter(guest: Arm64Guest) -> None:
    clock = guest.run("other")["clock"]
    assert (clock["source"], clock["invariant"]) == ("cntvct", True)
    # Of cntfrq_el0: QEMU's machine counts at 62.5 MHz, and 1 GHz from version 9 on.
    assert min(abs(clock["hz"] / rate - 1) for rate in (62.5e6, 1e9)) < 1e-3


def test_events_are_the_noise(guest: Arm64Guest) -> None:
    run = guest.run("other")
    header, *rows = guest.files["events"].splitlines()
    events = [tuple(map(int, row.split(","))) for row in rows]
    assert header == "cpu,begin,end"
    assert [begin for _, begin, _ in events] == sorted(begin for _, begin, _ in events)
    assert [cpu["cpu"] for cpu in run["cpus"]] == [2, 3]
    for cpu in run["cpus"]:
        own = [(begin, end) for number, begin, end in events if number == cpu["cpu"]]
        assert len(own) == cpu["events"] - cpu["lost_events"] > 0
        assert cpu["begin_ticks"] <= own[0][0]
        assert own[-1][1] <= cpu["end_ticks"]
        ticks = sum(end - begin for begin, end in own)
        assert ticks * 1e9 / run["clock"]["hz"] == pytest.approx(cpu["noise_ns"], rel=1e-6)
        assert sum(count for _, _, count in cpu["histogram"]["counts"]) == cpu["events"]


def test_counters_are_those_of_the_kernel(guest: Arm64Guest) -> None:
    run = guest.run("other")
    for cpu in run["cpus"]:
        entries = cpu["interrupts_per_s"]
        seconds = cpu["runtime_ns"] / 1e9
        grown = _growth(guest, cpu["cpu"])
        rows = {name: rate for name, rate in entries.items() if name != "total"}
        assert rows
        assert entries["total"] == pytest.approx(sum(rows.values()))
        assert 0 < entries["total"] * seconds <= sum(grown.values())
        for name, rate in rows.items():
            assert rate * seconds <= grown[name.partition(":")[0]] + 0.5, name
        # The tick is this architecture's own: one of its per-CPU timer interrupts.
        assert any("arch_timer" in name for name in rows), rows


def _growth(guest: Arm64Guest, cpu: int) -> dict[str, int]:
    before, after = (_column(guest.files[name], cpu) for name in ("before", "after"))
    return {label: count - before.get(label, 0) for label, count in after.items()}


def _column(text: str, cpu: int) -> dict[str, int]:
    header, *rows = text.splitlines()
    at = header.split().index(f"CPU{cpu}") + 1
    words = (row.split() for row in rows)
    return {row[0].rstrip(":"): int(row[at]) for row in words if len(row) > CPUS}


def test_a_real_time_run_names_its_policy(guest: Arm64Guest) -> None:
    assert guest.run("fifo")["policy"] == "fifo:1"


def test_deadline_is_refused_with_its_reason(guest: Arm64Guest) -> None:
    status, said = guest.runs["refused"]
    assert status == 2
    assert said.count("\n") == 0
    assert "deadline:50ms/100ms: the kernel binds a deadline task to CPU 2 alone" in said


@pytest.mark.parametrize("name", ["unbound", "partition"])
def test_deadline_throttling_is_named(guest: Arm64Guest, name: str) -> None:
    run = guest.run(name)
    assert run["policy"] == "deadline:50ms/100ms"
    (cpu,) = run["cpus"]
    named = re.compile(
        rf"CPU {cpu['cpu']}: (\d+) gaps of about .* are the kernel's own \(deadline\) .*"
    )
    (found,) = filter(None, map(named.fullmatch, run["problems"]))
    assert int(found[1]) >= 10
