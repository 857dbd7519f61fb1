# SPDX-License-Identifier: GPL-2.0-or-later
"""One file that holds a boot line, and what settings of the shell's form say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, Optional

from lowlat.host.boot_loader import BootLoader
from lowlat.host.root import Root, glob

#: The whole line, which kernel-install and others read; without it, they take the running one.
KERNEL_CMDLINE = "/etc/kernel/cmdline"


@dataclass(frozen=True)
class LineFile:
    """``section`` of loaders.ini tells what a person does, ``path`` is the file or the folder in
    which the words are found then ("" if none is known), ``facts`` are further names in the
    text. The loader reads the files ``made`` of it by the command that follows."""

    section: str
    path: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    made: tuple[str, ...] = ()


#: Where the words go on this machine, for one kind of loader.
Finder = Callable[[Root, BootLoader], LineFile]


def setting(root: Root, name: str, first: str, *patterns: str) -> str:
    """The file that sets a variable last of those that a shell reads in this order, else the
    first."""
    paths = [first, *(path for pattern in patterns for path in glob(root, pattern))]
    those = (path for path in reversed(paths) if sets(name, root.read(path) or "") is not None)
    return next(those, first)


def sets(name: str, text: str) -> Optional[str]:
    """The last value that a text gives a variable, as written; None if it does not."""
    values = re.findall(rf"^\s*(?:export\s+)?{name}\+?=(.*?)\s*$", text, re.MULTILINE)
    return values[-1] if values else None


def there(root: Root, path: str) -> str:
    return path if root.exists(path) else ""
