# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory: the kernel's own work on pages, and the interrupts that it causes."""

from typing import Optional

from lowlat.catalogue import huge_pages
from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    Need,
    Risk,
    Target,
    Tunable,
    Value,
    ValueFormat,
)
from lowlat.catalogue.needs import ISOLATION, NODES, NOT_REALTIME, config, done_by, feature
from lowlat.kernel import facts

_HUGE = "/sys/kernel/mm/transparent_hugepage"
_NODE = "/sys/devices/system/node/node{node}"
#: The resctrl group of the housekeeping CPUs; it applies to their tasks without another group.
_PROACTIVENESS = "/proc/sys/vm/compaction_proactiveness"
_LIMITED = "/sys/fs/resctrl/lowlat"
_HUGE_NEEDS = (config("TRANSPARENT_HUGEPAGE"), NOT_REALTIME)


_SKIPS = "statistics skip isolated CPUs"


def _stat_skips(target: Target) -> Optional[str]:
    if target.has(_SKIPS) and target.enabled & {"isolcpus", "nohz_full"}:
        since = f"from Linux {facts.bound(_SKIPS)} on"
        return f"{since}, the kernel does none of this work on isolated CPUs (mm/vmstat.c)"
    if "cpuset.partition" in target.enabled:  # 6.8 or newer
        return "the kernel does none of this work on CPUs of isolated partitions (mm/vmstat.c)"
    return None


ENTRIES = (
    Tunable(
        name="vm.stat_interval",
        silences={
            "thread: kworker/* (*vmstat_update*": "mm/vmstat.c vmstat_update()",
            "thread: kworker/* (*vmstat_shepherd*": "mm/vmstat.c vmstat_shepherd()",
        },
        why="folds the per-CPU memory statistics every two minutes instead of every second",
        source="admin-guide/sysctl/vm.rst stat_interval; mm/vmstat.c",
        rows=(Value("/proc/sys/vm/stat_interval", "120"),),
        unneeded=_stat_skips,
        cost="the counters in /proc/vmstat lag",
        accepts=r"[1-9][0-9]{0,4}",
    ),
    Tunable(
        name="vm.compaction_proactiveness",
        silences={"thread: kcompactd[0-9]*": "mm/compaction.c kcompactd()"},
        why="stops background compaction, which moves pages and interrupts every CPU that maps "
        "them",
        source="admin-guide/sysctl/vm.rst compaction_proactiveness",
        rows=(Value(_PROACTIVENESS, "0"),),
        needs=(config("COMPACTION"), feature(_PROACTIVENESS, "vm.compaction_proactiveness")),
        cost="huge pages are harder to get after a long uptime: reserve them at boot",
        accepts=r"[0-9]{1,2}|100",
    ),
    Tunable(
        name="kernel.numa_balancing",
        why="stops the periodic unmapping of task memory and the page faults that follow",
        source="admin-guide/sysctl/kernel.rst numa_balancing",
        rows=(Value("/proc/sys/kernel/numa_balancing", "0"),),
        needs=(config("NUMA_BALANCING"), NOT_REALTIME),
        unneeded=lambda target: (
            "one NUMA node: the kernel balances nothing" if len(target.machine.nodes) == 1 else None
        ),
        cost="memory of long-running tasks is not moved near their CPUs: pin it",
    ),
    Tunable(
        name="hugepages",
        why="reserves huge pages for programs that ask for them, near the isolated CPUs or on the "
        "named node: fewer TLB misses, and no page fault has to build a huge page",
        source="admin-guide/mm/hugetlbpage.rst; mm/hugetlb_sysfs.c",
        evidence="nodeN/hugepages/hugepages-*kB/nr_hugepages: what the kernel could reserve",
        note="each node of the isolated CPUs that has memory gets that many pages, or as many as "
        "fit into 80 percent of its memory; a node without CPUs, such as a GPU's, only if it is "
        "named",
        rows=(Value(f"{_NODE}/hugepages/hugepages-{{kib}}kB/nr_hugepages", "{pages}"),),
        needs=(NODES, config("HUGETLBFS")),
        cost="nothing else can use that memory; 1 GiB pages are hard to get once memory is "
        "fragmented: reserve them soon after boot",
        risk=Risk.THROUGHPUT,
        accepts=r"[1-9][0-9]{0,3}[KMG]:[0-9]{1,7}(@[0-9]{1,4})?",
        parts=huge_pages.parse,
        refuses=lambda target, given: huge_pages.refusal(target.machine, target.isolated, given),
        remark=lambda target, given: huge_pages.told(target.machine, target.isolated, given),
        example="2M:64",
    ),
    Tunable(
        name="resctrl.housekeeping",
        why="limits the housekeeping CPUs to a quarter of each last-level cache, so that they "
        "cannot evict the isolated CPUs' data from the rest; isolated CPUs may use all of it",
        source="filesystems/resctrl.rst (schemata, cpus_list)",
        rows=(
            Value(f"{_LIMITED}/schemata", "L3:{few_ways}"),
            Value(f"{_LIMITED}/cpus_list", "{housekeeping}"),
        ),
        reads=ValueFormat.WAYS,
        evidence="in /sys/fs/resctrl/lowlat, schemata has a few ways of each cache, and cpus_list "
        "equals the housekeeping CPUs",
        needs=(
            ISOLATION,
            Need(
                lambda target: bool(target.machine.power.l3_ways),
                "resctrl is not mounted, or cannot divide a last-level cache here (mount -t "
                "resctrl resctrl /sys/fs/resctrl)",
                wants="resctrl mounted, on a processor that can divide its last-level cache",
            ),
        ),
        cost="housekeeping work on much data is slower; tasks in other resctrl groups keep their "
        "share",
        risk=Risk.THROUGHPUT,
        cgroup=_LIMITED,
    ),
    Tunable(
        name="transparent_hugepage.enabled",
        why="gives huge pages only to programs that ask for them (madvise): khugepaged no longer "
        "rearranges the memory of every task",
        source="admin-guide/mm/transhuge.rst",
        rows=(Value(f"{_HUGE}/enabled", "madvise"),),
        reads=ValueFormat.CHOICE,
        needs=_HUGE_NEEDS,
        cost="programs that relied on huge pages without asking for them, such as some databases, "
        "have more TLB misses",
        risk=Risk.THROUGHPUT,
        accepts=r"always|madvise|never",
    ),
    Tunable(
        name="transparent_hugepage",
        why="does what transparent_hugepage.enabled does, but from the start of the boot",
        source=f"{PARAMETERS} transparent_hugepage=; admin-guide/mm/transhuge.rst",
        value="madvise",
        needs=_HUGE_NEEDS,
        unneeded=done_by(("transparent_hugepage.enabled",), "{} sets it once the system is up"),
        cost="programs that relied on huge pages without asking for them have more TLB misses",
        risk=Risk.THROUGHPUT,
        accepts=r"always|madvise|never",
        sign=Evidence(path=f"{_HUGE}/enabled", reads=ValueFormat.CHOICE),
    ),
    Tunable(
        name="transparent_hugepage.defrag",
        why="never stalls a page fault to compact memory for a huge page",
        source="admin-guide/mm/transhuge.rst",
        rows=(Value(f"{_HUGE}/defrag", "never"),),
        reads=ValueFormat.CHOICE,
        needs=_HUGE_NEEDS,
        cost="programs seldom get the huge pages they ask for once memory is fragmented",
        risk=Risk.THROUGHPUT,
        accepts=r"always|defer|defer\+madvise|madvise|never",
    ),
    Tunable(
        name="khugepaged.defrag",
        silences={"thread: khugepaged": "mm/khugepaged.c khugepaged_defrag()"},
        why="keeps khugepaged from compacting memory, which moves pages and interrupts every CPU "
        "that maps them",
        source="admin-guide/mm/transhuge.rst",
        rows=(Value(f"{_HUGE}/khugepaged/defrag", "0"),),
        needs=_HUGE_NEEDS,
        cost="the kernel seldom merges small pages into huge ones later",
        risk=Risk.THROUGHPUT,
        accepts=r"0|1",
    ),
    Tunable(
        name="ksm.run",
        silences={"thread: ksmd": "mm/ksm.c ksmd_should_run()"},
        why="stops kernel samepage merging, which scans memory, write-protects pages and makes "
        "writers fault",
        source="admin-guide/mm/ksm.rst; TuneD's realtime-virtual-host profile",
        # 2 would also split merged pages, which may need more memory than there is.
        rows=(Value("/sys/kernel/mm/ksm/run", "0"),),
        needs=(config("KSM"),),
        cost="guests and programs no longer share identical pages: they need more memory",
        risk=Risk.THROUGHPUT,
        accepts=r"0|2",
    ),
)
