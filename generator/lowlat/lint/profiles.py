# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line that OpenShift's Node Tuning Operator makes of a PerformanceProfile."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode
from lowlat.catalogue.operator import Version
from lowlat.catalogue.performance_profile import ProfileSpec
from lowlat.model.machine import Machine

#: Words that no field decides; a Tuned object of one's own takes them back.
_ALWAYS = "the operator, whatever the profile says"


def is_performance_profile(text: str) -> bool:
    return bool(re.search(r'(?m)^[ \t{]*"?kind"?:[ \t]*"?PerformanceProfile\b', text))


def profile_of(text: str, what: str) -> ProfileSpec:
    """The profile in a file. Raises Refused if it is damaged."""
    return spec_of(document(text, what))


def spec_of(profile: Mapping[str, object]) -> ProfileSpec:
    return decode(ProfileSpec, profile.get("spec"), "spec")


def origins(
    spec: ProfileSpec, words: Iterable[str], machine: Machine, version: Version
) -> Iterator[str]:
    """Where these words of the operator's line are from: "from additionalKernelArgs: mce=off"."""
    fields = spec.fields(machine, version)
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        found.setdefault(fields.get(word) or _ALWAYS, []).append(word)
    for field, several in found.items():
        yield f"from {field}: {' '.join(several)}"


def document(text: str, what: str) -> Mapping[str, object]:
    """The only object of a YAML or JSON file. Raises Refused if it is damaged or has several."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else _yaml(text, what)
    except ImportError as error:
        hint = "install python3-yaml, or give it as JSON"
        raise Refused(f"PyYAML, which reads {what}, is missing", hint=hint) from error
    except Refused:
        raise
    except Exception as error:  # PyYAML raises ValueError, RecursionError and its own errors
        why = f"{what} is not YAML, or has aliases or tags"
        raise Refused(why, hint="give one alone, written out") from error
    return found if isinstance(found, dict) else {}


def _yaml(text: str, what: str) -> object:
    from lowlat.lint import plain_yaml  # only this needs PyYAML

    return plain_yaml.parse(text, what)
