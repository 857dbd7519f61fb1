# SPDX-License-Identifier: GPL-2.0-or-later
"""Files root may rely on: a path, the folders above it, the targets of links, a whole program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lowlat.base import process, trust
from lowlat.base.errors import Refused
from lowlat.boot import programs
from lowlat.host.root import Root
from lowlat.measure import child
from support import needs, waits
from support.cli import lowlat
from support.machines import machine, write_tree

pytestmark = [
    pytest.mark.security,
    needs.root("it is root who must not trust all"),
]

USER = 1000


def give(path: Path) -> Path:
    os.lchown(path, USER, USER)
    return path


def refusal(path: Path, top: str = "/") -> str:
    with pytest.raises(Refused) as refused:
        trust.check(str(path), top)
    return str(refused.value)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_tree(tmp_path, {"etc/lowlat/profiles/mine/lowlat.conf": "[main]\nparent = lowlat\n"})
    return tmp_path / "etc/lowlat/profiles/mine/lowlat.conf"


@pytest.mark.parametrize("above", range(5))
@pytest.mark.parametrize("weak", ["owner", "group", "others"])
def test_every_folder_above_a_file_counts(config: Path, above: int, weak: str) -> None:
    trust.check(str(config))
    place = (config, *config.parents)[above]
    if weak == "owner":
        give(place)
    else:
        place.chmod(place.stat().st_mode | (0o020 if weak == "group" else 0o002))
    assert "others than root can write" in refusal(config)
    # A missing file counts too: another user could create it.
    if above:
        config.unlink()
        assert str(place) in refusal(config)


def test_a_sticky_folder_may_lie_on_the_way(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    write_tree(shared, {"ours/file": "", "file": ""})
    trust.check(str(shared / "ours/file"))
    trust.check(str(shared / "file"))
    assert str(shared) in refusal(shared)
    assert str(shared) in refusal(shared / "missing")
    assert str(shared) in refusal(shared / "ours/../missing")
    assert "can write it" in refusal(give(shared / "file"))


def test_links_are_followed_and_judged_where_they_lead(tmp_path: Path, config: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("etc/../etc/lowlat")
    trust.check(str(link / "profiles/mine/lowlat.conf"))
    give(config.parents[2])
    assert str(config.parents[2]) in refusal(link / "profiles/mine/lowlat.conf")
    give(link)
    assert str(link) in refusal(link / "profiles")
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    assert "loop" in refusal(loop)


def test_a_tree_is_judged_from_its_top(tmp_path: Path, config: Path) -> None:
    give(tmp_path.parent)
    (tmp_path / "etc/link").symlink_to("/etc/lowlat")
    path = "/etc/link/profiles/mine/lowlat.conf"
    trust.check(path, str(tmp_path))
    os.chown(tmp_path.parent, 0, 0)
    give(config.parents[2])
    assert "write /etc/lowlat" in refusal(Path(path), str(tmp_path))


@pytest.mark.parametrize("above", range(5))
def test_a_users_profile_is_not_taken(tmp_path: Path, config: Path, above: int) -> None:
    write_tree(tmp_path, machine())
    assert lowlat("plan", "--root", tmp_path, "--profile", "mine").status == 0
    give((config, *config.parents)[above])
    said = lowlat("plan", "--root", tmp_path, "--profile", "mine").refused()
    assert "others than root can write" in said


@pytest.mark.parametrize("name", ["plan.json", ""])
def test_a_users_journal_is_not_put_back(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path, {**machine(), "run/lowlat/plan.json": "", "run/lowlat/runtime.json": "{}"})
    give(tmp_path / "run/lowlat" / name)
    verb = "verify" if name else "stop"
    assert "can write" in lowlat("runtime", verb, "--root", tmp_path).refused()


# -------------------------------------------------------------------- programs

HOST = {**machine(), "etc/hostname": "h\n"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone with a virtual environment in its own tree: lowlat-gen is a link to it."""
    packages = "dev/lowlat/.venv/lib/python3.11/site-packages"
    finder = "MAPPING: dict[str, str] = {'lowlat': '/dev/lowlat/generator/lowlat'}\n"
    write_tree(
        tmp_path,
        {
            **HOST,
            "dev/lowlat/.venv/bin/lowlat-gen": "#!/dev/lowlat/.venv/bin/python\n",
            f"{packages}/__editable___lowlat_1_finder.py": finder,
            f"{packages}/__editable__.lowlat-1.pth": "import __editable___lowlat_1_finder\n",
            f"{packages}/more.pth": "/opt/more\n",
            "dev/lowlat/generator/lowlat/boot/apply.py": "",
            "opt/more/module.py": "",
            "usr/bin/python3.11": "",
            "usr/lib/python3.11/os.py": "",
        },
    )
    (tmp_path / "dev/lowlat/.venv/bin/python").symlink_to("/usr/bin/python3.11")
    (tmp_path / "usr/bin/lowlat-gen").symlink_to("/dev/lowlat/.venv/bin/lowlat-gen")
    return tmp_path


@pytest.mark.parametrize(
    "place",
    [
        "dev",
        "dev/lowlat/.venv/bin",
        "dev/lowlat/.venv/bin/lowlat-gen",
        "dev/lowlat/.venv/bin/python",
        "dev/lowlat/.venv/lib/python3.11/site-packages",
        "dev/lowlat/.venv/lib/python3.11/site-packages/more.pth",
        "dev/lowlat/generator",
        "dev/lowlat/generator/lowlat/boot/apply.py",
        "opt/more",
        "usr/bin/python3.11",
        "usr/lib/python3.11",
    ],
)
def test_a_program_that_others_can_change_is_not_named_to_hooks(checkout: Path, place: str) -> None:
    root = Root(str(checkout))
    assert programs.ourselves(root) == "/usr/bin/lowlat-gen"
    give(checkout / place)
    with pytest.raises(Refused, match=f"/{place}, and root's boot scripts would run it"):
        programs.ourselves(root)


@pytest.mark.parametrize(
    "first",
    [
        "#!/usr/bin/env python3",
        "#!/usr/bin/env -S python3 -B",
        "#!/bin/sh\n'''exec' /opt/python3 \"$0\" \"$@\"",
        "#!/opt/python3",
    ],
)
def test_the_interpreter_is_found_behind_any_first_line(tmp_path: Path, first: str) -> None:
    name = "usr/bin/python3" if "env" in first else "opt/python3"
    write_tree(tmp_path, {"usr/bin/lowlat-gen": f"{first}\n", "bin/sh": "", name: ""})
    assert programs.ourselves(Root(str(tmp_path))) == "/usr/bin/lowlat-gen"
    give(tmp_path / name)
    with pytest.raises(Refused, match=f"can write /{name}"):
        programs.ourselves(Root(str(tmp_path)))


@pytest.mark.parametrize(
    ("first", "weak"),
    [
        ("#!/usr/bin/env /opt/i", "opt/i"),
        ("#! /usr/bin/env  -S /opt/i -x", "opt/i"),
        ("#!/usr/bin/env -S /usr/bin/env /opt/i", "opt/i"),
        ("#!/usr/bin/env -S env -S env i", "usr/sbin/i"),
        ("#!/usr/bin/env -S timeout 5 /opt/i", "opt/i"),
        ("#!/usr/bin/env -S timeout 5 i", "usr/sbin/i"),
        ("#!/usr/bin/sh /opt/i", "opt/i"),
        ("#!/opt/env sh", "opt/env"),
        ("#!/usr/bin/env i", "usr/local/sbin/i"),
        ("#!/usr/bin/env i", "usr/sbin/i"),
        ("#!/usr/bin/env i", "usr/local/sbin"),
        ("#!/usr/bin/nested", "opt/i"),
        ("#!/opt/i\n'''exec' /usr/bin/python3 \"$0\"", "opt/i"),
    ],
)
def test_what_runs_is_what_is_judged(tmp_path: Path, first: str, weak: str) -> None:
    names = ("opt/i", "opt/env", "usr/bin/env", "usr/bin/sh", "usr/bin/python3")
    # In /usr/local/sbin it is not executable: env goes on to the next folder.
    files = dict.fromkeys((*names, "usr/local/sbin/i", "usr/sbin/i"), "")
    files |= {"usr/bin/nested": "#!/usr/bin/env /opt/i\n", "usr/bin/lowlat-gen": f"{first}\n"}
    write_tree(tmp_path, files)
    (tmp_path / "usr/sbin/i").chmod(0o755)
    assert programs.ourselves(Root(str(tmp_path))) == "/usr/bin/lowlat-gen"
    give(tmp_path / weak)
    with pytest.raises(Refused, match=f"can write /{weak}"):
        programs.ourselves(Root(str(tmp_path)))


@pytest.mark.parametrize(
    "first",
    [
        "#!i",
        "#!/usr/bin/env",
        "#!/usr/bin/env -i sh",
        "#!/usr/bin/env -S A=b sh",
        "#!/usr/bin/env -S sh -c 'exec /opt/i'",
        '#!/usr/bin/env -S timeout 5 "/opt/i"',
        "#!/usr/bin/env -S env PATH=/opt i",
        "#!/usr/bin/env -S xargs -a/opt/list",
        "#!/usr/bin/perl -I/opt",
        "#!/usr/bin/perl -I.",
        "#!/usr/bin/perl -Mlib=/opt",
        "#!/usr/bin/awk -f/opt/i",
        "#!/usr/bin/sed -f/opt/i",
        "#!/usr/bin/make -f/opt/i",
        "#!/usr/bin/make -C/opt",
        "#!/usr/bin/flock -c/opt/i",
        "#!/usr/bin/script -c/opt/i",
        "#!/usr/bin/bash --rcfile=/opt/i",
        "#!/usr/bin/bash -e /opt/i",
        "#!/usr/bin/python3 -c exec(open('/opt/i').read())",
        "#!/usr/bin/python3 opt/i",
        "#!/usr/bin/xargs -a/opt/list",
        "#!/usr/bin/ruby -r/opt/i",
    ],
)
def test_a_first_line_that_could_start_anything_is_refused(tmp_path: Path, first: str) -> None:
    write_tree(tmp_path, {"usr/bin/lowlat-gen": f"{first}\n", "usr/bin/env": ""})
    with pytest.raises(Refused, match="what its first line starts is not clear"):
        programs.ourselves(Root(str(tmp_path)))


@pytest.mark.parametrize(
    "first",
    ["perl -w", "python3 -Es", "bash -eu", "awk -f", "bash --posix", "env -S awk -f", "sh -", "sh"],
)
def test_options_without_a_path_are_clear(tmp_path: Path, first: str) -> None:
    names = dict.fromkeys(("usr/bin/env", "usr/bin/other"), "")
    write_tree(tmp_path, {"usr/bin/lowlat-gen": f"#!/usr/bin/{first} \n", **names})
    assert programs.ourselves(Root(str(tmp_path))) == "/usr/bin/lowlat-gen"


def test_a_pipe_in_place_of_a_program_holds_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"usr/bin/other": ""})
    os.mkfifo(tmp_path / "usr/bin/lowlat-gen")
    assert programs.ourselves(Root(str(tmp_path))) == "/usr/bin/lowlat-gen"


def test_nothing_is_read_of_a_program_that_others_can_write(tmp_path: Path) -> None:
    write_tree(tmp_path, {"usr/bin/other": ""})
    os.mkfifo(give(tmp_path / "usr/bin") / "lowlat-gen")  # opening it blocks
    with pytest.raises(Refused, match="can write /usr/bin,"):
        programs.ourselves(Root(str(tmp_path)))


def test_the_program_that_runs_these_tests_is_judged_as_a_whole(tmp_path: Path) -> None:
    script = tmp_path / "lowlat-gen"
    script.write_text(f"#!{sys.executable}\n")
    judged = set(trust._parts(str(script), "/"))
    assert {sys.executable, trust.__file__} <= judged


# ------------------------------------------------------------ what root starts

#: Where `make harness` puts the harness.
HARNESS = Path(__file__).parents[2] / "measure/build"

#: Programs that verbs start by their names.
STARTED = ("dmesg", "journalctl", "systemctl", "perf", "tuned", "apt-get", "oslat", "stress-ng")


def program(folder: Path, name: str) -> Path:
    """A program that leaves a file beside its folder."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n: >'{folder}.ran'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, first in root's PATH, with programs by the names of the system's."""
    folder = tmp_path / "users"
    for name in STARTED:
        give(program(folder, name))
    monkeypatch.setenv("PATH", f"{give(folder)}:/usr/bin:/bin")
    return folder


@pytest.mark.parametrize("verb", ["doctor", "lint"])
def test_no_verb_runs_a_users_programs_as_root(users: Path, verb: str) -> None:
    lowlat(verb)
    assert not Path(f"{users}.ran").exists()


@pytest.mark.harness
def test_no_run_starts_a_users_programs_as_root(users: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    words = "--label x --duration 100ms --warmup 0s --oslat --load memory --out"
    lowlat("measure", *words.split(), out, env={"PATH": f"{users}:{HARNESS}:/usr/bin:/bin"})
    assert not Path(f"{users}.ran").exists()


def test_root_starts_the_first_program_that_it_may(users: Path, tmp_path: Path) -> None:
    good = program(tmp_path / "good", "dmesg")
    path = f"{users}:{good.parent}"
    assert process.judge_program("dmesg", {"PATH": path}) == str(good)
    for argv in (["dmesg"], [str(users / "dmesg")], [os.path.relpath(users / "dmesg")]):
        with pytest.raises(Refused, match="others than root can write .* and root would run it"):
            process.run(argv, timeout=waits.GUARD_S, env={"PATH": str(users)})
    assert process.run(["dmesg"], timeout=waits.GUARD_S, env={"PATH": path}).status == 0
    assert Path(f"{good.parent}.ran").exists() and not Path(f"{users}.ran").exists()


def test_what_the_user_named_may_be_any_program(users: Path) -> None:
    with process.start([str(users / "dmesg")], named=True) as child:
        child.communicate(timeout=waits.GUARD_S)
    assert Path(f"{users}.ran").exists()


def test_a_harness_that_others_can_replace_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / child.PROGRAM
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "lowlat-gen")])
    assert child.find_harness() == str(path)
    give(path)
    with pytest.raises(Refused, match="others than root"):
        child.find_harness()
    # In another user's folder, lowlat-gen and its harness run nevertheless.
    give(tmp_path)
    monkeypatch.setattr(process, "_PACKAGE", tmp_path / "lowlat")
    assert child.find_harness() == str(path)
