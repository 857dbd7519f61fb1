# SPDX-License-Identifier: GPL-2.0-or-later
"""The nodes in a folder that ``oc adm must-gather`` wrote (openshift/must-gather, gather_ppc):
their boot lines, their machines, and what the cluster asks of them."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from lowlat.base import bounds, files, reader
from lowlat.base.errors import Refused
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.host import archive
from lowlat.host.root import Root
from lowlat.kernel.line import read_words
from lowlat.lint.profiles import document, spec_of
from lowlat.model.machine import Machine

_CLUSTER = "cluster-scoped-resources"
_MCO = "machineconfiguration.openshift.io"


@dataclass(frozen=True)
class ClusterProfile:
    """A PerformanceProfile, and its file."""

    path: str
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
                command = ("lint", "--openshift", release, *root, one.path)
                yield f"these are judged by: lowlat-gen {shlex.join(command)}"


@dataclass(frozen=True)
class MustGather:
    nodes: tuple[ClusterNode, ...]
    version: Optional[Version]


@dataclass(frozen=True)
class _Folder:
    """The folder as given, read by the rules of a captured tree; ``tops`` are the folders in it
    that an image gathered each."""

    root: Root
    tops: tuple[str, ...]

    def objects(self, kind: str, file: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The objects of a kind with their paths, or that of this file alone."""
        for top in self.tops:
            folder = f"{top}/{_CLUSTER}/{kind}"
            for name in self.root.names(folder):
                if name.endswith(".yaml") and file in ("", name):
                    path = f"{folder}/{name}"
                    text = self.read(path, bounds.CLUSTER_OBJECT).decode("utf-8", "replace")
                    yield path, document(text, self.root.host(path))

    def node_names(self) -> Iterator[str]:
        """The names of the nodes of which there are files."""
        for top in self.tops:
            names = self.root.names(f"{top}/nodes")
            yield from (name for name in names if self.root.names(f"{top}/nodes/{name}"))

    def node_file(self, node: str, name: str, limit: int) -> tuple[str, bytes]:
        """The path and the content of a node's file; ("", b"") if there is none."""
        paths = (f"{top}/nodes/{node}/{name}" for top in self.tops)
        path = next(filter(self.root.exists, paths), None)
        return ("", b"") if path is None else (self.root.host(path), self.read(path, limit))

    def read(self, path: str, limit: int) -> bytes:
        """Raises Refused for a file that is too large, no plain one, or a link out of the
        folder."""
        place = self.root.host(path)
        with files.reporting_errors(place, "give the whole must-gather"):
            return reader.read(place, limit, inside=self.root.path)


def read_must_gather(path: Path) -> MustGather:
    """Raises Refused if the folder is none, or has the boot line of no node."""
    root = Root(str(path))
    tops = ("", *(f"/{name}" for name in root.names("/")))
    folder = _Folder(root, tuple(top for top in tops if root.names(f"{top}/{_CLUSTER}")))
    if not folder.tops:
        hint = "give the folder that 'oc adm must-gather' wrote, or one with a tuned.conf"
        raise Refused(f"{path}: no {_CLUSTER} in it: not a must-gather", hint=hint)
    known: dict[str, Mapping[str, Any]] = dict.fromkeys(folder.node_names(), {})
    for file, node in folder.objects("core/nodes"):
        known[str(_at(node, "metadata", "name") or Path(file).stem)] = node
    kind = "performance.openshift.io/performanceprofiles"
    profiles = tuple(ClusterProfile(root.host(at), one) for at, one in folder.objects(kind))
    found = [_node(name, node, folder, profiles) for name, node in sorted(known.items())]
    nodes = tuple(node for node in found if node is not None)
    if not nodes:
        why = f"{path}: the must-gather has the boot line of none of {len(known)} nodes"
        hint = "gather with /usr/bin/gather_ppc, or lint one node's /proc/cmdline"
        raise Refused(why, hint=hint)
    return MustGather(nodes, _version(folder))


def _node(
    name: str, node: Mapping[str, Any], folder: _Folder, profiles: tuple[ClusterProfile, ...]
) -> Optional[ClusterNode]:
    root = _snapshot(folder, name)
    notes = _at(node, "metadata", "annotations")
    current, desired = (_at(notes, f"{_MCO}/{which}Config") for which in ("current", "desired"))
    asked = _arguments(folder, current)
    _, content = folder.node_file(name, "proc_cmdline", bounds.BOOT_LINE)
    line, source = content.decode("utf-8", "replace"), "proc_cmdline"
    if not line.strip() and root is not None:
        line, source = root.read("/proc/cmdline") or "", "sysinfo.tgz"
    if not line.strip():
        line, source = " ".join(asked), f"the machine config {current}"
    there = {word.text for word in read_words(line)}
    gone = [word for text in asked for word in text.split() if word not in there]
    pending = [f"machine config {current} asks for {' '.join(gone)}"] if gone else []
    pending += [f"machine config {desired} is to come"] if desired != current else []
    labels = _mapping(node, "metadata", "labels").items()
    its = (
        one
        for one in profiles
        if (_mapping(one.content, "spec", "nodeSelector") or {"": ""}).items() <= labels
    )
    return (
        ClusterNode(name, line, source, root, tuple(its), tuple(pending)) if line.strip() else None
    )


def _arguments(folder: _Folder, config: object) -> list[str]:
    """The kernel arguments of a rendered machine config."""
    found = folder.objects(f"{_MCO}/machineconfigs", f"{config}.yaml") if config else ()
    lists = (_at(one, "spec", "kernelArguments") for _, one in found)
    return [str(text) for one in lists if isinstance(one, list) for text in one]


def _version(folder: _Folder) -> Optional[Version]:
    for _, cluster in folder.objects("config.openshift.io/clusterversions"):
        text = _at(cluster, "status", "desired", "version")
        if text:
            return operator.read_version(str(text))
    return None


def _snapshot(folder: _Folder, node: str) -> Optional[Root]:
    path, data = folder.node_file(node, "sysinfo.tgz", bounds.ARCHIVE)
    with suppress(Refused):  # the line stands elsewhere too
        return archive.machine_in(path, data) if path else None
    return None


def _at(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _mapping(value: object, *keys: str) -> Mapping[str, Any]:
    found = _at(value, *keys)
    return found if isinstance(found, Mapping) else {}
