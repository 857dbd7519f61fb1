# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts and their causes on PREEMPT_RT, beside the kernel's own osnoise tracer in the same
seconds: counts, as an emulator has no notion of time."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lowlat.base import process
from lowlat.catalogue.remedies import Remedies
from lowlat.measure.causes.attribution import attach
from lowlat.measure.causes.capture import read_capture
from lowlat.measure.follow import parse_line
from lowlat.measure.occupants import Look
from support import needs
from support.guest import REPOSITORY, emulator, initramfs
from support.guest.cross import built_or_skip
from support.guest.kernels import KERNELS, busybox_or_skip, packaged_or_skip

pytestmark = pytest.mark.vm

SOURCE = REPOSITORY / "measure"

#: In CPU seconds.
_LIMIT_S = 300.0

#: In seconds.
_BUILD_S = 300.0

#: What interrupts meanwhile: the other CPUs fork and write, which brings function calls. Without a
#: load of its own the osnoise tracer records every thread, the detector too
#: (kernel/trace/trace_osnoise.c, trace_sched_switch_callback()).
_INIT = r"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
dmesg -n 1
mkdir -p /dev/shm /capture
(while :; do sleep 0.01; cat /proc/interrupts >/tmp/junk; done) &
mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing
mkdir instances/peer
echo NO_OSNOISE_WORKLOAD >osnoise/options
echo 2-3 >osnoise/cpus
cat osnoise/options >/capture/options
cd instances/peer
echo x86-tsc >trace_clock
echo osnoise >current_tracer
echo 1 >events/osnoise/enable
lowlat-measure --cpus 2-3 --emulated --no-oslat --warmup 5s --duration 10s --threshold 20us \
	--observer trace --capture /capture --events /capture/gaps.csv --json /capture/run.json \
	>/capture/out 2>&1
echo $? >/capture/status
echo 0 >tracing_on
grep -E " (irq|nmi|softirq|thread)_noise:" trace >/capture/peer
cd /
rmdir /sys/kernel/tracing/instances/peer
ls /sys/kernel/tracing/instances >/capture/left
lowlat-measure --cpus 2-3 --emulated --no-oslat --warmup 0s --duration 2s --follow >/capture/follow
echo "=== begin"
tar -C /capture -c . | gzip | base64
echo "=== end"
# The power is cut when the console has shown that.
while :; do sleep 60; done
"""

_END = "=== end"

#: An event of the osnoise tracer, at its end: CPU, ticks, class and name.
_NOISE = re.compile(r"(?m)\[(\d+)\] \S+ +(\d+): (\w+)_noise: +(.+) start ")

ISOLATED = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1"


def _harness_or_skip(arch: str, out: Path) -> bytes:
    """Without a library at run time; for this architecture or built across."""
    if arch != "amd64":
        return built_or_skip(arch, out).program.read_bytes()
    library = next(Path("/usr/lib/x86_64-linux-gnu").glob("libjansson.a"), None)
    if library is None:
        needs.absent("no libjansson.a (libjansson-dev) on this host")
    argv = ["make", "-C", str(SOURCE), f"BUILD={out}", "LDFLAGS=-static", f"JANSSON_LIBS={library}"]
    made = process.run([*argv, "all"], timeout=_BUILD_S)
    assert made.status == 0, made.stderr
    return (out / "lowlat-measure").read_bytes()


@pytest.fixture(
    scope="module",
    params=[
        ("6.12-rt", ""),
        ("6.12-rt", ISOLATED),
        pytest.param(("6.1-rt", ""), marks=pytest.mark.proof),
        pytest.param(("6.12-arm64", ""), marks=pytest.mark.proof),
    ],
    ids=["6.12-rt", "6.12-rt-isolated", "6.1-rt", "6.12-arm64"],
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A boot, a run in it, and its causes joined here."""
    name, more = request.param
    arch = KERNELS[name].arch
    hardware = emulator.Hardware(arch)
    argv = hardware.argv()
    kernel = packaged_or_skip(KERNELS[name])
    folder = tmp_path_factory.mktemp("causes")
    initrd = folder / "initrd"
    files = {"bin/lowlat-measure": _harness_or_skip(arch, folder / "build")}
    initrd.write_bytes(initramfs.build(busybox_or_skip(arch), _INIT, files))
    argv += ["-kernel", str(kernel.image), "-initrd", str(initrd)]
    # The kernel would give up a serial port whose interrupt threads come late, and say so amid a
    # line of the files.
    kept = "quiet noirqdebug tsc=reliable"
    argv += ["-append", f"console={hardware.console} panic=-1 {kept} {more}"]
    text = emulator.run(argv, limit=_LIMIT_S, log=folder / "console.log", cut_at=_END)
    _unpack(text, folder / "capture")
    status = (folder / "capture" / "status").read_text().strip()
    assert status == "0", (folder / "capture" / "out").read_text()
    document: dict[str, Any] = json.loads((folder / "capture" / "run.json").read_text())
    attach(document, folder / "capture", folder / "capture" / "gaps.csv")
    names = ("left", "out", "options", "peer", "follow")
    document["files"] = {name: (folder / "capture" / name).read_text() for name in names}
    captured = read_capture(folder / "capture").cpus
    document["loops"] = {one.cpu: (one.begin, one.end) for one in captured}
    return document


def _unpack(text: str, folder: Path) -> None:
    found = re.search(r"=== begin\r?\n(.*?)=== end", text, re.DOTALL)
    assert found, text[-2000:]
    lines = re.findall(r"^[A-Za-z0-9+/]+=*\r?$", found[1], re.MULTILINE)
    data = base64.b64decode("".join(line.strip() for line in lines))
    folder.mkdir()
    # Whole or not at all: tarfile takes a damaged header for the end.
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                (folder / Path(member.name).name).write_bytes(content.read())


def test_interrupts_have_a_named_cause(run: dict[str, Any]) -> None:
    sums = [cpu["attribution"] for cpu in run["cpus"]]
    kinds = [one["classes"].get(kind) for one in sums for kind in ("irq", "ipi", "nmi")]
    counted = sum(one["counted"] for one in kinds if one)
    named = sum(one["recorded"] for one in kinds if one)
    events = sum(one["kernel_events"] for one in sums)
    inside = sum(one["kernel_events_in_gaps"] for one in sums)
    print(
        f"{run['kernel']}: {named} of {counted} entries named, {inside} of {events} events in gaps"
    )
    for cpu in run["cpus"]:
        for one in cpu["causes"][:8]:
            print(cpu["cpu"], one)
    assert counted > 0
    # One a CPU may have begun before the counters were read first, and be counted after that.
    assert named >= 0.99 * counted - len(sums)
    assert inside >= 0.99 * events > 0


def test_the_trace_is_whole_and_nothing_of_it_is_left(run: dict[str, Any]) -> None:
    assert run["attribution"]["observer"] == "trace"
    assert [cpu["attribution"]["records_lost"] for cpu in run["cpus"]] == [0, 0]
    assert run["files"]["left"] == ""


def test_events_that_the_kernel_has_not_are_named(run: dict[str, Any]) -> None:
    notes = " ".join(run["attribution"]["notes"])
    # From 6.4 on the kernel tells who sent an interrupt; without the TSC it tells times in us.
    assert ("cut to microseconds" in notes) == (run["clock"]["source"] != "tsc")
    assert ("ipi/ipi_send_cpu" in notes) == run["kernel"].startswith("6.1.")


def test_the_classes_are_those_of_the_kernels_own_tracer(run: dict[str, Any]) -> None:
    if run["kernel"].endswith("-arm64"):
        # CONFIG_OSNOISE_TRACER is off in it.
        assert run["files"]["options"] == "" == run["files"]["peer"]
        return
    assert "NO_OSNOISE_WORKLOAD" in run["files"]["options"].split()
    for cpu in run["cpus"]:
        begin, end = run["loops"][cpu["cpu"]]
        told = Counter(
            kind
            for number, ticks, kind, name in _NOISE.findall(run["files"]["peer"])
            # A stay of the detector ends where another thread takes the CPU.
            if (kind != "thread" or name.startswith("lowlat-measure:"))
            and (int(number), begin <= int(ticks) < end) == (cpu["cpu"], True)
        )
        ours = {kind: own["recorded"] for kind, own in cpu["attribution"]["classes"].items()}
        print(f"{run['kernel']}, CPU {cpu['cpu']}: lowlat {ours}, osnoise {dict(told)}")
        assert ours["thread"] == pytest.approx(told["thread"], abs=1)
        assert ours.get("nmi", 0) == told["nmi"]
        # These are compared with /proc/interrupts, which is read before the loop and after it.
        assert told["irq"] - 1 <= ours["irq"] + ours.get("ipi", 0) <= 1.1 * told["irq"] + 5
        # On PREEMPT_RT a softirq is a part of a thread for the tracer.
        assert told["softirq"] == 0


def test_causes_add_up_to_the_gaps(run: dict[str, Any]) -> None:
    for cpu in run["cpus"]:
        total = sum(cause["time_ns"] for cause in cpu["causes"])
        assert total == pytest.approx(cpu["noise_ns"], rel=0.01)


def test_top_accounts_for_each_second(run: dict[str, Any]) -> None:
    lines = run["files"]["follow"].splitlines()
    assert lines
    for line in lines:
        second = parse_line(line, Look()).accounted(Remedies())
        assert [cpu.cpu for cpu in second.cpus] == [2, 3]
        for cpu in second.cpus:
            known = sum(one.us_per_s for one in cpu.sources) + cpu.not_explained_us_per_s
            assert known == pytest.approx(cpu.lost_us_per_s, rel=0.01, abs=1)
