# SPDX-License-Identifier: GPL-2.0-or-later
"""Every parser of kernel text: exact values by example, then arbitrary input.

Whatever the bytes, a parser returns a value or raises its own error, never another exception.
"""

from __future__ import annotations

import contextlib
import gzip
import string
from pathlib import Path
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.base.errors import LowlatError, Refused
from lowlat.host import archive
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.cpuset import MAX_CPU, CpuSet, CpuSetError
from lowlat.probe import kernel, probe
from lowlat.probe.devices import parse_interrupts, parse_udev
from lowlat.probe.platform import read_arch
from lowlat.probe.processors import parse_processor
from lowlat.probe.topology import parse_cpuinfo_cpus
from support import synthetic

pytestmark = pytest.mark.slow

SETS = st.sets(st.integers(0, 300), max_size=40).map(CpuSet.of)

# ------------------------------------------------------------------- CPU lists


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", set()),
        ("\n", set()),
        ("(null)", set()),
        ("0", {0}),
        ("0-3", {0, 1, 2, 3}),
        ("0,2-3,8", {0, 2, 3, 8}),
        ("0-7:1/2", {0, 2, 4, 6}),
        ("1-8:2/3", {1, 2, 4, 5, 7, 8}),
        ("0-3:4/4", {0, 1, 2, 3}),
        ("0-3:0/4", set()),
        ("3,1,1-2\n", {1, 2, 3}),
        (str(MAX_CPU), {MAX_CPU}),
    ],
)
def test_a_cpu_list(text: str, ids: set[int]) -> None:
    assert CpuSet.parse_list(text) == CpuSet.of(ids)


def test_a_cpu_list_with_n_and_all() -> None:
    assert str(CpuSet.parse_list("2-N", last=7)) == "2-7"
    assert str(CpuSet.parse_list("N", last=7)) == "7"
    assert str(CpuSet.parse_list("all", last=7)) == "0-7"
    assert str(CpuSet.parse_list("0-N:1/4", last=9)) == "0,4,8"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "1-",
            "-1",
            "a",
            "3-1",
            "0-99999999999",
            "1,,2",
            ",",
            "1 2",
            "0x1",
            "1.0",
            "N",
            "0-N",
            "all",
        ),
        *(
            "0-3:1",
            "0-3:1/0",
            "0-3:5/4",
            "0-3:/2",
            "0-1-2",
            "+1",
            "1_0",
            "٣",
            "1²",
            "²",
            "none",
            "~0",
        ),
        str(MAX_CPU + 1),
    ],
)
def test_no_cpu_list(text: str) -> None:
    with pytest.raises(CpuSetError):
        CpuSet.parse_list(text)


@given(SETS)
def test_a_set_written_as_a_list_is_read_back(cpus: CpuSet) -> None:
    assert CpuSet.parse_list(str(cpus)) == cpus
    assert set(str(cpus)) <= set("0123456789,-")


@given(SETS)
def test_a_set_written_as_a_mask_is_read_back(cpus: CpuSet) -> None:
    assert CpuSet.parse_mask(cpus.mask()) == cpus
    assert all(len(word) == 8 for word in cpus.mask().split(",")[1:])


# Text that looks like a list exercises more of the parser than other text.
LISTS = st.text(st.sampled_from("0123456789-,:/N \n"), max_size=30)


@given(st.text() | LISTS, st.none() | st.integers(0, 200))
def test_any_text_as_a_list(text: str, last: Optional[int]) -> None:
    try:
        found = CpuSet.parse_list(text, last=last)
    except CpuSetError as error:
        assert len(str(error)) < 200
    else:
        assert CpuSet.parse_list(str(found)) == found
        assert all(0 <= cpu <= MAX_CPU for cpu in found)


# ------------------------------------------------------------------- CPU masks


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", ""),
        ("1", "0"),
        ("ff", "0-7"),
        ("00000000,0000000f", "0-3"),
        ("f,00000000", "32-35"),
        ("80000000,00000000,00000001\n", "0,95"),
        ("FF", "0-7"),
        ("ffffffffffffffff", "0-63"),
    ],
)
def test_a_cpu_mask(text: str, cpus: str) -> None:
    assert str(CpuSet.parse_mask(text)) == cpus


@pytest.mark.parametrize(
    "text", ["", ",", "g", "0x1", "1,", "1 2", "123456789,1", "-1", "f" * 17, "٣"]
)
def test_no_cpu_mask(text: str) -> None:
    with pytest.raises(CpuSetError):
        CpuSet.parse_mask(text)


@given(st.text() | st.text(st.sampled_from(string.hexdigits + ",\n"), max_size=60))
def test_any_text_as_a_mask(text: str) -> None:
    try:
        found = CpuSet.parse_mask(text)
    except CpuSetError as error:
        assert len(str(error)) < 200
    else:
        assert CpuSet.parse_mask(found.mask()) == found


def test_a_mask_longer_than_any_kernels() -> None:
    with pytest.raises(CpuSetError):
        CpuSet.parse_mask(",".join(["ffffffff"] * 5000))


# ------------------------------------------------------------ /proc/interrupts

INTERRUPTS = """            CPU0       CPU1
  0:         46          0   IO-APIC    2-edge      timer
  8:          0          1   IO-APIC    8-edge      rtc0
 24:          0      53211   PCI-MSIX-0000:00:02.0    1-edge      virtio1-req.0
 25:          1          2   PCI-MSI 327680-edge      xhci_hcd, eth0
NMI:          0          0   Non-maskable interrupts
LOC:     213450     213451   Local timer interrupts
ERR:          0
MIS:          0
"""

ARM_INTERRUPTS = """           CPU0       CPU1       CPU3
 11:       1501       1402       1377     GICv3  27 Level     arch_timer
 14:        102          0          0     GICv3  33 Level     uart-pl011
IPI0:       310        301        299       Rescheduling interrupts
"""


def test_interrupts() -> None:
    rows = {row.number: row for row in parse_interrupts(INTERRUPTS)}
    assert list(rows) == [0, 8, 24, 25]
    assert rows[24].chip == "PCI-MSIX-0000:00:02.0 1-edge"
    assert rows[24].actions == "virtio1-req.0"
    assert rows[25].actions == "xhci_hcd, eth0"
    rows = {row.number: row for row in parse_interrupts(ARM_INTERRUPTS)}
    assert (rows[11].actions, rows[14].actions) == ("arch_timer", "uart-pl011")


def test_interrupts_of_1152_cpus() -> None:
    counts = " ".join(f"{cpu:10}" for cpu in range(1152))
    head = "     " + " ".join(f"{f'CPU{cpu}':>10}" for cpu in range(1152))
    row = "PCI-MSIX-0000:c1:00.0   17-edge      nvme3q17"
    found = parse_interrupts(
        f"{head}\n 900: {counts}   {row}\nLOC: {counts}   Local timer interrupts\n"
    )
    assert [(r.number, r.chip, r.actions) for r in found] == [
        (900, "PCI-MSIX-0000:c1:00.0 17-edge", "nvme3q17")
    ]


TABLES = st.lists(
    st.sampled_from(
        ("CPU0", "CPU7", "12:", "LOC:", "0", "99", "edge", "\n", " ", "IO-APIC", "²", "-1")
    ),
    max_size=40,
).map(" ".join)


@given(st.text() | TABLES)
def test_any_text_as_interrupts(text: str) -> None:
    for row in parse_interrupts(text):
        assert row.number >= 0
        assert isinstance(row.actions, str)


# --------------------------------------------------------------- /proc/cpuinfo

CPUINFO = {
    "x86_64": "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9754\n"
    "flags\t\t: fpu tsc lm constant_tsc nonstop_tsc\n\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\n",
    "i686": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Pentium III\n"
    "flags\t\t: fpu vme tsc\n\nprocessor\t: 1\n",
    "armv7l": "Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1694.10\n\n"
    "processor\t: 1\nBogoMIPS\t: 1694.10\n\nFeatures\t: swp half\nCPU implementer\t: 0x41\n"
    "CPU architecture: 7\n",
    "aarch64": "processor\t: 0\nBogoMIPS\t: 24.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
    "CPU architecture: 8\nCPU part\t: 0xd08\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n",
    "s390x": "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 14367.00\n"
    "processor 0: version = FF,  identification = 29AA14,  machine = 2817\n"
    "processor 1: version = FF,  identification = 29AA14,  machine = 2817\n",
    "ppc64": "processor\t: 0\ncpu\t\t: POWER7 (architected), altivec supported\n"
    "clock\t\t: 3000.000000MHz\n\nprocessor\t: 1\ncpu\t\t: POWER7\n\nplatform\t: pSeries\n",
    "ia64": "processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\n"
    "family     : Itanium 2\ncpu number : 0\n\nprocessor  : 1\narch       : IA-64\n",
    "riscv64": "processor\t: 0\nhart\t\t: 3\nisa\t\t: rv64imafdc_zicntr\nmmu\t\t: sv39\n\n"
    "processor\t: 1\nhart\t\t: 1\nisa\t\t: rv64imafdc\n",
    "loongarch64": "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t: 0\n"
    "CPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3A5000\nISA\t\t\t: loongarch32 "
    "loongarch64\n\nprocessor\t\t: 1\n",
}


@pytest.mark.parametrize("arch", CPUINFO)
def test_the_architecture_and_cpus_of_a_cpuinfo(arch: str, tmp_path: Path) -> None:
    assert read_arch(Root(str(tmp_path)), CPUINFO[arch]) == arch
    assert str(parse_cpuinfo_cpus(CPUINFO[arch])) == "0-1"


@pytest.mark.parametrize("arch", CPUINFO)
def test_a_machine_of_which_only_a_cpuinfo_is_known(arch: str, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO[arch])
    machine = probe(Root(str(tmp_path)))
    assert (machine.arch, str(machine.cpus.online)) == (arch, "0-1")


def test_processors() -> None:
    x86 = parse_processor(CPUINFO["x86_64"])
    assert (x86.vendor, x86.model) == ("AuthenticAMD", "AMD EPYC 9754")
    assert x86.flags == {"constant_tsc", "nonstop_tsc"}
    assert x86.flags_known
    assert parse_processor(CPUINFO["s390x"]).vendor == "IBM/S390"
    assert parse_processor(CPUINFO["aarch64"]).vendor == "0x41"
    assert parse_processor(CPUINFO["ppc64"]).model == "POWER7 (architected), altivec supported"
    board = f"{CPUINFO['aarch64']}\nRevision\t: d04170\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n"
    assert parse_processor(board).model == "Raspberry Pi 5 Model B Rev 1.0"
    assert not parse_processor("").flags_known


CPUINFO_LINES = st.lists(
    st.sampled_from([line for text in CPUINFO.values() for line in text.splitlines()])
    | st.text(max_size=20)
    | st.from_regex(r"processor\s*:\s*[0-9]{1,12}", fullmatch=True),
    max_size=12,
).map("\n".join)


@given(st.text() | CPUINFO_LINES)
def test_any_text_as_cpuinfo(text: str) -> None:
    parse_processor(text)
    assert all(0 <= cpu <= 99999 for cpu in parse_cpuinfo_cpus(text))
    read_arch(Root("/nonexistent"), text)


# ---------------------------------------------------------- kernel configuration


def test_a_configuration() -> None:
    text = "# x\nCONFIG_SMP=y\nCONFIG_HZ=250\n# CONFIG_NO_HZ_FULL is not set\nCONFIG_M=m\n"
    text += 'CONFIG_S="a b"\n'
    found = kernel.parse_config(text, "/boot/config")
    assert dict(found.options) == {"SMP": "y", "HZ": "250", "M": "m", "S": "a b"}
    assert found.enabled("SMP")
    assert found.enabled("M")
    assert not found.enabled("NO_HZ_FULL")
    assert not found.enabled("HZ")


@given(st.text() | st.lists(st.from_regex(r"CONFIG_[A-Z]{0,3}=.{0,5}")).map("\n".join))
def test_any_text_as_a_configuration(text: str) -> None:
    for name, value in kernel.parse_config(text, "x").options.items():
        assert name
        assert isinstance(value, str)


@given(st.binary() | st.binary(max_size=200).map(gzip.compress).map(lambda data: data[:-5]))
def test_any_bytes_as_config_gz(data: bytes) -> None:
    with_release = {
        "/proc/sys/kernel/osrelease": b"6.12.1\n",
        "/proc/config.gz": data,
    }
    kernel.read_running(archive.Archive("x", archive.Contents(files=with_release)))


# ---------------------------------------------------------------- command line


def test_a_command_line() -> None:
    line = 'root=/dev/sda1 dyndbg="file a.c +p" quiet isolcpus=1-3 isolcpus=2 nohz-full=4'
    line += " -- --quiet init=1"
    assert cmdline.parse(line)[:3] == ["root=/dev/sda1", 'dyndbg="file a.c +p"', "quiet"]
    assert cmdline.values(line, "isolcpus") == ["1-3", "2"]
    assert cmdline.values(line, "nohz_full") == ["4"]
    assert cmdline.values(line, "quiet") == [""]
    assert cmdline.values(line, "init") == []


@given(st.text() | st.text(st.sampled_from('ab="- \t\n'), max_size=30), st.text(max_size=8))
def test_any_text_as_a_command_line(line: str, name: str) -> None:
    for parameter in cmdline.parse(line):
        assert parameter
    cmdline.values(line, name)


@given(st.lists(st.text(max_size=8), max_size=5))
def test_only_safe_parameters_are_joined(parts: list[str]) -> None:
    try:
        line = cmdline.join(parts)
    except Refused:
        return
    assert line.split(" ") == parts or not parts
    assert cmdline.parse(line) == parts
    assert not set(line) & set("\"'`$\\;&|<>(){}*?!#\n\t")


# ------------------------------------------------------- devices and archives


@given(st.text() | st.text(st.sampled_from("ID_VENDORMLFAB=: .\n0"), max_size=60))
def test_any_text_as_udevs_answer(text: str) -> None:
    for address, model in parse_udev(text).items():
        assert isinstance(address, str)
        assert isinstance(model, str)


ARCHIVE_LINES = st.lists(
    st.sampled_from(
        (
            *(
                "f /proc/stat",
                "f /a b",
                "| c",
                "\\",
                "d /sys x y",
                "l /l t",
                "m /m 644",
                "m /m 9",
                "e /e",
            ),
            *("# r", "f", "f /x \\x4", "f /x \\xff", "|", "z /z", "", "f relative"),
        )
    )
    | st.text(max_size=10),
    max_size=8,
).map(lambda lines: "\n".join(["lowlat.capture/1 x", *lines]))


@given(st.binary() | ARCHIVE_LINES.map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_as_an_archive(data: bytes) -> None:
    with contextlib.suppress(ValueError):  # load() turns this error into a refusal
        archive.parse(data)


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"lowlat.capture/1 x\nf /a \\", b"\x1f\x8b\x08garbage"]
)
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(data)
    with pytest.raises(Refused):
        archive.load(str(tmp_path / "x.txt"))


# ------------------------------------------------------------ the whole machine

SMALL = dict(synthetic.files(synthetic.Shape(kinds=(synthetic.Kind(2, 2),), nodes=2).model()))
FILES = sorted(SMALL)
NOISE = (
    st.binary(max_size=40)
    | LISTS.map(str.encode)
    | st.sampled_from((b"", b"-1", b"0", b"65535", b"4294967295", b"\0", b"\xff\xfe", b"0-65535"))
)


@given(st.dictionaries(st.sampled_from(FILES), NOISE, max_size=12), st.sets(st.sampled_from(FILES)))
def test_any_bytes_in_any_files_of_a_machine(noise: dict[str, bytes], missing: set[str]) -> None:
    """A probe of a damaged machine gives a machine or a refusal."""
    files = {f"/{path}": f"{text}\n".encode() for path, text in SMALL.items()}
    files.update((f"/{path}", data) for path, data in noise.items())
    for path in missing:
        files.pop(f"/{path}", None)
    try:
        machine = probe(
            archive.Archive("x", archive.Contents(files=files, folders=_folders(files)))
        )
    except LowlatError as refusal:
        assert refusal.status == 2
        return
    online = machine.cpus.online
    assert machine.cpus.boot in online
    assert sorted(cpu for core in machine.cores for cpu in core.cpus) == list(online)
    machine.to_json()


def _folders(files: dict[str, bytes]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for path in files:
        while path:
            parent, _, name = path.rpartition("/")
            found.setdefault(parent or "/", set()).add(name)
            path = parent
    return {folder: tuple(sorted(names)) for folder, names in found.items()}
