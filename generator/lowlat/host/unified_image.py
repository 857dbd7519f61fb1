# SPDX-License-Identifier: GPL-2.0-or-later
"""Unified kernel images (UAPI.5): PE files whose sections hold a kernel, its initramfs and its
line. Only the headers and three small sections are read, whatever the size of the image.

The layout of PE files is that of Microsoft's "PE Format": the offset of the PE signature at 0x3c, a
COFF header of 20 bytes behind it, the optional header, then 40 bytes for each section.
"""

import os
import re
import struct
from dataclasses import dataclass

from lowlat.base import bounds
from lowlat.host.root import Root
from lowlat.model.machine import RELEASE

_SIGNATURE_AT = 0x3C

#: Signature, number of sections, size of the optional header.
_HEADER = struct.Struct("<4s2xH12xH2x")

#: Name, size in memory, size in the file (padded), offset in the file.
_SECTION = struct.Struct("<8sI4xII16x")

_WANTED = frozenset({".cmdline", ".osrel", ".uname"})


@dataclass(frozen=True)
class UnifiedImage:
    """``line`` is the kernel's line, ``release`` the kernel's release, ``system`` the name of the
    operating system; each is "" if the image does not tell."""

    line: str = ""
    release: str = ""
    system: str = ""


def read(root: Root, path: str) -> UnifiedImage:
    """The image as its first profile starts it; one that tells nothing if this is no whole PE
    file."""
    try:
        with root.opened(path) as fd:
            held = _sections(fd)
    except (OSError, ValueError, struct.error):
        return UnifiedImage()
    # The stub turns control characters of the line into blanks, and cuts the last ones off
    # (mangle_stub_cmdline() in systemd's src/boot).
    line = re.sub(r"[\x00-\x1f]", " ", held.get(".cmdline", "")).strip()
    release = held.get(".uname", "").strip()
    name = re.search(r"^PRETTY_NAME=(.*)$", held.get(".osrel", ""), re.MULTILINE)
    system = name[1].strip().strip("\"'") if name else ""
    return UnifiedImage(line, release if RELEASE.fullmatch(release) else "", system)


def _sections(fd: int) -> dict[str, str]:
    """The wanted sections by name. An image may hold several profiles; each begins with a section
    .profile, and its sections replace those before the first one. Raises OSError, ValueError or
    struct.error if the file is no whole PE file."""
    (start,) = struct.unpack("<I", os.pread(fd, 4, _SIGNATURE_AT))
    signature, count, optional = _HEADER.unpack(os.pread(fd, _HEADER.size, start))
    if signature != b"PE\0\0":
        raise ValueError("no PE signature")
    table = os.pread(fd, count * _SECTION.size, start + _HEADER.size + optional)
    held: dict[str, str] = {}
    profiles = 0
    for field, in_memory, in_file, at in _SECTION.iter_unpack(table):
        name = field.rstrip(b"\0").decode("latin-1")
        profiles += name == ".profile"
        if profiles > 1:
            break
        if name in _WANTED:
            held[name] = _text(fd, min(in_memory, in_file), at)
    return held


def _text(fd: int, size: int, at: int) -> str:
    if size > bounds.BOOT_LINE:
        raise ValueError("a section of text is larger than any line")
    data = os.pread(fd, size, at)
    if len(data) < size:
        raise ValueError("the file is cut off")
    return data.decode("utf-8", "replace").partition("\0")[0]
