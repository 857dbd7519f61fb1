# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call of ``runtime`` that writes fails with a system error: stop restores everything whatever
the result of start, and a second stop does so whatever the result of the first. LOWLAT_CUTS=1 tries
every call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_runtime import MADVISE, VALUES, contents

from support import faults
from support.cli import GEN, lowlat
from support.machines import machine, write_tree
from support.powercut import sample, sampled

pytest_plugins = ["support.powercut"]
pytestmark = pytest.mark.security

_MOST = 4


@pytest.mark.parametrize("fault", sample(["EIO", "ENOSPC"], "EINTR", "EROFS"))
@pytest.mark.parametrize("action", ["start", "stop"])
def test_an_error_in_any_call_is_put_right_by_a_stop(
    tmp_path: Path, tell: Callable[[str], None], action: str, fault: str
) -> None:
    values = {**VALUES, **MADVISE}
    before = {name: text.strip() for name, text in values.items()}
    lowlat_of = [*GEN, "runtime"]

    def attempt(folder: Path, fault: str, at: int) -> faults.Faulted:
        root = write_tree(folder, {**machine(), **values})
        plan = lowlat("plan", "--root", root, "--json").out
        write_tree(root, {"var/lib/lowlat/plan.json": plan})
        if action == "stop":
            assert lowlat("runtime", "start", "--root", root).status == 0
        done = faults.run([*lowlat_of, action, "--root", root], root, fault, at)
        assert "Traceback" not in done.err and len(done.err.splitlines()) <= 1, (at, done)
        # Python retries a call that a signal interrupted; a refusal during an interrupt is not a
        # failure.
        irq = "/smp_affinity" if action == "start" else "none"
        failed = [call for call in done.failed if fault != "EINTR" and not call.endswith(irq)]
        assert bool(done.status) == bool(failed) and done.status in (0, 1, 2), (at, done)
        # Unlike these files, the kernel's files are not emptied when a program opens them.
        for name in VALUES:
            if not (root / name).read_text():
                (root / name).write_text(values[name])
        again = lowlat("runtime", "stop", "--root", root)
        assert again.status == 0, (at, done, again)
        now = {name: text.strip() for name, text in contents(root).items()}
        assert now == before, (at, done)
        left = [path.name for path in (root / "run").rglob("*.new")]
        assert not left or any("unlink" in call for call in done.failed), (at, done)
        return done

    count = len(attempt(tmp_path / "0", "", 0).calls)
    tried = sampled(range(1, count + 1), _MOST)
    for at in tried:
        attempt(tmp_path / str(at), fault, at)
    tell(f"runtime {action}: {fault} in {len(tried)} of {count} calls, {len(tried)} survived")
