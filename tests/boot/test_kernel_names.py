# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels whose images are named without their release, as on Arch, by GRUB and systemd-boot."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    Host,
    Namespace,
    bare,
    entries_of,
    linux_lines,
    make,
    set_variable,
)
from support.kernel_images import x86_image
from support.machines import CONFIG

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_RT = "6.12.8.17.realtime1-2-rt"
_IMAGES = {
    "boot/vmlinuz-linux-rt": x86_image(_RT).decode(),
    "boot/initramfs-linux-rt.img": "image\n",
    f"boot/config-{_RT}": CONFIG,
}


def test_grub_boots_a_kernel_by_its_own_release(tmp_path: Path, namespace: Namespace) -> None:
    host = make(tmp_path / "host", namespace, _IMAGES)
    assert set(_applied(host)) == {_RT, RELEASE, OLDER}
    entry = entries_of(host)[_RT]
    assert linux_lines(host.config)[entry][0] == "/boot/vmlinuz-linux-rt"
    host.done("trial", "--kernel", _RT)
    assert host.environment()["next_entry"] == f"lowlat>{entry}-trial"

    # The package replaces the image in its place.
    host.write("boot/vmlinuz-linux-rt", x86_image("6.13.1-2-rt").decode())
    host.write("boot/config-6.13.1-2-rt", CONFIG)
    host.update_grub()
    assert set(entries_of(host)) == {"6.13.1-2-rt", RELEASE, OLDER}


@pytest.mark.parametrize("version", ["", "version 6.12\n"])
def test_systemd_boot_boots_a_kernel_by_its_own_release(
    tmp_path: Path, namespace: Namespace, version: str
) -> None:
    entry = f"title Arch\n{version}linux /vmlinuz-linux-rt\noptions root=UUID=1 ro\n"
    files = {**_IMAGES, "boot/loader/entries/arch.conf": entry}
    host = bare(tmp_path / "host", namespace, files)
    set_variable(host, "LoaderInfo", "systemd-boot 257.9-1")
    host.write("proc/sys/kernel/osrelease", f"{_RT}\n")
    host.write("proc/cmdline", "root=UUID=1 ro\n")
    (tuned,) = _applied(host).values()
    assert tuned.startswith(f"arch-0-lowlat-{_RT}-")
    assert "linux /vmlinuz-linux-rt\n" in host.read(f"boot/loader/entries/{tuned}.conf")


def _applied(host: Host) -> dict[str, str]:
    host.done("apply")
    return entries_of(host)
