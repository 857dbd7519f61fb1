# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts, first layer, on a real file system: each prefix of a verb's writes is replayed on an
ext4 image. Every state that a cut leaves boots the stock entries, and rollback restores the
original state."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from test_bls import FEDORA, make_fedora, try_entry

from lowlat.base.process import find
from support import needs
from support.hosttree import NEEDS, Host, apply_and_try, linux_lines, make
from support.machines import write_tree
from support.powercut import (
    NEEDS_CC,
    Cutting,
    Replayed,
    State,
    distinct_states,
    make_image,
    put,
    replay,
    sample,
    sampled,
)

_TOOLS = ("mke2fs", "e2fsck", "debugfs")

#: The number of states per verb that are checked without LOWLAT_CUTS=1.
_MOST = 2


def _loop_mounts() -> bool:
    """Whether a loop device can be mounted here."""
    script = (
        'set -e; d=$(mktemp -d); trap \'rm -rf "$d"\' EXIT; truncate -s 2M "$d/i"; '
        'mke2fs -q -t ext4 "$d/i"; mkdir "$d/m"; mount -o loop "$d/i" "$d/m"; umount "$d/m"'
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, check=False)
    return done.returncode == 0


pytest_plugins = ["support.hosttree", "support.powercut"]
pytestmark = [
    *NEEDS,
    NEEDS_CC,
    needs.that(all(map(find, _TOOLS)), f"one of {', '.join(_TOOLS)} is not installed"),
    needs.that(_loop_mounts(), "no loop device can be mounted here"),
]


def survive(
    host: Host,
    replayed: Replayed,
    pristine: dict[str, tuple[Any, ...]],
    looks_right: Callable[[State], None],
) -> str:
    """Put the states that cuts leave on the host, one after another: each state passes the check
    and is rolled back. Returns the number of states."""
    tried = sampled(replayed.states, _MOST)
    for state in tried:
        put(state.folder, host)
        looks_right(state)
        answer = host.lowlat("rollback")
        assert (answer.status, answer.err) == (0, ""), (state.where, answer)
        assert host.snapshot() == pristine, state.where
    counts = f"{replayed.cuts} cuts, {len(replayed.states)} distinct states"
    return f"{counts}, {len(tried)} looked at and survived"


def check(host: Host, state: State, stock: dict[str, Any], defaults: set[str]) -> None:
    assert host.chroot("grub-script-check", "/boot/grub/grub.cfg").status == 0, state.where
    lines = linux_lines(host.config)
    assert {ident: lines.get(ident) for ident in stock} == stock, state.where
    assert len((host.path / "boot/grub/grubenv").read_bytes()) == 1024, state.where
    assert host.status()["default"]["entry"] in defaults, state.where


@pytest.mark.parametrize("verb", sample(["promote"], "apply", "trial", "rollback"))
def test_what_a_power_cut_leaves_on_ext4_boots_and_rolls_back(
    tmp_path: Path, cutting: Cutting, tell: Callable[[str], None], verb: str
) -> None:
    host = make(tmp_path / "host", cutting)
    begun = time.monotonic()
    pristine, stock = host.snapshot(), linux_lines(host.config)
    defaults = {host.status()["default"]["entry"]}
    if verb == "trial":
        host.done("apply")
    if verb in ("promote", "rollback"):
        defaults.add(apply_and_try(host))
    if verb == "rollback":
        host.done("promote")
    replayed = distinct_states(host, cutting, tmp_path / "work", verb)
    told = survive(host, replayed, pristine, lambda state: check(host, state, stock, defaults))
    tell(f"{verb} on ext4: {told}, {time.monotonic() - begun:.0f} s")


def check_files(host: Host, state: State, stock: dict[str, bytes], defaults: set[str]) -> None:
    for name, content in stock.items():
        assert (host.path / FEDORA / name).read_bytes() == content, state.where
    assert len((host.path / "boot/grub2/grubenv").read_bytes()) == 1024, state.where
    assert host.status()["default"]["entry"] in defaults, state.where


@pytest.mark.parametrize("verb", sample(["rollback"], "apply", "promote"))
def test_what_a_power_cut_leaves_of_entry_files_boots_and_rolls_back(
    tmp_path: Path, cutting: Cutting, tell: Callable[[str], None], verb: str
) -> None:
    """These are GRUB's entry files: systemd-boot's lie on FAT, which the replay does not
    support."""
    host = make_fedora(tmp_path / "host", cutting)
    pristine, defaults = host.snapshot(), {host.status()["default"]["entry"]}
    stock = {path.name: path.read_bytes() for path in (host.path / FEDORA).glob("*.conf")}
    if verb != "apply":
        defaults.add(try_entry(host, FEDORA))
    if verb == "rollback":
        host.done("promote")
    replayed = distinct_states(host, cutting, tmp_path / "work", verb)
    told = survive(
        host, replayed, pristine, lambda state: check_files(host, state, stock, defaults)
    )
    tell(f"entry files, {verb} on ext4: {told}")


@pytest.mark.parametrize("synced", [True, False])
def test_what_was_not_synced_is_lost(tmp_path: Path, synced: bool) -> None:
    """The replay can fail: a rename without an fsync before it leaves an empty file."""
    host = write_tree(tmp_path / "host", {"etc/a": "old"})
    for name in ("boot", "var"):
        (host / name).mkdir()
    etc = f"{host}/etc"
    rows = [f"1\topen\t{etc}/b\t0\t420\t0\n\n", f"2\twrite\t{etc}/b\t0\t0\t3\nnew\n"]
    if synced:
        rows.append(f"2\tfsync\t{etc}/b\t0\t0\t0\n\n")
    rows.append(f"3\trename\t{etc}/b\t0\t0\t{len(etc) + 2}\n{etc}/a\n")
    log = write_tree(tmp_path, {"log": "".join(rows)}) / "log"
    replayed = replay(log, host, make_image(host, tmp_path / "work"))
    found = {(state.folder / "etc/a").read_text() for state in replayed.states}
    assert found == ({"old", "new"} if synced else {"old", ""})
