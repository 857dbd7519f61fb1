# SPDX-License-Identifier: GPL-2.0-or-later
"""The header of lowlat's state files: "schema" is lowlat.NAME/N, "writer" the version that wrote
the file. A greater N comes from a newer lowlat; an unknown key is no error."""

from collections.abc import Mapping

from lowlat import __version__
from lowlat.base.errors import Refused


def stamped(schema: str, document: dict[str, object]) -> dict[str, object]:
    """The document with its header."""
    return {"schema": schema, "writer": __version__, **document}


def is_later(document: Mapping[str, object], schema: str) -> bool:
    """Whether a newer lowlat wrote the document in a newer form. Raises ValueError for another
    schema, KeyError or TypeError for a document without one."""
    name, _, number = str(document["schema"]).partition("/")
    ours, _, known = schema.partition("/")
    if name != ours or not (number.isascii() and number.isdecimal()) or not 0 < int(number) < 1000:
        raise ValueError("another schema")
    return int(number) > int(known)


def later(path: str, document: Mapping[str, object]) -> Refused:
    """The error for a file that a newer lowlat wrote."""
    writer = document.get("writer")
    version = writer[:40] if isinstance(writer, str) and writer else "its version is not known"
    return Refused(
        f"{path} was written by a newer lowlat ({version})",
        hint="install that one again, or take everything back with 'lowlat-gen rollback'",
    )
