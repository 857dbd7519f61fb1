# SPDX-License-Identifier: GPL-2.0-or-later
"""The release of kernel images, whatever their names."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.host.root import Root
from lowlat.probe import kernel_image
from support.kernel_images import arm64_image, x86_image
from support.machines import write_tree


def tree(path: Path, **images: bytes) -> Root:
    (path / "boot").mkdir(parents=True, exist_ok=True)
    for name, content in images.items():
        (path / "boot" / name.replace("__", "-")).write_bytes(content)
    return Root(str(path))


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("/boot/vmlinuz-6.1.0-28-amd64", "6.1.0-28-amd64"),
        ('"/BOOT/ubuntu@/vmlinuz-6.8.0-49-lowlatency"', "6.8.0-49-lowlatency"),
        ("/vmlinuz-4.18.0-553.8.1.el8_10.x86_64", "4.18.0-553.8.1.el8_10.x86_64"),
        ("/boot/kernel-genkernel-x86_64-6.6.74-gentoo", "6.6.74-gentoo"),
        ("/boot/vmlinuz-6.9.3-76060903-generic.efi.signed", "6.9.3-76060903-generic"),
        ("/vmlinuz-0-rescue-c3c74a7e37de4ad1b274263255e8831c", ""),
        ("/boot/vmlinuz-linux-rt", ""),
        ("/EFI/Pop_OS-5b2e1c7a/vmlinuz.efi", ""),
        ("/boot/Image.real-time", ""),
        ("", ""),
    ],
)
def test_a_name_counts_where_it_holds_a_version(tmp_path: Path, name: str, release: str) -> None:
    assert kernel_image.release(Root(str(tmp_path)), name) == release


def test_the_image_counts_before_all_that_names_it(tmp_path: Path) -> None:
    root = tree(tmp_path, vmlinuz__linux=x86_image("6.12.8-arch1-1"))
    files = {
        "usr/lib/modules/6.11.0-arch1-1/pkgbase": "linux\n",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz-linux root=/dev/sda1\n",
        "proc/sys/kernel/osrelease": "6.10.0-arch1-1\n",
    }
    write_tree(tmp_path, files)
    for path in ("/boot/vmlinuz-linux", "/vmlinuz-linux", "/@/boot/vmlinuz-linux"):
        assert kernel_image.release(root, path) == "6.12.8-arch1-1"
    assert kernel_image.release(root, "/vmlinuz-linux", "/boot", "6.9.0") == "6.12.8-arch1-1"

    # Without it the package counts, then what the loader says, then the running boot.
    (tmp_path / "boot/vmlinuz-linux").write_text("image\n")
    assert kernel_image.release(root, "/vmlinuz-linux", "/boot", "6.9.0") == "6.11.0-arch1-1"
    (tmp_path / "usr/lib/modules/6.11.0-arch1-1/pkgbase").unlink()
    assert kernel_image.release(root, "/vmlinuz-linux", "/boot", "6.9.0") == "6.9.0"
    assert kernel_image.release(root, "/vmlinuz-linux") == "6.10.0-arch1-1"
    assert kernel_image.release(root, "/vmlinuz-linux-rt") == ""
    write_tree(tmp_path, {"boot/linux612-x86_64.kver": "6.12.4-1-MANJARO\n"})
    assert kernel_image.release(root, "/boot/vmlinuz-6.12-x86_64") == "6.12.4-1-MANJARO"


def test_an_image_of_arm64_tells_its_banner(tmp_path: Path) -> None:
    far = arm64_image("5.15.148-rt-tegra", before=(1 << 20) - 7)
    root = tree(tmp_path, Image=arm64_image("6.6.1-tegra"), **{"Image.real__time": far})
    assert kernel_image.release(root, "/boot/Image") == "6.6.1-tegra"
    assert kernel_image.release(root, "/boot/Image.real-time") == "5.15.148-rt-tegra"
    assert list(kernel_image.images(root, "5.15.148-rt-tegra")) == ["/boot/Image.real-time"]


@given(st.binary(max_size=700), st.integers(0, 0xFFFF), st.binary(max_size=80))
def test_no_content_is_too_strange(start: bytes, at: int, version: bytes) -> None:
    whole = x86_image("6.1.0")
    cut = whole[: len(start)]
    crooked = whole[:0x20E] + at.to_bytes(2, "little") + whole[0x210:0x400] + version
    with tempfile.TemporaryDirectory() as folder:
        root = tree(Path(folder), a=start, b=cut, c=crooked)
        found = [kernel_image.release(root, f"/boot/{name}") for name in "abc"]
    assert found[:2] == ["", ""]
    assert found[2] == "" or found[2][0].isdecimal()


def test_only_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "boot/vmlinuz-linux").mkdir(parents=True)
    assert kernel_image.release(Root(str(tmp_path)), "/boot/vmlinuz-linux") == ""
