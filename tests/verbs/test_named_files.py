# SPDX-License-Identifier: GPL-2.0-or-later
"""Every argument that names a file to read: whatever lies there, the verb refuses it in one line,
waits for nothing, and opens no device."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.cli import parser_of
from lowlat.verbs import VERBS
from support import work
from support.cli import lowlat
from support.machines import machine, write_tree
from support.odd_files import ODD
from support.runs import document

pytestmark = pytest.mark.security

#: What the values of options are called that name files.
_METAVARS = {"AFTER", "DIR", "FILE", "FOLDER", "OUT", "PATH", "RELEASE|PATH"}
_DESTS = {"arm", "before", "given", "line"}

#: By verb and argument: the words of a call that reads FILE; "run" is a run, "tree" a machine.
READ = {
    "cpus --plan": "isolated --plan FILE --root tree",
    "profile file": "check FILE --root tree",
    "lint line": "FILE --root tree",
    "render --plan": "--plan FILE --out out --root tree",
    "rehearse --resume": "--resume FILE",
    "measure --campaign": "--campaign FILE",
    "report before": "FILE",
    "report --against": "run --against FILE",
    "report --arm": "run --against run --arm third FILE",
    "report --campaign": "run --against after --campaign FILE",
    "report --verify": "run --against after --verify FILE",
    "report --plan": "run --against after --html page --plan FILE",
    "capture --runs": "out --runs FILE",
    "fleet given": "report FILE --against after",
    "fleet --against": "report run --against FILE",
    "runtime --plan": "start --plan FILE --root tree",
    "verify --plan": "--plan FILE --root tree",
    "watch --plan": "--plan FILE --root tree --once",
}

#: Those that only name what is written, and the programs that measure run. A rehearsal's kernel may
#: have any size: tests/rehearse.
WRITTEN = {
    *("capture out", "fleet --csv", "fleet --html", "fleet --out", "measure --events"),
    *("measure --out", "plan --svg", "probe --svg", "rehearse --kernel", "rehearse --out"),
    *("render --out", "report --csv", "report --html", "report --svg", "run --out"),
    *("watch --metrics",),
}

#: What a verb needs to look at --root at all.
ROOTED = {
    "cpus": "isolated --planned",
    "render": "--out out",
    "capture": "out",
    "runtime": "start",
    "profile": "check tree/file",
    "boot": "start",
}


def named(verb: str) -> Iterator[str]:
    """The arguments of a verb that may name a file."""
    for action in parser_of(verb)._actions:
        names = action.metavar in _METAVARS or action.dest in _DESTS
        if action.nargs != 0 and not action.choices and names:
            yield f"{verb} {(*action.option_strings, action.dest)[0]}"


def rooted() -> list[str]:
    every = [name for verb in VERBS for name in named(verb)]
    return [name.partition(" ")[0] for name in every if name.endswith(" --root")]


def test_each_is_known_to_be_read_or_written() -> None:
    every = {name for verb in VERBS for name in named(verb)}
    assert every - {f"{verb} --root" for verb in rooted()} == {*READ, *WRITTEN}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named")
    write_tree(folder / "tree", machine(4))
    for name in ("run", "after"):
        (folder / name).write_text(json.dumps(document(name, 4.0)))
    for number, make in enumerate(ODD.values()):
        make(folder / f"odd{number}")
    return folder


@pytest.mark.parametrize("name", READ)
def test_a_file_that_is_read(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    verb, words = name.partition(" ")[0], READ[name].split()
    for number, kind in enumerate(ODD):
        odd = f"./odd{number}"
        with work.bounded(f"{name}: {kind}"):
            said = lowlat(verb, *(odd if word == "FILE" else word for word in words)).refused()
        assert (f"odd{number}" in said or "/dev/zero" in said) and "--help" not in said, kind
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("verb", [verb for verb in rooted() if verb != "run"])
def test_a_root(verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for number, kind in enumerate(ODD):
        if kind != "a folder":
            words = [*ROOTED.get(verb, "").split(), "--root", f"odd{number}"]
            with work.bounded(f"{verb} --root: {kind}"):
                said = lowlat(verb, *words).refused()
            assert f"odd{number}" in said and "--help" not in said, kind
