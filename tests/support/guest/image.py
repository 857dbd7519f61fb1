# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian 13 disk image that guests boot, stored by the versions of all its packages, which
image.lock pins.

A guest has no network. Once the system is up, its unit runs the script ``task`` in the folder
shared with the host, writes its exit status to ``status`` there, and powers off.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.rehearse import packages
from support import needs
from support.guest import VM, emulator
from support.guest.kernels import folder
from support.waits import GUARD_S

SUITE = "trixie"

#: The guest's packages besides Debian's essential ones, without their recommendations.
PACKAGES = (
    *("systemd", "systemd-sysv", "udev", "dbus", "kmod", "procps", "util-linux", "e2fsprogs"),
    *("initramfs-tools", "linux-image-amd64", "grub-efi-amd64"),
    *("tuned", "python3", "python3-jinja2", "python3-pyudev"),
)

#: What tests install into it; the first is for cloud virtual machines and lacks 9p.
OTHER_KERNEL = ("linux-image-cloud-amd64",)
SYSTEMD_BOOT = ("systemd-boot", "dosfstools")
UNIFIED_IMAGES = (*SYSTEMD_BOOT, "systemd-boot-efi", "systemd-ukify")
JANSSON = ("libjansson4",)
SSH = ("openssh-server", "iproute2")
IRQBALANCE = ("irqbalance",)
EXTRAS = {
    "other-kernel": OTHER_KERNEL,
    "systemd-boot": SYSTEMD_BOOT,
    "unified-images": UNIFIED_IMAGES,
    "libjansson": JANSSON,
    "ssh": SSH,
    "irqbalance": IRQBALANCE,
}

#: The versions of the image's packages, written by `make update-locks`.
LOCK = VM / "image.lock"
_HEAD = "# package, version: written by `make update-locks`\n"

#: In the guest's initramfs: modules for its disk.
_MODULES = ("virtio_pci", "virtio_blk", "ext4")

#: The emulated clock is the host's and as reliable, so it needs no watchdog. The timer check is
#: off, because on a busy host the timer comes too late for it.
_LINE = (
    "console=ttyS0 root=LABEL=root rw panic=-1 loglevel=5 systemd.show_status=no tsc=nowatchdog "
    "no_timer_check"
)

_RECIPE = VM / "image"
_TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
_SIZE = "4G"
_MAKE_S = 900.0


@dataclass(frozen=True)
class Image:
    """A raw disk with one ext4 file system labelled "root", and a copy of its kernel."""

    disk: Path

    @property
    def kernel(self) -> Path:
        return self.disk.with_name("vmlinuz")

    @property
    def initrd(self) -> Path:
        return self.disk.with_name("initrd")


def image_or_skip() -> Image:
    """The image, made now if there is none with the pinned packages; skips the test with a reason
    if it cannot be made."""
    try:
        return _image()
    except LowlatError as error:
        needs.absent(f"no disk image: {error}")


@cache
def _image() -> Image:
    wanted = Image(folder() / f"image-{_key(locked())}" / "disk")
    if wanted.disk.is_file():
        return wanted
    kept = sorted(folder().glob("image-*/disk"), key=lambda path: path.stat().st_mtime)
    try:
        source = _source()
        lines = next(source.rounds())
        with packages.apt(lines, source.arch) as environment:
            today = _resolved(environment, *PACKAGES)
    except LowlatError:
        if not kept:
            raise
        today = set()  # no network
    if today != locked():
        why = "the archive has other versions than image.lock pins"
        if kept:
            warnings.warn(f"{why}: {kept[-1]} is taken", stacklevel=2)
            return Image(kept[-1])
        warnings.warn(f"{why}: its own are taken", stacklevel=2)
    made = Image(folder() / f"image-{_key(today)}" / "disk")
    _make(made.disk.parent, lines)
    # One image is enough; older ones only take space.
    for old in kept:
        shutil.rmtree(old.parent)
    return made


def locked() -> set[tuple[str, str]]:
    """The pinned names and versions."""
    rows = (line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    return {(name, version) for name, version in rows}


def write_lock() -> None:
    """Pin what the archive has. Raises LowlatError if it cannot be reached."""
    source = _source()
    with packages.apt(next(source.rounds()), source.arch) as environment:
        rows = sorted(_resolved(environment, *PACKAGES))
    LOCK.write_text(_HEAD + "".join(f"{name} {version}\n" for name, version in rows))


def packages_or_skip(image: Image, *names: str) -> list[Path]:
    """The package files that install these into the image, stored beside it; skips the test with a
    reason if they are not available."""
    kept = image.disk.with_name(f"packages-{'-'.join(names)}")
    if not kept.is_dir():
        try:
            _download(kept, names)
        except LowlatError as error:
            needs.absent(f"no package {', '.join(names)}: {error}")
    return sorted(kept.glob("*.deb"))


def _download(target: Path, names: Iterable[str]) -> None:
    source = _source()
    with (
        tempfile.TemporaryDirectory(prefix=".packages-", dir=target.parent) as name,
        packages.apt(next(source.rounds()), source.arch) as environment,
    ):
        made = Path(name) / "made"
        made.mkdir()
        wanted = _resolved(environment, *PACKAGES, *names) - _resolved(environment, *PACKAGES)
        argv = ["apt-get", "-q", "download", *sorted(package for package, _ in wanted)]
        got = process.run(argv, timeout=_MAKE_S, env=environment, cwd=str(made))
        if got.status:
            raise LowlatError(f"they cannot be downloaded: {got.stderr.strip()[-200:]}")
        made.rename(target)


def _source() -> packages.Distribution:
    if os.geteuid() != 0:
        raise Refused("only root can make one")
    for tool, package in _TOOLS.items():
        if process.find(tool) is None:
            raise Refused(f"{tool} is not installed", hint=f"apt install {package}")
    here = packages.detect()
    if here.name != "debian":
        raise Refused(f"Debian {SUITE} is not looked for on {here.name}")
    return replace(here, codename=SUITE, arch="amd64")


def _resolved(environment: Mapping[str, str], *names: str) -> set[tuple[str, str]]:
    """The names and versions that apt would install."""
    argv = ["apt-get", "-s", "-y", "--no-install-recommends", "install", *names]
    told = process.run(argv, timeout=GUARD_S, env=environment)
    versions = set(re.findall(r"^Inst (\S+) \((\S+)", told.stdout, re.MULTILINE))
    if not versions:
        raise LowlatError(f"apt cannot resolve the image's packages: {told.stderr.strip()[-300:]}")
    return versions


def _key(versions: Iterable[tuple[str, str]]) -> str:
    """A digest of the packages' versions and of the recipe."""
    files = [path.read_bytes() for path in sorted(_RECIPE.iterdir())]
    told = repr((sorted(versions), _MODULES, _SIZE, files))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _make(target: Path, lines: Iterable[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".image-", dir=target.parent) as name:
        work, tree = Path(name), Path(name) / "tree"
        _checked(_debootstrap(tree, lines))
        _checked(["sh", str(_RECIPE / "recipe.sh"), str(tree)])
        made = work / "made"
        made.mkdir()
        for image, copy in (("vmlinuz-*", "vmlinuz"), ("initrd.img-*", "initrd")):
            shutil.copy(next((tree / "boot").glob(image)), made / copy)
        _checked(["mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", tree, made / "disk", _SIZE])
        made.rename(target)


def _debootstrap(tree: Path, lines: Iterable[str]) -> list[str]:
    settings = "etc/initramfs-tools"
    modules = "".join(f"{name}\\n" for name in _MODULES)
    return [
        *("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase"),
        f"--include={','.join(PACKAGES)}",
        f'--essential-hook=mkdir -p "$1/{settings}/conf.d"',
        f"--essential-hook=copy-in {_RECIPE}/initramfs.conf /{settings}/conf.d",
        f'--essential-hook=printf "{modules}" >"$1/{settings}/modules"',
        *(SUITE, str(tree), *lines),
    ]


def _checked(argv: Iterable[str | Path]) -> None:
    words = [str(word) for word in argv]
    ended = process.run(words, timeout=_MAKE_S)
    if ended.status:
        raise LowlatError(f"{words[0]} failed: {ended.stderr.strip()[-600:]}")


def boot(
    image: Image,
    share: Path,
    *,
    limit: float,
    cpus: int = 4,
    line: str = "",
    keep: bool = False,
    devices: Sequence[str] = (),
) -> str:
    """Boot the image directly, without a boot loader, and let it run the task in ``share``.

    The disk is unchanged unless ``keep`` is set. Raises LowlatError if the guest did not end or its
    task failed.
    """
    hardware = emulator.Hardware(cpus=cpus, memory_mib=1536)
    argv = [
        *hardware.argv(),
        *("-kernel", str(image.kernel), "-initrd", str(image.initrd)),
        *("-append", f"{_LINE} {line}"),
        *("-drive", f"file={image.disk},if=virtio,format=raw,snapshot={'off' if keep else 'on'}"),
        *devices,
        *("-virtfs", f"local,path={share},mount_tag=share,security_model=none"),
    ]
    text = emulator.run(argv, limit=limit, log=share / "console.log")
    status = share / "status"
    if not status.is_file() or status.read_text().strip() != "0":
        left = status.read_text().strip() if status.is_file() else "none"
        raise LowlatError(f"the guest's task failed: status {left}", hint=f"see {share}")
    return text
