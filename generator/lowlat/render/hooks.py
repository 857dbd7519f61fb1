# SPDX-License-Identifier: GPL-2.0-or-later
"""The files by which the distribution calls lowlat-gen: from grub-mkconfig, when a kernel comes or
goes, and at boot."""

from collections.abc import Iterator
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

#: Sets GRUB_DEFAULT (boot/loaders/grub_default.py).
DEFAULT = "/etc/default/grub.d/zz-lowlat.cfg"

_PLUGIN = "95-lowlat.install"

#: Where packages install that plugin of kernel-install.
PLUGINS = ("/usr/lib/kernel/install.d",)

#: Run, in order of name, when a kernel's package is installed or removed.
_SCRIPTS = ("/etc/kernel/postinst.d/zz-lowlat", "/etc/kernel/postrm.d/zz-lowlat")

BOOT = "lowlat-boot.service"

#: Started by systemd.wants= on a trial's line, in no other boot.
TRIAL = "lowlat-trial.service"

UNITS = ("/usr/lib/systemd/system", "/lib/systemd/system")
OWN_UNITS = "/etc/systemd/system"


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


def plugin() -> RenderedFile:
    text = resources.template(f"kernel-install/{_PLUGIN}")
    return RenderedFile(f"/etc/kernel/install.d/{_PLUGIN}", 0o755, text)


def scripts() -> Iterator[RenderedFile]:
    text = resources.template("kernel/zz-lowlat")
    return (RenderedFile(path, 0o755, text) for path in _SCRIPTS)


def units(lowlat_gen: str) -> Iterator[RenderedFile]:
    for name in (BOOT, TRIAL):
        text = template(f"systemd/{name}", lowlat_gen)
        yield RenderedFile(f"{OWN_UNITS}/{name}", 0o644, text)


def every(lowlat_gen: str) -> Iterator[RenderedFile]:
    """All of these files, of which a loader needs some."""
    yield from (*grub(lowlat_gen), plugin(), *scripts(), *units(lowlat_gen))


def template(name: str, lowlat_gen: str) -> str:
    """The text of a file below templates/, with the program's actual path."""
    return resources.template(name).replace(PROGRAM, encode.path(lowlat_gen))
