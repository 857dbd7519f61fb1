# SPDX-License-Identifier: GPL-2.0-or-later
"""The transaction alone, on a folder: journal first, all or nothing, and an exact restore."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk
from lowlat.boot.transaction import Transaction, edited, roll_back
from lowlat.host.root import Root
from support import needs

THEIRS = "/etc/default/theirs.cfg"
OURS = "/etc/lowlat/deep/ours.conf"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    for name in ("etc/default", "var/lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / THEIRS[1:]).write_bytes(b"by hand \xff\n")
    (tmp_path / THEIRS[1:]).chmod(0o640)
    return Root(str(tmp_path))


def tree(root: Root) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(Path(root.path).rglob("*")):
        held = path.lstat()
        content: object = path.readlink() if path.is_symlink() else None
        if path.is_file() and not path.is_symlink():
            names = os.listxattr(path)
            content = (path.read_bytes(), {name: os.getxattr(path, name) for name in names})
        found[str(path.relative_to(root.path))] = (held.st_mode, held.st_uid, held.st_gid, content)
    return found


def change(root: Root) -> None:
    with Transaction(root) as made:
        made.write(THEIRS, "ours\n")
        made.write(OURS, "ours\n", 0o755)
        made.link("/etc/lowlat/link", "deep/ours.conf")


def back(root: Root) -> list[str]:
    disk = Disk(root)
    kept = roll_back(disk, journals.read(disk))
    disk.remove(journals.JOURNAL)
    disk.remove("/var/lib/lowlat/lock")
    disk.remove_folder("/var/lib/lowlat")
    return kept


def test_back_to_the_byte_with_mode_owner_and_attributes(root: Root) -> None:
    theirs = Path(root.host(THEIRS))
    try:
        os.setxattr(theirs, "user.note", b"kept \0")
    except OSError:
        needs.absent("this file system has no user attributes")
    if os.geteuid() == 0:
        os.chown(theirs, 1234, 4321)
    before = tree(root)
    change(root)
    assert theirs.read_text() == "ours\n"
    assert Path(root.host(OURS)).stat().st_mode & 0o777 == 0o755
    assert back(root) == []
    assert tree(root) == before


def test_back_without_extended_attributes(root: Root) -> None:
    before = tree(root)
    change(root)
    change(root)
    assert back(root) == []
    assert back(root) == []
    assert tree(root) == before


def test_a_link_of_somebodys_is_put_back_as_a_link(root: Root) -> None:
    Path(root.host("/etc/default/a-link")).symlink_to("theirs.cfg")
    before = tree(root)
    with Transaction(root) as made:
        made.write("/etc/default/a-link", "a file now\n")
    assert Path(root.host(THEIRS)).read_bytes() == b"by hand \xff\n"
    back(root)
    assert tree(root) == before


def test_what_fails_in_the_middle_leaves_nothing(root: Root) -> None:
    before = tree(root)
    with pytest.raises(Refused, match="no further"), Transaction(root) as made:
        made.write(THEIRS, "ours\n")
        made.write(OURS, "ours\n")
        raise Refused("no further")
    assert tree(root) == before


def test_what_fails_on_top_of_an_earlier_change_leaves_that(root: Root) -> None:
    change(root)
    applied = tree(root)
    with pytest.raises(Refused), Transaction(root) as made:
        made.write(THEIRS, "again\n")
        made.discard(OURS)
        made.put_back("/etc/lowlat/link")
        raise Refused("no further")
    assert tree(root) == applied


def test_what_is_there_already_is_not_written(root: Root) -> None:
    change(root)
    times = {path: path.lstat().st_mtime_ns for path in Path(root.path).rglob("*.c*")}
    change(root)
    assert {path: path.lstat().st_mtime_ns for path in times} == times


def test_an_edited_file_is_kept_and_told(root: Root) -> None:
    change(root)
    Path(root.host(OURS)).write_text("by hand\n")
    with pytest.raises(Refused, match="edited"):
        change(root)
    disk = Disk(root)
    assert edited(disk, journals.read(disk)) == [OURS]
    assert back(root) == [OURS]
    assert Path(root.host(OURS)).read_text() == "by hand\n"
    assert Path(root.host(THEIRS)).read_bytes() == b"by hand \xff\n"


def test_two_runs_at_once_are_refused(root: Root) -> None:
    with Transaction(root) as made:
        made.write(OURS, "ours\n")
        with pytest.raises(Refused, match="another lowlat-gen"):
            change(root)
    change(root)


@pytest.mark.parametrize("where", ["/etc/lowlat", "/var/lib/lowlat", "/var/lib", "/etc"])
def test_nothing_is_written_through_a_link(root: Root, where: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    place = Path(root.host(where))
    if place.exists():
        place.rename(elsewhere)
    else:
        elsewhere.mkdir()
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(Refused, match="symbolic link"):
        change(root)
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("name", ["journal.json", "journal.json.lowlat~", "lock", "decision.json"])
def test_a_link_planted_in_the_state_folder_is_not_followed(
    root: Root, name: str, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.write_text("precious\n")
    state = Path(root.host("/var/lib/lowlat"))
    state.mkdir()
    (state / name).symlink_to(target)
    try:
        change(root)
    except LowlatError as error:
        assert name.partition(".")[0] in str(error)
    assert target.read_text() == "precious\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"schema": "lowlat.journal/1", "entries": {"../etc": {}}, "folders": []}',
        '{"schema": "lowlat.journal/1", "entries": {}, "folders": ["etc"]}',
        '{"schema": "lowlat.journal/1", "entries": {"/a": {"before": {"content": "?"}}}}',
    ],
)
def test_a_damaged_journal_is_refused_and_left(root: Root, text: str) -> None:
    journal = Path(root.host(journals.JOURNAL))
    journal.parent.mkdir()
    journal.write_text(text)
    before = tree(root)
    with pytest.raises(Refused, match="damaged"):
        change(root)
    after = tree(root)
    after.pop("var/lib/lowlat/lock", None)
    assert after == before


@needs.root("others' folders are refused for root")
def test_a_state_folder_that_others_can_write_is_refused(root: Root) -> None:
    state = Path(root.host("/var/lib/lowlat"))
    state.mkdir()
    state.chmod(0o775)
    with pytest.raises(Refused, match="others than root"):
        change(root)
