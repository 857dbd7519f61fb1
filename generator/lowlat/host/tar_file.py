# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine in a tar file, such as the sysinfo.tgz of a node in an OpenShift must-gather
(gather-sysinfo of openshift/cluster-node-tuning-operator)."""

import io
import posixpath
import tarfile

from lowlat.base import bounds

#: Where the format of a tar file is named (POSIX ustar, and GNU's).
_MAGIC = slice(257, 262)


def is_tar(data: bytes) -> bool:
    return data[_MAGIC] == b"ustar"


def read(data: bytes) -> tuple[dict[str, bytes], dict[str, tuple[str, ...]], dict[str, str]]:
    """The files, the names in folders, and the symbolic links, by path. Raises ValueError if the
    file is damaged, or has more than any machine."""
    contents, links = dict[str, bytes](), dict[str, str]()
    below = dict[str, dict[str, None]]()
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for number, member in enumerate(archive):
                path = posixpath.normpath(f"/{member.name}")
                if number > bounds.ARCHIVE_ENTRIES:
                    raise ValueError("it has more files than any machine")
                bounds.check_path(path)
                bounds.check_path(member.linkname)
                # The holes of a sparse file take no room in the archive, but in memory.
                if member.issparse() or member.size > len(data):
                    raise ValueError(f"{member.name[:60]} is larger than the tar file has it")
                file = archive.extractfile(member) if member.isfile() else None
                if member.issym():
                    links[path] = member.linkname
                elif file is not None:
                    contents[path] = file.read()
                _enter(path, below)
    # Of a length that no file has, and of headers of headers without end.
    except (tarfile.TarError, OverflowError, RecursionError) as error:
        raise ValueError(f"the tar file is damaged: {error}") from error
    return contents, {folder: tuple(names) for folder, names in below.items()}, links


def _enter(path: str, below: dict[str, dict[str, None]]) -> None:
    """Add the path, and each folder above it, to the names of its folder."""
    while path != "/":
        folder, _, last = path.rpartition("/")
        below.setdefault(folder or "/", {})[last] = None
        path = folder or "/"
