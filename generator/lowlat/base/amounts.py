# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's amounts of memory and frequency, in the units in which people read them."""

import re

#: Each unit, and how many of it make one of the next. The kernel's kilobytes are binary.
_BYTES = ("KiB", "MiB", "GiB", "TiB", "PiB")
_HERTZ = ("kHz", "MHz", "GHz")

_AMOUNT = re.compile(r"(?<![\w.-])(\d{1,15}) ?(kHz|KiB|kB|K)\b")


def readable(text: str) -> str:
    """The text with its amounts in other units: "115200K" becomes "112.5 MiB", and "5157900 kHz"
    becomes "5.16 GHz"."""
    return _AMOUNT.sub(lambda found: _scaled(int(found[1]), found[2]), text)


def _scaled(amount: float, unit: str) -> str:
    units, step = (_HERTZ, 1000) if unit == "kHz" else (_BYTES, 1024)
    place = 0
    while amount >= step and place < len(units) - 1:
        amount, place = amount / step, place + 1
    digits = 2 if amount < 10 else 1
    return f"{round(amount, digits):.15g} {units[place]}"
