# SPDX-License-Identifier: GPL-2.0-or-later
"""The Plan: the CPU split, and every setting with its reason, as a value with a JSON form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional

from lowlat import __version__
from lowlat.base.errors import Refused
from lowlat.base.schema import is_later, later
from lowlat.base.typed_json import Mistyped, decode_fields, encode_fields
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet

SCHEMA = "lowlat.plan/1"

#: The two sides of every plan; ``cpus`` takes these names, so no named set has them.
ROLES = ("isolated", "housekeeping")

#: The endpoints that a profile may be judged by.
NOISE, WAKEUP = "noise_ppm", "wakeup_p99.9_ns"


def digest(content: dict[str, object]) -> str:
    """The id of a plan with this content: the first 12 digits of its SHA-256."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class PlannedParameter:
    """A boot parameter; ``value`` is "" for a flag."""

    name: str
    value: str
    why: str
    source: str
    risk: str

    @property
    def word(self) -> str:
        """The parameter as written on the command line."""
        return f"{self.name}={self.value}" if self.value else self.name


@dataclass(frozen=True)
class PlannedSetting:
    """A run-time setting: ``target`` is a file or a glob of files of the running kernel."""

    name: str
    target: str
    value: str
    why: str
    source: str
    risk: str


@dataclass(frozen=True)
class Offer:
    """A setting that is possible here but off: its cost, and how to enable it."""

    name: str
    cost: str
    enable: str


@dataclass(frozen=True)
class Skipped:
    name: str
    why: str


@dataclass(frozen=True)
class RoleReason:
    """Why these CPUs are isolated, housekeeping or offline (``role``)."""

    cpus: CpuSet
    role: str
    why: str


@dataclass(frozen=True)
class PlannedCpus:
    """The split: disjoint sets, with a reason for every CPU. ``preferred`` are the isolated CPUs in
    the order in which threads get them; None in older plans. ``sets`` maps the user's names to
    isolated CPUs; None without names."""

    online: CpuSet
    isolated: CpuSet
    housekeeping: CpuSet
    offline: CpuSet
    reasons: tuple[RoleReason, ...]
    preferred: Optional[tuple[int, ...]] = None
    sets: Optional[Mapping[str, CpuSet]] = None

    def to_json(self) -> dict[str, object]:
        return {key: item for key, item in encode_fields(self).items() if item is not None}


@dataclass(frozen=True)
class PlannedLine:
    """The words added to the kernel's command line, as one text and as parameters."""

    text: str
    parameters: tuple[PlannedParameter, ...]


@dataclass(frozen=True)
class Plan:
    """The JSON form is the contract lowlat.plan/1; ``id`` is a digest of all its other content."""

    profile: str
    kernel: Optional[str]
    cpus: PlannedCpus
    cmdline: PlannedLine
    runtime: tuple[PlannedSetting, ...]
    optional: tuple[Offer, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        return digest(self._fields)

    @cached_property
    def _fields(self) -> dict[str, object]:
        return encode_fields(self)

    @property
    def effect(self) -> object:
        """The settings without their reasons: equal if two plans set the same."""
        cpus = replace(self.cpus, reasons=())
        values = ((item.name, item.target, item.value) for item in self.runtime)
        return (self.profile, self.kernel, cpus, self.cmdline.text, *values)

    @property
    def isolated(self) -> CpuSet:
        return self.cpus.isolated

    @property
    def housekeeping(self) -> CpuSet:
        return self.cpus.housekeeping

    @property
    def parameters(self) -> tuple[PlannedParameter, ...]:
        return self.cmdline.parameters

    @property
    def preferred(self) -> tuple[int, ...]:
        """The isolated CPUs in the order in which threads get them."""
        return tuple(self.isolated) if self.cpus.preferred is None else self.cpus.preferred

    def why_skipped(self, name: str) -> str:
        """Why the plan leaves a setting out; "" if it does not."""
        return next((one.why for one in self.skipped if one.name == name), "")

    def cpus_of(self, name: str) -> CpuSet:
        """The CPUs of a side or a named set. Raises Refused if there is no such set."""
        known = dict(zip(ROLES, (self.isolated, self.housekeeping)), **(self.cpus.sets or {}))
        if name not in known:
            why = f"there is no set of CPUs '{name[:40]}'"
            raise Refused(why, hint=f"there are: {', '.join(known)}; --isolate NAME=LIST adds one")
        return known[name]

    @property
    def marker(self) -> str:
        """The parameter that names this plan on a command line."""
        return f"{cmdline.MARKER}={self.id}"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the tuned entry adds: the parameters and the plan's marker."""
        return (*(parameter.word for parameter in self.parameters), self.marker)

    @property
    def boot_line(self) -> str:
        return " ".join(self.words)

    def text(self) -> str:
        """The JSON form as stored: the same bytes for the same plan."""
        return json.dumps({**self.to_json(), "writer": __version__}, indent=2) + "\n"

    def to_json(self) -> dict[str, object]:
        return {"schema": SCHEMA, "id": self.id, **self._fields}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Plan:
        """Read a plan back. Raises Refused if it is no lowlat.plan/1."""
        try:
            if is_later(document, SCHEMA):
                raise later("it", document)
            plan = decode_fields(cls, document)
            changed = plan.id != document["id"]
        except Mistyped as error:
            raise Refused(f"not a plan: {error.message}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise Refused("not a plan: a part is missing or of the wrong kind") from error
        if changed:
            raise Refused("the plan does not match its id: it was changed after it was made")
        if sorted(plan.preferred) != list(plan.isolated):
            raise Refused("its preferred CPUs are not the isolated ones")
        if any(not cpus <= plan.isolated for cpus in (plan.cpus.sets or {}).values()):
            raise Refused("its named sets are not all isolated")
        return plan
