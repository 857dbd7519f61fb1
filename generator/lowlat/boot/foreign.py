# SPDX-License-Identifier: GPL-2.0-or-later
"""Other programs in the boot: loaders that lowlat does not write, and managers of the line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base import resources
from lowlat.host import boot_loader
from lowlat.host.boot_loader import BootLoader
from lowlat.host.root import Root
from lowlat.model import cmdline

_TUNED = "/etc/tuned/bootcmdline"

#: Owners of files, by a part of the path.
_OWNERS = (
    ("99-lowlatency.cfg", "the package lowlatency-kernel"),
    ("cloudimg", "the cloud image"),
    ("50-cloud", "the cloud image"),
    ("60_rt-conf", "rt-conf"),
    ("kdump", "kdump-tools"),
)


@dataclass(frozen=True)
class ForeignLoader:
    """A loader that lowlat does not write. ``step`` tells a person how to add {words} to its line.
    ``each`` is the form of one word, and ``between`` stands before the blank between two.
    loaders.ini holds the texts."""

    name: str
    step: str
    each: str = "{}"
    between: str = ""
    #: The reason why it cannot boot a line once.
    cannot_try: str = "lowlat cannot have it boot a line once"

    def steps(self, words: Sequence[str]) -> str:
        joined = f"{self.between} ".join(self.each.format(word) for word in words)
        return self.step.format(words=joined)


_LOADERS = {
    name: ForeignLoader(name, **keys)
    for name, keys in resources.texts("boot/loaders.ini").items()
    if keys
}
UNKNOWN = _LOADERS["a boot loader that was not recognised"]
RASPBERRY_PI = "Raspberry Pi firmware"

#: The text in loaders.ini for each kind of loader that lowlat does not write.
_BY_KIND = {
    boot_loader.NIXOS: "NixOS",
    boot_loader.RPM_OSTREE: "rpm-ostree",
    boot_loader.SDBOOTUTIL: "sdbootutil",
    boot_loader.RASPBERRY_PI: RASPBERRY_PI,
    boot_loader.EXTLINUX: "U-Boot extlinux",
    boot_loader.ZIPL: "zipl",
    boot_loader.UNIFIED_IMAGES: "unified kernel images",
}


def recognise(root: Root, loader: Optional[BootLoader]) -> Optional[ForeignLoader]:
    """Who writes the line for this loader, if lowlat does not; else None."""
    if loader is None or loader.kind not in _BY_KIND:
        return None
    if loader.kind == boot_loader.RPM_OSTREE and root.exists("/usr/bin/bootc"):
        return _LOADERS["bootc"]
    if loader.kind == boot_loader.RASPBERRY_PI:
        step = f"append to the one line of {loader.folder}/cmdline.txt: {{words}}"
        return ForeignLoader(RASPBERRY_PI, step)
    return _LOADERS[_BY_KIND[loader.kind]]


def tuned_variables(root: Root) -> Mapping[str, str]:
    """The variables through which TuneD's bootloader plugin adds parameters to GRUB's lines."""
    match = re.search(r'^TUNED_BOOT_CMDLINE="?([^"\n]*)', root.read(_TUNED) or "", re.M)
    return {} if match is None else {"tuned_params": match[1]}


def source(root: Root, word: str) -> str:
    """The source of this parameter on the stock lines, as far as files show it."""
    name = re.escape(cmdline.name_of(word)).replace("_", "[-_]")
    pattern = re.compile(rf"(?<![\w.-]){name}(?![\w.-])")
    if pattern.search(tuned_variables(root).get("tuned_params", "")):
        return f"TuneD's bootloader plugin ({_TUNED})"
    folder = "/etc/default/grub.d"
    paths = [f"{folder}/{file}" for file in root.names(folder) if file.endswith(".cfg")]
    firmware = boot_loader.raspberry_pi_folder(root)
    paths += [f"{firmware}/cmdline.txt"] if firmware else []
    for path in reversed(["/etc/default/grub", *paths, "/etc/kernel/cmdline"]):
        if pattern.search(root.read(path) or ""):
            owner = next((who for part, who in _OWNERS if part in path), "")
            return f"{path}, of {owner}" if owner else path
    return "the stock entries themselves (grubby or a person)"
