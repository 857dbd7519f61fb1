# SPDX-License-Identifier: GPL-2.0-or-later
"""`tune` takes a Debian 13 machine through its boots by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boots
import image
import pytest
from journey import Journey, packages_or_skip

pytestmark = [pytest.mark.vm, pytest.mark.full]

_BEGIN = """set -e
dpkg --install libjansson4_*.deb lowlat*.deb
lowlat-gen tune --profile lowlat --boots 1 --reboot --duration 2s --warmup 5s
sleep infinity
"""

#: Its own unit reboots; what the host asked for waits for the end of the loop, in a stock boot.
_WAIT = """
until lowlat-gen tune --status --json >tune.json && grep -q '"phase": "done"' tune.json &&
	! grep -q lowlat.plan /proc/cmdline; do
	sleep 5
done
lowlat-gen status --json >status.json
cat /proc/cmdline >cmdline
"""

#: One stock and one tuned boot, and the stock one in which the loop is found at its end.
_MOST = 4


@pytest.fixture(scope="module")
def ended() -> Iterator[Path]:
    """What the machine left when the loop was done."""
    packages = image.packages_or_skip(image.image_or_skip(), "libjansson4")
    with boots.work_folder() as name:
        share = Journey(Path(name), *packages_or_skip(), *packages).share
        (share / "task").write_text(_BEGIN)
        guest = boots.installed_or_skip(Path(name)).boot(share)
        (share / "task").write_text(_WAIT)
        for _ in range(_MOST):
            guest = guest.boot(share)
            if (share / "status").exists():
                break
        assert (share / "status").read_text() == "0\n", guest.tail
        yield share


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_loop_walks_to_its_end(ended: Path) -> None:
    state = _json(ended / "tune.json")
    assert state["outcome"] == "compared", state["why"]
    assert sorted(leg["arm"] for leg in state["legs"]) == ["stock", "tuned"]
    assert "lowlat.plan" not in (ended / "cmdline").read_text()
    assert _json(ended / "status.json")["default"]["ours"] is False
