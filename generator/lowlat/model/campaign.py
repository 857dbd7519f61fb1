# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign as it is written down before its first boot: the document ``lowlat.campaign/1``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from typing import Optional

from lowlat.base.typed_json import Mistyped, decode_fields, encode_fields

SCHEMA = "lowlat.campaign/1"

#: The rules by which a campaign ends: after its last pair, or as soon as the sequential test is
#: clear.
AT_END, WHEN_CLEAR = "at-end", "when-clear"


def moment(text: str) -> Optional[float]:
    """A time of ISO 8601, as of a campaign or a run, in seconds since 1970; None if it is none."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


@dataclass(frozen=True)
class Place:
    """A run's place in its campaign: the campaign's digest, and the number of its boot in the
    order, from 1."""

    digest: str
    number: int


@dataclass(frozen=True)
class Campaign:
    """``written`` is UTC. ``order`` are the arms from the first boot to the last, the same on every
    host; each ``pairs`` of it, or block, has one boot of every arm. ``endpoint`` is what the
    verdict is about, ``hosts`` the kernel's line of each arm on each host, by name. With
    ``discard`` a boot that is not measured comes first wherever the arm changes. With ``within``
    the order is one of runs: so many pairs are measured in each boot, without a reboot."""

    written: str
    endpoint: str
    order: tuple[str, ...]
    pairs: int
    hosts: Mapping[str, Mapping[str, str]]
    stop: str = AT_END
    kexec: bool = False
    discard: bool = False
    within: int = 0

    @staticmethod
    def now() -> str:
        """The time for ``written``."""
        return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"

    @classmethod
    def from_json(cls, value: object) -> Campaign:
        """Raises Mistyped if it is no campaign."""
        campaign = decode_fields(cls, value)
        size = len(campaign.arms)
        blocks = [campaign.order[n : n + size] for n in range(0, len(campaign.order), size or 1)]
        if size < 2 or any(len(set(block)) < size for block in blocks):
            raise Mistyped("one boot of every arm, block after block, is expected", ".order")
        if len(blocks) != campaign.pairs:
            raise Mistyped(f"{len(blocks)} is expected, by the order", ".pairs")
        if not campaign.hosts or any(set(own) != campaign.arms for own in campaign.hosts.values()):
            raise Mistyped("hosts, each with a line of every arm, are expected", ".hosts")
        if campaign.stop not in (AT_END, WHEN_CLEAR):
            raise Mistyped(f"{AT_END} or {WHEN_CLEAR} is expected", ".stop")
        plain = size == 2 and len(campaign.hosts) == 1
        if campaign.stop == WHEN_CLEAR and (campaign.within or not plain):
            why = f"{AT_END} is expected: {WHEN_CLEAR} is for boots of two arms on one host"
            raise Mistyped(why, ".stop")
        if campaign.within and not (plain and 0 < campaign.within <= campaign.pairs):
            raise Mistyped("pairs of two arms on one host are expected", ".within")
        return campaign

    def to_json(self) -> dict[str, object]:
        return {"schema": SCHEMA, **encode_fields(self)}

    @property
    def arms(self) -> set[str]:
        return set(self.order)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the document without blanks, its keys sorted."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def text(self) -> str:
        return json.dumps(self.to_json(), indent=2) + "\n"

    def place(self, number: int) -> Place:
        return Place(self.digest, number)

    @property
    def unit(self) -> str:
        """What the order is one of: boots, or runs."""
        return "run" if self.within else "boot"

    def boot(self, number: int) -> str:
        """A boot of the order in words: "boot 3 of 16, tuned"."""
        return f"boot {number} of {len(self.order)}, {self.order[number - 1]}"


@dataclass(frozen=True)
class Registered:
    """What a report says of its campaign: the digest, whether the boots were by kexec, what
    departs from it, one sentence each, of runs within boots what a verdict is about, whether the
    first boot after each change of the arm was discarded, and how many boots of each arm have no
    run."""

    digest: str
    kexec: bool
    departures: tuple[str, ...]
    claim: str = ""
    discard: bool = False
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What stands beside a verdict, "" if nothing has to be said."""
        departed = f"the campaign was not followed ({'; '.join(self.departures)})"
        kexec = "kexec boots" if self.kexec else ""
        discard = "the first boot after each change is discarded" if self.discard else ""
        told = (self.claim, kexec, discard, departed if self.departures else "")
        return "; ".join(filter(None, told))
