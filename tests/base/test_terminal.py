# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command says of its progress where nobody looks at a terminal."""

from __future__ import annotations

import pytest

from lowlat.base.terminal import Progress, minutes_left


def test_what_has_just_begun_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether there is a first tick depends on the host: two starts would say different things."""
    Progress("measuring stock", 3600).tick()
    assert capsys.readouterr().err == ""


def test_the_progress_of_a_long_run_tells_the_minutes_left() -> None:
    assert minutes_left(7200, 61) == ", 118 min left"
    assert minutes_left(7200, 7100) == ""
    assert minutes_left(60, 0) == ""
