# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written lies where the boot loader reads it, and outlives the boot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.cli import lowlat
from support.hosttree import NEEDS, Host, Namespace, make, refusal
from support.machines import machine, write_tree

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_RUN = "tmpfs /run tmpfs rw,nosuid 0 0\n"
_OSTREE = (
    "composefs / overlay ro,lowerdir=/run/ostree/.private/cfsroot-lower::/sysroot/ostree/repo/"
    "objects,redirect_dir=on,metacopy=on 0 0\n/dev/vda4 /sysroot xfs ro 0 0\n"
    "/dev/vda3 /boot xfs rw 0 0\n"
)
_OVERLAY = "overlay / overlay rw,lowerdir=/lower,upperdir={},workdir=/work 0 0\n"
_DISK = "/dev/vda1 / ext4 rw 0 0\n"

#: By kind of system: what /proc/mounts has, and what is refused; "" for nothing.
_KEPT = {
    "ext4": (_DISK, ""),
    "xfs": ("/dev/vda1 / xfs rw 0 0\n", ""),
    "btrfs": ("/dev/vda1 / btrfs rw,subvol=/@ 0 0\n/dev/vda1 /var btrfs rw 0 0\n", ""),
    "zfs": ("rpool/ROOT/debian / zfs rw,xattr 0 0\n", ""),
    "nfs": ("srv:/root / nfs4 rw,vers=4.2 0 0\n", ""),
    "an initramfs before it": (f"rootfs / rootfs rw 0 0\n{_RUN}{_DISK}", ""),
    "ostree and bootc": (f"{_OSTREE}/dev/vda4 /etc xfs rw 0 0\n/dev/vda4 /var xfs rw 0 0\n", ""),
    "overlayroot on a disk": (
        f"{_OVERLAY.format('/media/root-rw/overlay')}/dev/vdb1 /media/root-rw ext4 rw 0 0\n",
        "",
    ),
    "dracut's overlay on a disk": (
        f"{_RUN}{_OVERLAY.format('/run/overlayfs')}"
        "/dev/sdb2 /run/initramfs/overlayfs ext4 rw 0 0\n",
        "",
    ),
    "MicroOS": (
        "/dev/vda2 / btrfs ro 0 0\noverlay /etc overlay rw,lowerdir=/sysroot/etc,upperdir=/sysroot/"
        "var/lib/overlay/2/etc,workdir=/w 0 0\n/dev/vda2 /var btrfs rw 0 0\n"
        "/dev/vda2 /boot/grub btrfs rw 0 0\n",
        "",
    ),
    "no table": ("", ""),
    "Alpine, diskless": ("tmpfs / tmpfs rw,mode=755 0 0\n/dev/sda1 /media/sda1 vfat ro 0 0\n", "/"),
    "Warewulf": ("rootfs / rootfs rw 0 0\ntmpfs / tmpfs rw,mpol=interleave:0-1 0 0\n", "/"),
    "initramfs": ("none / rootfs rw 0 0\n", "/"),
    "RAM disk": ("/dev/zram0 / ext4 rw 0 0\n", "/"),
    "live medium of Debian": (
        f"{_RUN}/dev/loop0 /run/live/rootfs squashfs ro 0 0\ntmpfs /run/live/overlay tmpfs rw 0 0\n"
        f"{_OVERLAY.format('/run/live/overlay/rw')}",
        "/",
    ),
    "live medium of Fedora": ("/dev/mapper/live-rw / ext4 rw 0 0\n", "/"),
    "dracut's overlay in memory": (f"{_RUN}{_OVERLAY.format('/run/overlay/rw')}", "/"),
    "overlayroot": (
        f"{_OVERLAY.format('/media/root-rw/overlay')}tmpfs-root /media/root-rw tmpfs rw 0 0\n",
        "/",
    ),
    "overlay of Raspberry Pi OS": (
        f"{_OVERLAY.format('/upper/data')}/dev/mmcblk0p1 /boot/firmware vfat ro 0 0\n",
        "/",
    ),
    "LTSP": (
        f"srv:/srv/ltsp /run/initramfs/ltsp/0/mirror nfs ro 0 0\n{_RUN}"
        f"{_OVERLAY.format('/run/initramfs/ltsp/up')}",
        "/",
    ),
    "an overlay on an overlay": (
        f"{_RUN}overlay /mid overlay rw,lowerdir=/l,upperdir=/run/a,workdir=/run/w 0 0\n"
        f"{_OVERLAY.format('/mid/up')}",
        "/",
    ),
    "a folder with a blank": (
        f"{_DISK}tmpfs /a\\040b tmpfs rw 0 0\n" + _OVERLAY.format("/a\\040b/up"),
        "/",
    ),
    "ostree with a passing /etc": (
        f"{_OSTREE}{_RUN}"
        "overlay /etc overlay rw,lowerdir=/usr/etc,upperdir=/run/ostree/etc/up 0 0\n"
        "/dev/vda4 /var xfs rw 0 0\n",
        "/etc",
    ),
    "systemd.volatile=state": (f"{_DISK}tmpfs /var tmpfs rw 0 0\n", "/var"),
    "the loader's folder alone": (f"{_DISK}tmpfs /boot tmpfs rw 0 0\n", "/boot"),
    "nfs, read-only": ("srv:/root / nfs ro,vers=3 0 0\n", "/ is mounted read-only"),
    "nfs, read-only, with /var in memory": (
        "srv:/root / nfs ro 0 0\n/dev/vda1 /etc ext4 rw 0 0\nnone /var/lib tmpfs rw 0 0\n",
        "/var/lib",
    ),
    "squashfs": ("/dev/loop0 / squashfs ro 0 0\n", "/ is mounted read-only"),
}


@pytest.fixture(scope="module")
def grub(tmp_path_factory: pytest.TempPathFactory, namespace: Namespace) -> Iterator[Host]:
    host = make(tmp_path_factory.mktemp("places") / "host", namespace)
    (host.path / "run").mkdir()
    (host.path / "run/overlayfs").symlink_to("initramfs/overlayfs/overlay-1")
    yield host


@pytest.mark.parametrize("system", _KEPT)
def test_state_that_is_gone_with_the_boot_is_refused(grub: Host, system: str) -> None:
    table, refused = _KEPT[system]
    grub.write("proc/mounts", table)
    if not refused:
        assert "would add /etc/grub.d/99_lowlat" in grub.done("apply", "--dry-run")
        return
    why = refused if " " in refused else f"{refused} is in memory ("
    # Of the loader's own folder only those know that ask the loader.
    verbs = ["apply", "apply --dry-run", "trial", "promote"][: 2 if refused == "/boot" else 4]
    before = grub.snapshot()
    lines = {grub.lowlat(*verb.split()).refused() for verb in verbs}
    assert "without a boot: " in grub.lowlat("apply", "--now").refused()
    assert grub.snapshot() == before
    (line,) = lines
    assert line.startswith(why)
    if "in memory" in why:
        assert "gone with this boot" in line and "apply --now" in line and "'render'" in line
    if refused != "/boot":
        assert any(note.startswith(why) for note in grub.status()["notes"])


#: What may lie in a folder on which a file system of the boot is mounted, or below it.
_CONTENTS: Mapping[str, Mapping[str, str]] = {
    "empty": {},
    "one stray file": {"stray": ""},
    "an old set": {"vmlinuz-1.0": "", "loader/loader.conf": "", "EFI/BOOT/BOOTX64.EFI": ""},
}


@pytest.mark.parametrize("folder", ["/boot", "/boot/efi", "/efi", "/boot/firmware"])
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("kind", ["", "vfat", "autofs"])
def test_what_lies_in_a_folder_does_not_tell_whether_it_is_mounted(
    tmp_path: Path, folder: str, listed: bool, kind: str
) -> None:
    """A look mounts what systemd mounts on demand; autofs alone is one that failed."""
    lines = set()
    for name, files in _CONTENTS.items():
        tree = write_tree(tmp_path / name, {**machine(), "etc/fstab": "UUID=1 / ext4 rw 0 1\n"})
        (tree / folder[1:]).mkdir(parents=True, exist_ok=True)
        write_tree(tree / folder[1:], files)
        row = f"UUID=2 {folder} vfat umask=0077,x-systemd.automount 0 2\n" if listed else ""
        mounted = f"systemd-1 {folder} autofs rw 0 0\n" if kind else ""
        mounted += f"/dev/vda2 {folder} vfat rw 0 0\n" if kind == "vfat" else ""
        rows = {"etc/fstab": f"UUID=1 / ext4 rw 0 1\n{row}", "proc/mounts": f"{_DISK}{mounted}"}
        write_tree(tree, rows)
        apply = lowlat("apply", "--dry-run", "--root", tree).err
        (note,) = lowlat("status", "--json", "--root", tree).json()["notes"] or ("",)
        assert ("not mounted" in apply) == ("not mounted" in note)
        lines.add(apply if "not mounted" in apply else "")
    said = f"lowlat-gen: {folder} is listed in /etc/fstab but not mounted (mount {folder})\n"
    assert lines == {said if listed and kind != "vfat" else ""}


def test_on_the_machine_itself_what_is_mounted_counts(host: Host, tmp_path: Path) -> None:
    """Of an old /boot below its mount point nothing is read, and nothing is taken back there."""
    host.done("apply")
    host.write("etc/fstab", "UUID=1 /boot ext4 noauto,nofail 0 2\n")
    host.go_live()
    refused = {
        refusal(host, *verb.split())
        for verb in ("apply", "apply --dry-run", "trial", "rollback", "rollback --dry-run")
    }
    assert refused == {"/boot is listed in /etc/fstab but not mounted (mount /boot)"}
    assert host.status()["loader"] is None and refused <= {*host.status()["notes"]}
    boot = host.path / "boot"
    shutil.copytree(boot, tmp_path / "mounted")
    host.mount("-t", "tmpfs", "none", boot)
    host.namespace.must("cp", "-a", f"{tmp_path}/mounted/.", boot)
    host.done("apply", "--dry-run")
    host.done("rollback")


def test_a_new_kernel_gets_no_entry_that_would_outlive_its_plan(host: Host) -> None:
    host.done("apply")
    host.write("proc/mounts", _OVERLAY.format("/upper/data"))
    assert "/ is in memory" in refusal(host, "boot", "kernel")
    assert "/ is in memory" in refusal(host, "rollback")
