# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel that a rehearsal boots: a file, one of the host's, or one from the cache."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base import files, reader
from lowlat.base.errors import Refused
from lowlat.base.files import user_folder

#: Flavours that must be requested by name: "6.12" never means the -rt kernel.
_FLAVOURS = frozenset(("rt", "cloud", "lowlatency", "realtime", "virtual", "16k", "64k"))

_RELEASE = re.compile(r"[0-9][A-Za-z0-9.+~_-]{0,120}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~_-]{0,127}")

#: The part of an image that tells its release.
_HEAD = 0x10000
_PREFIX = re.compile(r"(\d+(?:\.\d+)*)(?:-([a-z][a-z0-9]*))?")


@dataclass(frozen=True)
class BootableKernel:
    """A kernel to boot: its release ("6.12.107+deb13-amd64") and its image."""

    release: str
    image: Path

    def __post_init__(self) -> None:
        # The release becomes a folder's name, and an image may contain any text.
        if not _NAME.fullmatch(self.release):
            raise Refused(f"{self.image}: {self.release[:60]!r} is no kernel's release")


def check(text: str) -> None:
    """Raises Refused if the text is neither a release nor the beginning of one."""
    if text and not _RELEASE.fullmatch(text):
        why = f"--kernel {text[:120]!r}: neither a file nor a kernel release"
        raise Refused(why, hint="such as /boot/vmlinuz-6.12.107+deb13-amd64, 6.12 or 6.1-rt")


def newest(text: str, releases: Iterable[str]) -> Optional[str]:
    """The newest match of a whole release, or of the beginning of a version with a flavour; ""
    means any without one."""
    return max((release for release in releases if _matches(text, release)), key=_age, default=None)


def _matches(text: str, release: str) -> bool:
    if release == text:
        return True
    parts = frozenset(re.split(r"[-.+~_]", release))
    match = _PREFIX.fullmatch(text)
    if match is None:
        return not text and not parts & _FLAVOURS
    version, flavour = match.groups()
    if not re.match(rf"{re.escape(version)}(?!\d)", release):
        return False
    # An architecture stands like a flavour: "6.1-amd64" matches no -rt kernel either.
    return (not flavour or flavour in parts) and parts & _FLAVOURS <= {flavour}


def _age(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release))


def cache_folder() -> Path:
    """The cache of fetched kernels: below it RELEASE/boot and RELEASE/lib/modules."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "kernels"


def find(
    text: str, *, boot: Path = Path("/boot"), cache: Optional[Path] = None
) -> Optional[BootableKernel]:
    """The kernel of ``--kernel``: a file, else one of the host, else one from the cache. None if
    there is no such release yet. Raises Refused if it is no release or cannot be read."""
    if "/" in text or (text and Path(text).is_file()):
        return _of_file(Path(text))
    check(text)
    kept = _listed(cache or cache_folder(), "*/boot/vmlinuz-*")
    for known in (_installed(boot), {path.parents[1].name: path for path in kept}):
        release = newest(text, known)
        if release is not None:
            return BootableKernel(release, _readable(known[release]))
    return None


def _installed(boot: Path) -> dict[str, Path]:
    images = {path.parent.name: path for path in _listed(Path("/lib/modules"), "*/vmlinuz")}
    # /boot last: its image is the one that the boot loader uses.
    images.update({path.name.partition("-")[2]: path for path in _listed(boot, "vmlinuz-*")})
    return {release: path for release, path in images.items() if _RELEASE.fullmatch(release)}


def _listed(folder: Path, pattern: str) -> Iterator[Path]:
    return (path for path in sorted(folder.glob(pattern)) if path.is_file())


def _readable(image: Path) -> Path:
    if os.access(image, os.R_OK):
        return image.resolve()
    raise Refused(f"{image}: not readable", hint="run as root, or give another --kernel")


def _of_file(image: Path) -> BootableKernel:
    with files.reporting_errors(f"--kernel {image}", "give a bzImage or a release"):
        head = reader.read(image, _HEAD, whole=False)
    if b"\n" in head and b"\0" not in head:
        why = f"--kernel {image}: text, no kernel image"
        raise Refused(why, hint="give a bzImage or a release")
    release = _release_in(head) or image.name.partition("-")[2] or image.name
    return BootableKernel(release, image.resolve())


def _release_in(head: bytes) -> Optional[str]:
    """The release in an x86 bzImage (Documentation/arch/x86/boot.rst, kernel_version)."""
    if head[0x202:0x206] != b"HdrS":
        return None
    begin = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    words = head[begin : begin + 128].split(b"\0")[0].split()
    return words[0].decode("ascii", "replace") if words else None
