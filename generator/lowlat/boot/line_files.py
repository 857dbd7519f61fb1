# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that holds this machine's boot line, for loaders that lowlat does not write. A file that
an earlier layout left is not read any more, so each function looks for what the loader, or its
generator, reads. loaders.ini names the sources."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, Optional

from lowlat.boot import config_txt, mkinitcpio, programs
from lowlat.host import boot_loader, firmware
from lowlat.host.boot_loader import BootLoader
from lowlat.host.root import Root, glob

UNKNOWN = "a boot loader that was not recognised"
RASPBERRY_PI = "Raspberry Pi firmware"

#: Before the output of each script of grub-mkconfig.
_BEGIN = "### BEGIN /etc/grub.d/"

_ENTRIES = "/boot/loader/entries"

#: The whole line, which kernel-install and others read; without it, they take the running one.
KERNEL_CMDLINE = "/etc/kernel/cmdline"

#: In uEnv.txt: BeagleBoard's, Khadas', and those of other boards' scripts.
_UENV_NAMES = ("cmdline", "user_kernel_args", "extraargs", "optargs")

#: Generates cmdline.txt again with each initramfs, on Debian.
RASPI_FIRMWARE = "/etc/kernel/postinst.d/z50-raspi-firmware"


@dataclass(frozen=True)
class LineFile:
    """``section`` of loaders.ini tells what a person does, ``path`` is the file or the folder in
    which the words are found then ("" if none is known), ``facts`` are further names in the
    text."""

    section: str
    path: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def find(root: Root, loader: Optional[BootLoader]) -> LineFile:
    """Where the words go on this machine."""
    finder = _FINDERS.get(loader.kind) if loader else None
    return finder(root, loader) if finder and loader else LineFile(UNKNOWN)


def _nixos(root: Root, _: BootLoader) -> LineFile:
    path = "/etc/nixos/configuration.nix"
    return LineFile("NixOS", path, {"file": _there(root, path) or "the system's configuration"})


def _guix(root: Root, _: BootLoader) -> LineFile:
    path = _there(root, "/etc/config.scm")
    return LineFile("Guix", path, {"file": path or "the system's configuration"})


def _flatcar(root: Root, _: BootLoader) -> LineFile:
    older = _there(root, "/usr/share/oem/grub.cfg")
    return LineFile("Flatcar", older if older and not root.exists("/oem") else "/oem/grub.cfg")


def _ostree(root: Root, _: BootLoader) -> LineFile:
    """bootc upgrades a container's image; a system of packages has its line from rpm-ostree, even
    where bootc is installed."""
    origins = (root.read(path) or "" for path in glob(root, "/ostree/deploy/*/deploy/*.origin"))
    image = any("container-image-reference" in text for text in origins)
    tool = programs.find(root, "rpm-ostree")
    if image or (not tool and programs.find(root, "bootc")):
        return LineFile("bootc", _ENTRIES)
    alone = not tool and programs.find(root, "ostree")
    return LineFile("ostree" if alone else "rpm-ostree", _ENTRIES)


def _zipl(root: Root, loader: BootLoader) -> LineFile:
    own = "parameters" in (root.read(loader.source) or "parameters")
    return LineFile("zipl", loader.source) if own else LineFile("zipl with entry files", _ENTRIES)


def _extlinux(root: Root, loader: BootLoader) -> LineFile:
    text = root.read(loader.source) or ""
    if "generated automatically" not in text or not programs.find(root, "u-boot-update"):
        return LineFile("extlinux", loader.source, {"label": _default_label(text)})
    folders = ("/usr/share/u-boot-menu/conf.d/*.conf", "/etc/u-boot-menu/conf.d/*.conf")
    path = _setting(root, "U_BOOT_PARAMETERS", "/etc/default/u-boot", *folders)
    by_line = _sets("U_BOOT_PARAMETERS", root.read(path) or "")
    # Unset, or set to the content of that file, as Ubuntu's images for Rockchip do.
    if root.exists(KERNEL_CMDLINE) and (by_line is None or KERNEL_CMDLINE in by_line):
        return LineFile("U-Boot extlinux by /etc/kernel/cmdline", KERNEL_CMDLINE)
    return LineFile("U-Boot extlinux", path)


def _syslinux(root: Root, loader: BootLoader) -> LineFile:
    label = _default_label(root.read(loader.source) or "")
    return LineFile("syslinux", loader.source, {"label": label})


def _uenv(root: Root, loader: BootLoader) -> LineFile:
    """Each board's U-Boot script has a name of its own for what a person adds."""
    text = root.read(loader.source) or ""
    names = (name for name in _UENV_NAMES if _sets(name, text) is not None)
    return LineFile("uEnv.txt", loader.source, {"name": next(names, _UENV_NAMES[0])})


def _refind(root: Root, _: BootLoader) -> LineFile:
    path = boot_loader.REFIND_LINES
    return LineFile("rEFInd", path) if root.exists(path) else LineFile("rEFInd without that file")


def _firmware(root: Root, _: BootLoader) -> LineFile:
    path = firmware.current_program(root).replace("/", "\\")
    line = (root.read("/proc/cmdline") or "").strip()
    return LineFile("the firmware", facts={"loader": path, "line": line})


def _alpine(root: Root, loader: BootLoader) -> LineFile:
    path = "/etc/update-extlinux.conf"
    if root.exists(path):
        return LineFile("update-extlinux", path)
    label = _default_label(root.read(loader.source) or "")
    return LineFile("extlinux", loader.source, {"label": label})


def of_label(text: str, label: str) -> str:
    """The part of a label in a file of extlinux's; the whole text without such a label."""
    parts = re.split(r"^(?=\s*label\s)", text, flags=re.MULTILINE | re.IGNORECASE)
    named = re.compile(rf"\s*label\s+{re.escape(label)}\s*$", re.MULTILINE | re.IGNORECASE)
    return next(filter(named.match, parts), text)


def _default_label(text: str) -> str:
    """The label that extlinux boots: that of MENU DEFAULT, else of DEFAULT, else the first."""
    rows = [row.split() for row in text.splitlines()]
    labels, marked, default = [], "", ""
    for row in rows:
        key = row[0].lower() if row else ""
        if key == "label" and len(row) > 1:
            labels.append(row[1])
        elif key == "default" and len(row) > 1:
            default = row[1]
        elif [word.lower() for word in row] == ["menu", "default"] and labels:
            marked = labels[-1]
    named = default if default in labels else ""
    return marked or named or next(iter(labels), "that boots")


def _named(section: str) -> Callable[[Root, BootLoader], LineFile]:
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
    return LineFile("proxmox-boot-tool with GRUB", _grub_settings(root))


def _limine(root: Root, _: BootLoader) -> LineFile:
    """limine-entry-tool writes limine.conf anew with every kernel."""
    settings = "/etc/default/limine"
    if root.exists(settings):
        return LineFile("Limine by its entry tool", settings)
    return LineFile("Limine", boot_loader.limine_conf(root))


def _xen(root: Root, _: BootLoader) -> LineFile:
    if root.exists("/opt/xensource/libexec/xen-cmdline"):
        return LineFile("Xen of XenServer")
    configs = (f"/boot/{name}/grub.cfg" for name in ("grub2", "grub"))
    own = (path for path in configs if f"{_BEGIN}20_linux_xen" in (root.read(path) or ""))
    config = next(own, "/boot/grub/grub.cfg")
    return LineFile("Xen", _grub_settings(root), {"config": config})


def _petitboot(root: Root, _: BootLoader) -> LineFile:
    """It reads the files of GRUB, but knows no path of an entry through submenus."""
    kinds = {each.kind: each.source for each in boot_loader.leftovers(root)}
    if boot_loader.GRUB_BLS in kinds:
        return LineFile("Petitboot with entry files", _ENTRIES)
    config = kinds.get(boot_loader.GRUB, "/boot/grub/grub.cfg")
    return LineFile("Petitboot", _grub_settings(root), {"config": config})


def _transactional(root: Root, _: BootLoader) -> LineFile:
    return LineFile("transactional-update", _grub_settings(root))


def _sdbootutil(_: Root, __: BootLoader) -> LineFile:
    return LineFile("sdbootutil", KERNEL_CMDLINE)


def _piboot(root: Root, loader: BootLoader) -> LineFile:
    path = f"{loader.folder}/new/cmdline.txt"
    failed = root.read(f"{loader.folder}/new/state") == "bad"
    fresh = root.exists(path) and not failed
    return LineFile("piboot" if fresh else "piboot without new files", path)


def _raspberry_pi(root: Root, loader: BootLoader) -> LineFile:
    if root.exists(RASPI_FIRMWARE):
        return LineFile("raspi-firmware", "/etc/default/raspi-extra-cmdline")
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
    return LineFile("Raspberry Pi firmware by filters", facts=facts)


def _unified(root: Root, _: BootLoader) -> LineFile:
    by_preset = mkinitcpio.line_file(root, KERNEL_CMDLINE)
    if by_preset:
        return LineFile("unified kernel images by mkinitcpio", by_preset)
    settings = ("/etc/dracut.conf", "/etc/dracut.conf.d/*.conf")
    by_dracut = _setting(root, "uefi", *settings)
    if (_sets("uefi", root.read(by_dracut) or "") or "").strip("\"'") == "yes":
        path = _setting(root, "kernel_cmdline", *settings)
        sets = _sets("kernel_cmdline", root.read(path) or "")
        return LineFile("unified kernel images by dracut", by_dracut if sets is None else path)
    if glob(root, "/usr/lib/modules/*/vmlinuz-virt.efi"):
        esps = (esp for esp in boot_loader.ESPS if root.exists(f"{esp}/EFI"))
        esp = next(esps, boot_loader.ESPS[0])
        return LineFile("unified kernel images of a package", facts={"esp": esp})
    # kernel-install's 60-ukify takes no line from uki.conf (systemd#31840).
    return LineFile("unified kernel images", KERNEL_CMDLINE)


def _grub(root: Root, loader: BootLoader) -> LineFile:
    config = f"{loader.folder}/grub.cfg"
    if is_generated(root, config) and programs.find(root, "grub-mkconfig", "grub2-mkconfig"):
        script = _script_of(root, config)
        if script and not re.match(r"\d+_linux", script):
            return LineFile("GRUB by a script", f"/etc/grub.d/{script}", {"config": config})
        return LineFile("GRUB", _grub_settings(root), {"config": config})
    return LineFile("GRUB without grub-mkconfig", config)


def _script_of(root: Root, config: str) -> str:
    """The first script of grub-mkconfig that made an entry of the image which runs; "" if none
    did."""
    image, found = boot_loader.boot_image(root).rpartition("/")[2], dict[str, str]()
    for part in (root.read(config) or "").split(_BEGIN)[1:]:
        for row in re.findall(r"^\s*linux\w*\s+[\"']?(\S+?)[\"']?(?:\s|$)", part, re.MULTILINE):
            found.setdefault(row.rpartition("/")[2], part.partition(" ")[0])
    return found.get(image, "") if image else ""


def is_generated(root: Root, config: str) -> bool:
    """Whether a grub.cfg is there and grub-mkconfig wrote it, as far as it can be read."""
    return root.exists(config) and _BEGIN in (root.read(config) or _BEGIN)


def _grub_settings(root: Root) -> str:
    drop_ins = "/etc/default/grub.d/*.cfg"
    return _setting(root, "GRUB_CMDLINE_LINUX_DEFAULT", "/etc/default/grub", drop_ins)


def _grub_bls(root: Root, _: BootLoader) -> LineFile:
    without = "" if programs.find(root, "grubby") else ", without grubby"
    return LineFile(f"GRUB with entry files{without}", _ENTRIES)


def _systemd_boot(root: Root, loader: BootLoader) -> LineFile:
    if any(glob(root, f"{esp}/EFI/Linux/*.efi") for esp in boot_loader.ESPS):
        return _unified(root, loader)
    if programs.find(root, "clr-boot-manager"):
        return LineFile("clr-boot-manager", "/etc/kernel/cmdline.d/lowlat.conf")
    if root.exists(KERNEL_CMDLINE) and programs.find(root, "kernel-install"):
        return LineFile("systemd-boot by kernel-install", KERNEL_CMDLINE)
    entry = firmware.loader_variable(root, "LoaderEntrySelected") or "*.conf"
    places = (path for esp in boot_loader.ESPS for path in glob(root, f"{esp}/loader/entries/*"))
    path = next((path for path in places if path.endswith(f"/{entry}")), f"loader/entries/{entry}")
    return LineFile("systemd-boot", path)


def _setting(root: Root, name: str, first: str, *patterns: str) -> str:
    """The file that sets a variable last of those that a shell reads in this order, else the
    first."""
    paths = [first, *(path for pattern in patterns for path in glob(root, pattern))]
    setting = (path for path in reversed(paths) if _sets(name, root.read(path) or "") is not None)
    return next(setting, first)


def _sets(name: str, text: str) -> Optional[str]:
    """The last value that a text gives a variable, as written; None if it does not."""
    values = re.findall(rf"^\s*(?:export\s+)?{name}\+?=(.*?)\s*$", text, re.MULTILINE)
    return values[-1] if values else None


def _there(root: Root, path: str) -> str:
    return path if root.exists(path) else ""


_FINDERS: Mapping[str, Callable[[Root, BootLoader], LineFile]] = {
    boot_loader.NIXOS: _nixos,
    boot_loader.RPM_OSTREE: _ostree,
    boot_loader.GUIX: _guix,
    boot_loader.UBUNTU_CORE: lambda _, __: LineFile("Ubuntu Core"),
    boot_loader.FLATCAR: _flatcar,
    boot_loader.ZIPL: _zipl,
    boot_loader.EXTLINUX: _extlinux,
    boot_loader.ALPINE_EXTLINUX: _alpine,
    boot_loader.ARMBIAN: _named("Armbian"),
    boot_loader.UENV: _uenv,
    boot_loader.SYSLINUX: _syslinux,
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
    boot_loader.XEN: _xen,
    boot_loader.PETITBOOT: _petitboot,
    boot_loader.PIBOOT: _piboot,
    boot_loader.RASPBERRY_PI: _raspberry_pi,
    boot_loader.UNIFIED_IMAGES: _unified,
    boot_loader.OTHERS_GRUB: lambda _, __: LineFile("another system's GRUB"),
    boot_loader.GRUB: _grub,
    boot_loader.GRUB_BLS: _grub_bls,
    boot_loader.SYSTEMD_BOOT: _systemd_boot,
}
