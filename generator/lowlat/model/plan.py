# SPDX-License-Identifier: GPL-2.0-or-later
"""The Plan: the CPU split and every setting, with its reason, as a value with a JSON form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Optional

from lowlat import __version__
from lowlat.base.errors import Refused
from lowlat.base.json_fields import typed
from lowlat.base.schema import is_later, later
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet

SCHEMA = "lowlat.plan/1"


@dataclass(frozen=True)
class PlannedParameter:
    """A boot parameter; ``value`` is "" for a flag."""

    name: str
    value: str
    why: str
    source: str
    risk: str


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
    """A setting that is possible here and off: its cost, and how to enable it."""

    name: str
    cost: str
    enable: str


@dataclass(frozen=True)
class Skipped:
    name: str
    why: str


@dataclass(frozen=True)
class Plan:
    """The JSON form is the contract lowlat.plan/1; ``id`` is a digest of everything else in it."""

    profile: str
    kernel: Optional[str]
    cpus: Mapping[str, Any]
    cmdline: str
    parameters: tuple[PlannedParameter, ...]
    runtime: tuple[PlannedSetting, ...]
    optional: tuple[Offer, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        content = json.dumps(self._content(), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def isolated(self) -> str:
        return str(self.cpus["isolated"])

    @property
    def housekeeping(self) -> str:
        return str(self.cpus["housekeeping"])

    @property
    def boot_line(self) -> str:
        """What the tuned entry adds to the stock line: the parameters and the plan's marker."""
        return f"{self.cmdline} {cmdline.MARKER}={self.id}".strip()

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "id": self.id, **self._content()}

    def text(self) -> str:
        """The JSON form as it is stored, always the same bytes."""
        return json.dumps({**self.to_json(), "writer": __version__}, indent=2) + "\n"

    def _content(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "kernel": self.kernel,
            "cpus": dict(self.cpus),
            "cmdline": {"text": self.cmdline, "parameters": [asdict(p) for p in self.parameters]},
            "runtime": [asdict(item) for item in self.runtime],
            "optional": [asdict(item) for item in self.optional],
            "skipped": [asdict(item) for item in self.skipped],
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_json(cls, document: Any) -> Plan:
        """Read a plan back. Raises Refused where it is not a lowlat.plan/1."""
        try:
            if is_later(document, SCHEMA):
                raise later("it", document)
            plan = cls(
                profile=typed(str, document["profile"]),
                kernel=typed(Optional[str], document["kernel"]),
                cpus={**document["cpus"]},
                cmdline=typed(str, document["cmdline"]["text"]),
                parameters=typed(tuple[PlannedParameter, ...], document["cmdline"]["parameters"]),
                runtime=typed(tuple[PlannedSetting, ...], document["runtime"]),
                optional=typed(tuple[Offer, ...], document["optional"]),
                skipped=typed(tuple[Skipped, ...], document["skipped"]),
                warnings=typed(tuple[str, ...], document["warnings"]),
            )
            if plan.id == document["id"]:
                for cpus in (plan.isolated, plan.housekeeping):
                    CpuSet.parse_list(cpus)
                return plan
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise Refused("not a plan: a part is missing or of the wrong kind") from error
        raise Refused("the plan does not match its id: it was changed after it was made")
