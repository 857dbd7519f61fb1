# SPDX-License-Identifier: GPL-2.0-or-later
"""YAML as clusters write it: without aliases, merge keys and tags. A kilobyte of these keeps PyYAML
6.0.1 at work for minutes. Imported where YAML is read, for PyYAML may be missing."""

from typing import Any

import yaml
from yaml.composer import Composer

from lowlat.base import bounds
from lowlat.base.errors import Refused

#: PyYAML may be built without libyaml, whose parser takes a sixth of the time.
_FAST = hasattr(yaml, "CSafeLoader")
_LONGEST = bounds.CLUSTER_OBJECT if _FAST else bounds.CLUSTER_OBJECT >> 3

#: A longer scalar is text: PyYAML computes "1:1:1…" as a number to the base 60.
_NUMBER = 64


class _PlainYaml(*((Composer, yaml.CSafeLoader) if _FAST else (yaml.SafeLoader,))):  # type: ignore[misc]
    """libyaml parses; Python composes what it parsed, in the same pass, and bounds the depth."""

    def __init__(self, text: str) -> None:
        (yaml.CSafeLoader if _FAST else yaml.SafeLoader).__init__(self, text)
        self.anchors: dict[str, object] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) is not None:
            raise ValueError("an alias or a tag")
        if getattr(event, "value", "") == "<<":
            raise ValueError("a merge key")
        return super().compose_node(parent, index)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        text = kind is yaml.ScalarNode and len(value) > _NUMBER
        return super().resolve(kind, value, (False, True) if text else implicit)


def parse(text: str, what: str) -> object:
    """The only document of a text. Raises ValueError, RecursionError or yaml.YAMLError if there is
    none; Refused if it takes too long to read."""
    if len(text) > _LONGEST:
        why = f"{what} is larger than {_LONGEST >> 10} KiB"
        raise Refused(why, hint="" if _FAST else "install a PyYAML with libyaml")
    return _PlainYaml(text).get_single_data()
