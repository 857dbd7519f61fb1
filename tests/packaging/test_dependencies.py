# SPDX-License-Identifier: GPL-2.0-or-later
"""Installing TuneD by `make setup` must not start it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support import waits

pytestmark = pytest.mark.place

INSTALL = Path(__file__).parents[2] / "packaging/install-dependencies"

#: The function hold_tuned alone, with a policy file of the test; afterwards the script asks as the
#: package manager would.
_HOLD = """
eval "$(sed -n '/^hold_tuned()/,/^}/p' "$1")"
policy=$2
hold_tuned
ask() { "$policy" "$@" && echo yes || echo "no: $?"; }
ask tuned start
ask tuned.service restart
ask cron start
ask tuned-ppd.service start
"""


def hold(policy: Path) -> list[str]:
    words = ["sh", "-euc", _HOLD, "sh", str(INSTALL), str(policy)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=waits.GUARD_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_tuned_alone_is_kept_from_starting_and_only_meanwhile(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    assert hold(policy) == ["no: 101", "no: 101", "yes", "yes"]
    assert not policy.exists()


def test_what_was_left_behind_by_a_power_cut_holds_nothing(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    killed = f'{_HOLD}\ncp "$policy" "$policy.left"\n'
    words = ["sh", "-euc", killed, "sh", str(INSTALL), str(policy)]
    assert (
        subprocess.run(words, capture_output=True, check=False, timeout=waits.GUARD_S).returncode
        == 0
    )
    left = policy.with_name("policy-rc.d.left")
    assert os.access(left, os.X_OK)
    assert (
        subprocess.run([str(left), "tuned", "start"], check=False, timeout=waits.GUARD_S).returncode
        == 0
    )


def test_the_administrators_policy_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 0\n")
    policy.chmod(0o755)
    assert hold(policy) == ["yes"] * 4
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"
