# SPDX-License-Identifier: GPL-2.0-or-later
"""Other programs in the boot: loaders that lowlat does not write, and managers of the line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base import resources
from lowlat.boot import extlinux, line_files, programs
from lowlat.boot.line_file import KERNEL_CMDLINE
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
    """A loader that lowlat does not write. ``step`` tells a person how to add {words} to its line,
    ``then`` which command comes next ("" for none); {release} and {image} stand for the kernel.
    ``each`` is the form of one word, and ``between`` stands before the blank between two. In
    ``path``, a file or a folder of entries, the words are found then; "" if that is not known."""

    name: str
    step: str
    then: str = ""
    path: str = ""
    each: str = "{}"
    between: str = ""
    #: The part of ``path`` that boots, of those that begin with "label".
    label: str = ""
    #: The reason why it cannot boot a line once.
    cannot_try: str = "lowlat cannot have it boot a line once"
    #: The reason why no machine with it tries a line by kexec.
    no_kexec: str = ""

    def steps(self, root: Root, words: Sequence[str], release: str, replaced: Sequence[str]) -> str:
        """The steps that are left for a person; the words replace others on the line."""
        joined = f"{self.between} ".join(self.each.replace("{}", word) for word in words)
        images = (f"/usr/lib/modules/{release}/vmlinuz", f"/boot/vmlinuz-{release}")
        facts = {
            "words": joined,
            "release": release,
            "image": next(filter(root.exists, images), images[0]),
        }
        there = f"{self.path} has these words already"
        rows = [there if self.has(root, words) else _filled(self.step, facts)]
        rows += [f"in place of: {' '.join(replaced)}"] if replaced else []
        rows += [f"then: {_filled(self.then, facts)}"] if self.then else []
        rows += [] if self.then.startswith("reboot") else ["then: reboot"]
        return "\n".join(rows)

    def has(self, root: Root, words: Sequence[str]) -> bool:
        """Whether the words stand in the file, or in one of the folder's entries."""
        names = (name for name in root.names(self.path) if self.path and name.endswith(".conf"))
        paths = (self.path, *(f"{self.path}/{name}" for name in names))
        texts = [re.sub(r"(?m)^\s*#.*", "", root.read(path) or "") for path in paths]
        texts = [extlinux.of_label(text, self.label) for text in texts]
        bare = [rf"(?<![^\s\"'=]){re.escape(word)}(?![^\s\"'])" for word in words]
        return any(all(re.search(word, text) for word in bare) for text in texts)


_LOADERS = resources.texts("boot/loaders.ini")


def recognise(root: Root, loader: Optional[BootLoader]) -> ForeignLoader:
    """How a person writes the line for this loader, or for one that is not known."""
    found = line_files.find(root, loader)
    keys = dict(_LOADERS[found.section])
    if found.section == line_files.UNKNOWN and loader:
        keys["name"] = loader.kind
    new = "" if root.exists(found.path) else ", a new file that begins with the running line"
    whole = found.path == KERNEL_CMDLINE
    facts = {"file": f"{found.path}{new if whole else ''}", **found.facts}
    commands = _filled(keys.pop("then", ""), facts).split(" | ")
    there = (each for each in commands if programs.find(root, each.partition(" ")[0]))
    name = keys.pop("name", found.section)
    step = _filled(keys.pop("step"), facts)
    label = found.facts.get("label", "")
    return ForeignLoader(name, step, next(there, commands[0]), found.path, label=label, **keys)


def _filled(text: str, facts: Mapping[str, str]) -> str:
    """The text with these names filled in; other braces stay."""
    for name, value in facts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


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
    own = line_files.find(root, boot_loader.recognise(root)).path
    for path in reversed(["/etc/default/grub", *paths, KERNEL_CMDLINE, own]):
        if pattern.search(root.read(path) or ""):
            owner = next((who for part, who in _OWNERS if part in path), "")
            return f"{path}, of {owner}" if owner else path
    return "the stock entries themselves (grubby or a person)"
