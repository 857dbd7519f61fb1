# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that verify may read: recorded by ``capture --evidence``, and by a sh script for
machines without Python.

The script is generated on request: it covers every tunable of the installed catalogue, and no
second copy can become outdated.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache

from lowlat import __version__
from lowlat.base import bounds
from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE
from lowlat.host import interrupt_movers, kernel_messages, kmsg, noise
from lowlat.host import tasks as host_tasks
from lowlat.host.archive import ABSENT, SCHEMA, Contents, Recorder
from lowlat.host.daemons import MANAGERS, read_managers
from lowlat.host.kernel_threads import SCHEME
from lowlat.host.root import ANSWERS, BOOT_ID, Root, glob, is_glob
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.plan.online_cpus import ONLINE
from lowlat.render.files import expand
from lowlat.runtime import irqbalance
from lowlat.runtime.journal import JOURNAL
from lowlat.runtime.kthreads import Threads
from lowlat.verify import behaviour, counters, effects, overrides, readings, tasks

#: Read for every plan.
_ALWAYS = (
    "/proc/cmdline",
    "/proc/sys/kernel/osrelease",
    ONLINE,
    BOOT_ID,
    *counters.ISOLATED,
    *behaviour.FILES,
    *readings.FILES,
    *overrides.FILES,
    *noise.READ,
    *(store.PLAN, store.IN_USE, store.NOW, JOURNAL),
)


def settings() -> list[str]:
    """The files of the run-time settings, as globs."""
    paths = {row.path for entry in CATALOGUE for row in entry.rows}
    return sorted(_glob(path) for path in paths if path.startswith("/"))


def _glob(path: str) -> str:
    return re.sub(r"\{\w+\}", "[0-9]*", re.sub(r"\{(package|set)\}", "*", path))


def _signs() -> Iterator[str]:
    """The files in which the kernel shows the effect of a setting, as globs."""
    for entry in CATALOGUE:
        for path in filter(None, (entry.sign.path, entry.sign.like)):
            if "/" in path:
                yield path
            else:
                yield from (f"{_glob(row.path).rpartition('/')[0]}/{path}" for row in entry.rows)


def files() -> list[str]:
    """All files, as globs."""
    return sorted({*_ALWAYS, *settings(), *_signs()})


def folders(patterns: Iterable[str]) -> list[str]:
    """The folders whose names a reader of these globs asks for, as globs."""
    return sorted({folder for pattern in patterns for folder in _folders(pattern)})


def _folders(pattern: str) -> Iterator[str]:
    above = ""
    for part in pattern.strip("/").split("/"):
        if is_glob(part):
            yield above
        above = f"{above}/{part}"


def below(patterns: Iterable[str]) -> list[tuple[str, str]]:
    """Each glob as that of its last folder whose names differ, and the path below that."""
    split = (re.fullmatch(r"(.*[][*?][^/]*)/([^][*?]+)", pattern) for pattern in patterns)
    return [(match[1], match[2]) for match in split if match]


def absent(root: Root) -> str:
    """The files of settings that certainly do not exist, or folders above them, a line each."""
    wanted = [*(path for path in settings() if not is_glob(path)), *folders(settings())]
    for above, rest in below(settings()):
        wanted += [f"{path}/{rest}" for path in glob(root, above)]
    return "\n".join(path for path in wanted if not is_glob(path) and root.known_absent(path))


def gather(recorder: Recorder, seconds: float) -> None:
    """Read all files and count interrupts for so many seconds, so that the recorder has them."""
    for pattern in files():
        for path in glob(recorder, pattern):
            recorder.read_bytes(path)
    for pattern in settings():
        for path in glob(recorder, pattern):
            recorder.mode(path)
            recorder.link(path.rpartition("/")[0])
    irqbalance.read(recorder, irqbalance.NOW)
    for thread, _ in Threads(recorder).matching(f"{SCHEME}*:affinity"):
        recorder.read_bytes(f"/proc/{thread.pid}/status")
    effects.gone(recorder)
    recorder.answer(ABSENT, absent)
    read_managers(recorder)
    overrides.read_containers(recorder)
    for path in (*overrides.PRESENT, *noise.PRESENT):
        recorder.exists(path)
    noise.here(recorder)
    cpus = counters.isolated(recorder) | _planned(recorder)
    tasks.read(recorder, cpus)
    counters.read(recorder, cpus, seconds)
    messages = kmsg.read_messages(recorder)
    if messages is not kmsg.NO_MESSAGES:
        recorder.contents.files[kmsg.LOG] = f"{messages.log}\n".encode("utf-8", "replace")


def _planned(root: Root) -> CpuSet:
    """The isolated CPUs of the applied plan, else of the plan in use."""
    for path in (store.PLAN, store.IN_USE):
        with suppress(Refused, ValueError):
            plan = Plan.from_json(bounds.read_json((root.read(path) or "").encode()))
            return plan.isolated
    return CpuSet()


def needed(contents: Contents) -> Contents:
    """The contents without other text in the files that verify reads: unrelated kernel messages,
    processes, settings and remarks of others."""
    users = {path for path, data in contents.files.items() if _is_user(path, data)}
    others = {path.split("/")[2] for path in users}
    pids = tuple(name for name in contents.folders.get("/proc", ()) if name not in others)
    kept = {path: _lines(path, data) for path, data in contents.files.items() if path not in users}
    shown = {**contents.folders, **({"/proc": pids} if pids else {})}
    return replace(contents, files=kept, folders=shown)


def _is_user(path: str, data: bytes) -> bool:
    """Whether a file describes a process that is no kernel thread."""
    if not re.fullmatch(r"/proc/\d+/stat", path):
        return False
    task = host_tasks.parse(data.decode("utf-8", "replace"))
    return task is None or not task.kernel


def _lines(path: str, data: bytes) -> bytes:
    for paths, lines in _kept_lines():
        if re.match(paths, path):
            rows = data.decode("utf-8", "surrogateescape").split("\n")
            text = "".join(f"{line}\n" for line in rows if re.search(lines, line))
            return text.encode("utf-8", "surrogateescape")
    return data


@cache
def _kept_lines() -> tuple[tuple[str, str], ...]:
    """The lines that stay, by file: both are regular expressions."""
    signs = [entry.sign for entry in CATALOGUE]
    said = [
        *kmsg.ALWAYS,
        kernel_messages.ANY,
        *(pattern for sign in signs for pattern in (sign.proof, sign.contradiction) if pattern),
    ]
    names = (entry.name for entry in CATALOGUE if entry.tuned == "sysctl")
    keys = "|".join(re.escape(name).replace(r"\.", "[./]") for name in names)
    return (
        (re.escape(kmsg.LOG), "|".join(f"(?:{pattern})" for pattern in said)),
        (r"/proc/\d+/status$", "^(Name|Cpus_allowed)"),
        (re.escape(behaviour.TIMERS), "|".join(behaviour.TIMER_LINES)),
        (r"/.*/sysctl\.", rf"^\s*-?({keys})\s*="),
        (r"/.*/tuned/", r"^\s*[^#;\s]"),
        ("|".join(map(re.escape, interrupt_movers.CONFIGS)), interrupt_movers.BANS),
        *((re.escape(path).replace(r"\*", ".*"), lines) for path, lines in noise.READ.items()),
        (r"/.*\.link(\.d/.*)?$", interrupt_movers.OPTIONS),
    )


def script() -> str:
    """The POSIX sh script that prints the same archive."""
    known = files()
    return expand(
        "evidence.sh.j2",
        str,
        version=__version__,
        schema=SCHEMA,
        files="\n".join(known),
        folders="\n".join(folders(known)),
        modes="\n".join(settings()),
        isolated=" ".join(counters.ISOLATED),
        plans=" ".join((store.PLAN, store.IN_USE)),
        programs=" ".join((*overrides.PRESENT, *noise.PRESENT)),
        managers=" ".join(sorted(MANAGERS)),
        noise=" ".join(sorted(noise.PROGRAMS)),
        containers=" ".join(sorted(overrides.CONTAINERS)),
        gone=" ".join(effects.GONE),
        below="\n".join(map(" ".join, below(settings()))),
        log=kmsg.LOG,
        answers=posixpath.normpath(ANSWERS),
    )
