# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial without the boot loader: kexec_file_load(2) loads a kernel, its initramfs and a line, and
``systemctl kexec`` stops the services and starts that kernel. No file of the boot changes, so a
panic, a reset or a power cut leads to the loader's own default."""

import ctypes
import errno
import os
import platform
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Optional

from lowlat.base import reader, resources
from lowlat.base.errors import Refused
from lowlat.boot import entry_line, hooks
from lowlat.host.root import Root
from lowlat.probe import kernel_image

_LOADED = "/sys/kernel/kexec_loaded"
_TREE = "/proc/device-tree"

#: The system call's number (arch/*/kernel/syscalls and include/uapi/asm-generic/unistd.h).
_NUMBER = {"x86_64": 320, "ppc64le": 382, "s390x": 381, "aarch64": 294, "riscv64": 294}

#: include/uapi/linux/kexec.h: KEXEC_FILE_UNLOAD, KEXEC_FILE_NO_INITRAMFS.
_UNLOAD, _NO_INITRAMFS = 1, 4

#: Images of a release, by distribution; the folders of the boot loader come last.
_PLACES = ("/boot/{token}/{release}", "/efi/{token}/{release}", "/boot/efi/{token}/{release}")
_KERNELS = (
    "/boot/vmlinuz-{release}",
    "/usr/lib/modules/{release}/vmlinuz",
    "/boot/Image-{release}",
    *(f"{place}/linux" for place in _PLACES),
)
_INITRAMFS = (
    "/boot/initrd.img-{release}",
    "/boot/initramfs-{release}.img",
    "/boot/initramfs-{release}",
    "/boot/initrd-{release}",
    *(f"{place}/{name}" for place in _PLACES for name in ("initrd", "initrd.img-{release}")),
)

#: The kernel's reasons, by the name of the error.
_WHY = resources.texts("boot/kexec.ini")["why"]

#: A root file system that the kernel cannot find by itself (block/early-lookup.c): without an
#: initramfs it panics.
_NEEDS_INITRAMFS = re.compile(r"root=(?:(?:UUID|LABEL|ZFS)=|/dev/(?:mapper|disk)/|zfs:)")


def is_loaded(root: Root) -> bool:
    """Whether a kernel is loaded for ``systemctl kexec``, by lowlat or by others."""
    return root.read(_LOADED) == "1"


def check(root: Root) -> None:
    """Raises Refused if this machine cannot start kernels by kexec."""
    if not root.live:
        raise Refused("kexec starts a kernel on this machine only", hint="leave --root out")
    if os.geteuid() != 0:
        raise Refused("root alone may load a kernel for kexec", hint="run as root")
    if platform.machine() not in _NUMBER:
        raise Refused(f"no trial by kexec on {platform.machine()}")
    check_kernel(root)


def check_kernel(root: Root) -> None:
    """Raises Refused if the kernel of this tree would load no other one, or if no unit would record
    that it came up."""
    if not hooks.has_systemd(root):
        raise Refused("systemd does not start this system: no unit would record the trial")
    # CPUs of arch/arm64/kernel/smp_spin_table.c never stop, as those of a Raspberry Pi 3 or 4.
    if "spin-table" in (root.read(f"{_TREE}/cpus/cpu@0/enable-method") or ""):
        raise Refused("this firmware cannot stop a CPU for kexec (spin-table instead of PSCI)")
    if "brcm,bcm2712" in (root.read(f"{_TREE}/compatible") or ""):
        raise Refused("a Raspberry Pi 5 does not start its CPUs again (raspberrypi/linux#7291)")
    if root.read("/proc/sys/kernel/kexec_load_disabled") == "1":
        raise Refused("kernel.kexec_load_disabled is set", hint="it is 0 again after a reboot")


def why_not(root: Root, release: str, words: Sequence[str]) -> str:
    """The reason why a kernel of this tree cannot be tried with these words; "" if it can, as far
    as files show."""
    try:
        check_kernel(root)
        _prepared(root, release, words)
    except Refused as error:
        return str(error)
    return ""


def check_load(root: Root, release: str, words: Sequence[str]) -> None:
    """Raises Refused if this machine cannot start this kernel by kexec, as far as files show."""
    check(root)
    _prepared(root, release, words)


def load(root: Root, release: str, words: Sequence[str]) -> None:
    """Load a kernel with these words as its line, replacing a loaded one. Raises Refused if an
    image is missing or others than root could change it, or if the running kernel refuses."""
    kernel, initramfs, line = _prepared(root, release, words)
    try:
        with ExitStack() as stack:
            image = stack.enter_context(reader.opened_file(kernel))
            first = stack.enter_context(reader.opened_file(initramfs)) if initramfs else -1
            _call(image, first, line, 0 if initramfs else _NO_INITRAMFS)
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "")
        raise Refused(f"{kernel}: {_WHY.get(name, error.strerror)}") from error


def _prepared(root: Root, release: str, words: Sequence[str]) -> tuple[str, Optional[str], bytes]:
    """The kernel's image, its initramfs and its line. Raises Refused if one is missing."""
    kernel = _find(root, _KERNELS, release)
    # Named otherwise, as vmlinuz-linux-rt with initramfs-linux-rt.img.
    kernel = kernel or next(kernel_image.images(root, release), None)
    if kernel is None:
        raise Refused(f"Linux {release}: its image was not found below /boot")
    root.check_owned(kernel)
    initramfs = _find(root, _INITRAMFS, release)
    initramfs = initramfs or _find(root, _INITRAMFS, kernel.rpartition("/")[2].partition("-")[2])
    if initramfs is None and any(map(_NEEDS_INITRAMFS.match, words)):
        raise Refused(f"Linux {release}: its initramfs was not found below /boot")
    return kernel, initramfs, entry_line.started(words).encode() + b"\0"


def unload() -> None:
    """Unload the loaded kernel."""
    try:
        _call(-1, -1, b"", _UNLOAD)
    except OSError as error:
        raise Refused(f"the kernel loaded for kexec stays: {error.strerror}") from error


def _find(root: Root, patterns: Iterable[str], release: str) -> Optional[str]:
    token = root.read("/etc/kernel/entry-token") or root.read("/etc/machine-id") or "none"
    paths = (pattern.format(release=release, token=token.strip()) for pattern in patterns)
    image = next((path for path in paths if root.exists(path)), None)
    if image is not None:
        root.check_owned(image)
    return image


def _call(kernel: int, initramfs: int, line: bytes, flags: int) -> None:
    number = _NUMBER[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(each) for each in (number, kernel, initramfs, len(line))]
    if libc.syscall(*words, ctypes.c_char_p(line), ctypes.c_ulong(flags)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
