# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables of the EFI firmware, as efivarfs shows them: four bytes of attributes, then the value
(Documentation/filesystems/efivarfs.rst)."""

import struct
from typing import Optional

from lowlat.host.root import Root

VARIABLES = "/sys/firmware/efi/efivars"

_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
#: https://systemd.io/BOOT_LOADER_INTERFACE
_LOADER = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

#: A node of a device path: type 4 (media), subtype 4 (file path). UEFI specification, 10.3.5.4.
_FILE_PATH = (4, 4)


def loader_variable(root: Root, name: str) -> Optional[str]:
    """A text that the boot loader keeps in the firmware, in UTF-16; None without one."""
    value = _value(root, name, _LOADER)
    return None if value is None else value.decode("utf-16-le", "replace").strip("\0") or None


def secure_boot(root: Root) -> bool:
    return _value(root, "SecureBoot", _GLOBAL) == b"\1"


def current_program(root: Root) -> str:
    """The path of the program that the firmware started in this boot, on its EFI partition, with
    slashes ("/EFI/redhat/shimx64.efi"); "" if that is not known."""
    number = _value(root, "BootCurrent", _GLOBAL) or b""
    if len(number) != 2:
        return ""
    option = _value(root, f"Boot{int.from_bytes(number, 'little'):04X}", _GLOBAL) or b""
    return _file_path(option).replace("\\", "/")


def _file_path(option: bytes) -> str:
    """The file in a load option: attributes (4 bytes), length of the device path (2), a text in
    UTF-16, the device path. UEFI specification, 3.1.3."""
    at = 6
    while at + 2 <= len(option) and option[at : at + 2] != b"\0\0":
        at += 2
    at += 2
    while at + 4 <= len(option):
        kind, subtype, length = struct.unpack_from("<BBH", option, at)
        if (kind, subtype) == _FILE_PATH:
            return option[at + 4 : at + length].decode("utf-16-le", "replace").strip("\0")
        at += max(length, 4)
    return ""


def _value(root: Root, name: str, vendor: str) -> Optional[bytes]:
    data = root.read_bytes(f"{VARIABLES}/{name}-{vendor}")
    return None if data is None or len(data) < 4 else data[4:]
