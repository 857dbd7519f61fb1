# SPDX-License-Identifier: GPL-2.0-or-later
"""The effect, cost and needs of a tunable or a profile, in words."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Optional

from lowlat.base.terminal import columns, filled, item
from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import EvidenceKind, Risk, Tunable, ValueFormat
from lowlat.catalogue.names import ELSEWHERE, NEVER
from lowlat.explain.guides import guides
from lowlat.host.noise import SOURCES, NoiseSource
from lowlat.kernel import facts
from lowlat.kernel.facts import FACTS
from lowlat.model.plan import NOISE
from lowlat.plan import profile
from lowlat.plan.profile import Profile

#: The least width for a text beside its name.
_LEAST = 20


def explain(entry: Tunable, release: Optional[str] = None) -> str:
    """One entry on at most one screen; for the kernel of a release, also its faults."""
    here = [("Here", _sentence(one)) for one in _faults(entry, release)]
    return "\n".join([entry.name, *(_paragraph(*part) for part in (*parts(entry), *here))])


def _faults(entry: Tunable, release: Optional[str]) -> Iterator[str]:
    for name in entry.faults if release else ():
        if facts.has(name, release) is not False:
            yield f"not planned: {facts.told(name, f'kernel {release}')}"


def explain_fact(name: str, release: Optional[str]) -> str:
    """A fact about kernels: the releases that have it, its source, and whether this one has it."""
    fact = FACTS[name]
    known = facts.has(name, release)
    here = "not known" if known is None else "has it" if known else "does not have it"
    told = {
        "What": _sentence(f"{fact.what} ({fact.hits})") if fact.what else "",
        "Since": ", ".join(fact.since),
        "Until": ", ".join(fact.until),
        "Commit": fact.commit,
        "Fixed by": fact.mend,
        "Source": fact.source,
        "Checked": fact.checked,
        "Here": f"{release or 'unknown kernel'}: {here}",
    }
    return "\n".join([name, *(_paragraph(*part) for part in told.items() if part[1])])


def parts(entry: Tunable) -> Iterator[tuple[str, str]]:
    """All parts of an entry's text, each with its label."""
    yield "What", _sentence(entry.why)
    if entry.note:
        yield "Note", _sentence(entry.note)
    yield "Where", "kernel command line" if entry.at_boot else "run time"
    yield "Cost", f"{entry.cost} (class: {entry.risk.value})"
    yield "Needs", "; ".join([*(need.wants for need in entry.needs), "root"])
    if entry.conflicts:
        yield "Not with", ", ".join(entry.conflicts)
    if entry.implies:
        yield "Includes", ", ".join(entry.implies)
    if entry.accepts:
        yield "Accepts", f"{entry.name}=VALUE, VALUE being {entry.accepts}"
    yield "Set by", ", ".join(profiles_with(entry)) or "no profile: by name only"
    yield "Seen", entry.evidence or "; ".join(_signs(entry))
    yield "Source", entry.source
    yield "Enable", f"lowlat-gen plan --enable {entry.usage}"


def _signs(entry: Tunable) -> Iterator[str]:
    """How to see the effect; the signs are those that verify checks."""
    sign = entry.sign
    if entry.value is None:
        yield ", or ".join(_holds(row.path, entry.reads, row.value) for row in entry.rows)
        if sign.path:
            yield f"{sign.path} beside it likewise"
        return
    if sign.shows is EvidenceKind.COPY:
        copy = f", {sign.path} being the parameter's own copy" if sign.path else ""
        yield f"nothing shows what the kernel made of it{copy}"
        return
    if sign.proof:
        said = re.sub(r"\([^()]*\)", sign.expected(entry.value) or "", sign.proof)
        yield f"kernel message '{said}'"
    if sign.path and not (sign.proof and sign.shows is EvidenceKind.MESSAGE):
        held = entry.value if "{" in entry.value else sign.expected(entry.value)
        yield _holds(sign.path, sign.reads, held or "")
    if sign.gone:
        yield f"{sign.gone} is not there"


def _holds(path: str, reads: ValueFormat, value: str) -> str:
    sysctl = "/proc/sys/"
    what = re.sub(r"\{\w+\}|\[0-9\]\*", "N", path)
    if path.startswith(sysctl):
        what = f"sysctl {path[len(sysctl) :].replace('/', '.')}"
    role = re.search(r"{(isolated|housekeeping)", value)
    if role:
        how = "lies within" if reads is ValueFormat.WITHIN else "equals"
        return f"{what} {how} the {role[1]} CPUs"
    return f"{what} shows [{value}]" if reads is ValueFormat.CHOICE else f"{what} is {value}"


def profiles_with(entry: Tunable) -> list[str]:
    """The packaged profiles in which the entry is on."""
    return [found.name for found in packaged() if found.settings.get(entry.name, "off") != "off"]


@cache
def packaged() -> tuple[Profile, ...]:
    """The packaged profiles, sorted by name."""
    return tuple(map(profile.load_packaged, profile.packaged_names()))


def explain_profile(wanted: Profile) -> str:
    """One profile: for whom it is, what it costs, and what it sets."""
    on = {name: value for name, value in wanted.settings.items() if value != "off"}
    lines = [
        f"{wanted.name}: {wanted.summary}",
        _paragraph("For", _sentence(wanted.audience or "not said")),
        _paragraph("Costs", _sentence(wanted.costs or "not said")),
    ]
    if wanted.needs:
        lines.append(_paragraph("Needs", _sentence(wanted.needs)))
    if wanted.judged_by != NOISE:
        lines.append(_paragraph("Judged by", f"{wanted.judged_by} (report's primary endpoint)"))
    if not wanted.isolates:
        lines.append(_paragraph("CPUs", "isolates none"))
    for risk in Risk:
        names = [name for name in on if lookup(name).risk is risk]
        label, kind = ("Sets", "") if risk is Risk.NONE else ("At a cost", f"({risk.value}) ")
        if names:
            lines.append(_paragraph(label, kind + _named(on, names)))
    lines.append(_paragraph("See", f"lowlat-gen plan --profile {wanted.name}"))
    return "\n".join(lines)


def _named(settings: Mapping[str, str], names: list[str]) -> str:
    return ", ".join(
        name if settings[name] == "on" else f"{name}={settings[name]}" for name in names
    )


def explain_source(one: NoiseSource, sign: str) -> str:
    """A known source of noise; ``sign`` shows that this host has it, "" if nothing does."""
    here = sign or ("not seen" if one.visible else "no file shows it")
    told = {"What": one.what, "Mend": one.mend, "Source": one.source, "Here": here}
    lines = (_paragraph(label, f"{text}.") for label, text in told.items())
    return "\n".join([f"{one.name}, which no setting of lowlat governs", *lines])


def overview(own: Iterable[str] = ()) -> str:
    """Every name with the beginning of its text; ``own`` are the user's profiles."""
    profiles = {found.name: found.summary for found in packaged()}
    groups = (
        ("Guides, one for each kind of work", {one.name: one.title for one in guides()}),
        ("Profiles", profiles),
        ("Profiles of your own", {name: "'profile check' reads it" for name in own}),
        ("Set or offered", {entry.name: entry.why for entry in CATALOGUE}),
        ("Never set", NEVER),
        ("Not set by lowlat: what to do instead", ELSEWHERE),
        ("Noise of daemons and firmware", {one.name: one.what for one in SOURCES.values()}),
    )
    return "\n\n".join(_table(title, rows) for title, rows in groups if rows)


def explain_area(title: str, entries: Iterable[Tunable]) -> str:
    """The names of an area with the beginnings of their texts."""
    return _table(title, {entry.name: entry.why for entry in entries})


def _table(title: str, rows: Mapping[str, str]) -> str:
    width = max(map(len, rows))
    room = columns() - width - 4
    lines = (
        f"  {name.ljust(width)}  {textwrap.shorten(text, room, placeholder=' …')}"
        for name, text in rows.items()
    )
    if room < _LEAST:
        lines = (line for name, text in rows.items() for line in item(name, text))
    return "\n".join([f"{title}:", *lines])


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _paragraph(label: str, text: str) -> str:
    return "\n".join(filled(text, f"  {label:10}", " " * 12))
