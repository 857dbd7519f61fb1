# SPDX-License-Identifier: GPL-2.0-or-later
"""Text in other programs' grammars, one encoder for each. An encoder refuses what its grammar
cannot express; the program reads all else back unchanged. terminal.py has the terminal's
encoder."""

import html
import json
import re
from typing import Union

from lowlat.base.errors import Refused
from lowlat.base.terminal import is_shown, plain

#: Text that sh, GRUB, systemd, TuneD's functions and file names all take literally.
_WORD = re.compile(r"[A-Za-z0-9._+~:,/@=>-]*")
_TMPFILES = re.compile(r"[][A-Za-z0-9._+~:,/@=*-]*")
_PATH = re.compile(r"/[A-Za-z0-9/._+-]*")

#: Text that TuneD would expand, take for a comment, or drop.
_INI = re.compile(r"\$\{|\s#|^\s|\s$")

#: Specifiers, variables, quotes and escapes of systemd.
_UNIT = re.compile(r"[%$\"'\\]|^\s|\s$")


def line(text: str, what: str) -> str:
    """Refuse text with a control character; ``what`` names the text in the message."""
    odd = next((char for char in text if not is_shown(char)), None)
    if odd is not None:
        raise Refused(f"{what} holds the control character U+{ord(odd):04X}", hint="take it out")
    return text


def ini(value: object) -> str:
    """A value in one of TuneD's files (tuned.conf)."""
    return _line(str(value), _INI, "TuneD's configuration")


def unit(value: object) -> str:
    """A value in a systemd unit."""
    return _line(str(value), _UNIT, "a systemd unit")


def entry(key: str, value: str) -> str:
    """A row of a boot entry's file (Boot Loader Specification)."""
    return f"{key} {line(value, f'{key} of a boot entry')}\n"


def shell(text: str) -> str:
    """A quoted word for sh and for GRUB, which reads some words twice."""
    return f"'{_only(text, _WORD, 'a shell file')}'"


def path(text: str) -> str:
    """A program's path, safe in every file that names one."""
    return _only(text, _PATH, "a boot script")


def tmpfiles(value: object) -> str:
    """A word in a tmpfiles.d line: a value, a file of the kernel, or a glob of such files."""
    return _only(str(value), _TMPFILES, "tmpfiles.d")


def yaml(value: object) -> str:
    """A value in YAML, encoded as JSON; text encoded so is valid in TOML too."""
    return json.dumps(value if isinstance(value, (bool, int, str)) else str(value))


def prometheus(text: str) -> str:
    """The value of a label in Prometheus' text form (prometheus.io, exposition formats)."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def markup(text: str) -> str:
    """Text in HTML and SVG: one line, without control characters."""
    return html.escape(plain(text))


def markdown(text: str) -> str:
    """Text in Markdown, escaped so that it neither becomes markup nor ends its line or cell."""
    return re.sub(r"([\\`*_\[\]<|#~]|^>)", r"\\\1", plain(text))


def cell(value: Union[str, float, None]) -> Union[str, float, None]:
    """A cell of a CSV file. Text that a spreadsheet would take for a formula gets a leading
    quote."""
    if not isinstance(value, str):
        return value
    shown = plain(value)
    return f"'{shown}" if shown[:1] in tuple("=+-@") else shown


def _line(text: str, refused: re.Pattern[str], where: str) -> str:
    odd = refused.search(line(text, f"'{text[:60]}' for {where}"))
    if odd:
        raise Refused(f"'{text[:60]}': '{odd[0]}' cannot stand there in {where}")
    return text


def _only(text: str, allowed: re.Pattern[str], where: str) -> str:
    if not allowed.fullmatch(text):
        raise Refused(f"'{text[:200]}' cannot stand in {where}")
    return text
