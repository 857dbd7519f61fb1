# SPDX-License-Identifier: GPL-2.0-or-later
"""Files appear complete or not at all; locks hold the file that currently has the name."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from lowlat.base import files
from lowlat.base.errors import Refused
from support.waits import GUARD_S


def test_what_cannot_be_replaced_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(OSError, match="directory"):
        files.replace(str(target), b"data")
    with pytest.raises(Refused, match=r"--out .*: is there and is not a plain file"):
        files.write("--out", str(target), b"data")
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    files.replace(str(tmp_path / "link"), b"data")
    assert (tmp_path / "link").read_bytes() == b"data" and not (tmp_path / "link").is_symlink()
    assert not (tmp_path / "victim").exists()


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait(GUARD_S)
    target = tmp_path / "x.prom"
    left = tmp_path / f"x.prom.{dead.pid}.new"
    others = (tmp_path / f"x.prom.{os.getppid()}.new", tmp_path / f"y.{dead.pid}.new")
    for path in (left, *others):
        path.touch()
    files.write("--metrics", str(target), b"data")
    assert sorted(tmp_path.iterdir()) == sorted((target, *others)), "of this file, and dead"


def test_who_fails_to_finish_a_file_leaves_none(tmp_path: Path) -> None:
    def refuse(fd: int) -> None:
        raise OSError(1, "no owner of that name")

    with pytest.raises(OSError, match="no owner"):
        files.stage(str(tmp_path / "new"), b"data", finish=refuse)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_file_went_meanwhile_is_none(tmp_path: Path) -> None:
    path, raised = tmp_path / "lock", []

    def wait() -> None:
        try:
            with files.locked(path, os.O_RDWR | os.O_CREAT, wait=60.0):
                pass
        except FileNotFoundError as error:
            raised.append(error)

    with files.locked(path, os.O_RDWR | os.O_CREAT):
        second = threading.Thread(target=wait)
        second.start()
        # By then the second thread has opened the file.
        while not _waits(path):
            second.join(0.01)
        path.unlink()
    second.join()
    assert len(raised) == 1


def _waits(path: Path) -> bool:
    links = (link for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return sum(os.path.realpath(link) == str(path) for link in links) == 2
