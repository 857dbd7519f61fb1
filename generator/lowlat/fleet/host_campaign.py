# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign over hosts: each boots the same kinds of boots in the same order, drawn in rounds."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lowlat.base import typed_json
from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode_fields
from lowlat.model import cmdline
from lowlat.model.campaign import Campaign


@dataclass(frozen=True)
class HostLines:
    """The part of ``apply --dry-run --json`` that a campaign takes: the host's name, its line as it
    is, and as it will be."""

    host: str
    before: str
    after: str

    @classmethod
    def from_json(cls, value: object) -> "HostLines":
        """Raises Mistyped if it is no such document."""
        return decode_fields(cls, value)


def campaign(
    paths: Iterable[Path], arms: tuple[str, str], order: tuple[str, ...], endpoint: str
) -> Campaign:
    """The campaign of the hosts of these files: ``arms`` are the names of a boot before and after,
    ``order`` has one of each in every round. Raises Refused if a file does not tell a host's two
    lines, or two are of one host."""
    hosts: dict[str, dict[str, str]] = {}
    for path in paths:
        told = _read(path)
        if told.host in hosts:
            raise Refused(f"{path}: host {told.host[:64]} was given already", hint="give it once")
        hosts[told.host] = dict(zip(arms, (told.before, told.after)))
    return Campaign(
        written=Campaign.now(),
        endpoint=endpoint,
        order=order,
        pairs=len(order) // len(arms),
        hosts=hosts,
    )


def _read(path: Path) -> HostLines:
    writer, redo = "'lowlat-gen apply --dry-run --json'", "have it written anew"
    told = typed_json.read_document(path, HostLines.from_json, "lowlat.change/1", writer, redo)
    if not told.host:
        raise Refused(f"{path}: the host has no name", hint="give it one")
    if cmdline.marker(told.before) is not None or cmdline.marker(told.after) is None:
        why = f"{path}: not the lines of a stock boot and a tuned one"
        raise Refused(why, hint="take the plan back with 'lowlat-gen rollback', and ask again")
    return told
