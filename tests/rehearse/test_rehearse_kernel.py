# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel that a rehearsal boots: from a file, from the host, from the cache or from the
packages."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from lowlat.base.errors import Refused
from lowlat.rehearse import kernel, packages
from lowlat.rehearse.kernel import BootableKernel, check, newest

RELEASES = (
    "6.1.0-50-amd64",
    "6.1.0-9-amd64",
    "6.1.0-50-rt-amd64",
    "6.12.107+deb13-amd64",
    "6.12.108+deb13-cloud-amd64",
    "7.2.13+deb14-amd64",
)


# ------------------------------------------------------------------ kernels


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("6.1", "6.1.0-50-amd64"),
        ("6.1-rt", "6.1.0-50-rt-amd64"),
        ("6.1.0", "6.1.0-50-amd64"),
        ("6.1.0-9-amd64", "6.1.0-9-amd64"),
        ("6.12", "6.12.107+deb13-amd64"),
        ("6.12-amd64", "6.12.107+deb13-amd64"),
        ("6.12-cloud", "6.12.108+deb13-cloud-amd64"),
        ("6.12.107+deb13-amd64", "6.12.107+deb13-amd64"),
        ("7", "7.2.13+deb14-amd64"),
        ("", "7.2.13+deb14-amd64"),
        ("6.12-rt", None),
        ("6.2", None),
        ("6.1.0-50", None),
    ],
)
def test_a_wish_names_the_newest_kernel_it_begins(text: str, release: str) -> None:
    assert newest(text, RELEASES) == release


@pytest.mark.parametrize("text", ["rt", "6.1 rt", "-6", "6;reboot", "6.1\n", "x" * 200])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="neither a file nor a kernel release"):
        check(text)


def test_only_images_that_boot_are_offered() -> None:
    shown = (
        "Package: linux-image-rt-amd64\n"
        "Depends: linux-image-6.12.107+deb13-rt-amd64 (= 6.12.107-1)\n\n"
        "Package: linux-image-6.12.107+deb13-rt-amd64-dbg\n\n"
        "Package: linux-image-6.12.107+deb13-rt-amd64-unsigned\n\n"
        "Package: linux-image-6.12.107+deb13-rt-amd64-dbg\n"
        "Depends: linux-image-6.12.108-rt-amd64-dbg, libc6\n"
    )
    assert packages.offers(shown) == ["6.12.107+deb13-rt-amd64"]
    assert newest("6.12-rt", packages.offers(shown)) == "6.12.107+deb13-rt-amd64"


def _bzimage(path: Path, release: str) -> Path:
    """The part of an x86 image that contains the release."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = bytearray(0x600)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x300).to_bytes(2, "little")
    head[0x500:0x500] = f"{release} (someone@host) #1 SMP\0".encode()
    path.write_bytes(head)
    return path


def test_a_file_tells_its_own_release(tmp_path: Path) -> None:
    image = _bzimage(tmp_path / "image", "6.9.1-custom")
    assert kernel.find(str(image)) == BootableKernel("6.9.1-custom", image)


def test_a_file_of_another_format_is_named_by_its_name(tmp_path: Path) -> None:
    image = tmp_path / "vmlinuz-6.12.1-arm64"
    image.write_bytes(b"MZ")
    assert kernel.find(str(image)) == BootableKernel("6.12.1-arm64", image)


def test_the_hosts_kernels_come_before_the_cache(tmp_path: Path) -> None:
    boot, cache = tmp_path / "boot", tmp_path / "cache"
    older = _bzimage(boot / "vmlinuz-6.1.0-9-amd64", "6.1.0-9-amd64")
    newer = _bzimage(cache / "6.1.0-50-amd64/boot/vmlinuz-6.1.0-50-amd64", "6.1.0-50-amd64")
    assert kernel.find("6.1", boot=boot, cache=cache) == BootableKernel("6.1.0-9-amd64", older)
    assert kernel.find("6.1", boot=tmp_path, cache=cache) == BootableKernel("6.1.0-50-amd64", newer)
    assert kernel.find("6.9", boot=boot, cache=cache) is None


def test_the_cache_follows_the_xdg_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert kernel.cache_folder() == Path("/somewhere/lowlat/kernels")


# ----------------------------------------------------------------- packages


DEBIAN = packages.Distribution(
    name="debian",
    codename="bookworm",
    mirror="http://mirror/debian",
    security="http://mirror/debian-security",
    keyring=Path("/nonexistent"),
    arch="amd64",
)


def test_the_hosts_own_suite_is_asked_first() -> None:
    own, every = DEBIAN.rounds()
    assert own == (
        "deb [arch=amd64] http://mirror/debian bookworm main",
        "deb [arch=amd64] http://mirror/debian-security bookworm-security main",
    )
    assert every[:2] == own
    assert [line.split()[-2] for line in every if "security" not in line] == [
        "bookworm",
        "trixie",
        "trixie-backports",
        "sid",
    ]


def test_each_flavour_has_a_package_that_leads_to_it() -> None:
    assert DEBIAN.leads == (
        "linux-image-amd64",
        "linux-image-rt-amd64",
        "linux-image-cloud-amd64",
    )


def test_other_distributions_are_told_to_name_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "fedora"})
    with pytest.raises(Refused, match=r"does not work on fedora .*give --kernel PATH"):
        packages.detect()
    # The behaviour of Python 3.9, in which doctor asks too.
    monkeypatch.delattr(platform, "freedesktop_os_release")
    with pytest.raises(Refused, match=r"does not work on linux .*give --kernel PATH"):
        packages.detect()
