# SPDX-License-Identifier: GPL-2.0-or-later
"""The nodes in a folder that ``oc adm must-gather`` wrote (openshift/must-gather, gather_ppc):
their boot lines, their machines, and what the cluster asks of them."""

import io
import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from lowlat.base import bounds, files
from lowlat.base.errors import Refused
from lowlat.catalogue import operator
from lowlat.catalogue.operator import Version
from lowlat.host.archive import Archive, Contents
from lowlat.host.root import Root
from lowlat.kernel.line import read_words
from lowlat.lint.profiles import document, line_of
from lowlat.model.machine import Machine

_CLUSTER = "cluster-scoped-resources"
_MCO = "machineconfiguration.openshift.io"
_LOOPS = 40


@dataclass(frozen=True)
class ClusterNode:
    """``source`` says where the line is from. ``root`` answers for the node's machine; None if the
    folder has no snapshot of it. ``pending`` says what the node waits for."""

    name: str
    line: str
    source: str
    root: Optional[Root]
    profiles: tuple[Mapping[str, Any], ...]
    pending: tuple[str, ...]

    def lacks(self, machine: Machine, version: Version) -> Iterator[str]:
        """Which words of the operator's line this node's line lacks, by profile."""
        there = {word.normal for word in read_words(self.line)}
        for profile in self.profiles:
            words = read_words(line_of(profile, machine, version))
            gone = [word.text for word in words if word.normal not in there]
            if gone:
                name = _at(profile, "metadata", "name")
                release = operator.text(version)
                yield f"PerformanceProfile {name} of {release} asks for {' '.join(gone)}"


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
    known = {_at(node, "metadata", "name"): node for node in _objects(tops, "core/nodes")}
    known.update(
        {p.name: {} for top in tops for p in _folders(top / "nodes") if p.name not in known}
    )
    profiles = tuple(_objects(tops, "performance.openshift.io/performanceprofiles"))
    found = [_node(name, node, tops, profiles) for name, node in sorted(known.items())]
    nodes = tuple(node for node in found if node is not None)
    if not nodes:
        why = f"{folder}: the must-gather has the boot line of none of {len(known)} nodes"
        hint = "gather with /usr/bin/gather_ppc, or lint one node's /proc/cmdline"
        raise Refused(why, hint=hint)
    return MustGather(nodes, _version(tops))


def _node(
    name: str, node: Mapping[str, Any], tops: list[Path], profiles: tuple[Mapping[str, Any], ...]
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
    its = (p for p in profiles if (_at(p, "spec", "nodeSelector") or {"": ""}).items() <= labels)
    return (
        ClusterNode(name, line, source, root, tuple(its), tuple(pending)) if line.strip() else None
    )


def _arguments(tops: list[Path], config: Optional[str]) -> list[str]:
    """The kernel arguments of a rendered machine config."""
    found = _objects(tops, f"{_MCO}/machineconfigs", f"{config}.yaml") if config else ()
    return [str(text) for one in found for text in _at(one, "spec", "kernelArguments") or ()]


def _version(tops: list[Path]) -> Optional[Version]:
    for cluster in _objects(tops, "config.openshift.io/clusterversions"):
        text = _at(cluster, "status", "desired", "version")
        if text:
            return operator.read_version(str(text))
    return None


def _objects(tops: list[Path], kind: str, name: str = "*.yaml") -> Iterator[Mapping[str, Any]]:
    for top in tops:
        for path in sorted((top / _CLUSTER / kind).glob(name)):
            yield document(_read(path, bounds.HOST_FILE).decode("utf-8", "replace"), str(path))


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


class Snapshot(Archive):
    """The /proc and /sys of a node in its sysinfo.tgz, with its symbolic links."""

    def read_bytes(self, path: str) -> Optional[bytes]:
        return super().read_bytes(self._real(path))

    def names(self, path: str) -> tuple[str, ...]:
        return super().names(self._real(path))

    def exists(self, path: str) -> bool:
        return super().exists(self._real(path))

    def _real(self, path: str) -> str:
        for _ in range(_LOOPS):
            parts = path.split("/")
            heads = ("/".join(parts[:at]) for at in range(2, len(parts) + 1))
            head = next((head for head in heads if self.link(head) is not None), None)
            if head is None:
                break
            path = posixpath.normpath(f"{head}/../{self.link(head)}{path[len(head) :]}")
        return path


def _snapshot(tops: list[Path], name: str) -> Optional[Snapshot]:
    path = next((p for top in tops if (p := top / "nodes" / name / "sysinfo.tgz").is_file()), None)
    if path is None:
        return None
    try:
        data = bounds.unpack(_read(path, bounds.ARCHIVE), bounds.ARCHIVE)
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return Snapshot(str(path), _contents(archive))
    except (ValueError, tarfile.TarError):
        return None  # the line stands elsewhere too


def _contents(archive: tarfile.TarFile) -> Contents:
    contents, below = Contents(), dict[str, dict[str, None]]()
    for number, member in enumerate(archive):
        path = posixpath.normpath(f"/{member.name}")
        if number > bounds.ARCHIVE_ENTRIES or path.count("/") > bounds.PATH_DEPTH:
            raise ValueError("more than any machine has")
        file = archive.extractfile(member) if member.isfile() else None
        if member.issym():
            contents.links[path] = member.linkname
        elif file is not None:
            contents.files[path] = file.read()
        while path != "/":
            folder, _, last = path.rpartition("/")
            below.setdefault(folder or "/", {})[last] = None
            path = folder or "/"
    contents.folders = {folder: tuple(names) for folder, names in below.items()}
    return contents
