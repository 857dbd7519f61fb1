# SPDX-License-Identifier: GPL-2.0-or-later
"""Other programs in the boot: loaders that lowlat does not write, and managers of the line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base import resources
from lowlat.boot import added_words, line_files, programs
from lowlat.boot.added_words import AddedWords
from lowlat.boot.line_file import KERNEL_CMDLINE, LineFile
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
    ``undo`` how to take them out again, and ``then`` which command comes next for both ("" for
    none); {release} and {image} stand for the kernel. ``each`` and ``undo_each`` are the form of
    one word, and ``between`` stands before the blank between two. In ``file`` the words are found
    then."""

    name: str
    step: str
    undo: str
    file: LineFile
    then: str = ""
    each: str = "{}"
    undo_each: str = ""
    between: str = ""
    #: The reason why it cannot boot a line once.
    cannot_try: str = "lowlat cannot have it boot a line once"
    #: The reason why no machine with it tries a line by kexec.
    no_kexec: str = ""

    def added(self, root: Root) -> Optional[AddedWords]:
        """The words of a plan in the file; None if it cannot be read."""
        return added_words.read(root, self.file)

    def steps(self, root: Root, words: Sequence[str], release: str, replaced: Sequence[str]) -> str:
        """The steps that are left for a person; the words replace others on the line."""
        added = self.added(root)
        there = added.words if added and not added.made else ()
        if added and set(words) <= set(there):
            rows = [f"{added.path} has these words already"]
        else:
            rows = [self._with_words(self.step, self.each, words)]
            replaced = [*replaced, *(word for word in there if word not in words)]
        rows += [f"in place of: {' '.join(replaced)}"] if replaced else []
        return "\n".join((*rows, *self._after(root, release)))

    def reverse(
        self, root: Root, words: Sequence[str], release: str, replaced: Sequence[str]
    ) -> Iterator[str]:
        """The steps that undo steps(); the command alone where the file has no words any more."""
        added = self.added(root)
        if not (self.then and added and (added.made or not added.words)):
            yield from self._with_words(self.undo, self.undo_each or self.each, words).splitlines()
            if replaced:
                yield f"and put back: {' '.join(replaced)}"
        yield from self._after(root, release, cmdline.marker(root.read("/proc/cmdline") or ""))

    def _after(self, root: Root, release: str, reboot: object = True) -> Iterator[str]:
        """The command after the file was changed, and the reboot."""
        images = (f"/usr/lib/modules/{release}/vmlinuz", f"/boot/vmlinuz-{release}")
        facts = {"release": release, "image": next(filter(root.exists, images), images[0])}
        if self.then:
            yield f"then: {_filled(self.then, facts)}"
        if reboot and not self.then.startswith("reboot"):
            yield "then: reboot"

    def _with_words(self, text: str, each: str, words: Sequence[str]) -> str:
        joined = f"{self.between} ".join(each.replace("{}", word) for word in words)
        names = " ".join(word.partition("=")[0] for word in words)
        return _filled(text, {"words": joined, "names": names})


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
    if place := keys.pop("place", ""):
        keys |= {"step": f"append to {place}: {{words}}", "undo": f"remove from {place}: {{words}}"}
    commands = _filled(keys.pop("then", ""), facts).split(" | ")
    there = (each for each in commands if programs.find(root, each.partition(" ")[0]))
    name = keys.pop("name", found.section)
    step, undo = (_filled(keys.pop(way), facts) for way in ("step", "undo"))
    return ForeignLoader(name, step, undo, found, next(there, commands[0]), **keys)


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
