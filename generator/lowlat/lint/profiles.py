# SPDX-License-Identifier: GPL-2.0-or-later
"""The boot line of other tools' profiles: OpenShift's PerformanceProfile and TuneD's."""

import json
import re
from dataclasses import dataclass, field
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode
from lowlat.host import tuned

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class _ProfileCpus:
    isolated: str
    reserved: str
    ovs: str = field(default="", metadata={"json": "ovsDpdk"})
    balanced: bool = field(default=True, metadata={"json": "balanceIsolated"})


@dataclass(frozen=True)
class _Hints:
    realtime: bool = field(default=True, metadata={"json": "realTime"})


@dataclass(frozen=True)
class _Spec:
    cpu: _ProfileCpus
    hints: _Hints = field(default=_Hints(), metadata={"json": "workloadHints"})
    words: tuple[str, ...] = field(default=(), metadata={"json": "additionalKernelArgs"})


def line_in(text: str, *, x86: bool) -> Optional[str]:
    """The line of a PerformanceProfile or a TuneD profile; None if the text is neither. Raises
    Refused if it is damaged, or if only TuneD can determine the line."""
    if re.search(r'(?m)^[ \t{]*"?kind"?:[ \t]*"?PerformanceProfile\b', text):
        return _operators(decode(_Spec, _document(text).get("spec"), "spec"), x86)
    if re.search(r"(?m)^\[bootloader\]", text):
        return _tuneds(text)
    return None


def _operators(spec: _Spec, x86: bool) -> str:
    """The line that the Node Tuning Operator makes of a profile (openshift-node-performance),
    without huge pages, the frequency driver's mode and TuneD's own words."""
    cpus = ",".join(filter(None, (spec.cpu.isolated, spec.cpu.ovs)))
    flags = "managed_irq" if spec.cpu.balanced else "domain,managed_irq"
    words = [f"nohz=on rcu_nocbs={cpus} nohz_full={cpus} skew_tick=1 isolcpus={flags},{cpus}"]
    words += [f"systemd.cpu_affinity={spec.cpu.reserved}", *(["iommu=pt"] if x86 else [])]
    if spec.hints.realtime:
        words += ["nosoftlockup rcutree.kthread_prio=11"]
        words += ["tsc=reliable nmi_watchdog=0 mce=off"] if x86 else []
    return " ".join([*words, *spec.words])


def _document(text: str) -> dict[str, object]:
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else _yaml(text)
    except ImportError as error:
        hint = "install python3-yaml, or give it as JSON"
        raise Refused("PyYAML, which reads a PerformanceProfile, is missing", hint=hint) from error
    except Exception as error:  # PyYAML raises ValueError, RecursionError and its own errors
        why = "the PerformanceProfile is not YAML, or has aliases"
        raise Refused(why, hint="give one alone, written out") from error
    return document if isinstance(document, dict) else {}


def _yaml(text: str) -> object:
    """Without aliases and merge keys: a kilobyte of them keeps PyYAML 6.0.1 at work for minutes."""
    import yaml  # only this needs it

    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "value", "") == "<<":
            raise ValueError("an alias or a merge key")
    return yaml.safe_load(text)


def _tuneds(text: str) -> str:
    """The words of [bootloader], with the values of the profile's [variables]."""
    sections = tuned.parse(text) or {}
    known = sections.get("variables", {})
    words: list[str] = []
    for name, value in sections.get("bootloader", {}).items():
        if name.startswith("cmdline"):
            filled = _VARIABLE.sub(lambda match: known.get(match[1], match[0]), value.strip())
            if "${" in filled:
                why = f"only TuneD knows what {name} becomes: {filled[:60]}"
                raise Refused(why, hint="activate the profile and lint the running line")
            given = filled.lstrip("+-=").split()
            words = [w for w in words if w not in given] if filled[:1] == "-" else words + given
    return " ".join(words)
