# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line that a file holds."""

import re

from lowlat.base.errors import Refused

#: The forms in which files contain a line: /etc/default/grub, a boot entry, a loader's menu.
_GIVEN = re.compile(
    r"\s*(?:GRUB_CMDLINE_LINUX\w*=(?P<quote>[\"'])(?P<grub>.*)(?P=quote)"
    r"|(?:options|append|linux\w*\s+\S+|kernel\s+\S+)\s+(?P<entry>.*))\s*"
)


def the_line(text: str) -> str:
    """The only line of a file: bare, or from GRUB's settings, a boot entry or a menu. Raises
    Refused if there are several lines, or none."""
    rows = [row for row in text.splitlines() if row.strip() and not row.lstrip().startswith("#")]
    given = [
        match["grub"] or match["entry"] or "" for match in map(_GIVEN.fullmatch, rows) if match
    ]
    settings = [row for row in rows if row.lstrip().startswith("GRUB_CMDLINE_LINUX")]
    if settings and len(settings) == len(given):
        return " ".join(given)
    lines = given or rows
    if len(lines) != 1:
        why = (
            f"the text has {len(given)} boot lines" if given else f"the text has {len(rows)} lines"
        )
        raise Refused(why, hint="give one boot line: as it is, or in quotes")
    return lines[0]
