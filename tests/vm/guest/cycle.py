# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in a guest: TuneD applies and reverts each profile, and every value is read back.

    python3 cycle.py FOLDER [--more] PROFILE...

FOLDER/cycle.json has the findings. --more adds findings about TuneD stopping and starting with the
first profile, and about a failing lowlat-gen. Values are read without lowlat: files directly,
kernel threads by system call. ``tuned`` must be stopped at first, with no profile selected.
"""

from __future__ import annotations

import contextlib
import fnmatch
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lowlat import cli
from lowlat.catalogue import lookup
from lowlat.host.root import Root
from lowlat.plan import current
from lowlat.runtime import settings

Row = dict[str, str]

_ALL_THREADS = ({"target": "kthread:*:affinity"}, {"target": "kthread:*:policy"})

Values = dict[str, str | None]

ACTIVE = Path("/etc/tuned/active_profile")
LOG = Path("/var/log/tuned/tuned.log")
PROGRAM = Path("/usr/bin/lowlat-gen")

#: include/linux/sched.h: a kernel thread, and one that does the work of workqueues.
PF_KTHREAD, PF_WQ_WORKER = 0x00200000, 0x00000020

#: In seconds; Python and D-Bus are slow on an emulated CPU.
_LIMIT_S = 180.0


def run(*argv: str) -> tuple[int, str]:
    ended = subprocess.run(
        argv,
        check=False,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        stdin=subprocess.DEVNULL,
    )
    return ended.returncode, (ended.stdout + ended.stderr).strip()


# -------------------------------------------------------------------- values


def lowlat_gen(*words: str) -> tuple[int, str]:
    """Run a command line of lowlat-gen in this process, for Python starts slowly here."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = cli.main(list(words))
    return status, out.getvalue().strip()


def planned(profile: str) -> list[Row]:
    """The run-time settings of the profile in this boot, which lacks its boot parameters."""
    document: Any = current.settings(profile, Root()).to_json()
    rows: list[Row] = document["runtime"]
    return rows


def paths(row: Row) -> list[str]:
    """The present paths of a row's target: files, or kernel threads as kthread:PID:WHAT."""
    target = row["target"]
    if not target.startswith("kthread:"):
        magic = set(target) & set("*[?")
        return sorted(map(str, Path("/").glob(target[1:]))) if magic else [target]
    pattern, what = target.removeprefix("kthread:").rsplit(":", 1)
    found = (each for each in _threads() if fnmatch.fnmatchcase(each[1], pattern))
    return [
        f"kthread:{pid}:{what}" for pid, comm, flags in found if not _follows(comm, flags, what)
    ]


def _follows(comm: str, flags: int, what: str) -> bool:
    """Whether the kernel alone decides: it moves an interrupt's thread to the CPU where the
    interrupt was last delivered (irq_thread_check_affinity() in kernel/irq/manage.c), and a
    workqueue's rescuer to the CPUs that it helps (worker_attach_to_pool() in kernel/workqueue.c).
    Rescuers are called kworker/R-* from 6.9 on, and like their workqueue before."""
    rescues = flags & PF_WQ_WORKER and (comm.startswith("kworker/R-") or "kworker/" not in comm)
    return what == "affinity" and (comm.startswith("irq/") or bool(rescues))


def _threads() -> Iterator[tuple[int, str, int]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        text = _read(path)
        comm, _, rest = (text or "").partition("(")[2].rpartition(")")
        flags = int(rest.split()[6]) if rest else 0
        if flags & PF_KTHREAD:
            yield int(path.parent.name), comm, flags


def value(path: str) -> str | None:
    if not path.startswith("kthread:"):
        return _read(Path(path))
    _, pid, what = path.split(":")
    try:
        if what == "affinity":
            return f"{sum(1 << cpu for cpu in os.sched_getaffinity(int(pid))):x}"
        fifo = os.sched_getscheduler(int(pid)) == os.SCHED_FIFO
        return f"fifo:{os.sched_getparam(int(pid)).sched_priority}" if fifo else "other"
    except ProcessLookupError:
        return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def snapshot(rows: Iterable[Row]) -> Values:
    """The planned values, and those of all kernel threads, whatever moved them."""
    wanted = [path for row in (*rows, *_ALL_THREADS) for path in paths(row)]
    return {path: value(path) for path in wanted}


def changes(before: Values, after: Values) -> dict[str, list[str | None]]:
    """The differing values. Threads come and go: only those present both times count."""
    differing: dict[str, list[str | None]] = {}
    for path in before.keys() | after.keys():
        pair = [before.get(path), after.get(path)]
        if pair[0] != pair[1] and not (path.startswith("kthread:") and None in pair):
            differing[path] = pair
    return differing


def wrong(rows: Iterable[Row]) -> dict[str, list[str | None]]:
    """The paths without their planned values, except those that the kernel keeps fixed."""
    found: dict[str, list[str | None]] = {}
    for row in rows:
        for path in paths(row):
            held = value(path)
            right = settings.equal(lookup(row["name"]).reads, held, row["value"])
            if not right and not _fixed(path, row["value"]):
                found[path] = [row["value"], held]
    return found


def _fixed(path: str, wanted: str) -> bool:
    """Whether the kernel refuses the value; found by writing it."""
    try:
        if path.startswith("kthread:"):
            _, pid, what = path.split(":")
            os.sched_setaffinity(int(pid), {0})
        elif path.startswith("/proc/irq/"):
            Path(path).write_text(wanted)
        else:
            return False
    except OSError:
        return True
    return False


# --------------------------------------------------------------------- TuneD


class Tuned:
    """The daemon: by systemd if that runs, otherwise started directly on its own bus."""

    def __init__(self) -> None:
        self._systemd = Path("/run/systemd/system").is_dir()
        self._daemon: subprocess.Popen[bytes] | None = None
        if not self._systemd:
            Path("/run/dbus").mkdir(exist_ok=True)
            run("dbus-uuidgen", "--ensure")
            run("dbus-daemon", "--system", "--fork")

    def start(self) -> None:
        if self._systemd:
            run("systemctl", "start", "tuned")
        else:
            # Its output is in the log too.
            self._daemon = subprocess.Popen(
                ["tuned", "--log"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
        deadline = time.monotonic() + _LIMIT_S
        while "Cannot talk" in run("tuned-adm", "active")[1]:
            if time.monotonic() > deadline:
                raise SystemExit("tuned does not answer")
            time.sleep(1)

    def stop(self) -> None:
        if self._systemd:
            run("systemctl", "stop", "tuned")
        elif self._daemon:
            self._daemon.terminate()
            self._daemon.wait(_LIMIT_S)


class Log:
    """TuneD's new log lines since the last call."""

    def __init__(self) -> None:
        self._seen = 0

    def complaints(self) -> list[str]:
        lines = LOG.read_text(errors="replace").splitlines() if LOG.exists() else []
        new, self._seen = lines[self._seen :], len(lines)
        return [line for line in new if " WARNING " in line or " ERROR " in line]


def cycle(profile: str, log: Log) -> dict[str, Any]:
    """Apply the profile, read back, revert, read back; then revert again."""
    rows = planned(profile)
    before = snapshot(rows)
    applied = run("tuned-adm", "profile", profile)
    found = {
        "rows": len(rows),
        "values": len(before),
        "changed": changes(before, snapshot(rows)),
        "applied": applied,
        "active": _read(ACTIVE),
        "wrong": wrong(rows),
        "verified": lowlat_gen("runtime", "verify", "--profile", profile),
        "complaints": log.complaints(),
    }
    found["off"] = run("tuned-adm", "off")
    found["left"] = changes(before, snapshot(rows))
    found["again"] = lowlat_gen("runtime", "stop", "--profile", profile)
    found["left again"] = changes(before, snapshot(rows))
    found["complaints off"] = log.complaints()
    return found


def restart(profile: str, tuned: Tuned, log: Log) -> dict[str, Any]:
    """A stopping daemon reverts; a starting one applies again."""
    rows = planned(profile)
    before = snapshot(rows)
    run("tuned-adm", "profile", profile)
    tuned.stop()
    found = {"left": changes(before, snapshot(rows))}
    tuned.start()
    found["wrong"] = wrong(rows)
    run("tuned-adm", "off")
    found["left after"] = changes(before, snapshot(rows))
    return {**found, "complaints": log.complaints()}


def refused(profile: str, rows: list[Row], log: Log) -> dict[str, Any]:
    """TuneD is asked to apply a profile that it must not apply."""
    before = snapshot(rows)
    status, said = run("tuned-adm", "profile", profile)
    found = {
        "status": status,
        "said": said,
        "changed": changes(before, snapshot(rows)),
        "active": _read(ACTIVE),
        "complaints": log.complaints(),
    }
    run("tuned-adm", "off")
    return {**found, "changed after": changes(before, snapshot(rows))}


def broken(profile: str, log: Log) -> Mapping[str, Any]:
    """The ways in which lowlat-gen may fail to name the isolated CPUs."""
    rows = planned(profile)
    kept = PROGRAM.with_name("lowlat-gen.kept")
    found = {}
    PROGRAM.rename(kept)
    found["missing"] = refused(profile, rows, log)
    PROGRAM.write_text("#!/bin/sh\necho 'lowlat-gen: refused for this test' >&2\nexit 2\n")
    PROGRAM.chmod(0o755)
    found["refusing"] = refused(profile, rows, log)
    PROGRAM.unlink()
    kept.rename(PROGRAM)
    return found


def main() -> int:
    folder, more = Path(sys.argv[1]), "--more" in sys.argv
    profiles = [word for word in sys.argv[2:] if word != "--more"]
    tuned, log = Tuned(), Log()
    tuned.start()
    found: dict[str, Any] = {"kernel": os.uname().release, "tuned": run("tuned", "--version")[1]}
    log.complaints()
    found["profiles"] = {}
    for profile in profiles:
        begin = time.monotonic()
        found["profiles"][profile] = cycle(profile, log)
        print(f"cycle: {profile}: {time.monotonic() - begin:.0f} s", flush=True)
        (folder / "cycle.json").write_text(json.dumps(found, indent=1))
    if more:
        found["restart"] = restart(profiles[0], tuned, log)
        found["broken"] = broken(profiles[0], log)
    tuned.stop()
    (folder / "cycle.json").write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
