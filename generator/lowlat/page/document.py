# SPDX-License-Identifier: GPL-2.0-or-later
"""The page: one HTML file that holds everything it shows and asks nobody for more."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import jinja2
from markupsafe import Markup

from lowlat import __version__
from lowlat.base import resources
from lowlat.model.plan import Plan
from lowlat.page.group import Group
from lowlat.report.comparison import Comparison
from lowlat.report.tables import Table
from lowlat.report.wording import plain
from lowlat.view import contents as story
from lowlat.view import method, settings
from lowlat.view.arm import Side
from lowlat.view.contents import Story


@dataclass(frozen=True)
class _Told:
    """A group as the template tells it. ``prefix`` makes its addresses its own on the page, and
    ``spoken`` its names for those who cannot see where they stand."""

    prefix: str
    spoken: str
    title: str
    sides: Sequence[Side]
    story: Story
    facts: Table
    runs: Table


def render(found: Comparison, sides: Sequence[Side], plan: Optional[Plan]) -> str:
    """The page of a comparison; ``plan`` is the plan tried."""
    told = _told(Group("", found, tuple(sides), plan))
    return _filled("report.html.j2", [told], told.story.badge)


def render_groups(title: str, groups: Sequence[Group]) -> str:
    """The page of several comparisons, at least one: what each of them found, then each of them."""
    told = [
        _told(group, f"g{place}-", f"{place}. {group.title}: ")
        for place, group in enumerate(groups, 1)
    ]
    return _filled("report-groups.html.j2", told, title)


def _told(group: Group, prefix: str = "", spoken: str = "") -> _Told:
    return _Told(
        prefix=prefix,
        spoken=spoken,
        title=group.title,
        sides=group.sides,
        story=story.tell(group.found, group.sides, group.plan),
        facts=method.facts(group.sides),
        runs=method.runs(group.sides),
    )


def _filled(template: str, told: Sequence[_Told], title: str) -> str:
    style = resources.template("report.css")
    return (
        _environment()
        .get_template(template)
        .render(
            version=__version__,
            style=Markup(style),  # noqa: S704  # our own file
            digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            title=title,
            told=told,
            count=sum(len(one.runs.rows) for one in told),
        )
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(resources.templates())),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["mark"] = settings.mark
    return environment


def _shown(value: object) -> object:
    """What others wrote is shown on one line, without control characters."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
