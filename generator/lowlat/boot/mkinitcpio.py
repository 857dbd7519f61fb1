# SPDX-License-Identifier: GPL-2.0-or-later
"""The presets of mkinitcpio that make unified kernel images, and the file that gives such an image
its line (process_preset() and build_uki() of its mkinitcpio)."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.host import firmware
from lowlat.host.root import Root, glob
from lowlat.probe.kernel import running_release

#: Without --cmdline, these are read beside the file that kernel-install reads too.
_DROP_INS = "/etc/cmdline.d"

_SETTING = re.compile(r"""^\s*(\w+)=((?:\([^)]*\)|"[^"]*"|'[^']*'|[^\s"'()])*)""", re.MULTILINE)


@dataclass(frozen=True)
class _Image:
    """``cmdline`` is the file or folder that the preset names, "" if it names none."""

    preset: str
    path: str
    cmdline: str


def line_file(root: Root, default: str) -> Optional[str]:
    """The file with the line of the image that boots; ``default`` without drop-ins, None if no
    preset makes a unified image."""
    found = _booting(root, [image for path in _presets(root) for image in _images(root, path)])
    if found is None:
        return None
    if found.cmdline and not root.names(found.cmdline):
        return found.cmdline
    return next(reversed(glob(root, f"{found.cmdline or _DROP_INS}/*.conf")), default)


def _presets(root: Root) -> list[str]:
    return list(glob(root, "/etc/mkinitcpio.d/*.preset"))


def _booting(root: Root, images: list[_Image]) -> Optional[_Image]:
    """The image that was started, else the running kernel's, else the first."""
    entry = firmware.loader_variable(root, "LoaderEntrySelected") or ""
    names = {_name(entry), _name(firmware.current_program(root))}
    package = root.read(f"/usr/lib/modules/{running_release(root)}/pkgbase") or ""
    started = [image for image in images if _name(image.path) in names]
    running = [image for image in images if _name(image.preset) == package.strip()]
    return next(iter(started or running or images), None)


def _name(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0].lower()


def _images(root: Root, preset: str) -> Iterator[_Image]:
    """Those of a preset, in its order."""
    settings = dict(_SETTING.findall(root.read(preset) or ""))
    for name in _words(settings, "PRESETS") or ["default"]:
        path = _words(settings, f"{name}_uki") or _words(settings, f"{name}_efi_image")
        if path:
            yield _Image(preset, path[0], _cmdline(settings, name))


def _cmdline(settings: Mapping[str, str], name: str) -> str:
    """The options come after what NAME_cmdline= adds, and the last one counts."""
    own = _words(settings, f"{name}_cmdline") or _words(settings, "ALL_cmdline")
    options = " ".join(["", *_words(settings, f"{name}_options")])
    named = [*own, *re.findall(r" --cmdline[ =](\S+)", options)]
    return named[-1] if named else ""


def _words(settings: Mapping[str, str], name: str) -> list[str]:
    """The words of a text or of a list in the shell's form."""
    return re.sub(r"[()\"']", " ", settings.get(name, "")).split()
