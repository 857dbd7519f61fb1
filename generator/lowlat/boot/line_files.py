# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that holds this machine's boot line, for loaders that lowlat does not write. A file that
an earlier layout left is not read any more, so each function looks for what the loader, or its
generator, reads. loaders.ini names the sources."""

import re
from collections.abc import Mapping
from typing import Optional

from lowlat.boot import config_txt, extlinux, grub_line, mkinitcpio, programs
from lowlat.boot.grub_line import ENTRIES
from lowlat.boot.line_file import KERNEL_CMDLINE, Finder, LineFile, sets, setting, there
from lowlat.host import boot_loader, firmware
from lowlat.host.boot_loader import BootLoader
from lowlat.host.root import Root, glob

UNKNOWN = "a boot loader that was not recognised"
RASPBERRY_PI = "Raspberry Pi firmware"

#: In uEnv.txt: BeagleBoard's, Khadas', and those of other boards' scripts.
_UENV_NAMES = ("cmdline", "user_kernel_args", "extraargs", "optargs")

#: Generates cmdline.txt again with each initramfs, on Debian.
RASPI_FIRMWARE = "/etc/kernel/postinst.d/z50-raspi-firmware"


def find(root: Root, loader: Optional[BootLoader]) -> LineFile:
    """Where the words go on this machine."""
    finder = _FINDERS.get(loader.kind) if loader else None
    return finder(root, loader) if finder and loader else LineFile(UNKNOWN)


def _nixos(root: Root, _: BootLoader) -> LineFile:
    path = "/etc/nixos/configuration.nix"
    return LineFile("NixOS", path, {"file": there(root, path) or "the system's configuration"})


def _guix(root: Root, _: BootLoader) -> LineFile:
    path = there(root, "/etc/config.scm")
    return LineFile("Guix", path, {"file": path or "the system's configuration"})


def _flatcar(root: Root, _: BootLoader) -> LineFile:
    older = there(root, "/usr/share/oem/grub.cfg")
    return LineFile("Flatcar", older if older and not root.exists("/oem") else "/oem/grub.cfg")


def _ostree(root: Root, _: BootLoader) -> LineFile:
    """bootc upgrades a container's image; a system of packages has its line from rpm-ostree, even
    where bootc is installed."""
    origins = (root.read(path) or "" for path in glob(root, "/ostree/deploy/*/deploy/*.origin"))
    image = any("container-image-reference" in text for text in origins)
    tool = programs.find(root, "rpm-ostree")
    if image or (not tool and programs.find(root, "bootc")):
        return LineFile("bootc", _newest(root))
    alone = not tool and programs.find(root, "ostree")
    return LineFile("ostree" if alone else "rpm-ostree", _newest(root))


def _newest(root: Root) -> str:
    """The entry of the default deployment, whose number is the highest: those before it keep their
    lines."""
    numbers = ((re.match(r"ostree-(\d+)", name), name) for name in root.names(ENTRIES))
    found = max(((int(match[1]), name) for match, name in numbers if match), default=None)
    return f"{ENTRIES}/{found[1]}" if found else ENTRIES


def _zipl(root: Root, loader: BootLoader) -> LineFile:
    own = "parameters" in (root.read(loader.source) or "parameters")
    return LineFile("zipl", loader.source) if own else LineFile("zipl with entry files", ENTRIES)


def _uenv(root: Root, loader: BootLoader) -> LineFile:
    """Each board's U-Boot script has a name of its own for what a person adds."""
    text = root.read(loader.source) or ""
    names = (name for name in _UENV_NAMES if sets(name, text) is not None)
    return LineFile("uEnv.txt", loader.source, {"name": next(names, _UENV_NAMES[0])})


def _refind(root: Root, _: BootLoader) -> LineFile:
    path = boot_loader.REFIND_LINES
    return LineFile("rEFInd", path) if root.exists(path) else LineFile("rEFInd without that file")


def _firmware(root: Root, _: BootLoader) -> LineFile:
    path = firmware.current_program(root).replace("/", "\\")
    line = (root.read("/proc/cmdline") or "").strip()
    return LineFile("the firmware", facts={"loader": path, "line": line})


def _named(section: str) -> Finder:
    """The file by which the loader was recognised."""
    return lambda _, loader: LineFile(section, loader.source)


def _photon(root: Root, _: BootLoader) -> LineFile:
    path = "/boot/photon.cfg"
    target = root.link(path)
    link = f" (a link to {target}: a new kernel brings a file of its own)" if target else ""
    return LineFile("Photon OS", path, {"link": link})


def _proxmox(root: Root, _: BootLoader) -> LineFile:
    if boot_loader.systemd_boot_ran(root):
        return LineFile("proxmox-boot-tool", KERNEL_CMDLINE)
    return LineFile("proxmox-boot-tool with GRUB", grub_line.settings(root))


def _limine(root: Root, _: BootLoader) -> LineFile:
    """limine-entry-tool writes limine.conf anew with every kernel."""
    settings = "/etc/default/limine"
    if root.exists(settings):
        made = (boot_loader.limine_conf(root),)
        return LineFile("Limine by its entry tool", settings, made=made)
    return LineFile("Limine", boot_loader.limine_conf(root))


def _transactional(root: Root, _: BootLoader) -> LineFile:
    config = "/boot/grub2/grub.cfg"
    return LineFile("transactional-update", grub_line.settings(root), made=(config,))


def _sdbootutil(root: Root, _: BootLoader) -> LineFile:
    return LineFile("sdbootutil", KERNEL_CMDLINE, made=(_selected(root),))


def _piboot(root: Root, loader: BootLoader) -> LineFile:
    path = f"{loader.folder}/new/cmdline.txt"
    failed = root.read(f"{loader.folder}/new/state") == "bad"
    fresh = root.exists(path) and not failed
    section = "piboot" if fresh else "piboot without new files"
    return LineFile(section, path, made=(f"{loader.folder}/current/cmdline.txt",))


def _raspberry_pi(root: Root, loader: BootLoader) -> LineFile:
    if root.exists(RASPI_FIRMWARE):
        made = (f"{loader.folder}/cmdline.txt",)
        return LineFile("raspi-firmware", "/etc/default/raspi-extra-cmdline", made=made)
    read, board = config_txt.reader(root, loader.folder), config_txt.read_board(root)
    prefixes = config_txt.possible(read, board, "os_prefix", "")
    names = config_txt.possible(read, board, "cmdline", "cmdline.txt")
    pairs = [f"{prefix.value}{name.value}" for prefix in prefixes for name in names]
    paths = [f"{loader.folder}/{pair}" for pair in dict.fromkeys(pairs)]
    there = list(filter(root.exists, paths)) or paths
    if len(there) == 1:
        return LineFile(RASPBERRY_PI, there[0])
    doubts = sorted({each.doubt for each in (*prefixes, *names) if each.doubt})
    facts = {"files": " and of ".join(there), "filters": " and ".join(doubts)}
    return LineFile("Raspberry Pi firmware by filters", facts=facts, made=tuple(there))


def _unified(root: Root, _: BootLoader) -> LineFile:
    by_preset = mkinitcpio.line_file(root, KERNEL_CMDLINE)
    if by_preset:
        return LineFile("unified kernel images by mkinitcpio", by_preset)
    settings = ("/etc/dracut.conf", "/etc/dracut.conf.d/*.conf")
    by_dracut = setting(root, "uefi", *settings)
    if (sets("uefi", root.read(by_dracut) or "") or "").strip("\"'") == "yes":
        path = setting(root, "kernel_cmdline", *settings)
        own = sets("kernel_cmdline", root.read(path) or "")
        return LineFile("unified kernel images by dracut", by_dracut if own is None else path)
    if glob(root, "/usr/lib/modules/*/vmlinuz-virt.efi"):
        esps = (esp for esp in boot_loader.ESPS if root.exists(f"{esp}/EFI"))
        esp = next(esps, boot_loader.ESPS[0])
        addon = f"{esp}/loader/addons/lowlat.addon.efi"
        return LineFile("unified kernel images of a package", addon)
    # kernel-install's 60-ukify takes no line from uki.conf (systemd#31840).
    return LineFile("unified kernel images", KERNEL_CMDLINE)


def _systemd_boot(root: Root, loader: BootLoader) -> LineFile:
    if any(glob(root, f"{esp}/EFI/Linux/*.efi") for esp in boot_loader.ESPS):
        return _unified(root, loader)
    if programs.find(root, "clr-boot-manager"):
        path = "/etc/kernel/cmdline.d/lowlat.conf"
        return LineFile("clr-boot-manager", path, made=(_selected(root),))
    if root.exists(KERNEL_CMDLINE) and programs.find(root, "kernel-install"):
        made = (_selected(root),)
        return LineFile("systemd-boot by kernel-install", KERNEL_CMDLINE, made=made)
    return LineFile("systemd-boot", _selected(root))


def _selected(root: Root) -> str:
    """The entry file that booted, as systemd-boot and GRUB with its commands tell."""
    entry = firmware.loader_variable(root, "LoaderEntrySelected") or "*.conf"
    places = (path for esp in boot_loader.ESPS for path in glob(root, f"{esp}/loader/entries/*"))
    return next((path for path in places if path.endswith(f"/{entry}")), f"loader/entries/{entry}")


_FINDERS: Mapping[str, Finder] = {
    **extlinux.FINDERS,
    **grub_line.FINDERS,
    boot_loader.NIXOS: _nixos,
    boot_loader.RPM_OSTREE: _ostree,
    boot_loader.GUIX: _guix,
    boot_loader.UBUNTU_CORE: lambda _, __: LineFile("Ubuntu Core"),
    boot_loader.FLATCAR: _flatcar,
    boot_loader.ZIPL: _zipl,
    boot_loader.ARMBIAN: _named("Armbian"),
    boot_loader.UENV: _uenv,
    boot_loader.LILO: _named("LILO"),
    boot_loader.ELILO: _named("ELILO"),
    boot_loader.REFIND: _refind,
    boot_loader.FIRMWARE: _firmware,
    boot_loader.HOST: lambda _, __: LineFile("the virtual machine's host"),
    boot_loader.LIMINE: _limine,
    boot_loader.FLASH_KERNEL: _named("flash-kernel"),
    boot_loader.PHOTON: _photon,
    boot_loader.KERNELSTUB: _named("kernelstub"),
    boot_loader.PROXMOX: _proxmox,
    boot_loader.SDBOOTUTIL: _sdbootutil,
    boot_loader.TRANSACTIONAL: _transactional,
    boot_loader.PIBOOT: _piboot,
    boot_loader.RASPBERRY_PI: _raspberry_pi,
    boot_loader.UNIFIED_IMAGES: _unified,
    boot_loader.OTHERS_GRUB: lambda _, __: LineFile("another system's GRUB"),
    boot_loader.SYSTEMD_BOOT: _systemd_boot,
}
