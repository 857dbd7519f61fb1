# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command says of its progress where nobody looks at a terminal."""

from __future__ import annotations

import pytest

from lowlat.base.terminal import Progress


def test_what_has_just_begun_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether there is a first tick depends on the host: two starts would say different things."""
    Progress("measuring stock", 3600).tick()
    assert capsys.readouterr().err == ""
