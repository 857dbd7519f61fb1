# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd judges the units without starting them: the sandbox is as strict as their work allows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lowlat.base import resources
from support import needs
from support.waits import GUARD_S

pytestmark = [
    pytest.mark.security,
    needs.program("systemd-analyze"),
]

#: The highest exposure level that each unit may have, of 10.
MOST = {"boot": 4.0, "trial": 4.0, "watch": 4.0, "tune": 6.0}


def _unit(name: str) -> Path:
    return resources.templates() / "systemd" / f"lowlat-{name}.service"


@pytest.mark.parametrize("name", MOST)
def test_a_unit_is_exposed_no_more_than_its_work_needs(name: str) -> None:
    argv = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(_unit(name))]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, check=False)
    if "unrecognized option" in ended.stderr:
        needs.absent("this systemd-analyze judges only units that are loaded")
    found = re.search(r"Overall exposure level .*: ([0-9.]+)", ended.stdout)
    assert found is not None, ended
    assert float(found[1]) <= MOST[name], ended.stdout


@pytest.mark.parametrize("name", MOST)
def test_systemd_knows_every_directive_of_a_unit(name: str, tmp_path: Path) -> None:
    unit = tmp_path / f"lowlat-{name}.service"
    text = _unit(name).read_text().replace("/usr/bin/lowlat-gen", "/bin/true")
    unit.write_text(re.sub(r"(?m)^Documentation=.*\n", "", text))
    argv = ["systemd-analyze", "verify", str(unit)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_S, check=False)
    told = [line for line in ended.stderr.splitlines() if unit.name in line]
    assert (ended.returncode, told) == (0, []), ended.stderr
