# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue as documents: Markdown, a page a tunable or all in one, and the manual's table."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from lowlat.catalogue import AREAS, CATALOGUE
from lowlat.catalogue.entry import Stage, Tunable
from lowlat.catalogue.never import ALIASES, ELSEWHERE, NEVER
from lowlat.explain.entries import packaged, parts

PRODUCED = "Produced from the catalogue by packaging/produce."


def page(entry: Tunable) -> str:
    """The page of one tunable."""
    return _document([f"# {_code(entry.name)}", "", *_section(entry)])


def index(folder: str = "") -> str:
    """The list of all tunables, with links to their pages, of what is none, and of the profiles."""
    lines = ["# Tunables", ""]
    for area, entries in AREAS:
        lines += [f"## {area}", "", "| tunable | where | cost |", "|---|---|---|"]
        lines += [
            f"| [{_code(entry.name)}]({folder}{entry.name}.md) | {_where(entry)} | "
            f"{entry.risk.value} |"
            for entry in entries
        ]
        lines.append("")
    return _document([*lines, *_rest()])


def everything() -> str:
    """The whole reference as one document."""
    lines = ["# Tunables", ""]
    for area, entries in AREAS:
        lines += [f"## {area}", ""]
        for entry in entries:
            lines += [f"### {_code(entry.name)}", "", *_section(entry), ""]
    return _document([*lines, *_rest()])


def _document(lines: list[str]) -> str:
    head = ["<!-- SPDX-License-Identifier: GPL-2.0-or-later -->", f"<!-- {PRODUCED} -->"]
    return "\n".join([*head, *lines]).rstrip("\n") + "\n"


def _section(entry: Tunable) -> Iterator[str]:
    (_, what), *others = parts(entry)
    yield _text(what)
    yield ""
    yield "| | |"
    yield "|---|---|"
    for label, text in others:
        literal = label in ("Accepts", "Enable")
        yield f"| {label} | {_code(text) if literal else _text(text)} |"


def _rest() -> Iterator[str]:
    yield from ("## Profiles", "", "| profile | for | costs |", "|---|---|---|")
    for found in packaged():
        yield f"| {_code(found.name)} | {_text(found.audience)} | {_text(found.costs)} |"
    for title, rows in (
        ("Never set", NEVER),
        ("Not set by lowlat: what to do instead", ELSEWHERE),
        ("Also known as", {name: f"see {here}" for name, here in ALIASES.items()}),
    ):
        yield from ("", f"## {title}", "", "| name | |", "|---|---|")
        yield from _rows(rows)


def _rows(rows: Mapping[str, str]) -> Iterator[str]:
    for name, text in rows.items():
        yield f"| {_code(name)} | {_text(text)} |"


def _where(entry: Tunable) -> str:
    return "boot" if entry.stage is Stage.BOOT else "run time"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _text(text: str) -> str:
    return re.sub(r"([|*_<>\[\]])", r"\\\1", text)


# --------------------------------------------------------------- lowlat-tunables(7)


def manual() -> str:
    """lowlat-tunables(7): a table of all tunables."""
    lines = [
        "'\\\" t",
        '.\\" SPDX-License-Identifier: GPL-2.0-or-later',
        f'.\\" {PRODUCED}',
        '.TH LOWLAT-TUNABLES 7 2026-11-21 lowlat "Miscellaneous Information Manual"',
        ".SH NAME",
        "lowlat\\-tunables \\- what lowlat\\-gen can set, where, and at what cost",
        ".SH DESCRIPTION",
        "Each of these is set by a profile or by",
        '.BR "lowlat\\-gen plan \\-\\-enable" .',
        ".B lowlat\\-gen explain",
        ".I NAME",
        "tells what one does, costs and needs, and how to see it in effect.",
    ]
    for area, entries in AREAS:
        lines += [f".SS {_roff(area)}", *_tbl(("tunable", "where", "cost"), entries)]
    lines += [".SH NEVER SET", *_terms(NEVER)]
    lines += [".SH NOT SET BY LOWLAT", *_terms(ELSEWHERE)]
    lines += [".SH SEE ALSO", ".BR lowlat\\-gen (8),", ".BR lowlat.conf (5)"]
    return "\n".join(lines) + "\n"


def _tbl(head: tuple[str, str, str], entries: tuple[Tunable, ...]) -> Iterator[str]:
    yield ".TS"
    yield "tab(|);"
    yield "lI lI lI"
    yield "lB l l."
    yield "|".join(head)
    for entry in entries:
        yield f"{_roff(entry.name)}|{_where(entry)}|{_roff(entry.risk.value)}"
    yield ".TE"


def _terms(rows: Mapping[str, str]) -> Iterator[str]:
    for name, text in rows.items():
        yield ".TP"
        yield f"\\fB{_roff(name)}\\fR"
        yield from textwrap.wrap(_roff(text), 79, break_on_hyphens=False, break_long_words=False)


def _roff(text: str) -> str:
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{plain}" if plain.startswith((".", "\\(aq")) else plain


def pages() -> dict[str, str]:
    """File names below a folder of the reference, with their content."""
    return {"index.md": index(), **{f"{entry.name}.md": page(entry) for entry in CATALOGUE}}
