# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks outside of the package: an upgrade replaces them, and they wait for a lock."""

from __future__ import annotations

import fcntl
import hashlib
import json
from pathlib import Path

import pytest
from test_bls import FEDORA, ID, fedora

from support import waits
from support.hosttree import NEEDS, OLDER, REPOSITORY, Host, entries_of

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.security]

__all__ = ["fedora"]

SCRIPT = "etc/grub.d/99_lowlat"
OLD = "#!/bin/sh\n# As an earlier version had it.\n"


def as_earlier(host: Host, name: str) -> None:
    """Imitate a file that an earlier version wrote."""
    path, journal_path = host.path / name, host.path / "var/lib/lowlat/journal.json"
    path.write_text(OLD)
    held, journal = path.stat(), json.loads(journal_path.read_text())
    kind = f"{held.st_mode & 0o7777:o} {held.st_uid} {held.st_gid}"
    digest = hashlib.sha256(f"{kind}\0{OLD}".encode()).hexdigest()
    journal["entries"][f"/{name}"]["ours"] = [digest]
    journal_path.write_text(json.dumps(journal))


def upgrade_script(kind: str) -> str:
    """The script that the package runs after unpacking, for dpkg and for rpm."""
    if kind == "deb":
        return (REPOSITORY / "packaging/debian/lowlat.postinst").read_text()
    spec = (REPOSITORY / "packaging/rpm/lowlat.spec").read_text()
    return spec.partition("%systemd_post %{units}\n")[2].partition("%preun")[0]


@pytest.mark.parametrize(("kind", "words"), [("deb", ("configure", "0.0.1")), ("rpm", ("2",))])
def test_an_upgrade_brings_the_hooks_of_its_version(
    host: Host, kind: str, words: tuple[str, ...]
) -> None:
    before = host.snapshot()
    host.done("apply")
    applied, config = host.read(SCRIPT), host.config
    units = sorted((host.path / "etc/systemd/system").glob("lowlat-*"))
    for path in units:
        as_earlier(host, str(path.relative_to(host.path)))
    as_earlier(host, SCRIPT)
    host.write("tmp/script", upgrade_script(kind))
    answer = host.chroot("sh", "/tmp/script", *words)
    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert host.read(SCRIPT) == applied and host.config == config
    assert all(path.read_text() != OLD for path in units)
    host.update_grub()
    assert host.config == config
    host.done("rollback")
    assert host.snapshot() == before


def test_an_upgrade_leaves_what_somebody_edited_and_says_so(host: Host) -> None:
    host.done("apply")
    host.write(SCRIPT, OLD)
    answer = host.lowlat("boot", "upgrade")
    assert answer.status == 0
    assert answer.err == f"lowlat: /{SCRIPT} was edited since lowlat wrote it: it stays as it is\n"
    assert host.read(SCRIPT) == OLD


def test_an_upgrade_where_nothing_is_applied_does_nothing(host: Host) -> None:
    before = host.snapshot()
    host.done("boot", "upgrade")
    assert host.snapshot() == before


@pytest.mark.parametrize("hook", ["kernel", "start", "record"])
def test_hooks_wait_for_the_lock(fedora: Host, hook: str) -> None:
    fedora.done("apply")
    (fedora.path / FEDORA / f"{ID}-{OLDER}.conf").unlink()
    words = ("chroot", fedora.path, "/usr/bin/lowlat-gen", "boot", hook)
    if hook == "kernel":
        words = ("chroot", fedora.path, "/etc/kernel/install.d/95-lowlat.install", "remove", OLDER)
    lock: Path = fedora.path / "var/lib/lowlat/lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = fedora.namespace.beside(*words)
        waits.at(waiting.pid, lock)
        assert waiting.poll() is None
    out, err = waiting.communicate(timeout=waits.GUARD_S)
    assert (waiting.returncode, err) == (0, ""), (out, err)
    if hook == "kernel":
        assert OLDER not in entries_of(fedora)
