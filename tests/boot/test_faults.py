# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call that writes fails with a system error: the stock entries stay, one line names the
error, no file is half-written if the undo works, and rollback restores the earlier state.

LOWLAT_CUTS=1 (`make proofs NAME=faults`) tries every call; otherwise the tests try a sample.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.cutting import Cut, Tell, check_survives
from support.hosttree import NEEDS, apply_and_try, make
from support.powercut import NEEDS_CC, Cutting, calls, sample, sampled

pytest_plugins = ["support.hosttree", "support.powercut", "support.cutting"]
pytestmark = [*NEEDS, NEEDS_CC, pytest.mark.security]

#: By name: an error of one call, or of all calls from that one on, as on a disk that is full or was
#: remounted read-only.
FAULTS: Mapping[str, Mapping[str, str]] = {
    name: {
        "LOWLAT_CUT_ERRNO": str(getattr(errno, name)),
        **({"LOWLAT_CUT_LASTING": "1"} if name in ("ENOSPC", "EROFS") else {}),
    }
    for name in ("EIO", "EINTR", "ENOSPC", "EROFS")
}

_MOST = 2


@pytest.mark.parametrize("fault", sample(["EIO", "ENOSPC"], "EINTR", "EROFS"))
@pytest.mark.parametrize("verb", sample(["apply", "promote"], "trial", "rollback"))
def test_an_error_in_any_call_is_survived(
    tmp_path: Path, cutting: Cutting, kept: Path, tell: Tell, verb: str, fault: str
) -> None:
    host = make(tmp_path / "host", cutting)
    cut = Cut(host, cutting, kept)
    defaults = {host.status()["default"]["entry"]}
    if verb == "trial":
        host.done("apply")
    if verb in ("promote", "rollback"):
        defaults.add(apply_and_try(host))
    if verb == "rollback":
        host.done("promote")
    cut.keep()
    before = host.snapshot()
    assert cutting.run(host, -1, verb, **FAULTS[fault]).status == 0
    count = calls(host)
    tried = sampled(range(1, count + 1), _MOST)
    for at in tried:
        cut.again()
        where = f"{verb}, {fault} in call {at} of {count}"
        answer = cutting.run(host, at, verb, **FAULTS[fault])
        # Status 1: the verb could not undo its changes, and the line says how to.
        assert answer.status in (0, 1, 2), (where, answer)
        lines = [line for line in answer.err.splitlines() if line.startswith("lowlat-gen: ")]
        assert len(lines) == bool(answer.status), (where, answer)
        assert answer.status != 1 or "run 'lowlat-gen rollback'" in lines[0], (where, answer)
        if answer.status == 2 and verb != "rollback" and fault in ("EIO", "EINTR"):
            assert _content(host.snapshot()) == _content(before), where
        check_survives(cut, where, defaults)
    tell(f"{verb}: {fault} in {len(tried)} of {count} calls, {len(tried)} survived")


def _content(found: Mapping[str, object]) -> dict[str, object]:
    """The files without the lock, which a rollback removes when it starts again, and without the
    lock's folder, which stays empty if the lock cannot be made."""
    return {name: held for name, held in found.items() if name not in _LOCK}


_LOCK = ("var/lib/lowlat", "var/lib/lowlat/lock")
