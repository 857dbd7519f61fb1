# SPDX-License-Identifier: GPL-2.0-or-later
"""TuneD on this host: its state, its active profiles, and the settings of these and their parents.

Files are read as TuneD's loader reads them (tuned/profiles/loader.py, locator.py). Variables and
functions, which only TuneD can expand, stay as written.
"""

import configparser
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Optional

from lowlat.base import resources
from lowlat.host.daemons import read_managers
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet

#: The host's own profile, which render writes.
LOCAL = "lowlat-local"

_MAIN = "/etc/tuned/tuned-main.conf"

#: TuneD's fallback profile, which every package of it contains.
_STOCK = "balanced"

#: Where distributions install TuneD.
PROGRAMS = ("/usr/sbin/tuned", "/usr/bin/tuned", "/usr/local/sbin/tuned")

#: By state: its consequence for the user, and what to do.
_ADVICE = resources.texts("host/tuned.ini")["advice"]


@dataclass(frozen=True)
class TunedProfile:
    """One tuned.conf as written: ``sections`` maps sections to options, [main] included."""

    name: str
    path: str
    sections: Mapping[str, Mapping[str, str]]


def state(root: Root) -> str:
    """absent, stopped, running, or one-shot (installed, but configured without a daemon)."""
    if not any(root.exists(path) for path in PROGRAMS):
        return "absent"
    if _main(root).get("daemon", "1").lower() in ("0", "no", "false", "off"):
        return "one-shot"
    return "running" if "tuned" in read_managers(root) else "stopped"


def advice(root: Root) -> str:
    """The consequence if TuneD runs no daemon; "" if it does."""
    return _ADVICE[state(root)].replace("\n", " ")


def active_profiles(root: Root) -> tuple[str, ...]:
    """The profiles that TuneD merges, in that order; the post-loaded profile is last."""
    names = ("active_profile", "post_loaded_profile")
    return tuple(name for file in names for name in (root.read(f"/etc/tuned/{file}") or "").split())


def profile_folders(root: Root) -> tuple[str, ...]:
    """The folders in which TuneD looks for profiles; later ones take precedence.

    Up to 2.22 profiles lie directly in tuned/, from 2.23 on in tuned/profiles/ or in the folders of
    ``profile_dirs``.
    """
    if not _has_subfolders(root):
        return ("/usr/lib/tuned", "/etc/tuned")
    told = re.split("[,;]", _main(root).get("profile_dirs", ""))
    folders = tuple(posixpath.normpath(path.strip()) for path in told if path.strip())
    if folders and all(folder.startswith("/") for folder in folders):
        return folders
    return ("/usr/lib/tuned/profiles", "/etc/tuned/profiles")


def chain(root: Root, name: str) -> tuple[TunedProfile, ...]:
    """The profile and all that it includes, in TuneD's loading order: a later profile overrides an
    earlier one. Empty if TuneD could not load it."""
    try:
        return tuple(_load(root, name, set()))
    except LookupError:
        return ()


def _load(root: Root, name: str, seen: set[str]) -> Iterator[TunedProfile]:
    """``seen`` are the files read so far. Raises LookupError if TuneD could not load a profile."""
    plain = Path(name.removeprefix("-")).name
    paths = [f"{folder}/{plain}/tuned.conf" for folder in reversed(profile_folders(root))]
    path = next((p for p in paths if p not in seen and root.read(p) is not None), None)
    if path is None and (name.startswith("-") or seen.intersection(paths)):
        return  # optional, or loaded already
    sections = None if path is None else parse(root.read(path))
    if path is None or sections is None:
        raise LookupError(name)
    seen.add(path)
    for other in included_names(sections):
        # A name that TuneD would first have to compute cannot be resolved here.
        if "$" not in other:
            yield from _load(root, other, seen)
    yield TunedProfile(plain, path, sections)


def included_names(sections: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The names of the profiles that a profile includes, in their order."""
    names = re.split("[,;]", sections.get("main", {}).get("include", ""))
    return filter(None, map(str.strip, names))


def parse(text: Optional[str]) -> Optional[Mapping[str, Mapping[str, str]]]:
    """The sections of one of TuneD's files; None if it cannot be parsed."""
    parser = configparser.ConfigParser(
        delimiters=("=",), inline_comment_prefixes=("#",), strict=False, interpolation=None
    )
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return None
    return MappingProxyType({name: dict(parser[name]) for name in parser.sections()})


def hex_mask(cpus: CpuSet) -> str:
    """The mask with the zeros of TuneD's."""
    first, comma, rest = cpus.mask().partition(",")
    return f"{first:0>8}{comma}{rest}"


def _main(root: Root) -> Mapping[str, str]:
    sections = parse(f"[main]\n{root.read(_MAIN) or ''}")
    return {} if sections is None else sections["main"]


def _has_subfolders(root: Root) -> bool:
    if root.exists(f"/usr/lib/tuned/profiles/{_STOCK}"):
        return True
    return root.exists("/usr/lib/tuned/profiles") and not root.exists(f"/usr/lib/tuned/{_STOCK}")
