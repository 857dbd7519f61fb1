# SPDX-License-Identifier: GPL-2.0-or-later
"""The length of a boot line: the kernel drops the rest silently."""

from typing import Optional

from lowlat.kernel import facts
from lowlat.model.machine import Kernel

#: COMMAND_LINE_SIZE, in bytes with the closing NUL, in arch/*/include/uapi/asm/setup.h (of x86 in
#: include/asm/setup.h). powerpc has 2048 since a5980d064fe2.
_SIZES = {
    **dict.fromkeys(("arm", "armv6l", "armv7l", "armv8l", "parisc", "parisc64"), 1024),
    **dict.fromkeys(("loongarch64", "mips", "mips64"), 4096),
    "alpha": 256,
}
_USUAL = 2048

#: By architecture: the size from the release on that has the fact, and the size before.
_GROWN = {
    **dict.fromkeys(("riscv64", "riscv32"), ("1024 bytes of line on RISC-V", 1024, 512)),
    **dict.fromkeys(("s390x", "s390"), ("4096 bytes of line on s390", 4096, 896)),
}


def why_cut(size: int) -> str:
    return f"the kernel cuts the line after {size - 1} bytes: it never sees this"


def limit(arch: Optional[str], kernel: Kernel) -> int:
    """The bytes of a line, with the closing NUL, of a kernel on an architecture (uname -m):
    CONFIG_COMMAND_LINE_SIZE where the kernel's configuration has it."""
    built = kernel.config.options.get("COMMAND_LINE_SIZE", "") if kernel.config else ""
    if built.isdecimal():
        return int(built)
    if arch in _GROWN:
        fact, size, before = _GROWN[arch]
        return size if facts.has(fact, kernel.release) else before
    return _SIZES.get(arch or "", _USUAL)
