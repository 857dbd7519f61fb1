# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up kernel images, with the parts that tell a release."""


def x86_image(release: str) -> bytes:
    """The header of Documentation/arch/x86/boot.rst, then the version string."""
    image = bytearray(0x400)
    image[0x202:0x206] = b"HdrS"
    image[0x20E:0x210] = (0x200).to_bytes(2, "little")
    return bytes(image) + f"{release} (someone@somewhere) #1 SMP\0".encode() + bytes(64)


def arm64_image(release: str, before: int = 4096) -> bytes:
    """The magic number of Documentation/arch/arm64/booting.rst, and the kernel's banner."""
    image = bytearray(before)
    image[0x38:0x3C] = b"ARM\x64"
    return bytes(image) + f"Linux version {release} (someone@somewhere)\n".encode()
