# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of a kernel after a boot with a line, as its files and messages show it, and as an
Effect has it: two mappings with the same keys."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lowlat.base.errors import LowlatError
from lowlat.host import archive, kmsg
from lowlat.host.root import CPU, Root
from lowlat.kernel.booting import End
from lowlat.kernel.effect import Effect
from lowlat.model.cpuset import CpuSet
from lowlat.probe.topology import NODE
from lowlat.rehearse.kernel import BootableKernel
from support.guest import emulator, initramfs
from support.guest.kernels import busybox_or_skip

#: Two packages and two nodes; each core has two threads. Its memory is enough for gigantic pages.
_MEMORY_MIB = 6144
_SHAPE = ("-smp", "8,sockets=2,cores=2,threads=2") + tuple(
    word
    for node, cpus in enumerate(("0-3", "4-7"))
    for word in (
        *("-object", f"memory-backend-ram,id=node{node},size={_MEMORY_MIB // 2}M"),
        *("-numa", f"node,nodeid={node},memdev=node{node},cpus={cpus}"),
    )
)

#: On every line; a host that stalls makes the watchdog blame the clock.
_OURS = "console=ttyS0 quiet panic=-1 tsc=nowatchdog"

#: In CPU seconds; a boot takes 10.
_LIMIT_S = 120.0

_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for folder in system/cpu system/node system/clocksource virtual/workqueue
do find /sys/devices/$folder -type f; done >/tmp/files
find /sys/kernel/mm /sys/module/*/parameters -type f >>/tmp/files
echo
echo "=== shown ==="
{
	xargs grep -Hs '' </tmp/files
	cd /proc
	grep -Hs '' /proc/cmdline /proc/cpuinfo /proc/version /proc/meminfo /proc/timer_list \\
		/proc/1/status /proc/irq/default_smp_affinity /proc/sys/kernel/[a-z]*
	dmesg | sed 's,^,LOG:,'
} 2>/dev/null | gzip -c | base64
echo "=== end ==="
poweroff -f
"""

_ANSWER = re.compile(r"=== shown ===\s(.*)=== end ===", re.DOTALL)


def boot(kernel: BootableKernel, line: str, folder: Path) -> Root:
    """Boot once; what the kernel shows. Raises LowlatError if the boot fails or shows nothing."""
    folder.mkdir(parents=True)
    initrd = folder / "initrd"
    init = _INIT.replace("LOG", kmsg.LOG)
    initrd.write_bytes(initramfs.build(busybox_or_skip("amd64"), init, {}))
    hardware = emulator.Hardware(cpus=8, memory_mib=_MEMORY_MIB)
    argv = [
        *(*hardware.argv(), *_SHAPE),
        *("-kernel", str(kernel.image), "-initrd", str(initrd)),
        *("-append", f"{_OURS} {line}"),
    ]
    text = emulator.run(argv, limit=_LIMIT_S, log=folder / "console")
    found = _ANSWER.search(text.replace("\r", ""))
    if not found:
        raise LowlatError(f"the guest showed nothing: {text[-500:]}")
    shown = gzip.decompress(base64.b64decode(found[1])).decode("utf-8", "replace")
    return archive.Archive(str(folder), _contents(shown, kernel))


def _contents(shown: str, kernel: BootableKernel) -> archive.Contents:
    files: dict[str, list[str]] = {}
    for row in shown.splitlines():
        path, _, text = row.partition(":")
        files.setdefault(path, []).append(text)
    contents = archive.Contents({path: "\n".join(rows).encode() for path, rows in files.items()})
    config = f"/boot/config-{kernel.release}"
    contents.files[config] = kernel.image.with_name(PurePosixPath(config).name).read_bytes()
    folders: dict[str, set[str]] = {}
    for name in files:
        above = PurePosixPath(name)
        for child in (above, *above.parents[:-1]):
            folders.setdefault(str(child.parent), set()).add(child.name)
    contents.folders.update({path: tuple(sorted(names)) for path, names in folders.items()})
    return contents


# ------------------------------------------------------- the kernel's own words


def of_kernel(shown: Root) -> dict[str, object]:
    """The state that the kernel shows; every set is a part of the online CPUs."""
    messages = kmsg.read_messages(shown)
    online = shown.read_cpus(f"{CPU}/online") or CpuSet()

    def cpus(path: str) -> str:
        """Of a list; the kernel prints "(null)" for none."""
        return str((shown.read_cpus(path) or CpuSet()) & online)

    def mask(path: str) -> str:
        return str((shown.read_cpus("", path) or CpuSet()) & online)

    offloads = messages.said(r"Offload RCU callbacks from CPUs: ([\d,-]*)\.")
    watched = cpus("/proc/sys/kernel/watchdog_cpumask")
    return {
        "online": str(online),
        "unbalanced": cpus(f"{CPU}/isolated"),
        "tickless": cpus(f"{CPU}/nohz_full"),
        "ticks stop": _ticks_stop(shown),
        "offloaded": str(CpuSet.parse_list(offloads[-1][1]) & online) if offloads else "",
        "unbound": mask("/sys/devices/virtual/workqueue/cpumask"),
        "interrupts": mask("/proc/irq/default_smp_affinity"),
        "services": _cpus_of_init(shown, online),
        "soft": watched if shown.read_int("/proc/sys/kernel/soft_watchdog") else "",
        "hard": watched if shown.read_int("/proc/sys/kernel/nmi_watchdog") else "",
        "polls": bool(messages.said("using polling idle threads")),
        "clock": shown.read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "unstable": bool(messages.said("Marking TSC unstable")),
        "pages": _pages(shown),
        "default page": _default_page(shown),
    }


def _ticks_stop(shown: Root) -> bool:
    """Whether a CPU is in a mode without a tick (kernel/time/timer_list.c): nohz_mode before 6.9,
    the flag nohz from then on."""
    modes = re.findall(
        r"^ *\.nohz(?:_mode)? *: (\d)", shown.read("/proc/timer_list") or "", re.MULTILINE
    )
    return any(mode != "0" for mode in modes)


def _cpus_of_init(shown: Root, online: CpuSet) -> str:
    """Of the first process, which has set none itself."""
    status = shown.read("/proc/1/status") or ""
    found = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.MULTILINE)
    return str(CpuSet.parse_list(found[1]) & online) if found else ""


def _pages(shown: Root, above: str = "/sys/kernel/mm") -> dict[int, int]:
    """By KiB a page, the pages reserved, of all nodes or of one."""
    folder = f"{above}/hugepages"
    counts = {
        int(size[10:-2]): shown.read_int(f"{folder}/{size}/nr_hugepages")
        for size in shown.names(folder)
    }
    return {size: count for size, count in counts.items() if count}


def _default_page(shown: Root) -> int:
    found = re.search(r"^Hugepagesize: +(\d+)", shown.read("/proc/meminfo") or "", re.MULTILINE)
    return int(found[1]) if found else 0


# ------------------------------------------------------------------ the effect


def of_effect(effect: Effect) -> dict[str, object]:
    """The same of an Effect."""
    sets = ("online", "unbalanced", "tickless", "offloaded", "unbound", "interrupts", "services")
    return {
        **{name: str(getattr(effect, name)) for name in (*sets, "soft", "hard")},
        "ticks stop": effect.ticks_stop,
        "polls": effect.idle.polls,
        "clock": effect.clock.source,
        "unstable": effect.clock.unstable,
        "pages": _reserved(effect),
        "default page": effect.pages.default_kib or 2048,
    }


def _reserved(effect: Effect) -> dict[int, int]:
    found: dict[int, int] = {}
    for size, _, count in effect.pages.reserved:
        found[size] = found.get(size, 0) + count
    return found


def complaints(shown: Root, effect: Effect) -> Iterator[str]:
    """Words that the kernel calls unknown or malformed and the Effect calls taken; and nodes with
    other pages than a word asks for by node."""
    messages = kmsg.read_messages(shown)
    unknown = " ".join(match[1] for match in messages.said(kmsg.UNKNOWN_PARAMETERS.pattern))
    malformed = [match[1] for match in messages.said(kmsg.MALFORMED_PARAMETER.pattern)]
    for word, fate in zip(effect.words, effect.fates):
        refused = word.text in (*unknown.split(), *malformed)
        if refused and fate.end in (End.TAKEN, End.OFFLINE):
            yield f"{word.text}: {fate}"
    for size, node, count in effect.pages.reserved:
        has = None if node is None else _pages(shown, f"{NODE}/node{node}").get(size)
        if has not in (None, count):
            yield f"node {node} has {has} pages of {size} KiB, not {count}"
