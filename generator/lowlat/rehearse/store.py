# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a rehearsal: the request and all results, so that it can be resumed."""

import hashlib
import os
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Optional

from lowlat import __version__
from lowlat.base import bounds, files, process, reader, trust
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.typed_json import read_value, write_value
from lowlat.measure.child import find_harness
from lowlat.model.machine import Machine
from lowlat.rehearse import qemu
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.options import RehearseOptions

REQUEST = "request.json"

SCHEMA = "lowlat.rehearsal-request/1"

_ASK_S = 20.0

#: Paths without commas and equals signs, which QEMU and virtme-ng interpret.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/+@~-]+")


def name(out: Optional[Path]) -> Path:
    """The folder for all results, by default in the state folder's runs. Raises Refused if a guest
    cannot share it, or it already holds a rehearsal."""
    fresh = f"rehearsal-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    folder = _shared("--out", out or files.state_folder() / "runs" / fresh)
    if os.path.lexists(folder / REQUEST):
        hint = f"--resume {folder} goes on with it, or name another folder"
        raise Refused(f"--out {folder}: holds a rehearsal already", hint=hint)
    return folder


@dataclass(frozen=True)
class Request:
    """The user's request, its kernels, the versions of all programs that make the results, and the
    seed of the order of the boots."""

    options: RehearseOptions
    kernels: tuple[BootableKernel, ...]
    made_with: Mapping[str, str]
    seed: int = 0
    schema: str = SCHEMA

    def make(self, folder: Path) -> None:
        """Make the folder and store this in it. Raises Refused if that fails."""
        with files.reporting_errors(f"--out {folder}", "name a writable folder"):
            folder.mkdir(parents=True, exist_ok=True)
            _check_owner("--out", folder)
            write_value(folder / REQUEST, self)

    def check(self, made_with: Mapping[str, str]) -> None:
        """Raises Refused if new boots would not be comparable with the stored ones."""
        for name, before in self.made_with.items():
            now = made_with.get(name, "")
            if now != before:
                why = f"--resume: it was begun with {name} {before}, here is {now}"
                raise Refused(why, hint="boots of both do not compare: begin another rehearsal")


def resumed(named: Path) -> tuple[Path, Request]:
    """The folder of a rehearsal and its request. Raises Refused if none was begun there, if a guest
    cannot share the folder, or if root cannot trust it."""
    folder = _shared("--resume", named)
    with suppress(OSError, ValueError, TypeError):
        request = read_value(folder / REQUEST, Request)
        _check_owner("--resume", folder)
        if request.schema == SCHEMA:
            return folder, request
    why = f"--resume {named}: no rehearsal was begun there"
    raise Refused(why, hint="name the folder of its results")


def locked(folder: Path) -> AbstractContextManager[int]:
    """Lock the folder. Raises Refused if another rehearsal is at work in it."""
    why = f"--resume {folder}: a rehearsal is at work there"
    return files.locked(folder / REQUEST, taken=Refused(why, hint="wait for its end"))


def _shared(option: str, named: Path) -> Path:
    folder = Path(os.path.realpath(named))
    if not _PLAIN_PATH.fullmatch(str(folder)):
        only = "only letters, digits and ._/+@~- can be shared with a guest"
        raise Refused(f"{option} {folder}: {only}")
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{option} {folder}: not a folder")
    if folder.exists():
        _check_owner(option, folder)
    return folder


def _check_owner(option: str, folder: Path) -> None:
    try:
        trust.check(str(folder), hint="name a folder of root's, or rehearse as yourself")
    except Refused as error:
        raise Refused(f"{option} {error.message}", hint=error.hint) from error


def made_with(machine: Machine, kernels: Iterable[BootableKernel]) -> dict[str, str]:
    """Versions of all programs, "" if unknown. Raises Refused if a kernel cannot be read."""
    return {
        "lowlat": __version__,
        "harness": _line(find_harness(), "--version"),
        "harness_sha256": _digest(Path(find_harness())),
        "qemu": _line(qemu.program(), "--version"),
        "virtme_ng": _package("virtme-ng"),
        "tuned": _line(process.find("tuned") or "", "--version"),
        "host": f"{machine.processor.model or platform.machine()}, {os.cpu_count()} CPUs",
        "host_kernel": platform.release(),
        "python": platform.python_version(),
        **{f"image_sha256 {kernel.release}": _digest(kernel.image) for kernel in kernels},
    }


def _digest(path: Path) -> str:
    with files.reporting_errors(str(path)):
        return hashlib.sha256(reader.read(path, bounds.IMAGE)).hexdigest()


def _package(name: str) -> str:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return ""


def _line(program: str, option: str) -> str:
    with suppress(LowlatError):
        ended = process.run([program, option], timeout=_ASK_S)
        return "" if ended.status else ended.stdout.partition("\n")[0].strip()
    return ""
