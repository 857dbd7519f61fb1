# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages by which the kernel says that it stopped, throttled, polled or slowed a CPU."""

import re
from dataclasses import dataclass

from lowlat.base import resources

#: A conversion of printf.
_CONVERSION = re.compile(r"%[-#0-9.]*(?:hh?|ll?|z)?(?:p[a-zA-Z]|[a-zA-Z])?")


@dataclass(frozen=True)
class KernelMessage:
    """``formats`` are printf formats, ``source`` is the kernel's file, ``setting`` removes it ("":
    none does)."""

    name: str
    formats: tuple[str, ...]
    source: str
    means: str
    setting: str

    @property
    def pattern(self) -> str:
        """A regular expression that finds the message in a line."""
        return "|".join(map(_pattern, self.formats))

    def is_in(self, line: str) -> bool:
        return bool(re.search(self.pattern, line))


def _pattern(text: str) -> str:
    return ".{0,99}".join(map(re.escape, _CONVERSION.split(text)))


def _read() -> tuple[KernelMessage, ...]:
    table = resources.texts("host/kernel_messages.ini")
    sections = ((name, table[name]) for name in table.sections())
    return tuple(
        KernelMessage(
            name,
            tuple(own["says"].split("\n")),
            own["source"],
            own["means"],
            own.get("setting", ""),
        )
        for name, own in sections
    )


MESSAGES = _read()

#: A regular expression that finds any of them.
ANY = "|".join(message.pattern for message in MESSAGES)
