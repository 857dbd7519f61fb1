# SPDX-License-Identifier: GPL-2.0-or-later
"""A Machine becomes JSON and is read back unchanged; an error names the wrong value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.typed_json import Mistyped
from lowlat.host.archive import open_root
from lowlat.model.machine import Machine
from lowlat.probe import probe

MACHINE = Path(__file__).parents[1] / "machines" / "qemu-x86-2s4c-2n-devices.txt"


def test_a_machine_is_read_back() -> None:
    document = json.loads(json.dumps(probe(open_root(str(MACHINE))).to_json()))
    assert Machine.from_json(document).to_json() == document


def test_what_is_wrong_in_a_machine_is_named() -> None:
    document: Any = probe(open_root(str(MACHINE))).to_json()
    document["cores"][1]["package"] = "0"
    with pytest.raises(Mistyped, match=r"^machine\.cores\[1\]\.package: a whole number"):
        Machine.from_json(document)
