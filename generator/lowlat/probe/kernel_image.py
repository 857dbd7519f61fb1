# SPDX-License-Identifier: GPL-2.0-or-later
"""The release of a kernel image. Loaders name images freely (vmlinuz-linux, vmlinuz.efi, Image), so
the image itself counts first, then the package that brought it, then the running boot; a name
counts only where it holds a version."""

import os
import re
import stat
import struct
from collections.abc import Iterator
from typing import Optional

from lowlat.base import bounds
from lowlat.host.root import Root, glob
from lowlat.model.machine import RELEASE
from lowlat.probe.kernel import running_release

#: x86 (Documentation/arch/x86/boot.rst): "HdrS" at 0x202, at 0x20e where the version lies, less
#: 0x200. It lies in the setup code, of at most 64 sectors.
_SETUP = 64 * 512 + 0x200
_X86 = struct.Struct("<4s8xH")

#: arm64 (Documentation/arch/arm64/booting.rst): the magic number of an Image that is not packed.
_ARM64_AT, _ARM64 = 0x38, b"ARM\x64"
_BANNER = re.compile(rb"Linux version ([!-~]+) \(")
_CHUNK = 1 << 20

#: The version at the end of a name: vmlinuz-6.1.0-28-amd64, kernel-genkernel-x86_64-6.6.74-gentoo.
_VERSION = re.compile(r"(?:^|-)(\d+\.\d.*)$")


def release(root: Root, image: str, folder: str = "", said: str = "") -> str:
    """The release of an image; "" if nothing tells. ``image`` is its path as the loader writes it,
    with quotes, and perhaps as seen from the file system that is mounted at ``folder``. ``said`` is
    the version that the loader's own file names."""
    path = image.strip("\"'")
    name = path.rpartition("/")[2]
    places = (f"{folder}{path}", f"/boot/{name}", path)
    file = next((place for place in places if root.exists(place)), "")
    known = (_of_file(root, file), _of_package(root, name), said, _of_running(root, name))
    return next(filter(None, (*known, _of_name(name))), "")


def images(root: Root, release_of: str) -> Iterator[str]:
    """The images in /boot of this release, whatever their names."""
    for name in root.names("/boot"):
        kernel = re.match("vmlinu|b?z?Image|kernel", name)
        if kernel and release(root, f"/boot/{name}") == release_of:
            yield f"/boot/{name}"


def _of_file(root: Root, path: str) -> str:
    """The release in the image itself."""
    try:
        with root.opened(path) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return ""
            start = os.pread(fd, _SETUP, 0)
            text = _of_x86(start) or _of_arm64(fd, start)
    except (OSError, ValueError, struct.error):
        return ""
    return _checked(text.decode("ascii", "replace"))


def _of_x86(start: bytes) -> bytes:
    magic, at = _X86.unpack_from(start, 0x202)
    if magic != b"HdrS" or at == 0:
        return b""
    return start[at + 0x200 :].partition(b"\0")[0].partition(b" ")[0]


def _of_arm64(fd: int, start: bytes) -> bytes:
    if start[_ARM64_AT : _ARM64_AT + len(_ARM64)] != _ARM64:
        return b""
    for at in range(0, bounds.HOST_FILE, _CHUNK):
        part = os.pread(fd, _CHUNK + 256, at)
        match = _BANNER.search(part)
        if match or not part:
            return match[1] if match else b""
    return b""


def _of_package(root: Root, name: str) -> str:
    """The release of the package that installed vmlinuz-NAME: Arch writes NAME into its folder of
    modules, Manjaro the release into /boot/linuxNAME-ARCH.kver, where it leaves NAME's dots out."""
    kind = name.partition("-")[2]
    for path in glob(root, "/usr/lib/modules/*/pkgbase"):
        if kind and root.read(path) == kind:
            return _checked(path.split("/")[-2])
    for file in root.names("/boot"):
        if file == f"linux{kind.replace('.', '', 1)}.kver":
            return _checked(root.read(f"/boot/{file}") or "")
    return ""


def _of_running(root: Root, name: str) -> str:
    """The running release, if the loader named this image for the running boot."""
    booted = re.search(r"(?:^|\s)BOOT_IMAGE=(\S+)", root.read("/proc/cmdline") or "")
    same = booted is not None and booted[1].rpartition("/")[2] == name
    return (running_release(root) or "") if same else ""


def _of_name(name: str) -> str:
    match: Optional[re.Match[str]] = _VERSION.search(re.sub(r"\.efi(\.signed)?$", "", name))
    return _checked(match[1]) if match else ""


def _checked(text: str) -> str:
    return text if text[:1].isdecimal() and RELEASE.fullmatch(text) else ""
