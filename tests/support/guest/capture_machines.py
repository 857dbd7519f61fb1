# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot emulated machines and capture each into tests/machines/NAME.txt.

    PYTHONPATH=tests python -m support.guest.capture_machines [--list] [--cache DIR] [NAME ...]

A Debian kernel boots with a busybox initramfs, which copies the files that a probe may read, sends
them over the console and powers off; ``lowlat-gen capture --root`` makes the archive of that tree.
Kernels and busybox come from Debian's packages (apt-get download, nothing is installed) and stay in
DIR (default: ~/.cache/lowlat/machines). One emulator runs at a time, with a time limit; no KVM is
needed. Then write the plans, ``LOWLAT_GOLDEN=1 pytest tests/plan/test_machines.py``; review them.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.cli import GEN
from support.guest import REPOSITORY
from support.waits import GUARD_S

MACHINES = REPOSITORY / "tests/machines"

SUITE = "trixie"
MIRROR = os.environ.get("LOWLAT_MIRROR", "http://deb.debian.org/debian")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

BOOT_S = 300.0

#: In seconds, for a call that downloads.
_FETCH_S = 900.0


@dataclass(frozen=True)
class Emulated:
    """A machine for QEMU. ``before`` is shell code that runs in the guest before the copy."""

    arch: str
    smp: str
    nodes: tuple[str, ...] = ()
    offline: tuple[int, ...] = ()
    devices: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    line: str = ""

    @property
    def before(self) -> str:
        switch = "/sys/devices/system/cpu/cpu{}/online"
        return "\n".join(f"echo 0 > {switch.format(cpu)}" for cpu in self.offline)


def numa(*cpus: str) -> tuple[str, ...]:
    """Options for a node with each of these CPU lists; an empty list makes a memory-only node."""
    options: list[str] = []
    for number, lists in enumerate(cpus):
        listed = "".join(f",cpus={part}" for part in lists.split(",") if part)
        options += ["-object", f"memory-backend-ram,id=m{number},size={MEMORY_MIB // len(cpus)}M"]
        options += ["-numa", f"node,nodeid={number},memdev=m{number}{listed}"]
    return tuple(options)


MEMORY_MIB = 768

_NEAR = (
    # A root port on node 1 with an NVMe controller and a network card below it.
    *("-device", "pxb-pcie,id=far,bus=pcie.0,bus_nr=64,numa_node=1"),
    *("-device", "pcie-root-port,id=port1,bus=far,chassis=1,slot=1"),
    *("-device", "pcie-root-port,id=port2,bus=far,chassis=2,slot=2"),
    *("-device", "nvme,serial=none,bus=port1"),
    *("-device", "virtio-net-pci,bus=port2"),
    *("-device", "virtio-net-pci,bus=pcie.0"),
)

EMULATED = {
    "qemu-x86-1s1c": Emulated("amd64", "1"),
    "qemu-x86-4s1c": Emulated("amd64", "4,sockets=4,cores=1,threads=1"),
    "qemu-x86-2s2d2c2t-4n": Emulated(
        "amd64",
        "16,sockets=2,dies=2,cores=2,threads=2",
        numa("0-3", "4-7", "8-11", "12-15"),
    ),
    "qemu-x86-1s8c2t-offline": Emulated(
        "amd64", "16,sockets=1,cores=8,threads=2", offline=(1, 6, 7, 13)
    ),
    "qemu-x86-2s4c-3n-memory-only": Emulated(
        "amd64", "8,sockets=2,cores=4,threads=1", numa("0-3", "4-7", "")
    ),
    "qemu-x86-2s4c-2n-devices": Emulated(
        "amd64",
        "8,sockets=2,cores=4,threads=1",
        numa("0-3", "4-7"),
        devices=_NEAR,
        modules=("virtio_pci", "virtio_net", "nvme"),
    ),
    "qemu-x86-4c-hotplug": Emulated("amd64", "4,maxcpus=8,sockets=1,cores=8,threads=1"),
    "qemu-x86-8c-isolated": Emulated(
        "amd64",
        "8,sockets=1,cores=8,threads=1",
        line="isolcpus=managed_irq,domain,2-7 nohz_full=2-7",
    ),
    "qemu-x86-2s4c2t-crossed": Emulated(
        # The nodes do not follow the sockets: CPUs of both sockets lie in both nodes.
        "amd64",
        "16,sockets=2,cores=4,threads=2",
        numa("0-3,8-11", "4-7,12-15"),
    ),
    "qemu-arm64-4c": Emulated("arm64", "4,sockets=1,cores=4,threads=1"),
    "qemu-arm64-2s2l4c-2n": Emulated(
        "arm64", "16,sockets=2,clusters=2,cores=4,threads=1", numa("0-7", "8-15")
    ),
    "qemu-arm64-2l4c-offline": Emulated(
        "arm64", "8,sockets=1,clusters=2,cores=4,threads=1", offline=(0, 5)
    ),
}

# ---------------------------------------------------------------- packages


def run(*argv: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    ended = subprocess.run(
        [str(word) for word in argv],
        check=False,
        capture_output=True,
        text=True,
        timeout=_FETCH_S,
        env={**os.environ, "LC_ALL": "C", **(env or {})},
        cwd=cwd,
    )
    if ended.returncode:
        raise SystemExit(f"{argv[0]} {argv[1]}: {ended.stderr.strip()[-400:]}")
    return ended.stdout


def fetched(arch: str, cache: Path) -> Path:
    """The unpacked kernel and busybox packages of an architecture."""
    tree = cache / SUITE / arch
    if tree.is_dir():
        return tree
    tree.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=tree.parent) as name:
        folder = Path(name)
        told = {"APT_CONFIG": str(_apt(arch, folder))}
        run("apt-get", "-qq", "update", env=told)
        depends = run("apt-cache", "depends", f"linux-image-{arch}", env=told)
        kernel = re.search(r"Depends: (linux-image-\d\S+)", depends)
        if not kernel:
            raise SystemExit(f"linux-image-{arch} depends on no kernel in {SUITE}")
        print(f"downloading {kernel[1]} and busybox-static for {arch}", file=sys.stderr)
        run("apt-get", "-q", "download", kernel[1], "busybox-static", env=told, cwd=folder)
        for package in folder.glob("*.deb"):
            run("dpkg-deb", "-x", package, folder / "tree")
        modules = folder / "tree" / "usr"
        run(shutil.which("depmod") or "/sbin/depmod", "-b", modules, _release(folder / "tree"))
        (folder / "tree").rename(tree)
    return tree


def _apt(arch: str, folder: Path) -> Path:
    """apt's configuration for one architecture and suite, separate from the host's."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    source = f"deb [arch={arch} signed-by={KEYRING}] {MIRROR} {SUITE} main\n"
    (folder / "sources.list").write_text(source)
    (folder / "apt.conf").write_text(
        f'APT::Architecture "{arch}"; APT::Architectures {{ "{arch}"; }};\n'
        f'Dir::State "{folder}"; Dir::State::Lists "{folder}/lists";\n'
        f'Dir::State::status "{folder}/status"; Dir::Cache "{folder}/cache";\n'
        f'Dir::Etc::SourceList "{folder}/sources.list"; Dir::Etc::SourceParts "/dev/null";\n'
        'Acquire::Languages "none"; APT::Sandbox::User "root";\n'
    )
    return folder / "apt.conf"


def _release(tree: Path) -> str:
    return next((tree / "boot").glob("vmlinuz-*")).name.partition("-")[2]


# --------------------------------------------------------------- initramfs

#: Copied unchanged: the kernel's folders and files that a probe reads.
_COPIED = (
    *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/devices/system/clocksource"),
    *("/sys/devices/cpu_core", "/sys/devices/cpu_atom", "/sys/hypervisor", "/sys/kernel/mm/ksm"),
    *("/sys/devices/virtual/dmi/id", "/sys/class/dmi", "/sys/class/net", "/sys/class/nvme"),
    *("/sys/bus/pci/devices", "/proc/cpuinfo", "/proc/cmdline", "/proc/version", "/proc/stat"),
    *("/proc/interrupts", "/proc/irq", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/arch"),
    *("/proc/device-tree/hypervisor", "/proc/sysinfo"),
)

#: The files copied of each PCI device: others may be the device's memory or ports.
_OF_A_DEVICE = "class vendor device numa_node local_cpulist local_cpus irq msi_irqs driver"

_INIT = """#!/bin/busybox sh
bb() {{ /bin/busybox "$@"; }}
bb mount -t proc proc /proc
bb mount -t sysfs sysfs /sys
bb mount -t tmpfs tmpfs /out
bb dmesg -n 1
for module in {modules}; do bb insmod /modules/$module; done
bb sleep {settle}
{before}
for path in {copied}; do
	[ -e $path ] || continue
	bb mkdir -p /out$(bb dirname $path)
	bb cp -a $path /out$path 2>/dev/null
done
for device in /sys/bus/pci/devices/*; do
	real=$(bb readlink -f $device)
	bb mkdir -p /out$real
	for name in {of_a_device}; do bb cp -a $real/$name /out$real/ 2>/dev/null; done
done
for link in /sys/class/net/* /sys/class/nvme/*; do bb mkdir -p /out$(bb readlink -f $link); done
echo
echo "=== tree ==="
bb tar -C /out -cf - . | bb gzip | bb base64
echo "=== end ==="
bb poweroff -f
"""


def initramfs(tree: Path, machine: Emulated, out: Path) -> None:
    """A newc archive: busybox, the modules and init."""
    modules = dict(_modules(tree, machine.modules))
    init = _INIT.format(
        modules=" ".join(modules),
        settle=2 if modules else 0,
        before=machine.before,
        copied=" ".join(_COPIED),
        of_a_device=_OF_A_DEVICE,
    )
    files = {
        "init": init.encode(),
        "bin/busybox": (tree / "usr/bin/busybox").read_bytes(),
        **{f"modules/{name}": data for name, data in modules.items()},
    }
    with tempfile.TemporaryDirectory() as name:
        for folder in ("bin", "modules", "proc", "sys", "out", "dev"):
            (Path(name) / folder).mkdir()
        for path, data in files.items():
            (Path(name) / path).write_bytes(data)
            (Path(name) / path).chmod(0o755)
        names = "\n".join(sorted(str(p.relative_to(name)) for p in Path(name).rglob("*")))
        cpio = ["cpio"] if shutil.which("cpio") else ["busybox", "cpio"]
        packed = subprocess.run(
            [*cpio, "-o", "-H", "newc"],
            input=names.encode(),
            cwd=name,
            check=True,
            capture_output=True,
            timeout=GUARD_S,
        )
    out.write_bytes(packed.stdout)


def _modules(tree: Path, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
    for name in names:
        shown = run(
            shutil.which("modprobe") or "/sbin/modprobe",
            *("-d", tree / "usr", "-S", _release(tree), "--show-depends", name),
        )
        for path in re.findall(r"^insmod (\S+)", shown, re.MULTILINE):
            data = subprocess.run(
                ["xz", "-dc", path] if path.endswith(".xz") else ["cat", path],
                check=True,
                capture_output=True,
                timeout=GUARD_S,
            ).stdout
            yield Path(path).name.replace(".xz", ""), data


# -------------------------------------------------------------------- boot


def qemu(machine: Emulated, tree: Path, initrd: Path) -> list[str]:
    x86 = machine.arch == "amd64"
    program = "qemu-system-x86_64" if x86 else "qemu-system-aarch64"
    console = "ttyS0" if x86 else "ttyAMA0"
    return [
        os.environ.get(f"LOWLAT_QEMU_{machine.arch.upper()}", program),
        *(("-machine", "q35") if x86 else ("-machine", "virt,gic-version=3")),
        *("-cpu", "Cascadelake-Server,-vmx,-hle,-rtm" if x86 else "cortex-a72"),
        *("-accel", "tcg,thread=multi", "-m", str(MEMORY_MIB), "-smp", machine.smp),
        *machine.nodes,
        *machine.devices,
        *("-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"),
        *("-kernel", str(tree / "boot" / f"vmlinuz-{_release(tree)}"), "-initrd", str(initrd)),
        *("-append", f"console={console} quiet loglevel=1 panic=-1 {machine.line}".strip()),
    ]


def boot(machine: Emulated, tree: Path, work: Path) -> bytes:
    """The guest's tree as a compressed tar."""
    initramfs(tree, machine, work / "initrd")
    log = work / "console"
    with log.open("wb") as out:
        subprocess.run(
            qemu(machine, tree, work / "initrd"),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=BOOT_S,
            check=False,
        )
    found = re.search(rb"=== tree ===\s(.*)=== end ===", log.read_bytes(), re.DOTALL)
    if not found:
        raise SystemExit(f"no tree came out:\n{log.read_text(errors='replace')[-1500:]}")
    return base64.b64decode(found[1])


def capture(name: str, cache: Path) -> None:
    machine, begin = EMULATED[name], time.monotonic()
    tree = fetched(machine.arch, cache)
    with tempfile.TemporaryDirectory(prefix="lowlat-machine-") as folder:
        work, root = Path(folder), Path(folder) / "root"
        (work / "tree.tar.gz").write_bytes(boot(machine, tree, work))
        (root / "boot").mkdir(parents=True)
        run("tar", "-xzf", work / "tree.tar.gz", "-C", root)
        config = f"config-{_release(tree)}"
        (root / "boot" / config).write_text(_shortened((tree / "boot" / config).read_text()))
        out = MACHINES / f"{name}.txt"
        run(*GEN, "capture", "--root", root, out)
    seconds = time.monotonic() - begin
    print(f"{name}: {out.stat().st_size} bytes in {seconds:.0f} s", flush=True)


#: The part of a kernel's configuration that may affect a plan; the whole has 300 kB per archive.
_OPTIONS = (
    r"NO_HZ|RCU_|PREEMPT|_?HZ\b|IRQ|NUMA|ISOLATION|LOCKUP|TRANSPARENT_HUGE|TRACER|MCE|CPU_FREQ|CPU_IDLE|"
    r"CPUSETS|CPU_PARTITIONS|WATCHDOG|_KSM\b|SCHED_|SMP\b|HIGH_RES|SMT|INTEL_|MITIGATION|AUDIT\b|COMPACTION|DEBUG_FS\b|"
    r"_PSI\b|PSI_|_RPS\b|RX_BUSY|_SPINLOCKS\b|HALTPOLL|PCIEASPM\b|IOMMU_SUPPORT|IOMMU_DEFAULT|_KVM\b|_KVM_INTEL|"
    r"IDLE_POLL|WQ_POWER"
)


def _shortened(config: str) -> str:
    lines = re.findall(r"^CONFIG_\w+=.*$", config, re.MULTILINE)
    return "".join(f"{line}\n" for line in lines if re.search(_OPTIONS, line.partition("=")[0]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Capture emulated machines into tests/machines/.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/lowlat/machines")
    args = parser.parse_args()
    if args.list:
        print("\n".join(EMULATED))
        return 0
    for name in args.names or EMULATED:
        capture(name, args.cache)
    return 0


if __name__ == "__main__":
    sys.exit(main())
