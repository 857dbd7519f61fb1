# SPDX-License-Identifier: GPL-2.0-or-later
"""What boots this system. The loader's own variable counts first, then the managers that own the
boot files, then the firmware's current boot entry, then the loaders' files. Files that an earlier
loader left boot nothing: where several loaders have files, the running line decides."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.host import firmware, grub_places
from lowlat.host.root import Root
from lowlat.model import cmdline

GRUB, GRUB_BLS = grub_places.GRUB, grub_places.GRUB_BLS
OTHERS_GRUB, PHOTON = grub_places.OTHERS_GRUB, grub_places.PHOTON
SYSTEMD_BOOT = "systemd-boot"
RASPBERRY_PI = "raspberry-pi"
#: extlinux.conf, which U-Boot or syslinux reads; Alpine's generator writes it elsewhere.
EXTLINUX = "extlinux"
ALPINE_EXTLINUX = "alpine-extlinux"
UNIFIED_IMAGES = "unified-images"
ZIPL = "zipl"
# Programs that write what the loader reads.
RPM_OSTREE = "rpm-ostree"
NIXOS = "nixos"
PROXMOX = "proxmox-boot-tool"
KERNELSTUB = "kernelstub"
XEN = "xen"
SDBOOTUTIL = "sdbootutil"
TRANSACTIONAL = "transactional-update"
GUIX = "guix"
UBUNTU_CORE = "ubuntu-core"
FLATCAR = "flatcar"
#: By their own names in their variable.
LIMINE = "Limine"
REFIND = "rEFInd"
SYSLINUX = "syslinux"
LILO = "LILO"
ELILO = "ELILO"
#: No loader: the firmware starts the kernel, or the host of a virtual machine does.
FIRMWARE = "the firmware"
HOST = "the virtual machine's host"
UENV = "uEnv.txt"
PIBOOT = "piboot"
ARMBIAN = "armbian"
FLASH_KERNEL = "flash-kernel"
PETITBOOT = "Petitboot"

#: The lines of rEFInd, beside the kernels.
REFIND_LINES = "/boot/refind_linux.conf"

#: Where the boot partition or the EFI system partition is mounted.
ESPS = grub_places.ESPS

_SUSE = "/etc/sysconfig/bootloader"
_PI_FILES = ("cmdline.txt", "config.txt")


@dataclass(frozen=True)
class BootLoader:
    """``kind`` is one of the names above, or the name in a loader's own variable; ``folder`` is
    where its configuration lies, "" if that is not fixed; ``source`` is what shows that it boots
    this system."""

    kind: str
    folder: str
    source: str


def recognise(root: Root) -> Optional[BootLoader]:
    """What boots this system; None if nothing shows it, or if several loaders may."""
    return _only(candidates(root))


def candidates(root: Root) -> tuple[BootLoader, ...]:
    """Every loader that may boot this system: mostly one."""
    known = _manager(root)
    if known is not None:
        return (known,)
    named = _by_variable(root)
    if named is not None and not _starts_another(root):
        return (named,)
    started = _by_firmware(root)
    if started is not None and _fits(root, started):
        return (started,)
    there = tuple(each for each in _by_files(root) if _may_be_started(root, each))
    fitting = tuple(each for each in there if _fits(root, each))
    if not any(_passes_on(root, each) for each in there) and _is_from_elsewhere(root):
        virtual = re.search(r"^flags\s*:.*\bhypervisor\b", root.read("/proc/cpuinfo") or "", re.M)
        return (BootLoader(HOST, "", "/proc/cmdline"),) if virtual else ()
    # A boot by kexec may have a line like no loader's.
    return fitting or there


def leftovers(root: Root) -> tuple[BootLoader, ...]:
    """Every loader whose files are there, most of which may boot nothing."""
    return (*_by_files(root), BootLoader(SYSTEMD_BOOT, "", "entry files"))


def _manager(root: Root) -> Optional[BootLoader]:
    """The program that owns the boot files, whichever loader reads them."""
    for kind, path in (
        (NIXOS, "/etc/NIXOS"),
        (RPM_OSTREE, "/run/ostree-booted"),
        (RPM_OSTREE, "/ostree/repo"),
    ):
        if root.exists(path):
            return BootLoader(kind, "", path)
    line = root.read("/proc/cmdline") or ""
    for kind, word in ((GUIX, "gnu.system"), (UBUNTU_CORE, "snapd_recovery_mode")):
        if cmdline.values(line, word):
            return BootLoader(kind, "", f"{word}= on the running line")
    if boot_image(root).startswith("/flatcar/"):
        return BootLoader(FLATCAR, "", "BOOT_IMAGE= on the running line")
    domain = "/proc/xen/capabilities"
    if "control_d" in (root.read(domain) or ""):
        return BootLoader(XEN, "", domain)
    opal = "/sys/firmware/opal"
    if root.exists(opal):
        return BootLoader(PETITBOOT, "", opal)
    uuids = "/etc/kernel/proxmox-boot-uuids"
    if root.read(uuids) and any(map(root.exists, ("/etc/pve", "/usr/sbin/proxmox-boot-tool"))):
        return BootLoader(PROXMOX, "", uuids)
    if root.exists("/usr/bin/sdbootutil"):
        suse = re.search(r"^LOADER_TYPE=\W?([\w-]+)", root.read(_SUSE) or "", re.MULTILINE)
        if suse and suse[1] in ("grub2-bls", "systemd-boot"):
            return BootLoader(SDBOOTUTIL, "", _SUSE)
    transactional = "/usr/sbin/transactional-update"
    if root.exists(transactional) and _mounts_root_read_only(root):
        return BootLoader(TRANSACTIONAL, "", transactional)
    kernelstub = "/etc/kernelstub/configuration"
    pop = re.search(r"^ID=\W?pop\b", root.read("/etc/os-release") or "", re.MULTILINE)
    there = pop or root.exists("/usr/bin/kernelstub")
    if there and systemd_boot_ran(root) and root.exists(kernelstub):
        return BootLoader(KERNELSTUB, "", kernelstub)
    return None


def _mounts_root_read_only(root: Root) -> bool:
    """As fstab(5) asks: GRUB's files lie in a snapshot, which the next one replaces."""
    rows = (row.split() for row in (root.read("/etc/fstab") or "").splitlines())
    return any(row[1:2] == ["/"] and "ro" in ",".join(row[3:4]).split(",") for row in rows)


def _by_variable(root: Root) -> Optional[BootLoader]:
    """The loader that names itself (https://systemd.io/BOOT_LOADER_INTERFACE)."""
    name = (firmware.loader_variable(root, "LoaderInfo") or "").partition(" ")[0]
    if name == "GRUB":
        return _only(_grub(root))
    return BootLoader(name, "", "LoaderInfo") if name else None


def _starts_another(root: Root) -> bool:
    """Whether the entry that systemd-boot booted is another loader, such as the shim of the next
    system's GRUB."""
    entry = firmware.loader_variable(root, "LoaderEntrySelected") or "none"
    texts = (root.read(f"{esp}/loader/entries/{entry}") or "" for esp in ESPS)
    program = re.compile(r"^efi\s+\S*/(?:shim|grub)\w*\.efi\s*$", re.MULTILINE | re.IGNORECASE)
    return any(map(program.search, texts))


def _by_firmware(root: Root) -> Optional[BootLoader]:
    """The loader whose program the firmware started."""
    path = firmware.current_program(root).lower()
    if path.startswith("/efi/linux/"):
        return BootLoader(UNIFIED_IMAGES, "", "BootCurrent")
    name = path.rpartition("/")[2]
    if name.startswith(("vmlinu", "bzimage")):
        return BootLoader(FIRMWARE, "", "BootCurrent")
    return _only(_grub(root)) if name.startswith(("grub", "shim")) else None


def _is_from_elsewhere(root: Root) -> bool:
    """Whether the running kernel is not among this system's files, and no loader named its image:
    the host of a virtual machine starts it (QEMU's -kernel, Firecracker), or the network did."""
    release = (root.read("/proc/sys/kernel/osrelease") or "").strip()
    images = (name for name in root.names("/boot") if not name.startswith("config"))
    modules = (f"{folder}/modules/{release}" for folder in ("/lib", "/usr/lib"))
    own = any(release in name for name in images) or any(map(root.exists, modules))
    return bool(release) and not boot_image(root) and not own and _runs(root)


def _runs(root: Root) -> bool:
    """Whether this system is the one that booted, and not one that a rescue system entered."""
    try:
        init = Path("/proc/1/root/.").stat() if root.live else None
        return init is None or os.path.samestat(init, Path("/").stat())
    except OSError:  # another user may not look there
        return True


def _may_be_started(root: Root, loader: BootLoader) -> bool:
    """Whether the firmware's program may be this loader, or start it as a shim or as the fallback
    (BOOTX64.EFI) does."""
    program = firmware.current_program(root).lower().rpartition("/")[2]
    if loader.kind in (GRUB, GRUB_BLS, PHOTON) and boot_image(root) and _runs(root):
        return boot_image(root).startswith(("/", "("))  # rEFInd starts GRUB too
    if loader.kind in (GRUB, GRUB_BLS, PHOTON, UNIFIED_IMAGES):
        return program.startswith(("shim", "boot", "grub")) or not program
    return not program or loader.kind.lower() in program


def _only(found: Iterable[BootLoader]) -> Optional[BootLoader]:
    there = tuple(found)
    return there[0] if len(there) == 1 else None


def _by_files(root: Root) -> Iterator[BootLoader]:
    yield from _grub(root)
    pi = raspberry_pi_folder(root)
    elilo = (f"{esp}/EFI/{name}/elilo.conf" for esp in ESPS for name in root.names(f"{esp}/EFI"))
    for kind, path in (
        (EXTLINUX, "/boot/extlinux/extlinux.conf"),
        (ALPINE_EXTLINUX, "/boot/extlinux.conf"),
        (SYSLINUX, "/boot/syslinux/syslinux.cfg"),
        (ARMBIAN, "/boot/armbianEnv.txt"),
        (ARMBIAN, "/boot/orangepiEnv.txt"),
        (UENV, "/boot/uEnv.txt"),
        (LIMINE, limine_conf(root)),
        (REFIND, REFIND_LINES),
        (LILO, "/etc/lilo.conf"),
        *((ELILO, path) for path in elilo),
        # On a Raspberry Pi it only copies files for the firmware (Ubuntu).
        *(() if pi else ((FLASH_KERNEL, "/etc/default/flash-kernel"),)),
        (ZIPL, "/etc/zipl.conf"),
    ):
        if root.exists(path):
            yield BootLoader(kind, path.rpartition("/")[0], path)
    if pi:
        kind = RASPBERRY_PI if root.exists(f"{pi}/cmdline.txt") else PIBOOT
        yield BootLoader(kind, pi, f"{pi}/config.txt")
    for esp in ESPS:
        if any(name.endswith(".efi") for name in root.names(f"{esp}/EFI/Linux")):
            yield BootLoader(UNIFIED_IMAGES, f"{esp}/EFI/Linux", f"{esp}/EFI/Linux")


def limine_conf(root: Root) -> str:
    """The file in which Limine finds its entries."""
    folders = ("", "/limine", "/EFI/limine", "/EFI/BOOT")
    paths = [f"{esp}{each}/limine.conf" for esp in ESPS for each in folders]
    return next(filter(root.exists, paths), "/boot/limine.conf")


def _grub(root: Root) -> Iterator[BootLoader]:
    """Each grub.cfg that GRUB reads."""
    for folder, kind in grub_places.find(root):
        where = "" if kind == OTHERS_GRUB else folder
        yield BootLoader(kind, where, f"{folder}/grub.cfg")


def _fits(root: Root, loader: BootLoader) -> bool:
    """Whether this loader may have booted the running line: one of lowlat's own may have come by
    kexec."""
    line = root.read("/proc/cmdline") or ""
    by_kexec = not boot_image(root) and cmdline.marker(line) is not None
    return by_kexec or _passes_on(root, loader)


def _passes_on(root: Root, loader: BootLoader) -> bool:
    """Whether this loader passes on a line like the running one. GRUB puts BOOT_IMAGE with a whole
    path on it (grub-core/loader/*/linux.c), syslinux the name in its configuration, LILO a label,
    and others put nothing."""
    image = boot_image(root)
    if not root.read("/proc/cmdline"):
        return True
    if loader.kind in (GRUB, GRUB_BLS, OTHERS_GRUB, PHOTON):
        return image.startswith(("/", "("))
    if loader.kind == EXTLINUX:
        return not image or root.exists("/boot/extlinux/ldlinux.sys")
    if loader.kind == ZIPL:
        return not image or image.isdecimal()
    if loader.kind in (LILO, ELILO):
        return bool(image) and "/" not in image
    return bool(image) is (loader.kind in (ALPINE_EXTLINUX, SYSLINUX))


def boot_image(root: Root) -> str:
    """The image that the loader named on the running line; "" if it named none."""
    return next(iter(cmdline.values(root.read("/proc/cmdline") or "", "BOOT_IMAGE")), "")


def systemd_boot_ran(root: Root) -> bool:
    """Whether systemd-boot booted this system, by its own variable."""
    return (firmware.loader_variable(root, "LoaderInfo") or "").startswith("systemd-boot")


def raspberry_pi_folder(root: Root) -> Optional[str]:
    """The folder in which a Raspberry Pi's firmware reads its configuration: config.txt, with the
    line beside it, or in a folder that config.txt names (Ubuntu's piboot)."""
    for at in ("/boot/firmware", "/boot"):
        prefixed = "os_prefix=" in (root.read(f"{at}/config.txt") or "")
        if prefixed or all(root.exists(f"{at}/{name}") for name in _PI_FILES):
            return at
    return None
