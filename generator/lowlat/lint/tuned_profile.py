# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line of a TuneD profile: its [bootloader] with those of the profiles that it includes,
and the values of its variables, as far as a machine's CPUs decide them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from lowlat.base import bounds, files, reader
from lowlat.base.errors import Refused
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.host.tuned import hex_mask
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine

_Sections = Mapping[str, Mapping[str, str]]

#: A function whose arguments hold no other one, and a variable; a backslash keeps them as they are.
_FUNCTION = re.compile(r"(?<!\\)\$\{f:(\w+)((?::(?:[^{}:\\]|\\.)*)*)\}")
_VARIABLE = re.compile(r"(?<!\\)\$\{(\w+)\}")

#: More profiles include each other in no profile that somebody uses.
_MOST = 50

#: The longest value of a variable, and the most functions that a profile calls.
_LONGEST, _CALLS = 4096, 200

#: Where the variables of profiles lie.
_ADMINISTRATORS = "/etc/tuned/"


def is_tuned_profile(text: str) -> bool:
    return bool(re.search(r"(?m)^\[(?:bootloader|main)\]", text))


def tuned_line(text: str, path: Optional[Path], root: Root, machine: Machine) -> str:
    """The words that TuneD adds (plugin_bootloader.py, _get_effective_options()) where the profile
    is active. Included profiles are looked for beside the folder of ``path``, then where TuneD of
    ``root`` looks. Raises Refused if a file is missing or only TuneD can determine a word."""
    merged: dict[str, dict[str, str]] = {}
    for sections in _chain(text, path, root, []):
        for name, options in sections.items():
            _merge(merged.setdefault(name, {}), options)
    values = _Variables(machine)
    for name, value in merged.get("variables", {}).items():
        if name == "include":
            for known, text in _more_variables(value.strip(), root).items():
                values.known[known] = values.filled(text)
        else:
            values.known[name] = values.filled(value)
    words: list[str] = []
    for name, value in merged.get("bootloader", {}).items():
        if name.startswith("cmdline"):
            sign, given = value[:1], values.known_words(name, value.lstrip("+-\\"))
            words = [w for w in words if w not in given] if sign == "-" else words + given
    if not words:
        raise Refused("the TuneD profile adds no word to the boot line", hint="give a boot line")
    return " ".join(words)


def _more_variables(path: str, root: Root) -> Mapping[str, str]:
    """The variables in a file of the host that a profile names. A profile of others must not show
    what only root may read."""
    if not path.startswith(_ADMINISTRATORS) or ".." in path.split("/"):
        why = f"the TuneD profile includes variables of {path[:60]}"
        raise Refused(why, hint=f"lint reads those below {_ADMINISTRATORS} alone")
    included = tuned.parse(f"[x]\n{root.read(path) or ''}") or {}
    return included.get("x", {})


def _merge(before: dict[str, str], options: Mapping[str, str]) -> None:
    """As TuneD merges a section with the same one of a later profile (profiles/merger.py)."""
    if options.get("replace", "").lower() in ("true", "1", "yes", "y", "t"):
        before.clear()
    for name in re.split(r"[\s,;]+", options.get("drop", "")):
        before.pop(name, None)
    before.update({k: v for k, v in options.items() if k not in ("replace", "drop")})


def _chain(text: str, path: Optional[Path], root: Root, seen: list[str]) -> Iterator[_Sections]:
    """The profiles in TuneD's order: a later one overrides an earlier one."""
    sections = tuned.parse(text)
    if sections is None:
        raise Refused("the TuneD profile cannot be parsed", hint="'tuned-adm profile' tells more")
    for name in tuned.included_names(sections):
        plain = name.removeprefix("-")
        if plain and plain not in seen and len(seen) < _MOST:
            seen.append(plain)
            yield from _included(name, path, root, seen)
    yield sections


def _included(name: str, path: Optional[Path], root: Root, seen: list[str]) -> Iterator[_Sections]:
    plain = name.removeprefix("-")
    folder = path.absolute().parent.parent if path else None
    beside = folder / plain / "tuned.conf" if folder else None
    if "$" in name:
        why = f"only TuneD knows what the profile includes: {name[:60]}"
        raise Refused(why, hint="activate the profile and lint the running line")
    if beside and re.fullmatch(r"[\w.-]+", plain) and beside.is_file():
        with files.reporting_errors(str(beside)):
            text = reader.read(beside, bounds.BOOT_LINE, inside=folder).decode("utf-8", "replace")
        yield from _chain(text, beside, root, seen)
        return
    chain = tuned.chain(root, plain)
    if not chain and not name.startswith("-"):
        hint = f"put {plain[:40]}/tuned.conf beside the profile's folder"
        raise Refused(f"the TuneD profile includes '{plain[:40]}', which is not here", hint=hint)
    yield from (profile.sections for profile in chain)


@dataclass
class _Variables:
    """TuneD's variables and built-in functions (profiles/variables.py, functions/)."""

    machine: Machine
    known: dict[str, str] = field(default_factory=dict)
    calls: int = 0

    def filled(self, text: str) -> str:
        """The text with all values that are known. A variable without one is text to TuneD: it
        stands between two signs here, so that it is no part of a function's name."""
        text = _VARIABLE.sub(lambda match: self.known.get(match[1], f"\0{match[1]}\1"), text)
        if len(text) > _LONGEST:
            raise Refused("a variable of the TuneD profile is longer than any boot line")
        while (new := _FUNCTION.sub(self._called, text)) != text:
            if len(new) > bounds.BOOT_LINE:
                raise Refused("a function of the TuneD profile gives more than any boot line")
            text = new
        return re.sub(r"\\(\$\{\w+\})", r"\1", text)

    def known_words(self, name: str, text: str) -> list[str]:
        """Raises Refused if a value is not known."""
        filled = self.filled(text)
        if "${" in filled:
            shown = _literal(filled)[:60]
            hint = "activate the profile and lint the running line"
            raise Refused(f"only TuneD knows what {name} becomes: {shown}", hint=hint)
        unset = re.search("\0(\\w+)\1", filled)
        if unset:
            hint = "give it a value in [variables], or in the file that this section includes"
            raise Refused(f"the TuneD variable {unset[1][:40]} has no value", hint=hint)
        return filled.split()

    def _called(self, match: re.Match[str]) -> str:
        self.calls += 1
        if self.calls > _CALLS:
            raise Refused(f"the TuneD profile calls more than {_CALLS} functions")
        args = re.split(r"(?<!\\):", match[2])[1:]
        given = [_literal(arg.replace("\\:", ":")) for arg in args]
        function = _FUNCTIONS.get(match[1])
        try:
            called = match[0] if function is None else function(given, self.machine)
        except (TypeError, ValueError, re.error):
            return match[0]
        return re.sub(r"\$\{(\w+)\}", "\0\\1\1", called) if function else called


def _literal(text: str) -> str:
    return re.sub("\0(\\w+)\1", r"${\1}", text)


def _listed(cpus: CpuSet) -> str:
    return ",".join(map(str, cpus))


def _cpus(given: list[str]) -> CpuSet:
    return CpuSet.parse_list(",".join(given).strip("'\""))


def _most(given: list[str], machine: Machine) -> str:
    """All CPUs but the first ones of each package, of which one is kept, or as many as given."""
    kept = int(given[0]) if given else 1
    packages: dict[object, list[int]] = {}
    for core in machine.cores:
        packages.setdefault(core.package, []).extend(core.cpus)
    return _listed(CpuSet.of(cpu for cpus in packages.values() for cpu in sorted(cpus)[kept:]))


def _searched(text: str, pattern: str, found: str, other: str) -> str:
    # A group can be repeated, and so can its ways to match; two repetitions try each other's.
    if "(" in pattern or len(re.findall(r"[*+?{]", pattern)) > 1:
        raise ValueError("a pattern that may take long")
    return found if re.search(pattern, text) else other


#: Of arguments and the machine.
_FUNCTIONS: Mapping[str, Callable[[list[str], Machine], str]] = {
    "calc_isolated_cores": _most,
    "cpulist2hex": lambda given, machine: hex_mask(_cpus(given)),
    "cpulist2hex_invert": lambda given, machine: hex_mask(machine.cpus.online - _cpus(given)),
    "cpulist_invert": lambda given, machine: _listed(machine.cpus.online - _cpus(given)),
    "cpulist_online": lambda given, machine: _listed(_cpus(given) & machine.cpus.online),
    "cpulist_pack": lambda given, machine: str(_cpus(given)),
    "cpulist_unpack": lambda given, machine: _listed(_cpus(given)),
    "regex_search_ternary": lambda given, machine: _searched(*given),
    "strip": lambda given, machine: "".join(given).strip(),
}
