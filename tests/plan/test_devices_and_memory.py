# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings whose files depend on the machine or on the user's value: memory nodes, packages,
interrupts of a device, network interfaces, virtual machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.cli import lowlat
from support.machines import CONFIG, CPU, CPUINFO_X86, FLAGS, machine, write_tree

NODE = "sys/devices/system/node"
UNCORE = f"{CPU}/intel_uncore_frequency"
OPTIONS = "HUGETLBFS XPS KVM KVM_AMD INTEL_IOMMU IOMMU_SUPPORT"
BUILT = CONFIG + "".join(f"CONFIG_{name}=y\n" for name in OPTIONS.split())


def two_nodes() -> dict[str, str]:
    """A machine with CPUs 0-3 and 4-7 on two nodes of 8 GiB each."""
    files = machine(8, config=BUILT)
    for node, cpus in enumerate(("0-3", "4-7")):
        files[f"{NODE}/node{node}/cpulist"] = f"{cpus}\n"
        files[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:        8388608 kB\n"
    return files


def planned(root: Path, *asked: object) -> dict[str, str]:
    """The run-time settings of a plan: the value of each file."""
    answer = lowlat("plan", "--root", root, "--json", *asked)
    assert answer.status == 0, answer.err
    return {item["target"]: item["value"] for item in answer.json()["runtime"]}


# ---------------------------------------------------------------- huge pages


@pytest.mark.parametrize(
    ("asked", "size", "expected"),
    [
        ("2M:512", 2048, {0: "512", 1: "512"}),
        ("1G:4@1", 1048576, {1: "4"}),
        ("64K:16@0", 64, {0: "16"}),
    ],
)
def test_huge_pages_lie_on_the_nodes_of_the_work(
    asked: str, size: int, expected: dict[int, str], tmp_path: Path
) -> None:
    found = planned(write_tree(tmp_path, two_nodes()), "--enable", f"hugepages={asked}")
    files = {path: value for path, value in found.items() if "hugepages-" in path}
    folder = f"hugepages/hugepages-{size}kB"
    assert files == {
        f"/{NODE}/node{node}/{folder}/nr_hugepages": pages for node, pages in expected.items()
    }


GIB = 1 << 20


def four_nodes(*gib: int) -> dict[str, str]:
    """Two CPUs on each of nodes 0 to 3, none on node 4; and the memory of each node."""
    files = machine(8, config=BUILT)
    rows = (
        "10 12 20 20 80",
        "12 10 20 20 80",
        "20 20 10 12 80",
        "20 20 12 10 80",
        "80 80 80 80 10",
    )
    for node, (amount, distances) in enumerate(zip(gib, rows)):
        folder = f"{NODE}/node{node}"
        files[f"{folder}/cpulist"] = f"{2 * node}-{2 * node + 1}\n" if node < 4 else "\n"
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal: {amount * GIB} kB\n"
        files[f"{folder}/distance"] = f"{distances}\n"
    return files


@pytest.mark.parametrize(
    ("gib", "asked", "pages", "told"),
    [
        # A node without memory gets no page; its CPUs use those of the nearest node.
        ((0, 8, 8, 0, 90), "4", {1: 4, 2: 4}, "nodes 1-2 get 4 pages (4 GiB) each"),
        ((8, 8, 0, 0, 90), "4", {0: 4, 1: 4}, "nodes 0-1 get 4 pages (4 GiB) each"),
        # A small node gets what fits.
        ((16, 4, 16, 16, 90), "8", {0: 8, 1: 3, 2: 8, 3: 8}, "node 1 gets 3 pages (3 GiB)"),
        # Memory without CPUs is used by name only.
        ((8, 8, 8, 8, 90), "8@4", {4: 8}, "that node has no CPUs: its memory may be a device's"),
    ],
)
def test_huge_pages_go_to_nodes_with_cpus_and_memory(
    gib: tuple[int, ...], asked: str, pages: dict[int, int], told: str, tmp_path: Path
) -> None:
    root = write_tree(tmp_path, four_nodes(*gib))
    options = ("--isolate", "1-7", "--enable", f"hugepages=1G:{asked}")
    found = [
        item
        for item in lowlat("plan", "--root", root, "--json", *options).json()["runtime"]
        if item["name"] == "hugepages"
    ]
    counts = {
        int(item["target"].split("/node")[2].partition("/")[0]): item["value"] for item in found
    }
    assert counts == {node: str(count) for node, count in pages.items()}
    assert {told in item["why"] for item in found} == {True}
    assert told in " ".join(lowlat("plan", "--all", "--root", root, *options).out.split())


def test_memory_of_another_node_is_a_warning_that_can_be_followed(tmp_path: Path) -> None:
    network = "sys/bus/pci/devices/0000:3b:00.0"
    device = {f"{network}/class": "0x020000\n", f"{network}/numa_node": "3\n"}
    root = write_tree(tmp_path, {**four_nodes(8, 8, 8, 0, 90), **device})
    (root / network / "net/eth7").mkdir(parents=True)

    def warned(*options: str) -> list[str]:
        plan = lowlat("plan", "--root", root, "--json", *options).json()
        return [warning for warning in plan["warnings"] if "no memory" in warning]

    assert warned("--isolate", "1,6-7") == [
        "NUMA node 3 has no memory: that of isolated CPU 6-7 comes from node 2; --isolate 1 leaves "
        "these CPUs out"
    ]
    assert warned("--isolate", "1") == []
    assert warned("--for-device", "eth7") == [
        "NUMA node 3, where 0000:3b:00.0 is, has no memory: its buffers lie on node 2",
        "NUMA node 3 has no memory: that of isolated CPU 7 comes from node 2; --isolate 5 leaves "
        "these CPUs out",
    ]
    refusal = lowlat("plan", "--root", root, "--enable", "hugepages=1G:1@3").refused()
    assert "node 3 has no memory: name node 0-2,4, or none" in refusal


def test_huge_pages_are_set_and_given_back(tmp_path: Path) -> None:
    pages = f"{NODE}/node1/hugepages/hugepages-2048kB/nr_hugepages"
    root = write_tree(tmp_path, {**two_nodes(), pages: "3\n"})
    plan = lowlat("plan", "--root", root, "--json", "--enable", "hugepages=2M:64@1").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    lowlat("runtime", "start", "--root", root, "--plan", root / "var/lib/lowlat/plan.json")
    assert (root / pages).read_text() == "64"
    (root / pages).write_text("61\n")  # the pages that the kernel found in one piece
    rows = lowlat("verify", "--root", root, "--json").json()["settings"]
    assert [row["state"] for row in rows if row["name"] == "hugepages"] == ["undone"]
    lowlat("runtime", "stop", "--root", root)
    assert (root / pages).read_text() == "3"


# ---------------------------------------------------------------- shares of caches

GROUP = "sys/fs/resctrl/lowlat"
FULL = "    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n"
RESCTRL = {"sys/fs/resctrl/info/L3/cbm_mask": "7ff\n", "sys/fs/resctrl/schemata": FULL}
SHARED = ("--enable", "resctrl.housekeeping")


def test_the_work_of_the_system_gets_a_quarter_of_each_cache(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(config=BUILT), **RESCTRL})
    found = planned(root, *SHARED)
    assert found[f"/{GROUP}/schemata"] == "L3:0=3;1=3"
    assert found[f"/{GROUP}/cpus_list"] == "0"
    write_tree(root, {"sys/fs/resctrl/info/L3/cbm_mask": "fffff\n"})
    assert planned(root, *SHARED)[f"/{GROUP}/schemata"] == "L3:0=1f;1=1f"
    # With separate code and data (CDP) there is no row L3; no machine shows an invalid mask.
    for name, text in (("schemata", "L3CODE:0=7ff\n"), ("info/L3/cbm_mask", "zz\n")):
        there = write_tree(tmp_path / name.replace("/", "-"), {**machine(), **RESCTRL})
        write_tree(there, {f"sys/fs/resctrl/{name}": text})
        why = lowlat("plan", "--root", there, *SHARED).refused()
        assert "mount -t resctrl" in why


def test_shares_of_caches_are_set_and_given_back(tmp_path: Path) -> None:
    """The kernel makes the group's files with its folder; on this tree they exist before."""
    made = {f"{GROUP}/schemata": FULL, f"{GROUP}/cpus_list": "\n"}
    root = write_tree(tmp_path, {**machine(config=BUILT), **RESCTRL, **made})
    plan = lowlat("plan", "--root", root, *SHARED, "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    lowlat("runtime", "start", "--root", root)
    assert (root / GROUP / "schemata").read_text() == "L3:0=3;1=3\n", "a whole line"
    # The kernel prints the value in this form.
    write_tree(root, {f"{GROUP}/schemata": "    L3:0=003;1=003\n    MB:0=100;1=100\n"})
    assert states(root) == {"effective"}
    for changed in ("    L3:0=003;1=7ff\n", "    L3:0=003\n", "    L3:x\n"):
        write_tree(root, {f"{GROUP}/schemata": changed})
        assert states(root) == {"effective", "undone"}, changed
    assert lowlat("runtime", "stop", "--root", root).status == 0
    assert (root / GROUP / "schemata").read_text().split() == FULL.split()
    assert (root / GROUP / "cpus_list").read_text().strip() == ""


def test_a_group_of_ours_is_made_and_removed(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(config=BUILT), **RESCTRL})
    plan = lowlat("plan", "--root", root, *SHARED, "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    lowlat("runtime", "start", "--root", root)
    assert (root / GROUP).is_dir()
    assert lowlat("runtime", "stop", "--root", root).status == 0
    assert not (root / GROUP).exists() and (root / "sys/fs/resctrl/schemata").read_text() == FULL


def states(root: Path) -> set[str]:
    rows = lowlat("verify", "--root", root, "--json").json()["settings"]
    return {row["state"] for row in rows if row["name"] == "resctrl.housekeeping"}


# ---------------------------------------------------------------- packages, interrupts, interfaces


def test_the_uncore_stays_at_its_own_highest_frequency(tmp_path: Path) -> None:
    packages = {"package_00_die_00": "2400000", "package_01_die_00": "2200000"}
    files = {f"{UNCORE}/{name}/initial_max_freq_khz": f"{khz}\n" for name, khz in packages.items()}
    root = write_tree(tmp_path, {**two_nodes(), **files})
    found = planned(root, "--enable", "uncore.min_freq")
    assert {path: value for path, value in found.items() if "uncore" in path} == {
        f"/{UNCORE}/{name}/min_freq_khz": khz for name, khz in packages.items()
    }
    without = write_tree(tmp_path / "without", machine())
    assert "intel_uncore_frequency" in lowlat(
        "plan", "--root", without, "--enable", "uncore.min_freq"
    ).refused()  # fmt: skip


def network_card(interrupts: str = "24 25") -> dict[str, str]:
    folder = "sys/devices/pci0000:00/0000:00:03.0"
    files = {f"{folder}/msi_irqs/{number}": "msix\n" for number in interrupts.split()}
    rows = "".join(f" {number}: 1 1 1 1 PCI-MSIX eth0\n" for number in interrupts.split())
    return {
        **files,
        f"{folder}/class": "0x020000\n",
        f"{folder}/net/eth0/address": "0\n",
        "proc/interrupts": f"     CPU0 CPU1 CPU2 CPU3\n{rows}",
    }


def test_threads_of_the_devices_interrupts_go_first(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(), **network_card()})
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    (bus / "0000:00:03.0").symlink_to("../../../devices/pci0000:00/0000:00:03.0")
    asked = ("--enable", "irq.thread_priority", "--enable", "threadirqs")
    found = planned(root, *asked, "--for-device", "eth0")
    assert {path for path, value in found.items() if value == "fifo:60"} == {
        "kthread:irq/24-*:policy",
        "kthread:irq/25-*:policy",
    }
    assert "--for-device" in lowlat("explain", "irq.thread_priority").out
    assert "no device" in lowlat("plan", "--root", root, *asked).refused()
    assert "threadirqs" in lowlat("plan", "--root", root, *asked[:2]).refused()


def test_network_settings_reach_every_interface(tmp_path: Path) -> None:
    names = ("net.napi", "net.threaded", "net.xps_cpus")
    asked = [word for name in names for word in ("--enable", name)]
    found = planned(write_tree(tmp_path, machine(config=BUILT)), *asked)
    assert found["/sys/class/net/*/napi_defer_hard_irqs"] == "2"
    assert found["/sys/class/net/*/gro_flush_timeout"] == "200000"
    assert found["/sys/class/net/*/threaded"] == "1"
    assert found["/sys/class/net/*/queues/tx-*/xps_cpus"] == "1"


# ---------------------------------------------------------------- processors of one vendor


def line(root: Path, profile: str) -> list[str]:
    answer = lowlat("plan", "--root", root, "--json", "--profile", profile)
    assert answer.status == 0, answer.err
    text: Any = answer.json()["cmdline"]["text"]
    return list(text.split())


def test_virtual_machines_and_translation_by_vendor(tmp_path: Path) -> None:
    amd = CPUINFO_X86.replace("GenuineIntel", "AuthenticAMD") + f"flags\t\t: {FLAGS}\n"
    intel = write_tree(tmp_path / "intel", machine(config=BUILT))
    other = write_tree(tmp_path / "amd", machine(config=BUILT, cpuinfo=amd))
    assert {"intel_iommu=on", "iommu.passthrough=1"} <= {*line(intel, "lowlat-nfv")}
    assert not [word for word in line(other, "lowlat-nfv") if "intel" in word]
    assert "kvm_amd.pause_filter_count=0" in line(other, "lowlat-kvm-host")
    assert "kvm_amd.pause_filter_count=0" not in line(intel, "lowlat-kvm-host")
    assert "kvm.nx_huge_pages_recovery_ratio=0" in line(intel, "lowlat-kvm-host")
