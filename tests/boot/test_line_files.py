# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line of machines whose loader lowlat does not write: for every section of loaders.ini a
tree, in which each step that is printed names what is there, and is recognised once it is done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lowlat.base import resources
from support import needs
from support.cli import lowlat
from support.field_trees import started
from support.machines import CONFIG, machine, write_tree

R = "6.12.107-test"
VARIABLE = "sys/firmware/efi/efivars/{}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

pytestmark = needs.root("files below --root belong to root")


@dataclass(frozen=True)
class Tree:
    """``files`` have an @ where the words go, in the file or folder ``path``; ``text`` stands
    before the words in the step. ``image`` is BOOT_IMAGE on the running line, which ends with
    ``line``; ``program`` is what the firmware started. Files ``without`` are not there."""

    name: str
    path: str
    text: str
    files: Mapping[str, str]
    then: tuple[str, ...] = ()
    image: str = ""
    line: str = ""
    program: str = ""
    without: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


ENTRIES = "/boot/loader/entries"
OPTIONS = "options root=UUID=1 ro @\n"
OSTREE = {
    "run/ostree-booted": "",
    "boot/loader/entries/ostree-1.conf": "options root=UUID=1 lowlat.plan=0123456789ab\n",
    "boot/loader/entries/ostree-2.conf": OPTIONS,
}
UKI = {"boot/efi/EFI/Linux/linux.efi": ""}
KERNEL_CMDLINE = {"etc/kernel/cmdline": "root=UUID=1 ro @\n"}
LABELS = (
    "DEFAULT two\nLABEL one\n  APPEND root=UUID=1\nLABEL two\n  LINUX /boot/Image\n"
    "  APPEND root=UUID=1 isolcpus=9 @\n"
)
GENERATED = "## The configuration of this file is generated automatically.\ndefault l0\nlabel l0\n"
EXTLINUX = {"boot/extlinux/extlinux.conf": GENERATED, "usr/sbin/u-boot-update": ""}
SETTINGS = {
    "etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n',
    "etc/default/grub.d/50-cloudimg-settings.cfg": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet @"\n',
}
DROP_IN = "/etc/default/grub.d/50-cloudimg-settings.cfg"
ZFS = "\n### BEGIN /etc/grub.d/{0} ###\n{1}### END /etc/grub.d/{0} ###\n"
ENTRY = f"menuentry 'Linux' {{\n\tlinux /boot/vmlinuz-{R} root=UUID=1 @\n}}\n"
PIBOOT = "[all]\nos_prefix=current/\n[tryboot]\nos_prefix=new/\n"
PROXMOX = {"etc/kernel/proxmox-boot-uuids": "1A2B-3C4D\n", "usr/sbin/proxmox-boot-tool": ""}
SYSTEMD_BOOT = {"LoaderInfo": "systemd-boot 255"}
PI = {"boot/firmware/config.txt": "include more.txt\n", "boot/firmware/cmdline.txt": "root=1 ro\n"}

TREES = {
    "NixOS": Tree(
        "NixOS",
        "/etc/nixos/configuration.nix",
        "add to /etc/nixos/configuration.nix: boot.kernelParams = [ ",
        {"etc/NIXOS": "", "etc/nixos/configuration.nix": "boot.kernelParams = [ @ ];\n"},
        ("nixos-rebuild boot",),
    ),
    "bootc": Tree(
        "bootc",
        f"{ENTRIES}/ostree-2.conf",
        "build into the image: /usr/lib/bootc/kargs.d/50-lowlat.toml\nkargs = [",
        {**OSTREE, "usr/bin/bootc": ""},
        ("bootc upgrade",),
    ),
    "rpm-ostree": Tree(
        "rpm-ostree", f"{ENTRIES}/ostree-2.conf", "rpm-ostree kargs --append=", OSTREE
    ),
    "ostree": Tree(
        "ostree",
        f"{ENTRIES}/ostree-2.conf",
        "ostree admin kargs edit-in-place --append-if-missing=",
        {**OSTREE, "usr/bin/ostree": ""},
    ),
    "uEnv.txt": Tree(
        "U-Boot with uEnv.txt",
        "/boot/uEnv.txt",
        "append to cmdline= in /boot/uEnv.txt: ",
        {"boot/uEnv.txt": "uname_r=6.12\ncmdline=quiet @\n"},
    ),
    "syslinux": Tree(
        "syslinux",
        "/boot/syslinux/syslinux.cfg",
        "append to APPEND of the label two in /boot/syslinux/syslinux.cfg: ",
        {"boot/syslinux/syslinux.cfg": LABELS, "boot/grub/grub.cfg": ENTRY.replace("@", "")},
        image="../vmlinuz-linux",
    ),
    "LILO": Tree(
        "LILO",
        "/etc/lilo.conf",
        "append to append= of the default image in /etc/lilo.conf: ",
        {
            "etc/lilo.conf": f'image=/boot/vmlinuz-{R}\n  label=Linux\n  append="quiet @"\n',
            "sbin/lilo": "",
            "boot/grub/grub.cfg": ENTRY.replace("@", ""),
        },
        ("lilo",),
        image="Linux",
    ),
    "ELILO": Tree(
        "ELILO",
        "/boot/efi/EFI/Slackware/elilo.conf",
        "append to append= of the default image in /boot/efi/EFI/Slackware/elilo.conf: ",
        {"boot/efi/EFI/Slackware/elilo.conf": 'image=vmlinuz\n  append="root=UUID=1 @"\n'},
        image=r"dev001:\EFI\Slackware\vmlinuz",
        program=r"\EFI\Slackware\elilo.efi",
    ),
    "rEFInd": Tree(
        "rEFInd",
        "/boot/refind_linux.conf",
        "append to the second string of the first row in /boot/refind_linux.conf: ",
        {"boot/refind_linux.conf": '"Boot"  "root=UUID=1 ro @"\n'},
        program=r"\EFI\refind\refind_x64.efi",
    ),
    "rEFInd without that file": Tree(
        "rEFInd",
        "",
        "append to options of the entry that boots in refind.conf: ",
        {},
        variables={"LoaderInfo": "rEFInd 0.14.2"},
    ),
    "the firmware": Tree(
        "the firmware, which starts the kernel",
        "",
        "make an entry of the firmware's with the line and the words: efibootmgr --create ",
        {"boot/grub/grub.cfg": ENTRY.replace("@", "")},
        program=r"\vmlinuz-linux",
    ),
    "the virtual machine's host": Tree(
        "the virtual machine's host, which starts the kernel",
        "",
        "append to the line that the host gives this machine's kernel: ",
        {
            "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor\n",
            "boot/grub/grub.cfg": ENTRY.replace("@", "").replace(R, "6.1.0-1"),
            "boot/vmlinuz-6.1.0-1": "image\n",
        },
        ("reboot, from the host if that alone starts the machine anew",),
        without=(f"boot/vmlinuz-{R}", f"boot/initrd.img-{R}"),
    ),
    "clr-boot-manager": Tree(
        "systemd-boot",
        "/etc/kernel/cmdline.d/lowlat.conf",
        "append to /etc/kernel/cmdline.d/lowlat.conf: ",
        {
            "etc/kernel/cmdline.d/lowlat.conf": "@\n",
            "etc/kernel/cmdline": "quiet\n",
            "usr/bin/clr-boot-manager": "",
            "usr/bin/kernel-install": "",
        },
        ("clr-boot-manager update",),
        variables={**SYSTEMD_BOOT, "LoaderEntrySelected": "Solus-current-6.12.conf"},
    ),
    "GRUB by a script": Tree(
        "GRUB",
        "/etc/grub.d/40_custom",
        "append to the linux line of the entry that boots in /etc/grub.d/40_custom: ",
        {
            **SETTINGS,
            "usr/sbin/grub-mkconfig": "",
            "usr/bin/grub-script-check": "",
            "etc/grub.d/10_linux": "",
            "etc/grub.d/40_custom": f"tail -n +3 $0\n{ENTRY}",
            "boot/grub/grub.cfg": (
                ZFS.format("10_linux", ENTRY.replace(R, "6.1.0-1").replace("@", ""))
                + ZFS.format("40_custom", ENTRY.replace("@", ""))
            ),
        },
        ("grub-mkconfig -o /boot/grub/grub.cfg",),
        f"/boot/vmlinuz-{R}",
    ),
    "Limine by its entry tool": Tree(
        "Limine",
        "/etc/default/limine",
        'add to /etc/default/limine: KERNEL_CMDLINE[default]+=" ',
        {
            "etc/default/limine": 'KERNEL_CMDLINE_default="quiet @"\n',
            "boot/limine.conf": "cmdline: quiet\n",
            "usr/bin/limine-mkinitcpio": "",
        },
        ("limine-mkinitcpio",),
        variables={"LoaderInfo": "Limine 9.3.4"},
    ),
    "Limine": Tree(
        "Limine",
        "/boot/limine.conf",
        "append to the cmdline: row of the entry that boots in /boot/limine.conf: ",
        {"boot/limine.conf": "cmdline: quiet @\n"},
        variables={"LoaderInfo": "Limine 9.3.4"},
    ),
    "Xen of XenServer": Tree(
        "Xen, which starts Linux",
        "",
        '/opt/xensource/libexec/xen-cmdline --set-dom0 "',
        {
            "proc/xen/capabilities": "control_d\n",
            "opt/xensource/libexec/xen-cmdline": "",
            "boot/efi/EFI/xenserver/grub.cfg": ENTRY,
        },
    ),
    "Guix": Tree(
        "Guix",
        "/etc/config.scm",
        "append to kernel-arguments in /etc/config.scm: ",
        {"etc/config.scm": "(kernel-arguments (list @))\n"},
        ("guix system reconfigure /etc/config.scm",),
        line=" gnu.system=/gnu/store/1-system",
    ),
    "Ubuntu Core": Tree(
        "GRUB under snapd",
        "",
        'snap set system system.kernel.cmdline-append="',
        {"boot/grub/grub.cfg": ENTRY},
        line=" snapd_recovery_mode=run",
    ),
    "Flatcar": Tree(
        "GRUB of Flatcar",
        "/oem/grub.cfg",
        'set in /oem/grub.cfg: set linux_append="$linux_append ',
        {"oem/grub.cfg": 'set linux_append="$linux_append @"\n', "boot/grub/grub.cfg": ENTRY},
        image="/flatcar/vmlinuz-a",
    ),
    "zipl": Tree(
        "zipl",
        "/etc/zipl.conf",
        "append to parameters= in /etc/zipl.conf: ",
        {"etc/zipl.conf": '[debian]\nparameters="root=UUID=1 @"\n'},
        ("zipl",),
    ),
    "zipl with entry files": Tree(
        "zipl",
        f"{ENTRIES}/1.conf",
        'grubby --update-kernel=DEFAULT --args="',
        {"etc/zipl.conf": "[defaultboot]\ndefaultauto\n", "boot/loader/entries/1.conf": OPTIONS},
        ("zipl",),
    ),
    "U-Boot extlinux": Tree(
        "U-Boot extlinux",
        "/etc/u-boot-menu/conf.d/board.conf",
        "append to U_BOOT_PARAMETERS in /etc/u-boot-menu/conf.d/board.conf: ",
        {
            **EXTLINUX,
            "etc/default/u-boot": 'U_BOOT_PARAMETERS="ro"\n',
            "etc/u-boot-menu/conf.d/board.conf": 'U_BOOT_PARAMETERS="ro @"\n',
        },
        ("u-boot-update",),
    ),
    "U-Boot extlinux by /etc/kernel/cmdline": Tree(
        "U-Boot extlinux",
        "/etc/kernel/cmdline",
        "append to the line of /etc/kernel/cmdline: ",
        {**EXTLINUX, **KERNEL_CMDLINE, "etc/default/u-boot": '#U_BOOT_PARAMETERS="ro quiet"\n'},
        ("u-boot-update",),
    ),
    "extlinux": Tree(
        "extlinux",
        "/boot/extlinux/extlinux.conf",
        "append to APPEND of the label two in /boot/extlinux/extlinux.conf: ",
        {"boot/extlinux/extlinux.conf": LABELS},
    ),
    "update-extlinux": Tree(
        "extlinux by update-extlinux",
        "/etc/update-extlinux.conf",
        "append to default_kernel_opts in /etc/update-extlinux.conf: ",
        {
            "boot/extlinux.conf": "LABEL lts\n",
            "etc/update-extlinux.conf": 'default_kernel_opts="quiet @"\n',
            "sbin/update-extlinux": "",
        },
        ("update-extlinux",),
        f"vmlinuz-{R}",
    ),
    "Armbian": Tree(
        "Armbian's U-Boot script",
        "/boot/armbianEnv.txt",
        "append to extraargs= in /boot/armbianEnv.txt: ",
        {"boot/armbianEnv.txt": "verbosity=1\nextraargs=@\n"},
    ),
    "flash-kernel": Tree(
        "flash-kernel",
        "/etc/default/flash-kernel",
        "append to LINUX_KERNEL_CMDLINE in /etc/default/flash-kernel: ",
        {
            "etc/default/flash-kernel": 'LINUX_KERNEL_CMDLINE="quiet @"\n',
            "usr/sbin/flash-kernel": "",
        },
        ("flash-kernel",),
    ),
    "Photon OS": Tree(
        "GRUB of Photon OS",
        "/boot/photon.cfg",
        "append to photon_cmdline= in /boot/photon.cfg: ",
        {
            "boot/grub2/grub.cfg": "load_env -f /photon.cfg\n",
            "boot/photon.cfg": "# GRUB Environment Block\nphoton_cmdline=ro @\n",
        },
        image=f"/boot/vmlinuz-{R}",
    ),
    "kernelstub": Tree(
        "kernelstub",
        "/etc/kernelstub/configuration",
        'kernelstub -a "',
        {
            "etc/kernelstub/configuration": '{"kernel_options": ["quiet", @]}\n',
            "usr/bin/kernelstub": "",
        },
        variables=SYSTEMD_BOOT,
    ),
    "proxmox-boot-tool": Tree(
        "proxmox-boot-tool",
        "/etc/kernel/cmdline",
        "append to the line of /etc/kernel/cmdline: ",
        {**KERNEL_CMDLINE, **PROXMOX},
        ("proxmox-boot-tool refresh",),
        variables=SYSTEMD_BOOT,
    ),
    "proxmox-boot-tool with GRUB": Tree(
        "proxmox-boot-tool",
        DROP_IN,
        f"append to GRUB_CMDLINE_LINUX_DEFAULT in {DROP_IN}: ",
        {**SETTINGS, **PROXMOX},
        ("proxmox-boot-tool refresh",),
        f"/boot/vmlinuz-{R}",
    ),
    "piboot": Tree(
        "piboot",
        "/boot/firmware/new/cmdline.txt",
        "append to the one line of /boot/firmware/new/cmdline.txt: ",
        {
            "boot/firmware/config.txt": PIBOOT,
            "boot/firmware/current/cmdline.txt": "root=LABEL=writable\n",
            "boot/firmware/new/cmdline.txt": "root=LABEL=writable @\n",
            "boot/firmware/new/state": "unknown",
        },
        ("reboot: Ubuntu tries this line once, and keeps it if it comes up",),
    ),
    "piboot without new files": Tree(
        "piboot",
        "/boot/firmware/new/cmdline.txt",
        "flash-kernel, which makes /boot/firmware/new/cmdline.txt\nthen append to its one line: ",
        {
            "boot/firmware/config.txt": PIBOOT,
            "boot/firmware/current/cmdline.txt": "root=LABEL=writable\n",
            "boot/firmware/new/cmdline.txt": "root=LABEL=writable @\n",
            "boot/firmware/new/state": "bad",
        },
        ("reboot: Ubuntu tries this line once, and keeps it if it comes up",),
    ),
    "Raspberry Pi firmware": Tree(
        "Raspberry Pi firmware",
        "/boot/firmware/mine.txt",
        "append to the one line of /boot/firmware/mine.txt: ",
        {
            **PI,
            "boot/firmware/more.txt": "[all]\ncmdline=mine.txt\n",
            "boot/firmware/mine.txt": "root=1 @\n",
        },
    ),
    "Raspberry Pi firmware by filters": Tree(
        "Raspberry Pi firmware",
        "",
        "append to the one line of /boot/firmware/cmdline.txt and of /boot/firmware/mine.txt: ",
        {
            **PI,
            "boot/firmware/more.txt": "[gpio4=1]\ncmdline=mine.txt\n",
            "boot/firmware/mine.txt": "root=1 @\n",
        },
    ),
    "raspi-firmware": Tree(
        "Raspberry Pi firmware",
        "/etc/default/raspi-extra-cmdline",
        "append to the one line of /etc/default/raspi-extra-cmdline: ",
        {
            **PI,
            "etc/kernel/postinst.d/z50-raspi-firmware": "",
            "etc/default/raspi-extra-cmdline": "@\n",
        },
        ("update-initramfs -u",),
    ),
    "unified kernel images": Tree(
        "unified kernel images",
        "/etc/kernel/cmdline",
        "append to the line of /etc/kernel/cmdline: ",
        {**UKI, **KERNEL_CMDLINE},
        (f"kernel-install add {R} /boot/vmlinuz-{R}",),
    ),
    "unified kernel images by mkinitcpio": Tree(
        "unified kernel images",
        "/etc/cmdline.d/root.conf",
        "append to the line of /etc/cmdline.d/root.conf: ",
        {
            **UKI,
            "etc/mkinitcpio.d/linux.preset": 'default_uki="/boot/efi/EFI/Linux/linux.efi"\n',
            "etc/cmdline.d/root.conf": "root=UUID=1 @\n",
        },
        ("mkinitcpio -P",),
    ),
    "unified kernel images by dracut": Tree(
        "unified kernel images",
        "/etc/dracut.conf.d/cmdline.conf",
        "append to kernel_cmdline= in /etc/dracut.conf.d/cmdline.conf: ",
        {
            **UKI,
            "etc/dracut.conf.d/cmdline.conf": 'kernel_cmdline="root=UUID=1 @"\n',
            "etc/dracut.conf.d/uki.conf": 'uefi="yes"\n',
        },
        ("dracut --force --regenerate-all",),
    ),
    "unified kernel images of a package": Tree(
        "unified kernel images",
        "/boot/efi/loader/addons/lowlat.addon.efi",
        "ukify build --cmdline='",
        {
            **UKI,
            **KERNEL_CMDLINE,
            f"usr/lib/modules/{R}/vmlinuz-virt.efi": "",
            "boot/efi/loader/addons/lowlat.addon.efi": "MZ.cmdline\0@\0\0",
        },
    ),
    "transactional-update": Tree(
        "transactional-update",
        DROP_IN,
        f"append to GRUB_CMDLINE_LINUX_DEFAULT in {DROP_IN}: ",
        {
            **SETTINGS,
            "etc/fstab": "UUID=1 / btrfs ro 0 0\n",
            "usr/sbin/transactional-update": "",
            "usr/sbin/grub2-mkconfig": "",
            "boot/grub2/grub.cfg": ZFS.format("10_linux", ENTRY),
        },
        ("transactional-update grub.cfg",),
        f"/boot/vmlinuz-{R}",
    ),
    "sdbootutil": Tree(
        "sdbootutil",
        "/etc/kernel/cmdline",
        "append to the line of /etc/kernel/cmdline: ",
        {
            **KERNEL_CMDLINE,
            "usr/bin/sdbootutil": "",
            "etc/sysconfig/bootloader": 'LOADER_TYPE="grub2-bls"\n',
        },
        ("sdbootutil update-all-entries",),
    ),
    "Xen": Tree(
        "Xen, which starts Linux",
        DROP_IN,
        "append to GRUB_CMDLINE_LINUX_DEFAULT, or GRUB_CMDLINE_LINUX_XEN_REPLACE_DEFAULT where "
        f"that is set,\nin {DROP_IN}: ",
        {
            **SETTINGS,
            "proc/xen/capabilities": "control_d\n",
            "usr/sbin/grub-mkconfig": "",
            "boot/grub/grub.cfg": ZFS.format("20_linux_xen", ENTRY),
        },
        ("grub-mkconfig -o /boot/grub/grub.cfg",),
    ),
    "Petitboot": Tree(
        "Petitboot",
        DROP_IN,
        f"append to GRUB_CMDLINE_LINUX_DEFAULT in {DROP_IN}: ",
        {
            **SETTINGS,
            "sys/firmware/opal/msglog": "",
            "usr/sbin/update-grub": "",
            "boot/grub/grub.cfg": ZFS.format("10_linux", ENTRY),
        },
        ("update-grub",),
    ),
    "Petitboot with entry files": Tree(
        "Petitboot",
        f"{ENTRIES}/r.conf",
        'grubby --update-kernel=DEFAULT --args="',
        {
            "sys/firmware/opal/msglog": "",
            "boot/grub2/grub.cfg": "blscfg\n",
            "boot/loader/entries/r.conf": OPTIONS,
        },
    ),
    "another system's GRUB": Tree(
        "another system's GRUB",
        "",
        "in the system whose GRUB boots this one, append",
        {
            "etc/fstab": "UUID=0a1b-2c3d / ext4 defaults 0 1\n",
            "boot/grub/grub.cfg": ENTRY,
            "boot/efi/EFI/debian/grub.cfg": "search.fs_uuid 0a1b-2c3d root\nconfigfile x\n",
            "boot/efi/EFI/fedora/grub.cfg": (
                "search --no-floppy --fs-uuid --set=dev 7f0e1b52-0000\nconfigfile $dev/grub.cfg\n"
            ),
        },
        image=f"/boot/vmlinuz-{R}",
        program=r"\EFI\fedora\shimx64.efi",
    ),
    "GRUB": Tree(
        "GRUB",
        DROP_IN,
        f"append to GRUB_CMDLINE_LINUX_DEFAULT in {DROP_IN}: ",
        {
            **SETTINGS,
            "usr/sbin/grub-mkconfig": "",
            "usr/bin/grub-script-check": "",
            "etc/grub.d/10_linux": "",
            "boot/grub/grub.cfg": ZFS.format("10_linux", "") + ZFS.format("10_linux_zfs", ENTRY),
        },
        ("grub-mkconfig -o /boot/grub/grub.cfg",),
        f"/boot/vmlinuz-{R}",
    ),
    "GRUB without grub-mkconfig": Tree(
        "GRUB",
        "/boot/grub/grub.cfg",
        "append to the linux line of the default entry in /boot/grub/grub.cfg: ",
        {
            "boot/grub/grub.cfg": ENTRY,
            "usr/sbin/grub-mkconfig": "",
            "usr/bin/grub-script-check": "",
        },
        image=f"/boot/vmlinuz-{R}",
    ),
    "GRUB with entry files": Tree(
        "GRUB with entry files",
        f"{ENTRIES}/other.conf",
        'grubby --update-kernel=DEFAULT --args="',
        {
            "boot/grub2/grub.cfg": 'set default="${saved_entry}"\nblscfg\n',
            "boot/loader/entries/other.conf": f"linux /vmlinuz-5.4.0\n{OPTIONS}",
            "usr/sbin/grubby": "",
        },
        image=f"/boot/vmlinuz-{R}",
    ),
    "GRUB with entry files, without grubby": Tree(
        "GRUB with entry files",
        f"{ENTRIES}/other.conf",
        f"append to the options line of the default entry in {ENTRIES}: ",
        {
            "boot/grub2/grub.cfg": 'set default="${saved_entry}"\nblscfg\n',
            "boot/loader/entries/other.conf": f"linux /vmlinuz-5.4.0\n{OPTIONS}",
        },
        image=f"/boot/vmlinuz-{R}",
    ),
    "systemd-boot": Tree(
        "systemd-boot",
        "/efi/loader/entries/arch.conf",
        "append to the options line of /efi/loader/entries/arch.conf: ",
        {"efi/loader/entries/arch.conf": f"linux /vmlinuz-linux\n{OPTIONS}"},
        variables={**SYSTEMD_BOOT, "LoaderEntrySelected": "arch.conf"},
    ),
    "systemd-boot by kernel-install": Tree(
        "systemd-boot",
        "/etc/kernel/cmdline",
        "append to the line of /etc/kernel/cmdline: ",
        {**KERNEL_CMDLINE, "usr/bin/kernel-install": ""},
        (f"kernel-install add {R} /boot/vmlinuz-{R}",),
        variables=SYSTEMD_BOOT,
    ),
    "a boot loader that was not recognised": Tree(
        "a boot loader that was not recognised", "", "append to the kernel line: ", {}
    ),
}


def test_every_section_has_a_tree() -> None:
    sections = set(resources.texts("boot/loaders.ini").sections())
    assert sections == set(TREES)


@pytest.mark.parametrize("section", TREES)
def test_a_step_names_what_is_there(section: str, tmp_path: Path) -> None:
    tree = TREES[section]
    plant(tmp_path, tree)
    foreseen, said = gen(tmp_path, "apply", "--dry-run"), gen(tmp_path, "apply")
    begin = f"no boot entry, as this machine boots with {tree.name}: "
    assert f"would store the plan for Linux {R}" in foreseen and "the plan is stored" in said
    assert foreseen[foreseen.index(begin) :] == said[said.index(begin) :]

    steps = said[said.index(tree.text) :]
    assert "\nin place of: isolcpus=9\n" in steps
    then = [row[len("then: ") :] for row in steps.splitlines() if row.startswith("then: ")]
    ends = () if tree.then and tree.then[0].startswith("reboot") else ("reboot",)
    assert then == [*tree.then, *ends]
    if tree.path:
        assert (tmp_path / tree.path[1:]).exists()
        follow(tmp_path, tree)
        again = gen(tmp_path, "promote")
        assert f"{tree.path} has these words already\n" in again and tree.text not in again


@pytest.mark.parametrize("section", ["extlinux", "syslinux"])
def test_words_at_another_label_are_not_there(section: str, tmp_path: Path) -> None:
    tree = TREES[section]
    plant(tmp_path, tree)
    gen(tmp_path, "apply")
    other = LABELS.replace("@", "").replace("APPEND root=UUID=1\n", "APPEND root=UUID=1 @\n")
    follow(tmp_path, replace(tree, files={tree.path[1:]: other}))
    assert tree.text in gen(tmp_path, "promote")


@pytest.mark.parametrize("name", ["user_kernel_args", "extraargs"])
def test_a_boards_script_has_a_name_of_its_own(name: str, tmp_path: Path) -> None:
    tree = replace(TREES["uEnv.txt"], files={"boot/uEnv.txt": f"fdtfile=x.dtb\n{name}=quiet @\n"})
    plant(tmp_path, tree)
    assert f"append to {name}= in /boot/uEnv.txt: " in gen(tmp_path, "apply")


def test_an_orange_pi_has_armbians_file_by_another_name(tmp_path: Path) -> None:
    plant(tmp_path, replace(TREES["Armbian"], files={"boot/orangepiEnv.txt": "extraargs=@\n"}))
    assert "append to extraargs= in /boot/orangepiEnv.txt: " in gen(tmp_path, "apply")


@pytest.mark.parametrize(
    "left",
    [
        {"etc/kernel/proxmox-boot-uuids": "1A2B-3C4D\n"},
        {"etc/kernelstub/configuration": "{}\n"},
    ],
)
def test_a_managers_file_without_the_manager_counts_for_nothing(
    left: dict[str, str], tmp_path: Path
) -> None:
    tree = TREES["systemd-boot"]
    plant(tmp_path, replace(tree, files={**tree.files, **left}))
    assert "\nloader    systemd-boot\n" in gen(tmp_path, "status")


def test_xen_is_started_by_the_grub_that_has_its_entries(tmp_path: Path) -> None:
    tree = TREES["Xen"]
    plant(tmp_path, replace(tree, files={**tree.files, "boot/grub2/grub.cfg": ENTRY}))
    assert "-o /boot/grub/grub.cfg\n" in gen(tmp_path, "apply")


def test_a_grub_that_systemd_boot_starts_is_grub(tmp_path: Path) -> None:
    """Its entry for another system starts that system's shim; no word reaches the kernel so."""
    entries = {"boot/efi/loader/entries/ubuntu.conf": "title Ubuntu\nefi /EFI/ubuntu/shimx64.efi\n"}
    variables = {**SYSTEMD_BOOT, "LoaderEntrySelected": "ubuntu.conf"}
    tree = TREES["GRUB"]
    plant(tmp_path, replace(tree, files={**tree.files, **entries}, variables=variables))
    assert "\nloader    GRUB\n" in gen(tmp_path, "status")


def test_a_kernel_that_is_not_among_the_files_was_not_started_by_grub(tmp_path: Path) -> None:
    tree = TREES["the virtual machine's host"]
    files = {name: text for name, text in tree.files.items() if name != "proc/cpuinfo"}
    plant(tmp_path, replace(tree, files=files))
    assert "\nloader    a boot loader that was not recognised\n" in gen(tmp_path, "status")


@pytest.mark.parametrize("image", ["../vmlinuz-linux", "Linux", "boot/pxe/vmlinuz"])
def test_a_line_that_grub_never_writes_rules_it_out(image: str, tmp_path: Path) -> None:
    plant(tmp_path, replace(TREES["GRUB"], image=image))
    assert "\nloader    a boot loader that was not recognised\n" in gen(tmp_path, "status")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ('rt_options="--cmdline /etc/kernel/cmdline-rt --splash /a.bmp"', "/etc/kernel/cmdline-rt"),
        ("rt_options=(-S autodetect --cmdline=/etc/kernel/cmdline-rt)", "/etc/kernel/cmdline-rt"),
        ("rt_cmdline=/etc/kernel/cmdline-rt", "/etc/kernel/cmdline-rt"),
        ("rt_cmdline=/a\nrt_options='--cmdline /etc/kernel/cmdline-rt'", "/etc/kernel/cmdline-rt"),
        ("ALL_cmdline=/etc/rt.d", "/etc/rt.d/20-more.conf"),
        ('#rt_options="--cmdline /a"\nfallback_options="--cmdline /b"', "/etc/cmdline.d/root.conf"),
    ],
)
@pytest.mark.parametrize("program", [r"\EFI\Linux\Arch-RT.efi", ""])
def test_a_preset_of_mkinitcpio_names_the_file_of_its_image(
    options: str, named: str, program: str, tmp_path: Path
) -> None:
    """By the image that was started, or by the running kernel's package."""
    tree = TREES["unified kernel images by mkinitcpio"]
    plant(tmp_path, replace(tree, program=program))
    rt = f'PRESETS=("rt" fallback)\nrt_uki="$esp"/EFI/Linux/arch-rt.efi\n{options}\n'
    files = {
        "etc/mkinitcpio.d/linux-rt.preset": rt,
        f"usr/lib/modules/{R}/pkgbase": "linux-rt\n",
        "etc/kernel/cmdline-rt": "root=UUID=1 ro\n",
        "etc/rt.d/10-root.conf": "root=UUID=1 ro\n",
        "etc/rt.d/20-more.conf": "quiet\n",
    }
    write_tree(tmp_path, files)
    assert f"append to the line of {named}: " in gen(tmp_path, "apply")


def test_kernel_install_takes_no_line_from_the_settings_of_ukify(tmp_path: Path) -> None:
    plant(tmp_path, TREES["unified kernel images"])
    write_tree(tmp_path, {"etc/kernel/uki.conf": "[UKI]\nCmdline=@/etc/kernel/other\n"})
    assert "append to the line of /etc/kernel/cmdline: " in gen(tmp_path, "apply")


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("[pi4]\ncmdline=4.txt\n[pi5]\ncmdline=5.txt\n", "4.txt"),
        ("[pi4]\n[pi5]\n[all]\ncmdline=4.txt\n[none]\ncmdline=5.txt\n", "4.txt"),
        ("[pi5]\nos_prefix=5/\n[pi4]\nos_prefix=4/\n[cm4]\nos_prefix=cm4/\n", "4/cmdline.txt"),
        ("[0x1234ABCD]\ncmdline=4.txt\n[0x12345678]\ncmdline=5.txt\n", "4.txt"),
        ("[board-type=0x11]\ncmdline=4.txt\n[board-type=0x17]\ncmdline=5.txt\n", "4.txt"),
        ("[all]\ncmdline=4.txt\n[tryboot]\ncmdline=5.txt\n", "4.txt"),
        ("[gpio4=1]\ncmdline=4.txt\n", "cmdline.txt and of /boot/firmware/4.txt"),
        ("[EDID=A]\n[pi5]\ncmdline=5.txt\n[pi4]\ncmdline=4.txt\n[all]\ncmdline=4.txt", "4.txt"),
    ],
)
def test_a_raspberry_pi_is_told_the_file_of_this_board(
    config: str, named: str, tmp_path: Path
) -> None:
    plant(tmp_path, TREES["Raspberry Pi firmware"])
    names = ("4.txt", "5.txt", "4/cmdline.txt", "5/cmdline.txt", "cm4/cmdline.txt", "cmdline.txt")
    write_tree(tmp_path, {f"boot/firmware/{name}": "root=1 ro\n" for name in names})
    write_tree(
        tmp_path,
        {
            "boot/firmware/config.txt": config,
            "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.5\0",
            "proc/device-tree/serial-number": "100000001234abcd\0",
        },
    )
    assert f"append to the one line of /boot/firmware/{named}: " in gen(tmp_path, "apply")


def test_this_systems_own_grub_is_the_one_that_the_firmware_started(tmp_path: Path) -> None:
    plant(tmp_path, replace(TREES["another system's GRUB"], program=r"\EFI\debian\shimx64.efi"))
    assert "\nloader    GRUB\n" in gen(tmp_path, "status")


def test_a_whole_grub_cfg_may_search_more_than_boot(tmp_path: Path) -> None:
    """Its fonts lie on the root file system."""
    plant(tmp_path, TREES["another system's GRUB"])
    path = tmp_path / "boot/efi/EFI/fedora/grub.cfg"
    path.write_text(path.read_text() + ENTRY.replace("@", ""))
    assert "\nloader    GRUB\n" in gen(tmp_path, "status")


@pytest.mark.parametrize("runs", ["run/openrc/softlevel", "run/runit/stopit", "run/initctl"])
def test_another_init_has_no_trial_and_is_told_the_step(runs: str, tmp_path: Path) -> None:
    """systemd's units are installed there too (Gentoo, Debian with sysvinit)."""
    plant(tmp_path, TREES["GRUB"])
    write_tree(tmp_path, {runs: "", "proc/sys/kernel/kexec_load_disabled": "0\n"})
    said = gen(tmp_path, "apply")
    assert "systemd does not start this system, and its units guard a trial" in said
    assert TREES["GRUB"].text in said and TREES["GRUB"].text in gen(tmp_path, "promote")
    assert "systemd does not start" in lowlat("trial", "--root", tmp_path).refused()


def test_each_next_step_is_one_that_is_not_refused(tmp_path: Path) -> None:
    """By the state, and by whether kexec can try the line."""
    plant(tmp_path, TREES["extlinux"])
    tune = "tune", "--dry-run", "--boots", "8", "--reboot", "--root", tmp_path
    write_tree(tmp_path, {"usr/sbin/tuned": "", "etc/tuned/active_profile": "balanced\n"})
    nor = "(nor does kexec try it: kernel.kexec_load_disabled is set"
    assert nor in lowlat(*tune).refused(), "nothing is applied, so 'promote' has no step"
    write_tree(tmp_path, {"proc/sys/kernel/kexec_load_disabled": "0\n"})
    assert lowlat(*tune).refused().endswith("(--kexec tries the line without the loader)")
    write_tree(tmp_path, {"proc/sys/kernel/kexec_load_disabled": "1\n"})
    said = gen(tmp_path, "apply")
    assert "isolcpus=9 on the stock line (/boot/extlinux/extlinux.conf) is left out" in said
    assert "nor can kexec try it: kernel.kexec_load_disabled is set" in said
    assert gen(tmp_path, "status").startswith("applied: 'lowlat-gen promote' prints what to")
    promoted = gen(tmp_path, "promote")
    assert promoted == gen(tmp_path, "promote", "--dry-run")
    assert "note: this line was not tried, and kexec cannot try it: " in promoted
    assert said.endswith(promoted[promoted.index("append to") :])
    assert "('lowlat-gen promote' prints the step)" in lowlat("trial", "--root", tmp_path).refused()

    write_tree(tmp_path, {"proc/sys/kernel/kexec_load_disabled": "0\n"})
    tries = "'lowlat-gen trial --kexec' boots the tuned line once"
    assert tries in gen(tmp_path, "apply")
    assert gen(tmp_path, "status").startswith(f"applied but not tried yet: {tries}")
    hint = "('lowlat-gen trial --kexec', 'systemctl kexec', then promote)"
    assert lowlat("promote", "--root", tmp_path).refused().endswith(hint)
    assert (
        lowlat("trial", "--root", tmp_path).refused().endswith("tries the line without the loader)")
    )

    # Without what kexec needs, the way leads to the step again.
    (tmp_path / f"boot/vmlinuz-{R}").unlink()
    assert "its image was not found" in gen(tmp_path, "promote")
    shutil.rmtree(tmp_path / "usr/lib/systemd")
    assert "systemd does not start this system" in gen(tmp_path, "promote")


def test_ubuntu_tries_a_line_on_a_raspberry_pi_itself(tmp_path: Path) -> None:
    plant(tmp_path, TREES["piboot"])
    write_tree(tmp_path, {"proc/sys/kernel/kexec_load_disabled": "0\n"})
    assert "a Raspberry Pi starts no kernel that way" in gen(tmp_path, "apply")
    assert gen(tmp_path, "status").startswith("applied: 'lowlat-gen promote' prints what to")
    assert TREES["piboot"].text in gen(tmp_path, "promote")


def test_a_line_that_boots_already_is_left_alone(tmp_path: Path) -> None:
    plant(tmp_path, TREES["extlinux"])
    stock = (tmp_path / "proc/cmdline").read_text()
    write_tree(tmp_path, {"proc/cmdline": "root=UUID=1 ro lowlat.plan=0123456789ab\n"})
    refused = lowlat("apply", "--root", tmp_path, "--runtime", "none").refused()
    assert refused.endswith("the stock one is not known (boot the stock line first)")
    write_tree(tmp_path, {"proc/cmdline": stock})
    gen(tmp_path, "apply")
    write_tree(tmp_path, {"proc/cmdline": tuned(tmp_path)})
    follow(tmp_path, TREES["extlinux"])
    assert gen(tmp_path, "status").startswith("promoted: this machine boots with the tuned line")
    assert gen(tmp_path, "promote").endswith("\nit boots with this line already\n")
    assert gen(tmp_path, "apply").endswith("\nit boots with this line already\n")


def test_a_new_kernel_gets_a_plan_too(tmp_path: Path) -> None:
    plant(tmp_path, TREES["extlinux"])
    newer = "6.13.1-test"
    write_tree(tmp_path, {f"boot/vmlinuz-{newer}": "image\n", f"boot/config-{newer}": CONFIG})
    refused = lowlat("apply", "--root", tmp_path, "--runtime", "none", "--kernel", newer).refused()
    assert refused.endswith(f"(boot Linux {newer} first, then apply)")
    gen(tmp_path, "apply")
    for line in ("root=UUID=1 ro new\n", tuned(tmp_path)):
        write_tree(tmp_path, {"proc/cmdline": line, "proc/sys/kernel/osrelease": f"{newer}\n"})
        gen(tmp_path, "apply")
        assert f"\nkernel    {newer}: the line with lowlat.plan=" in gen(tmp_path, "status")
        newer = R


def plant(root: Path, tree: Tree) -> None:
    """The machine with this loader. Its kernel starts no other one."""
    image = f"BOOT_IMAGE={tree.image} " if tree.image else ""
    files = {
        **machine(release=R),
        "proc/cmdline": f"{image}root=UUID=1 ro isolcpus=9{tree.line}\n",
        "proc/sys/kernel/random/boot_id": "boot-0\n",
        "proc/sys/kernel/kexec_load_disabled": "1\n",
        f"boot/vmlinuz-{R}": "image\n",
        f"boot/initrd.img-{R}": "image\n",
        "etc/default/locale": "LANG=C.UTF-8\n",
        "usr/bin/lowlat-gen": "",
        "usr/lib/systemd/system/tuned.service": "",
        **{name: text.replace("@", "") for name, text in tree.files.items()},
    }
    write_tree(root, files)
    for name in tree.without:
        (root / name).unlink()
    for path in (root / "usr/bin/lowlat-gen", *root.glob("etc/grub.d/*")):
        path.chmod(0o755)
    for name, data in started(tree.program).items() if tree.program else ():
        path = root / "sys/firmware/efi/efivars" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\7\0\0\0" + data)
    for name, text in tree.variables.items():
        path = root / VARIABLE.format(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\7\0\0\0" + f"{text}\0".encode("utf-16-le"))


def gen(root: Path, verb: str, *words: str) -> str:
    runtime = ("--runtime", "none") if verb == "apply" else ()
    answer = lowlat(verb, "--root", root, *runtime, *words)
    assert (answer.status, answer.err) == (0, ""), answer
    return answer.out


def tuned(root: Path) -> str:
    return f"root=UUID=1 ro {' '.join(planned(root))}\n"


def planned(root: Path) -> list[str]:
    plan = json.loads((root / "var/lib/lowlat/plan.json").read_text())
    return [*plan["cmdline"]["text"].split(), f"lowlat.plan={plan['id']}"]


def follow(root: Path, tree: Tree) -> None:
    """Do the step: the words go to the @, each in quotes if that is in a list."""
    words = planned(root)
    for name, text in tree.files.items():
        if "@" in text:
            form = '"{}"' if "[" in text or "(list" in text else "{}"
            filled = text.replace("@", " ".join(map(form.format, words)))
            write_tree(root, {name: filled})
