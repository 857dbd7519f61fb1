# SPDX-License-Identifier: GPL-2.0-or-later
"""Short input of high cost: lowlat refuses it within two seconds and with less than 100 MB."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

from lowlat.host.archive import SCHEMA
from lowlat.model.cpuset import MAX_CPU
from support import needs
from support.cli import GEN
from support.machines import machine, write_tree

pytestmark = [pytest.mark.security, pytest.mark.slow]

HEAD = f"{SCHEMA} lowlat-gen 1\n".encode()

#: The size of the audit's file in bytes.
PACKED = 122_000


#: Runs the verb with at most 1 GiB and one minute. The last line is the peak memory since the start
#: of the verb; wait4() would report the peak of the whole process.
BOUNDED = """\
import re, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from lowlat import cli
status = cli.main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
kib = re.search(r"VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]
print(used.ru_utime + used.ru_stime, kib, file=sys.stderr)
sys.exit(status)
"""


def _cost(*words: str) -> tuple[int, str, float, int]:
    """Status, standard error, CPU seconds and memory in KiB of one call."""
    argv = [sys.executable, "-c", BOUNDED, *words]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    *said, last = ended.stderr.splitlines(keepends=True) or [""]
    seconds, kib = last.split()
    return ended.returncode, "".join(said), float(seconds), int(kib)


def _lines(text: Callable[[int], bytes]) -> Iterator[bytes]:
    n = 0
    while True:
        yield text(n)
        n += 1


#: Endless records: the most compressible ones first, then the most expensive ones that compress as
#: well as text can.
BOMBS = {
    "one line": _lines(lambda n: b"#" * 4096),
    "zeros": _lines(lambda n: bytes(1 << 16)),
    "lines of a file": _lines(lambda n: b"|\n" * 1000 if n else b"f /a\n"),
    "names": _lines(lambda n: b" a" * 1000 if n else b"d /a"),
    "long paths": _lines(lambda n: b"e /%x" % n + b"a" * 4000 + b"\n"),
    "deepest paths": _lines(lambda n: b"e /%x" % n + b"/a" * 2000 + b"\n"),
    "short lines": _lines(lambda n: b"e /%x\n" % n),
    "files": _lines(lambda n: b"f /%x x\n" % n),
    "folders": _lines(lambda n: b"d /%x a b c d e f g h i\n" % n),
    "deep paths": _lines(lambda n: b"e /%x" % n + b"/a" * 30 + b"\n"),
    "escapes": _lines(lambda n: b"f /%x " % n + b"\\xff" * 50 + b"\n"),
}


def _bomb(lines: Iterator[bytes]) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as file:
        file.write(HEAD)
        while out.tell() < PACKED and file.tell() < 128 << 20:
            file.write(b"".join(next(lines) for _ in range(1000)))
    return out.getvalue()


@pytest.mark.parametrize("kind", BOMBS)
def test_a_packed_archive_costs_little(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(_bomb(BOMBS[kind]))
    status, said, seconds, kib = _cost("plan", "--root", str(tmp_path / "a.gz"))
    assert (status, said.count("\n")) == (2, 1) and "Traceback" not in said, said
    assert seconds <= 2 and kib <= 160_000, (seconds, kib)


#: A line of a kernel file, and its number of repetitions: 9 MB, as much as 122 KB of gzip may hold.
FILES = {
    "/proc/cpuinfo": (b"|flags\\x09: " + b"tsc " * 50, 45_000),
    "/proc/interrupts": (b"| 24: 1 2 3 4 IO-APIC 2-edge eth0", 280_000),
    "/proc/softirqs": (b"| TIMER: " + b" 1" * 400, 11_500),
    "/proc/stat": (b"|cpu1 " + b"2 " * 50, 85_000),
    "/proc/cmdline": (b"|" + b"a=b " * 2_300_000, 1),
    "/proc/modules": (b"|a 1 2 - Live 0x0", 400_000),
    "/sys/devices/system/cpu/online": (b"|" + b"0-3," * 2_300_000, 1),
    "/boot/config-6.12.1": (b"|CONFIG_A1=y " + b"#" * 50, 150_000),
    "/.lowlat/udev": (b"|E: ID_MODEL=1", 400_000),
}


@pytest.mark.parametrize("path", FILES)
def test_a_large_file_of_an_archive_costs_little(path: str, tmp_path: Path) -> None:
    line, times = FILES[path]
    begin = HEAD + b"f /sys/devices/system/cpu/possible 0-3\n"
    begin += b"f /proc/sys/kernel/osrelease 6.12.1\n"
    text = begin + b"f " + path.encode() + b"\n" + (line + b"\n") * times
    (tmp_path / "a.txt").write_bytes(text)
    for verb in ("plan", "probe"):
        _, said, seconds, kib = _cost(verb, "--root", str(tmp_path / "a.txt"))
        assert "Traceback" not in said, said
        assert seconds <= 2 and kib <= 160_000, (seconds, kib)


#: Lists that name few CPUs in many words, or repeat many CPUs in few words.
LISTS = {
    "repeated": f"0-{MAX_CPU}," * 60_000 + "0",
    "short and repeated": f"0-{MAX_CPU}," * 6_000 + "0",
    "strides": f"0-{MAX_CPU}:1/2," * 4_000 + "0",
    "single": "0," * 240_000 + "0",
    "mask": "ffffffff," * 53_000 + "1",
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_of_cpus_that_is_none_of_a_kernels_costs_little(kind: str, tmp_path: Path) -> None:
    files = machine(4)
    for name in files:
        if name.endswith(("_list", "online", "possible", "present", "cpulist")):
            files[name] = LISTS[kind]
    status, said, seconds, kib = _cost("plan", "--root", str(write_tree(tmp_path, files)))
    assert status in (0, 2) and said.count("\n") == (status == 2), said
    assert seconds <= 2 and kib <= 160_000, (seconds, kib)


@pytest.mark.parametrize("siblings", ["{0},{1}-8191:1/7", "{0},{2}", "0-8191:1/2,{0}"])
def test_each_cpu_with_siblings_of_its_own_costs_bounded_time(
    siblings: str, tmp_path: Path
) -> None:
    """All CPUs that a kernel can have; each one's file lists siblings in its core."""
    topology = "/sys/devices/system/cpu/cpu%d/topology/core_cpus_list"
    lists = {cpu: siblings.format(cpu, cpu % 7, cpu // 2) for cpu in range(MAX_CPU + 1)}
    records = [f"f {topology % cpu} {text}" for cpu, text in lists.items()]
    online = f"f /sys/devices/system/cpu/online 0-{MAX_CPU}"
    (tmp_path / "a.txt").write_text("\n".join([f"{SCHEMA} x", online, *records, ""]))
    status, said, seconds, kib = _cost("plan", "--root", str(tmp_path / "a.txt"))
    assert (status, said.count("\n")) == (2, 1) and "Traceback" not in said, said
    assert seconds <= 20 and kib <= 160_000, (seconds, kib)


@pytest.mark.parametrize("number", [8192, 65536, 99999])
def test_a_cpu_beyond_every_kernels_is_one_line_or_none(number: int, tmp_path: Path) -> None:
    cpu = "/sys/devices/system/cpu"
    for name, text in {
        "names": f"d {cpu} cpu{number}\nd {cpu}/cpu{number}/topology a",
        "cpuinfo": f"f /proc/cpuinfo processor\\x09: {number}",
        "stat": f"f /proc/stat cpu{number} 1",
        "online": f"f {cpu}/online {number}",
        "node": f"f {cpu}/online 0-3\nd /sys/devices/system/node/node0 cpu{number}",
    }.items():
        (tmp_path / name).write_text(f"{SCHEMA} x\n{text}\n")
        status, said, _, _ = _cost("plan", "--root", str(tmp_path / name))
        assert status in (0, 2) and "Traceback" not in said, (name, said)
        assert said.count("\n") == (1 if status else 0), (name, said)


def test_a_packed_file_of_a_tree_costs_little(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, machine(4, config=None))
    (tree / "proc/config.gz").write_bytes(gzip.compress(bytes(512 << 20), 9))
    status, said, seconds, kib = _cost("plan", "--root", str(tree))
    assert (status, said) == (0, "")
    assert seconds <= 2 and kib <= 150_000, (seconds, kib)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        json.dumps({"schema": "lowlat.run/1", "cpus": None})[:-1] + ', "x": ' + "[[]," * 900_000,
        '{"schema": "lowlat.run/1", "x": [' + "[]," * 20_000_000 + "0]}",
        '{"schema": "lowlat.run/1", "isolated": "' + f"0-{MAX_CPU}," * 50_000 + '"}',
    ],
    ids=["deep", "cut", "values", "list"],
)
def test_a_run_that_is_none_costs_little(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    run = str(tmp_path / "run.json")
    status, said, seconds, kib = _cost("report", run, "--against", f"{tmp_path}/./run.json")
    assert (status, said.count("\n")) == (2, 1), said
    assert seconds <= 3 and kib <= 200_000, (seconds, kib)


@pytest.mark.parametrize(
    "text", ["\n", "kind:\n", '"', "{", "kind: PerformanceProfile\n- ", "[bootloader]\ncmdline=${"]
)
def test_a_profile_that_is_none_costs_little(text: str, tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {**machine(4), "profile": text * (60_000 // len(text))})
    status, said, seconds, kib = _cost("lint", "--root", str(tree), str(tree / "profile"))
    assert (status, said.count("\n")) in ((2, 1), (1, 0)) and "Traceback" not in said, said
    assert seconds <= 3 and kib <= 160_000, (seconds, kib)


def _linked(target: Callable[[int], str]) -> bytes:
    """The tar file of a machine with all CPUs that a kernel can have; each one's folder is a
    link."""
    packed, cpu = io.BytesIO(), "sys/devices/system/cpu"
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in {f"{cpu}/online": f"0-{MAX_CPU}", "proc/cmdline": "quiet"}.items():
            file = tarfile.TarInfo(name)
            file.size = len(text)
            archive.addfile(file, io.BytesIO(text.encode()))
        for number in range(MAX_CPU + 1):
            link = tarfile.TarInfo(f"{cpu}/cpu{number}")
            link.type, link.linkname = tarfile.SYMTYPE, target(number)
            archive.addfile(link)
    return packed.getvalue()


#: Where the link of a CPU's folder leads.
LINKS: dict[str, Callable[[int], str]] = {
    "long": lambda number: "a/" * (20_000 if number == 1 else 1),
    "deep": lambda number: "a/../" * (100 if number == 1 else 1),
    "rings": lambda number: f"cpu{(number + 1) % MAX_CPU}",
    "folders in folders": lambda number: f"../cpu/cpu{number + 1}/" + "a/" * 29,
    "absolute": lambda number: f"/sys/devices/system/cpu/cpu{number // 2}",
}


@pytest.mark.parametrize("kind", LINKS)
def test_links_of_a_tar_file_cost_little(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(_linked(LINKS[kind]))
    status, said, seconds, kib = _cost("plan", "--root", str(tmp_path / "a.tar"))
    assert status in (0, 2) and said.count("\n") == (status == 2), said
    assert seconds <= 5 and kib <= 300_000, (seconds, kib)


_CALLS = "${f:cpulist_pack:${f:cpulist_unpack:" * 15 + f"0-{MAX_CPU}" + "}}" * 15
_ENDLESS = "${f:regex_search_ternary:" + "a" * 54 + ":%s:1:2}"

#: What a TuneD profile says of v, which its boot line has; and what lint says of it.
TUNED = {
    "a repeated group": (_ENDLESS % "(a|a)*c", "only TuneD knows"),
    "groups in a row": (_ENDLESS % ("(a|a)" * 54 + "c"), "only TuneD knows"),
    "repetitions": (_ENDLESS % ("a*" * 27 + "c"), "only TuneD knows"),
    "calls in calls": ("1\n" + "".join(f"w{n}={_CALLS}\n" for n in range(20)), "200 functions"),
    "long": ("${f:cpulist_unpack:0-8191}" * 90, "more than any boot line"),
    "doubled": (f"1\nw={'x' * 4000}\nu=${{w}}${{w}}", "longer than any boot line"),
    "blanks": ("1\n[main]\ninclude=a" + " " * 60_000 + "b", "which is not here"),
}


@pytest.mark.parametrize("kind", TUNED)
def test_what_only_tuned_can_evaluate_costs_little(kind: str, tmp_path: Path) -> None:
    value, why = TUNED[kind]
    text = f"[variables]\nv={value}\n[bootloader]\ncmdline=isolcpus=${{v}}\n"
    tree = write_tree(tmp_path, {**machine(4), "tuned.conf": text})
    status, said, seconds, kib = _cost("lint", "--root", str(tree), str(tree / "tuned.conf"))
    assert (status, said.count("\n")) == (2, 1) and why in said, said
    assert seconds <= 3 and kib <= 160_000, (seconds, kib)


_NODE = "kind: Node\nmetadata: {name: w1}\n"

#: A node's file in a must-gather, as large as it may be; and what lint says of it.
NODES = {
    "images": (
        f"{_NODE}status:\n  images:\n"
        + "".join(
            f"  - {{names: [quay.io/o@sha256:{n:064x}], sizeBytes: {n}}}\n" for n in range(27_000)
        ),
        "",
    ),
    "a number to the base 60": (f"{_NODE}x: 1" + ":59" * 900_000 + "\n", ""),
    "a tag": (f"{_NODE}x: !!int 1" + ":59" * 900_000 + "\n", "or has aliases or tags"),
    "anchors": (_NODE + "".join(f"x{n}: &a{n} 1\n" for n in range(50_000)), ""),
    "an alias": (f"{_NODE}x: &a [1]\ny: *a\n", "or has aliases or tags"),
    "a merge key": (f"{_NODE}x: {{<<: {{a: 1}}}}\n", "or has aliases or tags"),
    "lists in lists": (f"{_NODE}x: " + "[" * 1_000_000, "is not YAML"),
    "lists in rows": (f"{_NODE}x:\n  " + "- " * 1_000_000, "is not YAML"),
    "larger": (f"{_NODE}x: |\n" + "  a\n" * 900_000, "larger than 3 MiB"),
}


@pytest.mark.parametrize("kind", NODES)
def test_a_file_of_a_must_gather_costs_little(kind: str, tmp_path: Path) -> None:
    needs.module("yaml", "PyYAML is not installed")
    text, why = NODES[kind]
    folder = write_tree(
        tmp_path / "mg",
        {"cluster-scoped-resources/core/nodes/w1.yaml": text, "nodes/w1/proc_cmdline": "quiet\n"},
    )
    tree = str(write_tree(tmp_path / "tree", machine(4)))
    status, said, seconds, kib = _cost("lint", "--root", tree, str(folder))
    assert (status, said.count("\n")) == ((2, 1) if why else (0, 0)) and why in said, said
    assert seconds <= 5 and kib <= 500_000, (seconds, kib)


@pytest.mark.root
def test_devices_below_a_root_are_not_opened(tmp_path: Path) -> None:
    """Each open of /dev/ptmx creates a terminal, and the kernel shows how many exist."""
    if os.geteuid() != 0:
        needs.absent("makes a device: needs root")
    tree = write_tree(tmp_path, machine(4))
    ptmx = Path("/dev/ptmx").stat().st_rdev
    for name in ("sys/devices/system/cpu/online", "proc/cpuinfo", "proc/cmdline"):
        (tree / name).unlink()
        try:
            os.mknod(tree / name, stat.S_IFCHR | 0o666, ptmx)
        except PermissionError:
            needs.absent("this machine lets nobody make a device")
    argv = [*GEN, "probe", "--root", str(tree)]
    traced = tmp_path / "trace"
    strace = ["strace", "-f", "-e", "trace=open,openat", "-o", str(traced)]
    subprocess.run([*strace, *argv], check=False, stdout=subprocess.DEVNULL)
    opened = [line for line in traced.read_text().splitlines() if "/proc/cmdline" in line]
    assert opened and all("O_PATH" in line for line in opened), opened
