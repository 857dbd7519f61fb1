# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue as one Markdown document."""

import re
from collections.abc import Iterator

from lowlat.catalogue import AREAS
from lowlat.catalogue.entry import Tunable
from lowlat.catalogue.names import ALIASES, ELSEWHERE, NEVER
from lowlat.explain.entries import packaged, parts
from lowlat.host.noise import SOURCES

PRODUCED = "Produced from the catalogue by packaging/produce."


def everything() -> str:
    """The reference of all tunables as one document."""
    lines = ["# Tunables", ""]
    for area, entries in AREAS:
        lines += [f"## {area}", ""]
        for entry in entries:
            lines += [f"### {code(entry.name)}", "", *section(entry), ""]
    return document([*lines, *rest()])


def document(lines: list[str]) -> str:
    head = ["<!-- SPDX-License-Identifier: GPL-2.0-or-later -->", f"<!-- {PRODUCED} -->"]
    return "\n".join([*head, *lines]).rstrip("\n") + "\n"


def section(entry: Tunable) -> Iterator[str]:
    (_, what), *others = parts(entry)
    yield _text(what)
    yield ""
    yield "| | |"
    yield "|---|---|"
    for label, text in others:
        literal = label in ("Accepts", "Enable")
        yield f"| {label} | {code(text) if literal else _text(text)} |"


def rest() -> Iterator[str]:
    yield from ("## Profiles", "", "| profile | for | costs |", "|---|---|---|")
    for found in packaged():
        yield f"| {code(found.name)} | {_text(found.audience)} | {_text(found.costs)} |"
    for title, rows in (
        ("Never set", NEVER),
        ("Not set by lowlat: what to do instead", ELSEWHERE),
        ("Noise of daemons and firmware", noise_texts()),
        ("Also known as", {name: f"see {here}" for name, here in ALIASES.items()}),
    ):
        yield from ("", f"## {title}", "", "| name | |", "|---|---|")
        yield from (f"| {code(name)} | {_text(text)} |" for name, text in rows.items())


def noise_texts() -> dict[str, str]:
    """Each known source of noise, with what it does, what to do about it, and where that stands."""
    return {one.name: f"{one.what}: {one.mend} ({one.source})" for one in SOURCES.values()}


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _text(text: str) -> str:
    return re.sub(r"([|*_<>\[\]])", r"\\\1", text)
