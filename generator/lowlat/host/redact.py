# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove from a capture what identifies a machine or a person and changes no plan.

Serial numbers, MAC and IP addresses, UUIDs, host names and secrets are overwritten with "x", letter
by letter: the length of a command line matters, these values do not.
"""

import re
from dataclasses import replace
from functools import partial
from typing import Callable

from lowlat.host import interrupt_movers
from lowlat.host.archive import Contents
from lowlat.host.kmsg import LOG
from lowlat.host.root import BOOT_ID

LEFT_OUT = (
    "serial numbers, MAC and IP addresses, UUIDs, host names and secrets are overwritten with x"
)

_ADDRESSES = re.compile(
    r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b"  # UUID
    r"|(?<![0-9A-Za-z:.-])(?:[0-9A-Fa-f]{2}[:-]){5,19}[0-9A-Fa-f]{2}(?![0-9A-Za-z:])"  # MAC, GUID
    r"|(?<![0-9A-Za-z.:-])(?:\d{1,3}\.){3}\d{1,3}(?![0-9A-Za-z.-])"  # IPv4
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){4,7}(?::?[0-9A-Fa-f]{1,4}){1,2}(?![0-9A-Za-z:])"
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){1,6}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})?"
)

#: Parameters whose values name a host, disk, network or secret.
_PRIVATE = re.compile(
    r"(?<![^\s\"'])((?:root|resume|ip|nfsroot|nfsaddrs|netroot|ifname|bootdev|bootif|bridge|bond|team|"
    r"vlan|netconsole|cryptdevice|cryptkey|ostree|addr|"
    r"(?:nfs\.|rd\.|luks\.|systemd\.setenv|systemd\.set_credential\w*)[.\w-]*|"
    r"(?:[\w.-]*[._-])?(?:ds|user|url|key|mac|nqn|id)|"
    r"[\w.-]*(?:host|uuid|serial|iscsi|passw|secret|token|credential|machine.id|auth)[\w.-]*)"
    r"[= ])(\"[^\"]*\"?|[^\s=\"-][^\s\"]*|=\S+)",
    re.IGNORECASE,
)

#: Lines "key: value" of /proc/cpuinfo and /proc/sysinfo that identify a machine.
_IDENTIFYING = re.compile(
    r"^([^:\n]*(?:serial|sequence code|plant|uuid|\bname\b(?<!model name))[^:\n]*:)(.*)$"
    r"|(identification = )(\w+)",
    re.IGNORECASE | re.MULTILINE,
)
_BUILDER = re.compile(r"\([^()\s]+@[^()\s]+\)")
_BUILD_NAMES = re.compile(
    r"^(CONFIG_(?:DEFAULT_HOSTNAME|CMDLINE|BUILD_SALT|LOCALVERSION_USER)=)(.*)$", re.MULTILINE
)

#: An interface that udev named after its MAC address.
_MAC_NAME = re.compile(r"\b(enx|wlx|wwx|slx)[0-9a-f]{12}\b")


def redact(contents: Contents, host_name: str = "") -> Contents:
    """The contents without identifying data. Paths and names are replaced in the same way
    everywhere; interfaces named after a MAC address are numbered in order of appearance."""
    named = numbering()
    files = {
        named(path): named(_file(path, data, host_name))
        for path, data in sorted(contents.files.items())
    }
    return replace(
        contents,
        files={path: data.encode("utf-8", "surrogateescape") for path, data in files.items()},
        folders={
            named(path): tuple(sorted(map(named, names)))
            for path, names in sorted(contents.folders.items())
        },
        links={named(p): named(t) for p, t in sorted(contents.links.items())},
        modes={named(path): mode for path, mode in sorted(contents.modes.items())},
        present=set(map(named, sorted(contents.present))),
    )


def numbering() -> Callable[[str], str]:
    """Replaces interfaces named after a MAC address by numbers in order of appearance."""
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"{match[1]}{len(numbers):012}")

    return partial(_MAC_NAME.sub, number)


def without_private_words(line: str) -> str:
    """A command line whose words name no host, disk, network or secret."""
    line, dashes, init = line.partition(" -- ")
    return _PRIVATE.sub(_cross_out, line) + dashes + _crossed(init)


def without_addresses(text: str) -> str:
    return _ADDRESSES.sub(lambda match: _crossed(match[0]), text)


def _file(path: str, data: bytes, host_name: str) -> str:
    text = data.decode("utf-8", "surrogateescape")
    if path == "/proc/cmdline":
        text = without_private_words(text)
        if len(host_name) > 2:
            text = re.sub(rf"\b{re.escape(host_name)}\b", "x" * len(host_name), text)
    elif path in ("/proc/cpuinfo", "/proc/sysinfo"):
        text = _IDENTIFYING.sub(_cross_out, text)
    elif path in ("/proc/version", LOG):
        text = _PRIVATE.sub(_cross_out, _BUILDER.sub(lambda match: _crossed(match[0]), text))
    elif path == BOOT_ID or path.startswith("/run/lowlat/"):
        return text  # a boot ID identifies no person, and files of this boot contain it
    elif path == "/etc/default/grub":
        text = _lines(text, "GRUB_ENABLE_BLSCFG")
    elif path.endswith("/grub.cfg"):
        text = _lines(text, "blscfg")
    elif path in interrupt_movers.CONFIGS:
        text = _matching(text, interrupt_movers.BANS)
    elif "/systemd/network/" in path:
        text = _matching(text, interrupt_movers.OPTIONS)
    elif path == "/proc/config.gz" or path.startswith(("/boot/config-", "/lib/modules/")):
        text = _BUILD_NAMES.sub(_cross_out, _lines(text, "CONFIG_"))  # without the remarks
    return without_addresses(text)


def _cross_out(match: re.Match[str]) -> str:
    """The key unchanged, the value overwritten."""
    key, value = (group for group in match.groups() if group is not None)
    return key + _crossed(value)


def _crossed(text: str) -> str:
    return re.sub(r"[0-9A-Za-z]", "x", text)


def _lines(text: str, start: str) -> str:
    return _matching(text, rf"^\s*{start}")


def _matching(text: str, pattern: str) -> str:
    kept = [line for line in text.split("\n") if re.search(pattern, line)]
    return "".join(f"{line}\n" for line in kept)
