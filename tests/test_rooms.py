# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the rooms that setup.cfg's import contracts cannot express; part of ``make lint``."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "generator" / "lowlat"


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE), ast.parse(path.read_text("utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize(
    ("module", "other", "contract"),
    [
        ("boot/status.py", "claim", "What plans, boots and verifies does not know"),
        ("verify/ticks.py", "measure.causes", "What plans, boots and verifies does not know"),
        ("claim/pair.py", "plan", "What measures, claims and shows does not know"),
        ("present/tables.py", "verify", "What measures, claims and shows does not know"),
        ("figures/pooling.py", "claim", "Data flows one way"),
        ("trace/clock.py", "measure", "Data flows one way"),
    ],
)
def test_an_import_over_a_wall_is_refused(
    module: str, other: str, contract: str, tmp_path: Path
) -> None:
    shutil.copytree(PACKAGE, tmp_path / "lowlat", ignore=shutil.ignore_patterns("__pycache__"))
    planted = tmp_path / "lowlat" / module
    planted.write_text(f"{planted.read_text('utf-8')}\nimport lowlat.{other}\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", ROOT / "setup.cfg"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    broken = [line for line in done.stdout.splitlines() if line.endswith("BROKEN")]
    assert done.returncode == 1 and any(line.startswith(contract) for line in broken), done


def test_no_module_lies_outside_a_room() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "cli.py"}


def test_every_room_says_what_it_is() -> None:
    silent = [path for path, tree in trees() if not ast.get_docstring(tree) and tree.body]
    assert silent == []


def test_only_the_command_line_knows_argparse() -> None:
    users = {path.parts[0] for path, tree in trees() if "argparse" in imported(tree)}
    assert users == {"cli.py", "verbs"}


#: All ways to start a program, of the standard library.
STARTS = re.compile(
    r"(os\.)?(exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|system|popen|startfile|fork|forkpty)"
    r"|.*\b(Popen|check_call|check_output|getoutput|getstatusoutput|create_subprocess_\w+)"
    r"|subprocess\.\w+|pty\.(spawn|fork)"
)


def test_one_module_starts_programs() -> None:
    """There, root's programs are judged. The confinement runs without lowlat's modules, and the
    program that it becomes was judged before."""
    found = set()
    for path, tree in trees():
        starts = {"subprocess", "multiprocessing", "pty", "asyncio"} & set(imported(tree))
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        starts |= {name for name in map(ast.unparse, calls) if STARTS.fullmatch(name)}
        if starts:
            found.add(str(path))
    assert found == {"base/process.py", "boot/confinement.py"}


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_python_3_9_runs_it() -> None:
    """Text with a width of 0 and slices of a path's parents fail before 3.10; no linter knows."""
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            spec = node.format_spec if isinstance(node, ast.FormattedValue) else None
            of_width = isinstance(spec, ast.JoinedStr) and not isinstance(
                spec.values[0], ast.Constant
            )
            of_parents = isinstance(node, ast.Subscript) and (
                isinstance(node.slice, ast.Slice) and getattr(node.value, "attr", "") == "parents"
            )
            if of_width or of_parents:
                found.append(f"{path}:{getattr(node, 'lineno', 0)}")
    assert found == []


def test_a_verb_is_a_leaf() -> None:
    """It may share the modules that are no verbs, and have a second half of its own."""
    taken = []
    for path, tree in trees():
        if path.parts[0] == "verbs" and path.name != "__init__.py":
            allowed = {"VERBS", "chosen_apply", "chosen_plan", "host_remedies", "options"}
            allowed |= {"refusals", "report_output"}
            taken += [
                f"{path}: {name}"
                for name in taken_from("lowlat.verbs", tree) - allowed
                if not name.startswith(f"{path.stem}_")
            ]
    assert taken == []


def taken_from(package: str, tree: ast.Module) -> set[str]:
    """The names that a module imports from a package, or the package's modules that it names."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            names |= {alias.name for alias in node.names}
    modules = (name for name in imported(tree) if name.startswith(f"{package}."))
    return names | {name[len(package) + 1 :].partition(".")[0] for name in modules}


#: The modules that open files for reading, beside the door for files that others gave; each with
#: the number of its calls. Whatever a user or a file names is opened by base/reader.py.
OPENERS = {
    "base/reader.py": 5,  # the door
    "host/root.py": 3,  # the running host's own files, for Root; folders to write in
    "boot/disk.py": 5,  # the boot's files, through no link, with all that restores them
    "base/files.py": 3,  # what it writes, its folders, and locks
    "base/resources.py": 3,  # the package's own data
    "base/process.py": 1,  # /proc
    "audit/accounts.py": 2,  # /proc
    "boot/confinement.py": 2,  # /proc
    "runtime/launch.py": 1,  # /proc
    "verify/traced.py": 1,  # the kernel's trace
    "host/tar_file.py": 1,  # what was read before
    "rehearse/enclosure.py": 1,  # folders to bind: their places
    "rehearse/guest_tuned.py": 2,  # in a guest, its own files
    "rehearse/packages.py": 1,  # an image that its own package brought
}

#: Calls that open a file, or read one by its path.
_OPENS = {"open", "fdopen", "read_text", "read_bytes", "ZipFile", "TarFile", "GzipFile", "mmap"}
_OPENS |= {"copy", "copyfile", "copy2", "copytree", "loadtxt", "genfromtxt", "fromfile", "memmap"}

#: What has a method of such a name and is no path: a Root, or the arguments that name one.
_ROOTS = {"self", "super()", "root", "self.root", "self._root", "self._inner"}
_ROOTS |= {"recorder", "change.root", "args"}


def opens(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        written = any(
            isinstance(each, ast.Constant) and str(each.value).startswith(("w", "x", "a"))
            for each in (*node.args[:2], *(item.value for item in node.keywords))
        )
        if (
            name in _OPENS
            and owner not in _ROOTS
            and not written
            and "devnull" not in ast.dump(node)
        ):
            yield node


def test_files_of_others_are_opened_by_one_door() -> None:
    found = {str(path): len(list(opens(tree))) for path, tree in trees()}
    assert {path: count for path, count in found.items() if count} == OPENERS


@pytest.mark.parametrize(
    "code", ["open(x)", "p.open('rb')", "p.read_text()", "os.open(x, 0)", "gzip.open(x)"]
)
def test_an_opener_is_found(code: str) -> None:
    assert len(list(opens(ast.parse(code)))) == 1


def test_plan_loads_the_rooms_that_it_needs() -> None:
    """A script would wait for every other room; a person is told whether 'apply' is refused."""
    code = "import sys; from lowlat import cli; cli.main(['plan', '--json']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    needless = "boot claim figures measure present rehearse render report tune"
    assert {f"lowlat.{room}" for room in needless.split()} & loaded == set()
    assert "lowlat.plan" in loaded


#: A room of C with two files, of which the first uses the second.
GOOD = {
    "a.h": "#pragma once\nint a(void);\n",
    "b.h": "#pragma once\nint b(void);\n",
    "a.c": '#include "a.h"\n#include "b.h"\nint a(void)\n{\n\treturn b();\n}\n',
    "b.c": '#include "b.h"\nint b(void)\n{\n\treturn 0;\n}\n',
}


@pytest.mark.parametrize(
    ("planted", "lines"),
    [
        ({}, ""),
        (
            {
                "b.h": '#pragma once\n#include "a.h"\nint b(void);\n',
                "a.h": '#pragma once\n#include "b.h"\nint a(void);\n',
            },
            "lib/: a circle",
        ),
        (
            {"b.c": '#include "b.h"\nint a(void);\nint b(void)\n{\n\treturn a();\n}\n'},
            "lib/: a circle",
        ),
    ],
    ids=["none", "of includes", "of calls"],
)
def test_a_circle_in_a_room_of_c_is_found(
    planted: dict[str, str], lines: str, tmp_path: Path
) -> None:
    for name in ("Makefile", "circles.awk"):
        shutil.copy(ROOT / "measure" / name, tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "main.c").touch()
    for name, text in {**GOOD, **planted}.items():
        (tmp_path / "lib" / name).write_text(text)
    argv = ["make", "-s", "-C", str(tmp_path), "ROOMS=lib", "rooms"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode == 0, done.stdout.strip()) == (not planted, lines), done.stderr
