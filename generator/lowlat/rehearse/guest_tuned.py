# SPDX-License-Identifier: GPL-2.0-or-later
"""Run-time settings in the guest: TuneD applies the host's profile once, without its daemon."""

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import lowlat
from lowlat.base import process
from lowlat.base.errors import Refused
from lowlat.boot import foreign
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet

PROFILE = "lowlat-local"

#: The words that virtme-run adds to every guest's command line.
_GUEST = re.compile(r"(?:^|\s)virtme[_.]")

_MAIN = Path("/etc/tuned/tuned-main.conf")
_PROGRAM = Path("/usr/bin/lowlat-gen")
_APPLY_S = 240.0


def apply(root: Root, files: Path, log: Path) -> tuple[str, list[str]]:
    """Copy the rendered files to / and apply them. Returns what applied them, and the problems.
    Raises Refused outside of a guest: only a guest's /etc, /usr and /var are overlays."""
    _check_guest(root)
    for source in files.rglob("*"):
        if source.is_file():
            target = Path("/") / source.relative_to(files)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    _write_program()
    if process.find("tuned") is None:
        return "lowlat-gen runtime", _without_tuned(log)
    return "TuneD, without its daemon", _by_tuned(PROFILE, log)


def apply_own(root: Root, name: str, isolated: CpuSet, log: Path) -> tuple[str, list[str]]:
    """Let TuneD apply its profile ``name`` for these isolated CPUs. Returns as apply(). Raises
    Refused outside of a guest or without TuneD."""
    _check_guest(root)
    if process.find("tuned") is None:
        raise process.NotInstalled("TuneD")
    for path in _MAIN.parent.glob("*-variables.conf"):
        _set(path, "isolated_cores", str(isolated))
    return f"TuneD's {name}, without its daemon", _by_tuned(name, log)


def not_applied(name: str) -> str:
    """The problem of a boot without its profile; TuneD reports lesser problems too."""
    return f"TuneD did not apply {name}"


def line(root: Root) -> str:
    """The command line of the last applied profile."""
    return foreign.tuned_variables(root).get("tuned_params", "")


def _check_guest(root: Root) -> None:
    if not _GUEST.search(root.read("/proc/cmdline") or ""):
        why = "a rehearsal's run-time settings are applied in its guest only"
        raise Refused(why, hint="'lowlat-gen rehearse' boots one")


def _by_tuned(name: str, log: Path) -> list[str]:
    _set(_MAIN, "daemon", "0")
    argv = [process.find("tuned") or "tuned", "--no-dbus", "--no-socket", "--profile", name]
    ended = process.run(argv, timeout=_APPLY_S)
    text = ended.stdout + ended.stderr
    log.write_text(text)
    problems = list(_complaints(text))
    # TuneD's exit status proves nothing: it is 0 even for an unknown profile.
    if ended.timed_out or f"static tuning from profile '{name}' applied" not in text:
        problems.insert(0, not_applied(name))
    return problems


def _without_tuned(log: Path) -> list[str]:
    ended = process.run([str(_PROGRAM), "runtime", "start"], timeout=_APPLY_S)
    log.write_text(ended.stdout + ended.stderr)
    problems = ["TuneD is not installed: what it sets natively was left out"]
    if ended.status:
        problems.append(f"lowlat-gen runtime start: {ended.stderr.strip()}")
    return problems


def _write_program() -> None:
    # The profile's script calls the installed program; here it must call the rehearsing one.
    root = Path(lowlat.__file__).resolve().parents[1]
    words = shlex.join(["env", f"PYTHONPATH={root}", sys.executable, "-m", "lowlat"])
    # An installed one may be a link or belong to a package: replace it, do not write through it.
    _PROGRAM.unlink(missing_ok=True)
    _PROGRAM.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    _PROGRAM.chmod(0o755)


def _set(path: Path, key: str, value: str) -> None:
    text = path.read_text() if path.exists() else ""
    kept = re.sub(rf"(?m)^\s*{key}\s*=.*\n?", "", text)
    path.write_text(f"{kept.rstrip()}\n{key}={value}\n")


def _complaints(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.search(r"\b(ERROR|CRITICAL)\b", line):
            yield f"TuneD: {re.sub(r'^.*?(ERROR|CRITICAL) *', '', line).strip()}"
