# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles (lowlat.conf, INI): which catalogue entries are on, off, or have another value."""

import configparser
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Optional

from lowlat.base import bounds, encode, files, reader, resources
from lowlat.base.errors import Refused
from lowlat.catalogue import lookup
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.plan import NOISE, WAKEUP
from lowlat.plan.cpu_request import NODE, NONE, PACKAGE, CpuRequest, merge, set_lists

USER_PROFILES = "/etc/lowlat/profiles"

#: The profile of those who name none.
DEFAULT = "lowlat"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True)
class Profile:
    """``settings`` maps catalogue names to "on", "off" or a value; ``request`` is the profile's
    choice of CPUs. ``audience`` is for whom it is made ("for" in the file), ``costs`` its
    drawbacks, and ``needs`` what the user must do; each plan warns of these needs. ``judged_by``
    is the endpoint of the verdict on it. ``realtime``: it is made for a PREEMPT_RT kernel, and
    plans for another one warn of that."""

    name: str
    summary: str
    settings: Mapping[str, str]
    request: CpuRequest = CpuRequest()
    audience: str = ""
    costs: str = ""
    needs: str = ""
    judged_by: str = NOISE
    realtime: bool = False

    @property
    def isolates(self) -> bool:
        """False if the profile leaves every CPU to the system."""
        return self.request.isolate != NONE


def is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text))


def load(name: str, root: Optional[Root] = None) -> Profile:
    """A profile by name. One in /etc/lowlat/profiles takes precedence over a packaged one of that
    name, and may name that one as its parent. Raises Refused if no profile has the name, or if it
    names an unknown setting."""
    return _load(name, root or Root(), ())


@cache
def load_packaged(name: str) -> Profile:
    """The packaged profile of that name, regardless of the host's profiles."""
    return _load(name, None, ())


def _load(name: str, root: Optional[Root], children: tuple[str, ...]) -> Profile:
    """``root`` is None if only packaged profiles count."""
    text = None if root is None or name in children else _users(name, root)
    if text is None and (children.count(name) > 1 or name in set(children) - {*packaged_names()}):
        raise Refused(f"profile {children[0]}: its parents lead back to {name}")
    if text is None:
        text = _packaged(name, root)
    return _build(name, _parse(name, text), root, (*children, name))


def _parse(name: str, text: str) -> configparser.ConfigParser:
    # No section of defaults: no file can contain this name.
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), default_section="\0", empty_lines_in_values=False
    )
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    try:
        parser.read_string(text.lstrip("\ufeff"))
    except configparser.Error as error:
        raise Refused(f"profile {name}: {error.message.splitlines()[0]}") from error
    if not parser.sections():
        raise Refused(f"profile {name}: the file is empty", hint="it begins with [main]")
    return parser


def _build(
    name: str, parser: configparser.ConfigParser, root: Optional[Root], children: tuple[str, ...]
) -> Profile:
    unknown = set(parser.sections()) - {"main", "cpus", "settings"}
    if unknown:
        raise Refused(f"profile {name}: there is no section [{sorted(unknown)[0]}]")
    main = _section(parser, "main")
    if set(main) - {"parent", "summary", "for", "costs", "needs", "judged_by", "realtime"}:
        known = "parent, summary, for, costs, needs, judged_by and realtime"
        raise Refused(f"profile {name}: [main] has only {known}")
    if main.get("judged_by", NOISE) not in (NOISE, WAKEUP):
        raise Refused(f"profile {name}: judged_by is {NOISE} or {WAKEUP}")
    if main.get("realtime", "no") not in ("yes", "no"):
        raise Refused(f"profile {name}: realtime is yes or no, not {main['realtime'][:40]}")
    for key, text in main.items():
        encode.line(text, f"profile {name}: {key}")
    parent = _load(main["parent"], root, children) if "parent" in main else Profile(name, "", {})
    return Profile(
        name=name,
        summary=main.get("summary", parent.summary),
        settings={**parent.settings, **_settings(name, _section(parser, "settings"))},
        request=merge(parent.request, _request(name, _section(parser, "cpus"))),
        audience=main.get("for", parent.audience),
        costs=main.get("costs", parent.costs),
        needs=main.get("needs", parent.needs),
        judged_by=main.get("judged_by", parent.judged_by),
        realtime=main["realtime"] == "yes" if "realtime" in main else parent.realtime,
    )


def _section(parser: configparser.ConfigParser, name: str) -> dict[str, str]:
    return dict(parser[name]) if parser.has_section(name) else {}


def _settings(name: str, section: Mapping[str, str]) -> Mapping[str, str]:
    for setting in section:
        try:
            lookup(setting)
        except Refused as error:
            raise Refused(f"profile {name}: {error.message}", hint=error.hint) from error
    return section


def _request(name: str, section: Mapping[str, str]) -> CpuRequest:
    known = [option.name for option in fields(CpuRequest)]
    unknown = set(section) - set(known)
    if unknown:
        why = f"profile {name}: there is no option '{sorted(unknown)[0]}' in [cpus]"
        raise Refused(why, hint=f"there are: {', '.join(known)}")
    per = section.get("housekeeping_per", NODE)
    if per not in (NODE, PACKAGE):
        raise Refused(f"profile {name}: housekeeping_per is {NODE} or {PACKAGE}, not {per[:40]}")
    keep = section.get("keep_efficiency_cores", "no")
    if keep not in ("yes", "no"):
        raise Refused(f"profile {name}: keep_efficiency_cores is yes or no, not {keep[:40]}")
    for option in ("isolate", "housekeeping"):
        if section.get(option, NONE) != NONE:
            _check_list(name, option, section[option])
    return CpuRequest(
        isolate=section.get("isolate"),
        housekeeping=section.get("housekeeping"),
        housekeeping_cores=_number(name, section, "housekeeping_cores"),
        housekeeping_per=section.get("housekeeping_per"),
        isolate_cores=_number(name, section, "isolate_cores"),
        keep_efficiency_cores=keep == "yes",
        for_device=section.get("for_device"),
    )


def _number(name: str, section: Mapping[str, str], option: str) -> Optional[int]:
    text = section.get(option)
    if text is not None and not re.fullmatch(r"[1-9][0-9]{0,4}", text, re.ASCII):
        raise Refused(f"profile {name}: {option} = {text[:40]} is not a number from 1 on")
    return int(text) if text else None


def _check_list(name: str, option: str, text: str) -> None:
    try:
        for listed in set_lists(text).values() if option == "isolate" else (text,):
            CpuSet.parse_list(listed)
    except CpuSetError as error:
        raise Refused(f"profile {name}: {option} = {text[:60]}: {error}") from error


def _users(name: str, root: Root) -> Optional[str]:
    if not is_name(name):
        raise Refused(
            f"'{name[:64]}' is not a profile name", hint="small letters, digits and - only"
        )
    path = f"{USER_PROFILES}/{name}/lowlat.conf"
    root.check_owned(path)
    text = root.read(path)
    # An unreadable profile must not silently become the packaged one of that name.
    if text is None and not root.absent(path):
        raise Refused(f"{path}: cannot be read")
    return text


def _packaged(name: str, root: Optional[Root]) -> str:
    text = resources.packaged_profile(name) if is_name(name) else None
    if text is None:
        known = names(root or Root())
        near = [one for one in known if one == f"lowlat-{name}"]
        near += _made_for(name)
        near += difflib.get_close_matches(name[:64], known, n=1, cutoff=0.8)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        raise Refused(f"there is no profile '{name[:64]}'", hint=hint)
    return text


def _made_for(work: str) -> Iterator[str]:
    """The packaged profiles that name this kind of work, such as trading or games."""
    for name in packaged_names():
        if work.lower() in re.findall(r"\w+", load_packaged(name).audience.lower()):
            yield name


def packaged_names() -> list[str]:
    """The names of the packaged profiles."""
    return sorted(path.parent.name for path in resources.profiles().glob("*/lowlat.conf"))


def names(root: Root) -> list[str]:
    """The names of all profiles, packaged and the user's."""
    return sorted({*packaged_names(), *own_names(root)})


def own_names(root: Root) -> list[str]:
    """The profiles in /etc/lowlat/profiles."""
    folders = root.names(USER_PROFILES)
    return [one for one in folders if root.exists(f"{USER_PROFILES}/{one}/lowlat.conf")]


def check(path: str) -> Profile:
    """The profile in a file, named after its folder. Raises Refused if the file cannot be read or
    is no profile."""
    file = Path(path).absolute()
    with files.reporting_errors(path, "give a lowlat.conf that can be read"):
        text = reader.read(file, bounds.HOST_VALUE).decode("utf-8", "replace")
    name = file.parent.name if is_name(file.parent.name) else "mine"
    return _build(name, _parse(name, text), Root(), (name,))
