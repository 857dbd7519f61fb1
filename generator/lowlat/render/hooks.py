# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that make grub-mkconfig write lowlat's entries."""

from dataclasses import dataclass
from pathlib import Path

from lowlat.base import encode, resources


@dataclass(frozen=True)
class RenderedFile:
    """A file to write: its path below /, its permission bits and its content."""

    path: str
    mode: int
    content: str

    def below(self, folder: Path) -> Path:
        return folder / self.path.lstrip("/")


#: The packaged program, by the path that templates contain.
PROGRAM = "/usr/bin/lowlat-gen"

SETTINGS = "/etc/lowlat/boot.conf"
GRUB = "/etc/grub.d/99_lowlat"


def grub(lowlat_gen: str) -> tuple[RenderedFile, ...]:
    return (settings(lowlat_gen), RenderedFile(GRUB, 0o755, resources.template("grub/99_lowlat")))


def settings(lowlat_gen: str) -> RenderedFile:
    """The file that tells all hooks where lowlat-gen is."""
    text = (
        "# SPDX-License-Identifier: GPL-2.0-or-later\n"
        "# Written by lowlat-gen; its hooks read it as a shell does.\n"
        f"LOWLAT_GEN={encode.shell(lowlat_gen)}\n"
    )
    return RenderedFile(SETTINGS, 0o644, text)


def template(name: str, lowlat_gen: str) -> str:
    """The text of a file below templates/, with the program's actual path."""
    return resources.template(name).replace(PROGRAM, encode.path(lowlat_gen))
