# SPDX-License-Identifier: GPL-2.0-or-later
"""A rehearsal trusts neither its folder nor its guest: each test tries an attack of one of them on
the host."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused
from lowlat.base.typed_json import encode
from lowlat.model.cpuset import CpuSet
from lowlat.rehearse import enclosure, exchange, qemu, store
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.options import RehearseOptions
from support import needs
from support.cli import lowlat_process as lowlat
from support.machines import write_tree
from support.rehearsal import RehearsalBench

pytestmark = [pytest.mark.security, pytest.mark.slow]

needs_root = needs.root("gives files to another user")


@pytest.fixture
def bench(tmp_path: Path) -> RehearsalBench:
    return RehearsalBench(tmp_path)


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("option", ["--out", "--resume"])
@pytest.mark.parametrize("theirs", ["out", "."])
def test_root_works_in_no_folder_of_another_user(option: str, theirs: str, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "out"
    folder.mkdir(parents=True)
    os.chown(tmp_path / "home" if theirs == "." else folder, 1000, 1000)
    refused = lowlat("rehearse", option, folder).refused()
    assert f"{option} {folder}: others than root can write" in refused
    assert list(folder.iterdir()) == []


@pytest.mark.root
@needs_root
def test_a_request_that_another_user_put_there_meanwhile_is_not_taken(tmp_path: Path) -> None:
    store.Request(RehearseOptions(), (), {}).make(tmp_path / "out")
    assert store.resumed(tmp_path / "out")
    os.chown(tmp_path / "out", 1000, 1000)
    with pytest.raises(Refused, match="others than root can write"):
        store.resumed(tmp_path / "out")


def test_a_link_in_place_of_the_request_is_not_written_through(bench: RehearsalBench) -> None:
    bench.out.mkdir()
    (bench.out / "request.json").symlink_to(bench.folder / "victim")
    status, _, err = bench.matrix("--isolate", "2-3")
    assert (status, err.count("\n")) == (2, 1)
    assert not (bench.folder / "victim").exists() and not bench.notes.exists()


def _renamed(arms: Any) -> None:
    arms[1]["name"] = "../../victim"


def _line(arms: Any) -> None:
    arms[1]["line"] += " init=/bin/sh"


def _setting(arms: Any) -> None:
    arms[1]["plan"]["runtime"][0]["target"] = "/etc/passwd"


def _none_stock(arms: Any) -> None:
    del arms[0]


def _lost_base(arms: Any) -> None:
    arms[1]["base"] = "nobody"


def _twice(arms: Any) -> None:
    arms.append(arms[1])


def _no_plan(arms: Any) -> None:
    del arms[1]


def test_plans_of_another_hand_are_refused(bench: RehearsalBench) -> None:
    (bench.folder / "victim").mkdir()
    (bench.folder / "victim/kept").touch()
    bench.matrix("--isolate", "2-3")
    path = bench.out / "6.12.1" / "arms.json"
    written = path.read_text()
    for change in (_renamed, _line, _setting, _none_stock, _lost_base, _twice, _no_plan):
        arms = json.loads(written)
        change(arms)
        path.write_text(json.dumps(arms))
        status, _, err = bench.call("--resume", str(bench.out))
        assert (status, err.count("\n")) == (2, 1), change
        assert (bench.folder / "victim/kept").exists()


#: A guest with the host's rights: each line of the script runs in the shared folder.
HOSTILE = """\
status = stand_in_guest.main(sys.argv)
import os
share = stand_in_guest.shared(sys.argv)
if share.parent.name == "stock-1":
    {deed}
    with open(os.environ[stand_in_guest.NOTES], "a") as notes:
        notes.write("deed\\n")
sys.exit(status)
"""


@pytest.mark.parametrize(
    "deed",
    [
        "(share / 'stock-1.json').unlink(); os.symlink({secret!r}, share / 'stock-1.json')",
        "(share / 'facts.json').unlink(); os.symlink({secret!r}, share / 'facts.json')",
        "(share / 'stock-1.json').unlink(); os.mkfifo(share / 'stock-1.json')",
        "os.symlink({secret!r}, share / 'dmesg.txt'); (share / 'facts.json').chmod(0o4755)",
        "os.chdir(share); [(os.mkdir('d'), os.chdir('d')) for _ in range(3000)]",
        "os.symlink('/', share / 'root')",
    ],
)
def test_what_a_guest_leaves_is_taken_as_plain_files_or_not(
    bench: RehearsalBench, deed: str
) -> None:
    secret = bench.folder / "secret"
    secret.write_text("secret")
    program = bench.runner.read_text().partition("sys.exit(")[0]
    bench.runner.write_text(program + HOSTILE.format(deed=deed.format(secret=str(secret))))
    bench.forked = False
    _, _, err = bench.matrix("--isolate", "2-3")
    assert "deed" in bench.booted()
    assert "Traceback" not in err and err.count("\n") <= 1
    assert secret.read_text() == "secret"
    for path in bench.out.rglob("*"):
        mode = path.lstat().st_mode
        assert (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and not mode & 0o6000, path
        assert not path.is_file() or b"secret" not in path.read_bytes()
    assert not list(bench.out.rglob(exchange.SHARE))


def test_facts_that_are_no_cpus_are_no_facts(tmp_path: Path) -> None:
    facts = exchange.Facts("", CpuSet(), CpuSet(), (), "", (), {}, "")
    (tmp_path / "facts.json").write_text(json.dumps({**encode(facts), "isolated": "x-y"}))
    with pytest.raises(Exception, match="left no result"):
        exchange.read_facts(tmp_path)


@pytest.mark.parametrize("release", ["../../x", "", ".", "a/b", "a\nb", "x" * 200])
def test_a_kernel_that_calls_itself_a_path_is_refused(release: str) -> None:
    with pytest.raises(Refused, match="is no kernel's release"):
        BootableKernel(release, Path("/boot/vmlinuz"))


# ------------------------------------------------------------------ without root's rights


@pytest.mark.parametrize(
    ("version", "words"),
    [("7.2.22", "-runas 65534:65534"), ("9.1.0", "-run-with user=65534:65534")],
)
def test_roots_qemu_gives_its_rights_up(
    version: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "_version", lambda: version)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert " ".join(qemu.drop_privileges_argv()) == words
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert qemu.drop_privileges_argv() == ()


@pytest.mark.root
@needs_root
def test_of_a_closed_folder_a_guest_finds_what_it_runs_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    clone = home / "clone" / "deep"
    clone.mkdir(parents=True)
    (clone / "program").symlink_to("../build")
    (clone.parent / "build").write_text("found")
    (home / "key").write_text("secret")
    (home / "image").write_text("image")
    home.chmod(0o700)
    tmp_path.chmod(0o755)
    paths = [clone, home / "image", clone / "program"]
    look = f"find {home} -type f; cat {clone}/program {home}/image; touch {clone}/made {home}/gone"
    argv = enclosure.argv(paths, ["sh", "-c", look])
    # The folder of a user who hopes that root works there.
    write_tree(tmp_path, {"theirs/lowlat/__init__.py": "raise SystemExit('as root')\n"})
    theirs = tmp_path / "theirs"
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=theirs)
    if "Operation not permitted" in ended.stderr:
        needs.absent("this machine lets nobody mount")
    assert sorted(ended.stdout.split()) == [f"{clone.parent}/build", f"{home}/image", "foundimage"]
    assert (clone / "made").exists() and not (home / "gone").exists()
    assert (home / "key").read_text() == "secret"


@pytest.mark.root
@needs_root
def test_what_a_guest_runs_on_and_cannot_read_is_refused_before_it_boots(tmp_path: Path) -> None:
    (tmp_path / "program").touch(mode=0o600)
    with pytest.raises(Refused, match=f"{tmp_path}/program: others than root cannot read it"):
        enclosure.check([tmp_path / "program"])
