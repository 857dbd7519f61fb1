# SPDX-License-Identifier: GPL-2.0-or-later
"""Which settings of config.txt apply, compared with the stand-in firmware of pi_firmware.py."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.boot import config_txt
from lowlat.boot.config_txt import Board
from lowlat.host.root import Root
from support import pi_firmware
from support.machines import write_tree

_PI4 = Board(frozenset({"pi4", "0x11"}), 0x1234)
_HOLDING = ("[pi4]", "[board-type=0x11]", "[0x1234]")
_NOT = ("[none]", "[pi5]", "[cm4]", "[pi3+]", "[board-type=0x17]", "[0x4321]", "[tryboot]")
_UNKNOWN = ("[gpio4=1]", "[gpio17=0]", "[EDID=A-B]", "[boot_partition=2]")
_SETTINGS = [f"{key}={value}" for key in ("cmdline", "os_prefix", "kernel") for value in "abc"]
_ROWS = st.sampled_from(["[all]", *_HOLDING, *_NOT, *_UNKNOWN, *_SETTINGS, *_SETTINGS, "# [all]"])
_TEXTS = st.lists(_ROWS, max_size=8).map("\n".join)


@given(_TEXTS, _TEXTS, _TEXTS, st.booleans())
def test_what_the_firmware_may_choose_is_told(
    before: str, included: str, after: str, tried: bool
) -> None:
    main = f"{before}\ninclude more.txt\n{after}"
    files = {"config.txt": main, "tryboot.txt": main, "more.txt": included}
    told = [
        config_txt.possible(files.__getitem__, _PI4, key, default, tried=tried)
        for key, default in (("os_prefix", ""), ("cmdline", "cmdline.txt"))
    ]
    names = {f"{prefix.value}{name.value}" for prefix, name in itertools.product(*told)}
    count = range(len(_UNKNOWN) + 1)
    worlds = itertools.chain(*(itertools.combinations(_UNKNOWN, size) for size in count))
    chosen = {
        pi_firmware.choose(files.__getitem__, tried, (*_HOLDING, *world)).cmdline
        for world in worlds
    }
    assert chosen <= names
    undocumented = "[none]" in f"{main}{included}" or "[" in before and "[all]" in included
    if not undocumented and not any(name in f"{main}{included}" for name in _UNKNOWN):
        assert chosen == names


@pytest.mark.parametrize(
    ("model", "holding"),
    [
        ("Raspberry Pi Model B Plus Rev 1.2", "pi1 board-type=0x3"),
        ("Raspberry Pi 3 Model A Plus Rev 1.0", "pi3 pi3+ board-type=0x0e"),
        ("Raspberry Pi Zero 2 W Rev 1.0", "pi0 pi0w pi02 board-type=18"),
        ("Raspberry Pi 400 Rev 1.0", "pi4 pi400"),
        ("Raspberry Pi Compute Module 4 Rev 1.1", "pi4 cm4 board-type=0x14"),
        ("Raspberry Pi 500 Rev 1.0", "pi5 pi500"),
        ("Raspberry Pi Compute Module 5 Lite Rev 1.0", "pi5 cm5 board-type=0x1A"),
    ],
)
@pytest.mark.parametrize("folder", ["proc/device-tree", "sys/firmware/devicetree/base"])
def test_filters_of_models(model: str, holding: str, folder: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {f"{folder}/model": f"{model}\0"})
    board = config_txt.read_board(Root(str(tmp_path)))
    others = "pi1 pi2 pi3 pi3+ pi4 pi400 cm4 cm4s pi5 pi500 cm5 pi0 pi0w pi02 board-type=0x7f"
    names = {name for name in others.split() if _doubt(board, name) == ""}
    assert names == {name for name in holding.split() if "=" not in name}
    assert all(_doubt(board, name) == "" for name in holding.split())
    assert all(_doubt(board, name) is None for name in set(others.split()) - names)


@pytest.mark.parametrize("name", ["pi6", "cm3+", "board-type=x", "0x1", "HDMI:0", "a=b", "", "PI4"])
def test_what_is_not_known_is_in_doubt(name: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {"proc/device-tree/model": "Raspberry Pi Compute Module 3 Plus Rev 1.0"})
    unknown = config_txt.read_board(Root(str(tmp_path)))
    assert _doubt(unknown, name) == f"[{name}]" and _doubt(unknown, "pi3") == "[pi3]"


def test_whether_a_model_ends_none_is_in_doubt() -> None:
    assert _doubt(_PI4, "none]\n[pi4") == "[none]" and _doubt(_PI4, "none]\n[gpio4=1") is None


def test_whether_an_included_file_ends_what_stands_above_it_is_in_doubt() -> None:
    files = {"config.txt": "[pi5]\ninclude more.txt\n", "more.txt": "x=1\n[all]\nx=2\n"}
    found = config_txt.possible(files.__getitem__, _PI4, "x", "")
    assert [(each.value, each.doubt) for each in found] == [("", ""), ("2", "include more.txt")]


def test_the_rest_of_a_long_row_is_ignored() -> None:
    text = f"cmdline={'a' * 200}\n"
    assert config_txt.possible(lambda _: text, _PI4, "cmdline", "")[0].value == "a" * 90


def _doubt(board: Board, name: str) -> str | None:
    """The doubt of a setting below this filter; None if it does not apply."""
    found = config_txt.possible(lambda _: f"[{name}]\nx=1\n", board, "x", "")
    return found[-1].doubt if found[-1].value else None
