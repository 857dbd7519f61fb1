# SPDX-License-Identifier: GPL-2.0-or-later
"""A drawing of the size of a telephone's screen: what is readable there is readable elsewhere.

Colours are classes of the page's style sheet, which knows light, dark and print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Optional, Union

from markupsafe import Markup

from lowlat.view.plot.axis import Axis, Linear, Log, short
from lowlat.view.plot.markup import NOTHING, Content, tag

WIDTH = 360.0
HEIGHT = 240.0

#: The room for the axes' numbers and names.
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 30.0, 40.0


class Canvas:
    """An SVG drawing; ``label`` tells what it shows to those who cannot see it."""

    def __init__(self, label: str, height: float = HEIGHT) -> None:
        self._label = label
        self._height = height
        self._parts: list[Markup] = []

    @property
    def bottom(self) -> float:
        """Where the horizontal axis lies."""
        return self._height - BOTTOM

    def add(self, name: str, *content: Content, **attributes: Union[str, float]) -> None:
        self._parts.append(tag(name, *content, **attributes))

    def text(
        self, x: float, y: float, words: str, kind: str = "tick", anchor: str = "start"
    ) -> None:
        self.add("text", words, x=x, y=y, class_=kind, text_anchor=anchor)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)

    def path(
        self, points: Iterable[tuple[float, float]], kind: str, hint: Optional[str] = None
    ) -> None:
        """A line through the points; ``hint`` shows under the pointer."""
        steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        title = tag("title", hint) if hint else NOTHING
        self.add("polyline", title, points=steps, class_=kind)

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, hint: str = ""
    ) -> None:
        title = tag("title", hint) if hint else NOTHING
        self.add("rect", title, x=x, y=y, width=width, height=height, class_=kind)

    def mark(self, x: float, y: float, kind: str, hint: str) -> None:
        """A point: a diamond for what was before, a square for everything else."""
        if kind == "before":
            corners = [(x - 4, y), (x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y)]
            self.path(corners, "mark before", hint)
        else:
            self.rect(x - 3.5, y - 3.5, 7, 7, f"mark {kind}", hint)

    def vertical(self, axis: Axis, name: str) -> None:
        """The axis on the left, with lines across."""
        for value in axis.ticks():
            y = axis.at(value)
            self.line(LEFT, y, WIDTH - RIGHT, y, "grid")
            self.text(LEFT - 5, y + 4, short(value), anchor="end")
        self.text(4, 11, name, "name")

    def horizontal(
        self, axis: Union[Linear, Log], name: str, words: Callable[[float], str] = short
    ) -> None:
        """The axis below, with its name at its right end."""
        for value in axis.ticks():
            x = axis.at(value)
            self.line(x, TOP, x, self.bottom, "grid")
            at_end = x > WIDTH - RIGHT - 12
            self.text(x, self.bottom + 14, words(value), anchor="end" if at_end else "middle")
        self.text(WIDTH - RIGHT, self.bottom + 32, name, "name", "end")

    def frame(self) -> None:
        self.line(LEFT, self.bottom, WIDTH - RIGHT, self.bottom, "base")

    def svg(self) -> Markup:
        """The drawing as it stands in the page."""
        return tag(
            "svg",
            *self._parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH:g} {self._height:g}",
            role="img",
            aria_label=self._label,
            class_="chart",
        )
