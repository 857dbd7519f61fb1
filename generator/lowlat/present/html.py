# SPDX-License-Identifier: GPL-2.0-or-later
"""The page: one HTML file that contains everything it shows and loads nothing."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

import jinja2
from markupsafe import Markup

from lowlat import __version__
from lowlat.base import encode, resources
from lowlat.claim.comparison import Comparison
from lowlat.draw import text
from lowlat.present import settings_table
from lowlat.present.contents import page_context
from lowlat.present.drawn_arm import Group, drawn
from lowlat.present.opening import opening
from lowlat.present.plot import axis
from lowlat.present.sections import of_comparison
from lowlat.present.wording import number


def render(group: Group) -> str:
    """The page of a comparison, or of one arm by itself."""
    return filled("page.html.j2", [page_context(group)], group.comparison.first)


def render_groups(title: str, groups: Sequence[Group]) -> str:
    """The page of several comparisons, at least one: first all findings, then each comparison. A
    single one has the page of a comparison."""
    if len(groups) == 1:
        return filled("page.html.j2", [page_context(groups[0])], title)
    told = [page_context(group, place) for place, group in enumerate(groups, 1)]
    return filled("groups.html.j2", told, title)


def images(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Each drawing of the page as an SVG image, with the name of its file. The machine is none: the
    browser arranges it."""
    drawings = [*opening(comparison).figures]
    drawings += [one for section in of_comparison(comparison, ()) for one in section.figures]
    template = _environment().get_template("image.svg.j2")
    style = Markup(resources.template("view/page.css"))  # noqa: S704  # our own file
    for one in drawings:
        if one.kind != "machine":
            # A forest and parts name their arms themselves.
            arms = () if one.kind in ("forest", "parts") else drawn(comparison)
            image = template.render(figure=one, arms=arms, style=style)
            yield f"{one.data.name.rpartition('.')[0]}.svg", image


def _height(drawing: str) -> float:
    """The height of a drawing, from its view box."""
    return float(drawing.partition('viewBox="')[2].partition('"')[0].split()[3])


def filled(template: str, told: Sequence[Mapping[str, object]], title: str) -> str:
    """A page with the style sheet inside; ``told`` includes the runs it was made from."""
    style = resources.template("view/page.css")
    page = _environment().get_template(template)
    return page.render(
        version=__version__,
        style=Markup(style),  # noqa: S704  # our own file
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        title=title,
        told=told,
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(resources.templates() / "view")),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    environment.filters.update(
        mark=settings_table.mark, stands=settings_table.stands, listed=settings_table.listed
    )
    environment.filters.update(
        wrapping=_wrapping, sides=_sides, px=_pixels, points=_points, height=_height
    )
    environment.filters.update(
        devices=text.device_lines, absent=text.absent_lines, more=text.more, names=text.names
    )
    # All drawings share the positions and the number format.
    environment.globals.update(room=axis, short=axis.short, duration=axis.duration, number=number)
    environment.globals.update(counted=_counted)
    return environment


def _safe(value: object) -> Markup:
    """Escape a value that is not markup yet."""
    if isinstance(value, Markup):
        return value
    return Markup(encode.markup(str(value)))  # noqa: S704  # it is the encoder


def _wrapping(text: str) -> Markup:
    """A name that may go on in a new line after each of its parts."""
    return Markup(re.sub(r"(?<=[_.])(?=\w)", "<wbr>", encode.markup(text)))  # noqa: S704  # encoded


def _sides(cell: str) -> Markup:
    """A cell, each side of its arrow whole."""
    first, *others = (encode.markup(side.strip()) for side in cell.split("->"))
    sides = (f'<span class="side">{side}</span>' for side in (first, *others))
    return Markup(" → ".join(sides) if others else first)  # noqa: S704  # encoded


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _pixels(value: float) -> str:
    """A length with two digits at most after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
