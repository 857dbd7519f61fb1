# SPDX-License-Identifier: GPL-2.0-or-later
"""The page: one HTML file that holds everything it shows and asks nobody for more."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Optional

import jinja2
from markupsafe import Markup

from lowlat import __version__, resources
from lowlat.page import method, settings, story
from lowlat.page.side import Side
from lowlat.plan import Plan
from lowlat.report.comparison import Comparison
from lowlat.report.evidence import Setting
from lowlat.report.words import plain


def render(
    found: Comparison,
    sides: Sequence[Side],
    effect: Optional[Sequence[Setting]],
    plan: Optional[Plan],
) -> str:
    """The page of a comparison; ``effect`` is what verify found, ``plan`` the plan tried."""
    style = (resources.templates() / "report.css").read_text("utf-8")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            version=__version__,
            style=Markup(style),  # noqa: S704  # our own file
            digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            story=story.tell(found, sides, effect, plan),
            sides=sides,
            facts=method.facts(sides),
            runs=method.runs(sides),
            counted=settings.counted(effect or ()),
            mark=settings.mark,
        )
    )


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(resources.templates())),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )


def _shown(value: object) -> object:
    """What others wrote is shown on one line, without control characters."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
