# SPDX-License-Identifier: GPL-2.0-or-later
"""The language of a grub.cfg. GRUB's scripts take it from whoever ran grub-mkconfig: 00_header
names it, 10_linux and others translate titles and messages. ssh and sudo pass a person's language
on, and a package's update runs in the system's."""

import difflib
import re
from collections.abc import Iterator, Sequence

#: What 00_header writes: LANG up to its dot, or nothing of this for "C" and for a text console.
_NAMED = re.compile(r"^\s*set lang=([A-Za-z0-9_@-]+)$", re.MULTILINE)
_SET = re.compile(r"\s*(set lang=|set locale_dir=|insmod gettext$)")

#: A title before its entry's id, which is never translated; a message.
_TITLE = re.compile(r"^(\s*(?:menuentry|submenu) )'(?:[^']|'\\'')*'(?=.*\$menuentry_id_option )")
_MESSAGE = re.compile(r"^(\s*echo\t)'.*'$")


def of(live: str) -> str:
    """The LANG with which grub-mkconfig writes this configuration; "" if there is none."""
    named = _NAMED.search(live)
    return f"{named[1]}.UTF-8" if named else "C" if live else ""


def changes(live: str, fresh: str, names: Sequence[str]) -> Iterator[str]:
    """The rows of a diff that are not only a matter of language; none if there are no others."""
    before, after = (
        [row for row in text.splitlines() if not _SET.match(row)] for text in (live, fresh)
    )
    old, new = (list(map(_untranslated, rows)) for rows in (before, after))
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    if changed:
        yield from (f"--- {names[0]}", f"+++ {names[1]}")
    for _, first, last, start, end in changed:
        yield from (f"-{row}" for row in before[first:last])
        yield from (f"+{row}" for row in after[start:end])


def _untranslated(row: str) -> str:
    return _MESSAGE.sub(r"\1", _TITLE.sub(r"\1", row))
