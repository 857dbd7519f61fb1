# SPDX-License-Identifier: GPL-2.0-or-later
"""The nodes in a folder that ``oc adm must-gather`` wrote (openshift/must-gather, gather_ppc):
their boot lines, their machines, and what the cluster asks of them."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any, Optional

from lowlat.base import bounds, files
from lowlat.base.errors import Refused
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.kernel.line import read_words
from lowlat.lint.profiles import document, spec_of
from lowlat.model.machine import Machine

_CLUSTER = "cluster-scoped-resources"
_MCO = "machineconfiguration.openshift.io"


@dataclass(frozen=True)
class ClusterProfile:
    """A PerformanceProfile, and its file."""

    path: Path
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(_at(self.content, "metadata", "name"))


@dataclass(frozen=True)
class ClusterNode:
    """``source`` says where the line is from. ``root`` answers for the node's machine; None if the
    folder has no snapshot of it. ``pending`` says what the node waits for."""

    name: str
    line: str
    source: str
    root: Optional[Root]
    profiles: tuple[ClusterProfile, ...]
    pending: tuple[str, ...]

    def of_profiles(self, machine: Machine, version: Version) -> Iterator[str]:
        """By profile: what is wrong with its lists, which words of the operator's line this node's
        line lacks, and how these are judged."""
        there = {word.normal for word in read_words(self.line)}
        release = operator.text(version)
        for one in self.profiles:
            spec, name = spec_of(one.content), f"PerformanceProfile {one.name} of {release}"
            yield from (f"{name}: {concern}" for concern in spec.cpu.concerns(machine))
            words = read_words(spec.line(machine, version))
            gone = [word.text for word in words if word.normal not in there]
            if gone:
                yield f"{name} asks for {' '.join(gone)}"
                root = ("--root", self.root.path) if self.root else ()
                command = ("lint", "--openshift", release, *root, str(one.path))
                yield f"these are judged by: lowlat-gen {shlex.join(command)}"


@dataclass(frozen=True)
class MustGather:
    nodes: tuple[ClusterNode, ...]
    version: Optional[Version]


def read_must_gather(folder: Path) -> MustGather:
    """Raises Refused if the folder is none, or has the boot line of no node."""
    tops = [top for top in (folder, *_folders(folder)) if (top / _CLUSTER).is_dir()]
    if not tops:
        hint = "give the folder that 'oc adm must-gather' wrote, or one with a tuned.conf"
        raise Refused(f"{folder}: no {_CLUSTER} in it: not a must-gather", hint=hint)
    known = {_at(node, "metadata", "name"): node for _, node in _objects(tops, "core/nodes")}
    known.update(
        {p.name: {} for top in tops for p in _folders(top / "nodes") if p.name not in known}
    )
    kind = "performance.openshift.io/performanceprofiles"
    profiles = tuple(starmap(ClusterProfile, _objects(tops, kind)))
    found = [_node(name, node, tops, profiles) for name, node in sorted(known.items())]
    nodes = tuple(node for node in found if node is not None)
    if not nodes:
        why = f"{folder}: the must-gather has the boot line of none of {len(known)} nodes"
        hint = "gather with /usr/bin/gather_ppc, or lint one node's /proc/cmdline"
        raise Refused(why, hint=hint)
    return MustGather(nodes, _version(tops))


def _node(
    name: str, node: Mapping[str, Any], tops: list[Path], profiles: tuple[ClusterProfile, ...]
) -> Optional[ClusterNode]:
    root = _snapshot(tops, name)
    notes = _at(node, "metadata", "annotations") or {}
    current, desired = (notes.get(f"{_MCO}/{which}Config") for which in ("current", "desired"))
    asked = _arguments(tops, current)
    line, source = _file(tops, f"nodes/{name}/proc_cmdline"), "proc_cmdline"
    if not line.strip() and root is not None:
        line, source = root.read("/proc/cmdline") or "", "sysinfo.tgz"
    if not line.strip():
        line, source = " ".join(asked), f"the machine config {current}"
    there = {word.text for word in read_words(line)}
    gone = [word for text in asked for word in text.split() if word not in there]
    pending = [f"machine config {current} asks for {' '.join(gone)}"] if gone else []
    pending += [f"machine config {desired} is to come"] if desired != current else []
    labels = (_at(node, "metadata", "labels") or {}).items()
    its = (
        one
        for one in profiles
        if (_at(one.content, "spec", "nodeSelector") or {"": ""}).items() <= labels
    )
    return (
        ClusterNode(name, line, source, root, tuple(its), tuple(pending)) if line.strip() else None
    )


def _arguments(tops: list[Path], config: Optional[str]) -> list[str]:
    """The kernel arguments of a rendered machine config."""
    found = _objects(tops, f"{_MCO}/machineconfigs", f"{config}.yaml") if config else ()
    return [str(text) for _, one in found for text in _at(one, "spec", "kernelArguments") or ()]


def _version(tops: list[Path]) -> Optional[Version]:
    for _, cluster in _objects(tops, "config.openshift.io/clusterversions"):
        text = _at(cluster, "status", "desired", "version")
        if text:
            return operator.read_version(str(text))
    return None


def _objects(
    tops: list[Path], kind: str, name: str = "*.yaml"
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for top in tops:
        for path in sorted((top / _CLUSTER / kind).glob(name)):
            text = _read(path, bounds.HOST_FILE).decode("utf-8", "replace")
            yield path, document(text, str(path))


def _at(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_dir())


def _file(tops: list[Path], name: str) -> str:
    paths = (top / name for top in tops)
    texts = (_read(path, bounds.BOOT_LINE) for path in paths if path.is_file())
    return next(texts, b"").decode("utf-8", "replace")


def _read(path: Path, limit: int) -> bytes:
    with files.reporting_errors(str(path), "give the whole must-gather"):
        return files.read(path, limit)


def _snapshot(tops: list[Path], name: str) -> Optional[Root]:
    path = next((p for top in tops if (p := top / "nodes" / name / "sysinfo.tgz").is_file()), None)
    with suppress(Refused):  # the line stands elsewhere too
        return open_root(str(path)) if path else None
    return None
