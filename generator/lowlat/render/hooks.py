# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that make grub-mkconfig write lowlat's entries."""

from dataclasses import dataclass
from pathlib import Path

from lowlat.base import encode, resources


@dataclass(frozen=True)
class RenderedFile:
    """A file to be: its path below /, its permission bits and its whole content."""

    path: str
    mode: int
    content: str

    def below(self, folder: Path) -> Path:
        return folder / self.path.lstrip("/")


#: The program as it is packaged, and as templates name it.
PROGRAM = "/usr/bin/lowlat-gen"

SETTINGS = "/etc/lowlat/boot.conf"
GRUB = "/etc/grub.d/99_lowlat"


def grub(lowlat_gen: str) -> tuple[RenderedFile, ...]:
    return (settings(lowlat_gen), RenderedFile(GRUB, 0o755, resources.template("grub/99_lowlat")))


def settings(lowlat_gen: str) -> RenderedFile:
    """Where lowlat-gen is, for all hooks."""
    text = (
        "# SPDX-License-Identifier: GPL-2.0-or-later\n"
        "# Written by lowlat-gen; its hooks read it as a shell does.\n"
        f"LOWLAT_GEN={encode.shell(lowlat_gen)}\n"
    )
    return RenderedFile(SETTINGS, 0o644, text)


def template(name: str, lowlat_gen: str) -> str:
    """The text of a file below templates/, with the program where it lies."""
    return resources.template(name).replace(PROGRAM, encode.path(lowlat_gen))
