# SPDX-License-Identifier: GPL-2.0-or-later
"""Network interfaces, NVMe controllers and other PCI devices: their place and their interrupts.

The devices come from sysfs, their interrupts from /proc/interrupts and /proc/irq
(Documentation/core-api/irq/irq-affinity). Their names come from the hardware database (hwdb),
through udev on the live machine; a capture records its answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base import resources
from lowlat.host import interrupts
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Device, Interrupt

_PCI = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

#: PCI class prefixes (include/linux/pci_ids.h) and lowlat's kind; the longest comes first.
_KINDS = resources.texts("probe/signs.ini")["pci"]

#: Memory controllers, bridges, system and signal peripherals: servers have hundreds, all idle.
_PASSED_OVER = ("05", "06", "08", "11")

#: The udev properties that are used.
_PROPERTIES = ("ID_VENDOR_FROM_DATABASE", "ID_MODEL_FROM_DATABASE")


def read_devices(root: Root, online: CpuSet, interrupts: Iterable[Interrupt]) -> tuple[Device, ...]:
    """The devices, sorted by address."""
    named, alone = _class_devices(root)
    rows = _Rows(interrupts)
    models = parse_udev(root.answer("udev", _ask_udev))
    devices = [
        device
        for address in root.names(_PCI)
        for device in _read_pci(root, address, named.get(address, []), online, rows, models)
    ]
    devices += [
        _read_alone(root, name, parent, online, rows) for name, parent in sorted(alone.items())
    ]
    return tuple(sorted(devices, key=lambda device: device.address))


def _class_devices(root: Root) -> tuple[Mapping[str, list[str]], Mapping[str, str]]:
    """The network interfaces and NVMe controllers: names by PCI address; and, for those not on PCI,
    their parent device by name. A virtio function is listed beside its interface."""
    named: dict[str, list[str]] = defaultdict(list)
    alone: dict[str, str] = {}
    for kind in ("net", "nvme"):
        for name in root.names(f"/sys/class/{kind}"):
            path = root.link(f"/sys/class/{kind}/{name}") or ""
            if "/virtual/" in path:
                continue
            if "/devices/" not in path:  # a folder: before 2.6.25 or in a copied tree
                path = root.link(f"/sys/class/{kind}/{name}/device") or ""
            addresses = _ADDRESS.findall(path)
            if addresses:
                named[addresses[-1]] += [name, *re.findall(r"/(virtio\d+)(?:/|$)", path)]
            elif path:
                alone[name] = re.sub(rf"/{kind}/[^/]*$", "", path).rpartition("/")[2]
    return named, alone


def _read_pci(
    root: Root,
    address: str,
    names: list[str],
    online: CpuSet,
    rows: _Rows,
    models: Mapping[str, str],
) -> Iterable[Device]:
    folder = f"{_PCI}/{address}"
    code = (root.read(f"{folder}/class") or "").replace("0x", "")
    if code.startswith(_PASSED_OVER):
        return
    kind = next((kind for prefix, kind in _KINDS.items() if code.startswith(prefix)), "other")
    if kind == "network" and not names:
        names = list(root.names(f"{folder}/net"))
    numbers = rows.of(address, names, _message_interrupts(root, folder))
    if kind in ("network", "nvme") or numbers or root.link(f"{folder}/driver"):
        shown = tuple(name for name in names if not name.startswith("virtio"))
        model = models.get(address) or _numbers(root, folder)
        known = Device(address, kind, shown, interrupts=numbers, model=model)
        yield _device(root, folder, online, known)


def _read_alone(root: Root, name: str, parent: str, online: CpuSet, rows: _Rows) -> Device:
    numbers = rows.of(parent, [name, parent], [])
    alone = Device(parent, "network", (name,), interrupts=numbers)
    return _device(root, f"/sys/class/net/{name}/device", online, alone)


def _device(root: Root, folder: str, online: CpuSet, known: Device) -> Device:
    """The device with the facts from its folder."""
    driver = (root.link(f"{folder}/driver") or "").rpartition("/")[2] or None
    node = root.read_int(f"{folder}/numa_node")
    node = None if node is None or node < 0 else node
    cpus = root.read_cpus(f"{folder}/local_cpulist", f"{folder}/local_cpus")
    # Devices share one CpuSet, which saves memory on big machines.
    cpus = online if cpus == online else cpus and cpus & online
    return replace(known, driver=driver, node=node, cpus=cpus)


def _message_interrupts(root: Root, folder: str) -> list[int]:
    names = root.names(f"{folder}/msi_irqs")
    numbers = [int(name) for name in names if re.fullmatch("[0-9]{1,9}", name)]
    if numbers:
        return numbers
    line = root.read_int(f"{folder}/irq")
    return [line] if line else []


def _numbers(root: Root, folder: str) -> Optional[str]:
    numbers = [root.read(f"{folder}/{name}") for name in ("vendor", "device")]
    return ":".join(number.replace("0x", "") for number in numbers if number) or None


class _Rows:
    """The numbered interrupts, by number, by PCI address and by the first word of their actions
    ("nvme0q1" counts as nvme0, "eth0-TxRx-3" as eth0)."""

    def __init__(self, interrupts: Iterable[Interrupt]) -> None:
        self._known: set[int] = set()
        self._by_sign: dict[str, set[int]] = defaultdict(set)
        for interrupt in interrupts:
            self._known.add(interrupt.number)
            for address in _ADDRESS.findall(f"{interrupt.chip} {interrupt.actions}"):
                self._by_sign[address].add(interrupt.number)
            for word in re.split(r"[,\s]+", interrupt.actions):
                queue = re.fullmatch(r"(nvme\d+)q\d+", word)
                sign = queue[1] if queue else re.split(r"[-@:]", word)[0]
                self._by_sign[sign].add(interrupt.number)
                self._by_sign[word].add(interrupt.number)

    def of(self, address: str, names: Iterable[str], said: Iterable[int]) -> tuple[int, ...]:
        """A device's interrupts: those in its folder that are in use, else those naming it."""
        numbers = set(said) & self._known if self._known else set(said)
        if not numbers:
            for sign in (address, *names):
                numbers |= self._by_sign.get(sign, set())
        return tuple(sorted(numbers))


def parse_udev(text: str) -> Mapping[str, str]:
    """Each device's model name, from lines "ADDRESS KEY=VALUE"."""
    models: dict[str, list[str]] = defaultdict(list)
    for key in _PROPERTIES:
        for address, value in re.findall(rf"^(\S+) {key}=(.*)$", text, re.MULTILINE):
            models[address].append(value)
    return {address: " ".join(words) for address, words in models.items()}


def _ask_udev(root: Root) -> str:
    if not root.live:
        return ""
    try:
        import pyudev  # costs a fifth of a probe, and captured machines do not need it

        return "\n".join(
            f"{device.sys_name} {key}={device.properties[key]}".replace("\n", " ")
            for device in pyudev.Context().list_devices(subsystem="pci")
            for key in _PROPERTIES
            if key in device.properties
        )
    except (ImportError, OSError, LookupError, ValueError, RuntimeError):
        return ""  # only names are missing then, and no plan needs them


def read_interrupts(root: Root) -> tuple[Interrupt, ...]:
    """The numbered interrupts with their affinity; empty if /proc/interrupts is missing."""
    interrupts = parse_interrupts(root.read("/proc/interrupts") or "")
    return tuple(_with_affinity(root, interrupt) for interrupt in interrupts)


def _with_affinity(root: Root, interrupt: Interrupt) -> Interrupt:
    folder = f"/proc/irq/{interrupt.number}"
    mode = root.mode(f"{folder}/smp_affinity_list")
    if mode is None:
        mode = root.mode(f"{folder}/smp_affinity")
    settable = None if mode is None else bool(mode & 0o200)
    # The kernel spreads only message-signalled interrupts (kernel/irq/affinity.c). Write permission
    # proves nothing: before 6.12 files of managed interrupts have it too.
    managed = "MSI" in interrupt.chip if settable is False else None
    return replace(
        interrupt,
        affinity=root.read_cpus(f"{folder}/smp_affinity_list", f"{folder}/smp_affinity"),
        effective=root.read_cpus(
            f"{folder}/effective_affinity_list", f"{folder}/effective_affinity"
        ),
        settable=settable,
        managed=managed,
    )


def parse_interrupts(text: str) -> list[Interrupt]:
    """The numbered rows."""
    return [
        Interrupt(int(row.label), *_split_description(row.words), count=row.total)
        for row in interrupts.parse(text)
        if row.label.isascii() and row.label.isdigit() and len(row.label) <= 9
    ]


def _split_description(words: Sequence[str]) -> tuple[str, str]:
    # "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0": chip, line with trigger, then actions.
    for position, word in enumerate(words):
        if re.search(r"(edge|level|fasteoi)", word, re.IGNORECASE):
            return " ".join(words[: position + 1]), " ".join(words[position + 1 :])
    return " ".join(words[:2]), " ".join(words[2:])
