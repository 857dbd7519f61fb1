# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's menu of entry files: their order, and the entry that a setting means. The vendors' blscfg
and that of GRUB 2.14 differ in both."""

import re
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Optional

from lowlat.boot.loaders import version_order
from lowlat.boot.loaders.bls_entries import Snippet
from lowlat.host.root import Root, glob

#: blscfg.c and menu.c of Fedora, RHEL and openSUSE (github.com/rhboot/grub2); in RHEL 8 the order
#: is that of the versions in the files.
VENDOR = "vendor"
RHEL_8 = "rhel-8"
#: blsuki.c of GRUB 2.14.
UPSTREAM = "upstream"

#: What grub_strtoul() reads at the begin of a text: a number to base 16, 8 or 10.
_NUMBER = re.compile(r"\s*(?:0x([0-9a-f]+)|(0[0-7]+)|([0-9]+))", re.IGNORECASE)


def rules(root: Root, folder: str) -> str:
    """Whose blscfg this GRUB has; ``folder`` holds its modules. Where none is there the image has
    it built in, as the vendors' signed ones have."""
    if "platform:el8" in (root.read("/etc/os-release") or ""):
        return RHEL_8
    own, new = (
        [path for at in (folder, "/usr/lib/grub") for path in glob(root, f"{at}/*/{name}.mod")]
        for name in ("blscfg", "blsuki")
    )
    return UPSTREAM if new and not own else VENDOR


def ordered(snippets: Sequence[Snippet], kind: str) -> list[Snippet]:
    """The entries in the order of the menu: bls_add_entry(), or blsuki_add_entry()."""
    by_version = kind == RHEL_8 and all(each.values("version") for each in snippets)

    def order(a: Snippet, b: Snippet) -> int:
        if kind == UPSTREAM:
            return version_order.file_name(a.file, b.file)
        versions = (each.values("version")[0] for each in (a, b)) if by_version else ("", "")
        return version_order.package_version(*versions) or version_order.package(a.file, b.file)

    return sorted(snippets, key=cmp_to_key(order), reverse=True)


def chosen(snippets: Sequence[Snippet], value: str, kind: str) -> Optional[Snippet]:
    """The entry that GRUB boots for this value of ``default``: the first one if the value means
    none (get_entry_number() in grub-core/normal/menu.c). The vendors' GRUB compares ids, then
    titles, then takes a number. GRUB's own takes what begins with a number for one."""
    number = _NUMBER.match(value)
    named = [each for each in snippets if each.name == value]
    named += [each for each in snippets if value in each.values("title")[:1]]
    whole = number is not None and number.end() == len(value)
    if number and (kind == UPSTREAM or (whole and not named)):
        digits = ((text, base) for text, base in zip(number.groups(), (16, 8, 10)) if text)
        named = list(snippets)[int(*next(digits)) :]
    return next(iter((*named, *snippets)), None)
