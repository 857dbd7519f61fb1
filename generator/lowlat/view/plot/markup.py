# SPDX-License-Identifier: GPL-2.0-or-later
"""Elements of HTML and SVG as text: whatever is not markup already is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

from markupsafe import Markup

from lowlat.base import encode

Content = Union[str, Markup]

NOTHING = Markup("")


def safe(value: object) -> Markup:
    """What is no markup yet is escaped."""
    if isinstance(value, Markup):
        return value
    return Markup(encode.markup(str(value)))  # noqa: S704  # it is the encoder


def tag(name: str, *content: Content, **attributes: Union[str, float]) -> Markup:
    """An element; ``class_`` stands for class, ``text_anchor`` for text-anchor. Numbers are written
    with as many digits as a drawing needs."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(_word(value))}"'
        for key, value in attributes.items()
    )
    inner = NOTHING.join(safe(part) for part in content)
    return Markup(f"<{name}{given}>{inner}</{name}>")  # noqa: S704  # its parts are escaped


def numbered(words: Iterable[str], key: str) -> Markup:
    """A list with the numbers of a drawing, from 1, in the style ``key`` with the number for {}:
    nobody has to tell colours apart."""
    items = (
        tag("li", tag("span", str(n), class_=f"key {key.format(n)}"), tag("span", one))
        for n, one in enumerate(words, 1)
    )
    return tag("ul", *items, class_="legend")


def _word(value: Union[str, float]) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
