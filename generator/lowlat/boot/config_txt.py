# SPDX-License-Identifier: GPL-2.0-or-later
"""A Raspberry Pi's config.txt: which settings apply to this board, by the filters above them
(raspberrypi/documentation, config_txt/conditional.adoc). What the firmware alone sees, such as
monitors and pins, is not known here, and neither is a filter that the table below lacks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Callable, Optional

from lowlat.host.root import Root

#: Returns the text of a file of the boot partition by its name, "" if it is missing.
Read = Callable[[str], str]

#: By the model in the device tree: the number for [board-type=] and the filters that hold. What
#: Compute Module 3+ sees is documented in two ways, so it is not here.
_BOARDS = {
    "Model A": "0x00 pi1",
    "Model B": "0x01 pi1",
    "Model A Plus": "0x02 pi1",
    "Model B Plus": "0x03 pi1",
    "2 Model B": "0x04 pi2",
    "Compute Module": "0x06 pi1 cm1",
    "3 Model B": "0x08 pi3",
    "Zero": "0x09 pi0",
    "Compute Module 3": "0x0a pi3 cm3",
    "Zero W": "0x0c pi0 pi0w",
    "3 Model B Plus": "0x0d pi3 pi3+",
    "3 Model A Plus": "0x0e pi3 pi3+",
    "4 Model B": "0x11 pi4",
    "Zero 2 W": "0x12 pi0 pi0w pi02",
    "400": "0x13 pi4 pi400",
    "Compute Module 4": "0x14 pi4 cm4",
    "Compute Module 4S": "0x15 pi4 cm4s",
    "5 Model B": "0x17 pi5",
    "Compute Module 5": "0x18 pi5 cm5",
    "500": "0x19 pi5 pi500",
    "Compute Module 5 Lite": "0x1a pi5 cm5",
}
_MODELS = {word for text in _BOARDS.values() for word in text.split()} | {"cm3+"}

#: The firmware ignores the rest of a longer row.
_LONGEST = 98


@dataclass(frozen=True)
class Board:
    """``models`` are the board's words in the table above, ``serial`` is the number that a filter
    names; None if that is not known."""

    models: Optional[frozenset[str]]
    serial: Optional[int]


@dataclass(frozen=True)
class Setting:
    """``doubt`` is a filter that may apply or not; "" if the setting applies for sure."""

    file: str
    key: str
    value: str
    doubt: str = ""


def read_board(root: Root) -> Board:
    model = _device_tree(root, "model").partition(" Rev ")[0]
    words = _BOARDS.get(model.replace("Raspberry Pi ", "", 1))
    # Of sixteen digits the last eight are meant ("The serial number filter").
    digits = re.fullmatch(r"[0-9a-f]*?([0-9a-f]{8})", _device_tree(root, "serial-number"))
    serial = int(digits[1], 16) if digits else None
    return Board(frozenset(words.split()) if words else None, serial)


def reader(root: Root, folder: str) -> Read:
    return lambda file: root.read(f"{folder}/{file}") or ""


def _device_tree(root: Root, name: str) -> str:
    folders = ("/proc/device-tree", "/sys/firmware/devicetree/base")
    texts = (root.read(f"{folder}/{name}") for folder in folders)
    return next(filter(None, texts), "").rstrip("\0\n")


def possible(
    read: Read, board: Board, key: str, default: str, *, tried: bool = False
) -> list[Setting]:
    """The settings of which the firmware takes one: the last that applies for sure, and those
    after it that may apply. ``tried`` asks for a boot with the tryboot flag."""
    found = [Setting("config.txt", key, default)]
    for setting in _settings(read, "config.txt", _Filters(board, tried)):
        if setting.key == key:
            found = [*found, setting] if setting.doubt else [setting]
    return found


class _Filters:
    """The filters in effect. One of a kind replaces the one before, those of different kinds must
    all hold."""

    def __init__(self, board: Board, tried: bool) -> None:
        self._board = board
        self._tried = tried
        self._held: dict[str, tuple[str, Optional[bool]]] = {}

    def take(self, name: str) -> None:
        if name == "all":
            self._held.clear()
            return
        kind, holds = self._judge(name)
        if kind == "model" and "none" in self._held:
            self._held["none"] = ("none", None)  # it is not documented whether a model ends it
        self._held[kind] = (name, holds)

    def _judge(self, name: str) -> tuple[str, Optional[bool]]:
        """The kind of a filter, and whether it holds; None if that cannot be known."""
        if name in ("none", "tryboot"):
            return name, name == "tryboot" and self._tried
        if re.fullmatch(r"(pi|cm)\d\w*\+?|board-type=.*", name):
            return "model", self._is_model(name)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", name):
            known = self._board.serial is not None
            return "serial", int(name, 16) == self._board.serial if known else None
        return re.sub(r"\W.*|\d.*", "", name), None

    def _is_model(self, name: str) -> Optional[bool]:
        number = re.fullmatch(r"board-type=(0x[0-9a-fA-F]+|\d+)", name)
        word = f"{int(number[1], 16 if 'x' in number[1] else 10):#04x}" if number else name
        if self._board.models is None or not (number or word in _MODELS):
            return None
        return word in self._board.models

    @property
    def doubt(self) -> Optional[str]:
        """None if a filter does not hold, "" if all do, else one that cannot be known."""
        if any(holds is False for _, holds in self._held.values()):
            return None
        return next((f"[{name}]" for name, holds in self._held.values() if holds is None), "")


def _settings(read: Read, file: str, filters: _Filters, *above: str) -> Iterator[Setting]:
    """Those of a file and of the files that it includes, without those that do not apply."""
    for row in read(file).splitlines():
        row = row[:_LONGEST].strip()
        words = row.split()
        if row.startswith("["):
            filters.take(row[1:].partition("]")[0].strip())
        elif words[:1] == ["include"] and len(words) == 2 and words[1] not in (file, *above):
            outer = filters.doubt
            for each in _settings(read, words[1], filters, file, *above):
                # Whether an [all] in there ends what stands above the include is not documented.
                yield each if outer == "" else replace(each, doubt=outer or each.doubt or row)
        elif not row.startswith("#") and filters.doubt is not None:
            key, _, value = row.partition("=")
            yield Setting(file, key.strip(), value.strip(), filters.doubt)
