# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels from the distribution's packages: unpacked into the cache, never installed.

apt gets its own state folder and list of sources, so that the host's stay unchanged.
"""

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import step
from lowlat.rehearse.kernel import BootableKernel, check, newest

_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}

#: Debian's suites in the order of search; the host's suite comes first.
_SUITES = ("bookworm", "trixie", "trixie-backports", "sid")

#: The mirrors for a host whose apt configures none.
_MIRRORS = {"debian": "http://deb.debian.org/debian", "ubuntu": "http://archive.ubuntu.com/ubuntu"}

_BY_HAND = "give --kernel PATH with a kernel image, its lib/modules beside or above it"

#: Given on the command line, so that no configuration of the host overrides it (apt.conf(5)).
SIGNED = (
    "-oAPT::Get::AllowUnauthenticated=false",
    "-oAcquire::AllowInsecureRepositories=false",
    "-oAcquire::AllowWeakRepositories=false",
    "-oAcquire::AllowDowngradeToInsecureRepositories=false",
)

#: Index files without packages.
_UNREAD = ("DEP-11", "DEP-11-icons-small", "DEP-11-icons", "CNF")

_UPDATE_S = 300.0
_DOWNLOAD_S = 900.0
_UNPACK_S = 300.0


@dataclass(frozen=True)
class Distribution:
    """A source of packages: its mirrors, its signing keys, and its kernel packages."""

    name: str
    codename: str
    mirror: str
    security: str
    keyring: Path
    arch: str

    @property
    def leads(self) -> tuple[str, ...]:
        """Packages that depend on the newest kernel of one flavour."""
        if self.name == "ubuntu":
            return ("linux-image-generic", "linux-image-lowlatency", "linux-image-virtual")
        return tuple(f"linux-image-{flavour}{self.arch}" for flavour in ("", "rt-", "cloud-"))

    def rounds(self) -> Iterator[tuple[str, ...]]:
        """The source lines to try: first the host's suite, then all suites."""
        yield self._lines(self.codename)
        if self.name == "debian":
            others = tuple(suite for suite in _SUITES if suite != self.codename)
            yield sum((self._lines(suite) for suite in (self.codename, *others)), ())

    def _lines(self, suite: str) -> tuple[str, ...]:
        signed = f"signed-by={self.keyring}" if self.keyring.exists() else ""
        options = f"[{' '.join(filter(None, (f'arch={self.arch}', signed)))}]"
        lines = [f"deb {options} {self.mirror} {suite} main"]
        if self.name == "ubuntu":
            lines.append(f"deb {options} {self.mirror} {suite}-updates main")
        if suite != "sid" and "-" not in suite:
            lines.append(f"deb {options} {self.security} {suite}-security main")
        return tuple(lines)


def fetch(text: str, cache: Path, distribution: Optional[Distribution] = None) -> BootableKernel:
    """Unpack the newest kernel that matches ``text`` from the distribution's packages. Raises
    Refused if there is none, or if this is not Debian or Ubuntu."""
    check(text)
    distribution = distribution or detect()
    cache.mkdir(parents=True, exist_ok=True)
    for lines in distribution.rounds():
        with apt(lines, distribution.arch) as environment:
            leads = (*distribution.leads, f"linux-image-{text or distribution.arch}")
            release = newest(text, offers(_shown(leads, environment)))
            if release is not None:
                return _take(release, environment, cache)
    why = f"--kernel {text or 'any'}: no such kernel in {distribution.name}'s packages"
    raise Refused(why, hint=f"'apt-cache search linux-image' lists them; {_BY_HAND}")


def _release() -> Mapping[str, str]:
    with suppress(OSError, AttributeError):  # new in Python 3.10
        return platform.freedesktop_os_release()
    return {}


def check_host() -> None:
    """Raises Refused if this is not Debian or Ubuntu, or lacks a program for their packages."""
    name = _release().get("ID", "linux")
    tools = ("apt-get", "apt-cache", "dpkg-deb", "depmod")
    missing = [tool for tool in tools if process.find(tool) is None]
    if name not in _MIRRORS or platform.machine() not in _ARCH or missing:
        what = f"without {missing[0]}" if missing else f"on {name} ({platform.machine()})"
        raise Refused(f"--fetch-kernel does not work {what}", hint=_BY_HAND)


def detect() -> Distribution:
    """The host's distribution. Raises Refused as check_host() does."""
    check_host()
    release = _release()
    name, codename = release["ID"], release.get("VERSION_CODENAME", "sid")
    arch = _ARCH[platform.machine()]
    told = dict(reversed(_mirrors()))
    # Third-party repositories may use a suite's name too, but hardly ever with -updates.
    mirror = told.get(f"{codename}-updates") or told.get(codename) or _MIRRORS[name]
    security = told.get(f"{codename}-security") or re.sub("debian/?$", "debian-security", mirror)
    keyring = Path(f"/usr/share/keyrings/{name}-archive-keyring.gpg")
    return Distribution(name, codename, mirror, security, keyring, arch)


def _mirrors() -> list[tuple[str, str]]:
    """(suite, site) of each package list that the host's apt uses."""
    argv = ["apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)", "Created-By: Packages"]
    pairs = [line.split() for line in process.run(argv, timeout=30).stdout.splitlines()]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


@contextmanager
def apt(lines: Sequence[str], arch: str) -> Iterator[Mapping[str, str]]:
    """An environment in which apt knows only ``lines``; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="lowlat-apt-") as name:
        folder = Path(name)
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "sources.list").write_text("\n".join(lines) + "\n")
        (folder / "status").touch()
        (folder / "apt.conf").write_text(_settings(folder, arch))
        environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}
        suites = ", ".join(dict.fromkeys(line.split()[-2] for line in lines))
        with step(f"reading package lists of {suites}"):
            argv = ["apt-get", *SIGNED, "-qq", "update"]
            updated = process.run(argv, timeout=_UPDATE_S, env=environment)
        if not any((folder / "lists").glob("*_Packages*")):
            raise Refused(
                f"--fetch-kernel: no package lists from {lines[0].split()[-3]}: "
                f"{updated.last_words}",
                hint=f"is there a network? {_BY_HAND}",
            )
        yield environment


def _settings(folder: Path, arch: str) -> str:
    values = {
        "APT::Architecture": arch,
        "APT::Architectures": arch,
        "Dir::State": folder,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": "30",
        "APT::Sandbox::User": "root",
        **{f"Acquire::IndexTargets::deb::{name}::DefaultEnabled": "false" for name in _UNREAD},
    }
    return "".join(f'{name} "{value}";\n' for name, value in values.items())


def _shown(names: Iterable[str], environment: Mapping[str, str]) -> str:
    """apt's description of packages."""
    return process.run(["apt-cache", "show", *names], timeout=60, env=environment).stdout


def offers(shown: str) -> list[str]:
    """The releases of kernel images in the output of ``apt-cache show``, without debugging symbols
    and unsigned images, which have similar names."""
    releases = re.findall(
        r"^(?:Package|Depends):.*?\blinux-image-(\d[^\s,(]*)", shown, re.MULTILINE
    )
    return [release for release in releases if not release.endswith(("-dbg", "-unsigned"))]


def _take(release: str, environment: Mapping[str, str], cache: Path) -> BootableKernel:
    image = f"linux-image-{release}"
    names = list(dict.fromkeys((image, *needed(release, _shown([image], environment)))))
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache) as name:
        folder = Path(name)
        with step(f"downloading {', '.join(names)}"):
            argv = ["apt-get", *SIGNED, "-q", "download", *names]
            got = process.run(argv, timeout=_DOWNLOAD_S, env=environment, cwd=name)
        packages = sorted(folder.glob("*.deb"))
        if got.status or len(packages) != len(names):
            raise LowlatError(f"cannot download {names[0]}: {got.last_words}")
        with step(f"unpacking {release}"):
            tree = unpack(packages, release, folder / "tree")
        target = cache / release
        shutil.rmtree(target, ignore_errors=True)
        tree.rename(target)
    return BootableKernel(release, target / "boot" / f"vmlinuz-{release}")


def needed(release: str, shown: str) -> list[str]:
    """The packages of this kernel among its image's dependencies in ``apt-cache show``: from 7.0
    on, Ubuntu and Debian package the modules separately."""
    depends = " ".join(re.findall(r"^Depends:(.*)$", shown, re.MULTILINE))
    return re.findall(rf"\blinux-[a-z]+-{re.escape(release)}(?![^\s,(])", depends)


#: Programs that decompress modules in place; and the number of modules for one call.
_COMPRESSED = {"xz": ("xz", "-d"), "zst": ("zstd", "-q", "-d", "--rm")}

_AT_ONCE = 500


def unpack(packages: Sequence[Path], release: str, tree: Path) -> Path:
    """Unpack below ``tree``, which is created, and list the modules' dependencies. Raises
    LowlatError if the packages lack the kernel or cannot be unpacked."""
    tree.mkdir()
    for package in packages:
        _checked(["dpkg-deb", "-x", str(package), str(tree)])
    _merge_usr(tree, release)
    boot, modules = tree / "boot", tree / "lib" / "modules" / release
    boot.mkdir(exist_ok=True)
    # Debian from 7.0 on puts both files beside the modules, and nothing in boot/.
    for name in ("vmlinuz", "config"):
        _copy(modules / name, boot / f"{name}-{release}")
    if not (boot / f"vmlinuz-{release}").is_file() or not modules.is_dir():
        raise LowlatError(f"{packages[0].name} holds no kernel {release} with modules")
    # The guest's probe looks beside the modules, since its /boot is the host's.
    _copy(boot / f"config-{release}", modules / "config")
    _decompress(modules)
    _checked([process.find("depmod") or "depmod", "-b", str(tree), release])
    tree.chmod(0o755)
    return tree


def _merge_usr(tree: Path, release: str) -> None:
    # Debian 13 packages have usr/lib/modules, Debian 12's lib/modules; virtme-ng needs the latter.
    merged = tree / "usr" / "lib" / "modules" / release
    if merged.is_dir():
        (tree / "lib" / "modules").mkdir(parents=True, exist_ok=True)
        merged.rename(tree / "lib" / "modules" / release)
    shutil.rmtree(tree / "usr", ignore_errors=True)


def _decompress(modules: Path) -> None:
    """Decompress the modules once: doing so at load time takes a third of an emulated boot."""
    for suffix, argv in _COMPRESSED.items():
        packed = [str(path) for path in modules.rglob(f"*.ko.{suffix}")]
        for first in range(0, len(packed), _AT_ONCE):
            _checked([*argv, *packed[first : first + _AT_ONCE]])


def _copy(source: Path, target: Path) -> None:
    if source.is_file() and not target.exists():
        shutil.copyfile(source, target)


def _checked(argv: list[str]) -> None:
    ended = process.run(argv, timeout=_UNPACK_S)
    if ended.status:
        raise LowlatError(f"{argv[0]} failed: {ended.stderr.strip() or 'no reason given'}")
