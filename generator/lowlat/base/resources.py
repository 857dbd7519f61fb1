# SPDX-License-Identifier: GPL-2.0-or-later
"""The folders of the package's data, profiles and templates, installed or in a checkout."""

from configparser import ConfigParser, ExtendedInterpolation, SectionProxy
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Optional

_PACKAGE = Path(__file__).resolve().parents[1]


def profiles() -> Path:
    return _folder("profiles")


def templates() -> Path:
    return _folder("templates")


def packaged_profile(name: str) -> Optional[str]:
    """The lowlat.conf of a packaged profile; None if there is none."""
    path = profiles() / name / "lowlat.conf"
    return path.read_text("utf-8") if path.is_file() else None


def text(name: str) -> str:
    """The text of a file beside its module."""
    return (_PACKAGE / name).read_text("utf-8")


def texts(name: str) -> ConfigParser:
    """A file of texts beside its module: names and texts in sections. An indented line continues
    the text before it; ${SECTION:NAME} inserts another text."""
    parser = ConfigParser(delimiters=(":",), interpolation=ExtendedInterpolation())
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    parser.read(_PACKAGE / name, "utf-8")
    return parser


def unfolded(section: SectionProxy, joint: str = " ") -> dict[str, str]:
    """The texts of a section, each on one line."""
    return {name: text.replace("\n", joint) for name, text in section.items()}


def template(name: str) -> str:
    """The text of a file below templates/."""
    return (templates() / name).read_text("utf-8")


def template_names(folder: str) -> list[str]:
    """The files in a folder below templates/."""
    return sorted(path.name for path in (templates() / folder).iterdir())


@cache
def _folder(name: str) -> Path:
    # setup.cfg maps lowlat.profiles and lowlat.templates to the top-level folders.
    spec = find_spec(f"lowlat.{name}")
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return _PACKAGE.parents[1] / name
