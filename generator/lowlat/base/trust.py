# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether root may read, run or follow a path: only root can change the file, every folder above
it, and the target of every link on the way. Ordinary users trust all that they can read.

A sticky folder (/tmp) may lie on the way: others cannot rename root's files in it. ``top`` is the
root of the paths: in another system's tree, folders above it are not judged.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Optional

from lowlat.base import bounds, reader
from lowlat.base.errors import Refused

#: PATH of all that lowlat runs as root for the boot, in its order.
FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")

#: The kernel's limit on links in a path.
_LINKS = 40

_LONGEST_LINE = 4096

#: A program in a script's first line, by its path or by a name for PATH.
_PROGRAM = re.compile(r"/[\w./+-]+|\w[\w.+-]*")

#: Options without a value: one could name a file, a module or a program.
_OPTION = re.compile(r"-[A-Za-z0-9]{0,4}|--[a-z-]+")

#: The kernel's limit on scripts that are the interpreters of scripts (fs/exec.c, exec_binprm()).
_NESTED = 5


def check(path: str, top: str = "/", *, why: str = "", hint: str = "") -> None:
    """Raises Refused, for root, if others can change the file or create it; ``why`` tells the
    consequence."""
    if os.geteuid() == 0:
        _refuse_weak(path, path, top, why, hint)


def check_program(path: str, top: str = "/", *, why: str = "", hint: str = "") -> None:
    """check() for a program. For a Python program also checks its interpreter, the folders that
    this imports from, and lowlat's modules there."""
    if os.geteuid() == 0:
        # One by one: a file that others can write must not be read.
        for part in chain([path], _parts(path, top)):
            _refuse_weak(path, part, top, why, hint)


def held(path: str, top: str = "/") -> bool:
    """Whether check() would accept the path."""
    return os.geteuid() != 0 or _follow(path, top)[0] is None


def _refuse_weak(path: str, part: str, top: str, why: str, hint: str) -> None:
    weak = _follow(part, top)[0]
    if weak is None:
        return
    what = "it" if weak == path else weak
    mend = f"chown root {weak}; chmod go-w {weak}"
    if not Path(_below(top, weak)).is_file():
        mend = "copy it into a folder that only root can write"  # never touch /dev/null or /tmp
    raise Refused(
        f"{path}: others than root can write {what}{why and f', {why}'}", hint=hint or mend
    )


def _follow(path: str, top: str) -> tuple[Optional[str], str]:
    """The first place on the way that others than root can write, or None, and the path at the end
    of the way; both below ``top``."""
    todo = os.path.join(Path.cwd() if top == "/" else "/", path).split("/")[::-1]  # noqa: PTH118
    at, links, shared = "", 0, False
    while todo:
        part = todo.pop()
        here = _step(at, part)
        try:
            held = os.lstat(_below(top, here or "/"))
        except (FileNotFoundError, NotADirectoryError):
            return (at or "/" if shared else None), here
        except OSError:
            return here, here
        if stat.S_ISLNK(held.st_mode):
            links += 1
            if held.st_uid != 0 or links > _LINKS:
                return here, here
            target = str(Path(_below(top, here)).readlink())
            at = "" if target.startswith("/") else at
            todo += target.split("/")[::-1]
            continue
        shared = bool(held.st_mode & 0o022)
        sticky = stat.S_ISDIR(held.st_mode) and held.st_mode & stat.S_ISVTX
        if held.st_uid != 0 or (shared and not (any(todo) and sticky)):
            return here or "/", here
        at = here
    return None, at


def _step(at: str, part: str) -> str:
    if part == "..":
        return at.rpartition("/")[0]
    return at if part in ("", ".") else f"{at}/{part}"


def _parts(path: str, top: str, nested: int = 0) -> Iterator[str]:
    """The files that run with a program: its interpreter, the interpreter's own one, and Python's
    modules."""
    for program in _started(path, top):
        yield program
        if Path(_follow(program, top)[1]).name.startswith("python"):
            yield from _modules(program, top)
        elif nested < _NESTED:
            yield from _parts(program, top, nested + 1)


def _modules(interpreter: str, top: str) -> Iterator[str]:
    real = _follow(interpreter, top)[1]
    prefixes = {str(Path(each).parent.parent) for each in (interpreter, real)}
    for folder in _glob(top, [f"{prefix}/lib*/python3*" for prefix in (*prefixes, "/usr/local")]):
        yield folder
        for packages in _glob(top, [f"{folder}/site-packages", f"{folder}/dist-packages"]):
            yield packages
            yield from _imported(packages, top)


def _started(path: str, top: str) -> Iterator[str]:
    """The programs that a script's first line starts, as execve(2) and env(1) read it. If pip wrote
    a shell line, because the path is too long, also the program that this line calls."""
    try:
        held = reader.read(_below(top, _follow(path, top)[1]), _LONGEST_LINE, whole=False)
    except OSError:
        return
    lines = held.decode("utf-8", "replace").split("\n")
    words = lines[0][2:].split(None, 1) if lines[0].startswith("#!") else []
    if not words:
        return
    if not words[0].startswith("/"):
        raise _unclear(path, lines[0])
    yield words[0]
    if Path(words[0]).name == "env":
        yield from _by_env(path, lines[0], words[1:], top)
    else:  # an interpreter runs its argument: the kernel does not split it
        for word in map(str.rstrip, words[1:]):
            if word.startswith("/"):
                yield word
            elif not _OPTION.fullmatch(word):
                raise _unclear(path, lines[0])
    called = re.match(r"'''exec' \"?(/[^\"\s]+)", lines[1]) if len(lines) > 1 else None
    if called:
        yield called[1]


def _by_env(path: str, line: str, given: Sequence[str], top: str) -> Iterator[str]:
    """The programs that env(1) may start: many, such as timeout and env itself, run what their
    arguments name. Without -S, env gets one word only. Its options and variables could change
    everything."""
    words = " ".join(given).split()
    split = words[:1] == ["-S"]
    names = words[1:] if split else words
    if not names or _OPTION.fullmatch(names[0]) or (len(names) > 1 and not split):
        raise _unclear(path, line)
    for name in names:
        if _PROGRAM.fullmatch(name):
            yield from _places(name, top)
        elif not _OPTION.fullmatch(name):
            raise _unclear(path, line)


def _places(name: str, top: str) -> Iterator[str]:
    """A program by its path, or all places up to the first of PATH that has it."""
    for place in [name] if "/" in name else [f"{folder}/{name}" for folder in FOLDERS]:
        yield place
        found = Path(_below(top, _follow(place, top)[1]))
        if found.is_file() and found.stat().st_mode & 0o111:
            return


def _unclear(path: str, line: str) -> Refused:
    why = f"{path}: what its first line starts is not clear: {line[:80]}"
    return Refused(why, hint="name the interpreter by its path, such as #!/usr/bin/python3")


def _imported(packages: str, top: str) -> Iterator[str]:
    """Every file of lowlat's in a folder of packages, and the targets of .pth files and editable
    installs."""
    for name in _glob(top, [f"{packages}/*.pth", f"{packages}/__editable__*"]):
        yield name
        file = Path(_below(top, name))
        held = reader.read(file, bounds.HOST_VALUE) if file.is_file() else b""
        text = held.decode("utf-8", "replace")
        for groups in re.findall(r"(?m)^(/.*?)\s*$|'(/[^'\n]*)'", text):
            folder = groups[0] or groups[1]
            yield folder
            yield from _all(folder if "lowlat" in file.name else f"{folder}/lowlat", top)
    yield from _all(f"{packages}/lowlat", top)


def _all(folder: str, top: str) -> Iterator[str]:
    yield folder
    for inside in sorted(Path(_below(top, folder)).rglob("*")):
        yield str(inside)[len(_below(top, "/")) - 1 :]


def _glob(top: str, patterns: Iterable[str]) -> list[str]:
    begin = Path(_below(top, "/"))
    paths = (path for pattern in patterns for path in begin.glob(pattern.lstrip("/")))
    return sorted({f"/{path.relative_to(begin)}" for path in paths})


def _below(top: str, path: str) -> str:
    return path if top == "/" else top + path
