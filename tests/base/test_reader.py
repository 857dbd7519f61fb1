# SPDX-License-Identifier: GPL-2.0-or-later
"""The one door for files that others gave: a plain file, inside the folder given, of a size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lowlat.base import bounds, reader
from lowlat.host.root import Root
from support import needs, work
from support.odd_files import ODD

pytestmark = pytest.mark.security


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_plain_file_is_not_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "given"
    ODD[kind](path)
    for inside in (None, tmp_path):
        with work.bounded(kind), pytest.raises(OSError, match="."):
            reader.read(path, 1 << 20, inside=inside)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"x" * 2048)
    assert reader.read(path, 2048) == b"x" * 2048
    assert reader.read(path, 1024, whole=False) == b"x" * 1024
    with pytest.raises(OSError, match="larger than 1 KiB"):
        reader.read(path, 1024)
    # The kernel's files have no size.
    assert reader.read("/proc/self/stat", 1 << 20).startswith(b"%d " % os.getpid())


WAYS_OUT = ("{out}", "../out", "folder/../../out", "up/out", "again")


@pytest.mark.parametrize("target", WAYS_OUT)
def test_no_link_leads_out_of_the_folder(target: str, tmp_path: Path) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    (given / "folder").mkdir(parents=True)
    out.write_text("secret")
    (given / "up").symlink_to("..")
    (given / "again").symlink_to("up/out")
    path = given / "file"
    path.symlink_to(target.format(out=out))
    assert reader.read(path, 100) == b"secret"
    for folder in (given, tmp_path / "given/../given", given / "folder/.."):
        with pytest.raises(OSError, match="leads out of"):
            reader.read(path, 100, inside=folder)
    assert Root(str(given)).read("/file") is None


def test_links_within_the_folder_are_followed(tmp_path: Path) -> None:
    given = tmp_path / "given"
    (given / "folder").mkdir(parents=True)
    (given / "folder/file").write_text("text")
    (given / "link").symlink_to("folder/file")
    (tmp_path / "way").symlink_to(given)
    for folder in (given, tmp_path / "way"):
        assert reader.read(folder / "link", 100, inside=folder) == b"text"
        assert reader.list_folder(folder, inside=folder) == ["folder", "link"]
    with pytest.raises(OSError, match="not a plain file"):
        reader.read(given / "link", 100, follow=False)
    (given / "out").symlink_to(tmp_path)
    with pytest.raises(OSError, match="leads out of"):
        reader.list_folder(given / "out", inside=given)


def test_a_folder_with_more_names_than_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "FOLDER", 2)
    for name in "ab":
        (tmp_path / name).touch()
    assert reader.list_folder(tmp_path) == ["a", "b"]
    (tmp_path / "c").touch()
    with pytest.raises(OSError, match="more names"):
        reader.list_folder(tmp_path)


def test_a_line_of_any_length_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LINE", 4)
    (tmp_path / "file").write_bytes(b"ab\nabcdefg\n\xff")
    assert list(reader.read_lines(tmp_path / "file")) == ["ab\n", "abcd", "efg\n", "\ufffd"]


@pytest.mark.root
def test_a_device_is_not_opened(tmp_path: Path) -> None:
    """No driver has this number: an open would say so."""
    if os.geteuid() != 0:
        needs.absent("makes a device: needs root")
    path = tmp_path / "device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(10, 255))
    except PermissionError:
        needs.absent("this machine lets nobody make a device")
    with pytest.raises(OSError, match="not a plain file"):
        reader.read(path, 100)
