# SPDX-License-Identifier: GPL-2.0-or-later
"""One stay in the kernel or in another thread, and its name, from the event that begins it."""

import re
from dataclasses import dataclass, field

from lowlat.base import resources
from lowlat.measure.causes.ftrace import TraceEvent

#: Interrupt vectors of x86: the row of /proc/interrupts that counts one (arch/x86/kernel/irq.c),
#: and its name where other CPUs raise it (arch/x86/include/asm/trace/irq_vectors.h).
_VECTORS = {
    vector: told.partition(", ")[::2]
    for vector, told in resources.texts("measure/causes/vectors.ini")["x86"].items()
}


def _named(vector: str) -> tuple[str, str]:
    """The class and the name of what a vector of x86 is a cause of."""
    _, name = _VECTORS.get(vector, ("", ""))
    return ("ipi", name) if name else ("irq", vector)


#: The same by the row of /proc/interrupts that counts it.
NAMES = {
    "NMI": ("nmi", "NMI"),
    "PMI": ("nmi", "performance counter"),
    **{row: _named(vector) for vector, (row, _) in _VECTORS.items()},
}


def row_name(label: str) -> tuple[str, str]:
    """The class and the name of what a row of /proc/interrupts counts: "LOC", "30:nvme0q1"."""
    number, colon, device = label.partition(":")
    return ("irq", f"irq {number} {device}") if colon else NAMES.get(label, ("irq", label))


#: arm64's name of all interrupts between CPUs, and of their rows together.
ARM_IPI = "IPI"

_FUNCTIONS_MAX = 3


@dataclass(eq=False)
class Context:
    """One stay in the kernel or in another thread.

    ``key`` finds its end, ``row`` is where /proc/interrupts counts it ("" where it does not).
    What ran in it becomes known while it lasts; ``busy`` is a worker with an unfinished work.
    """

    kind: str
    name: str
    begin: int
    key: str = ""
    row: str = ""
    origin: str = ""
    functions: list[str] = field(default_factory=list)
    busy: bool = False

    @property
    def cause(self) -> str:
        ran = f" ({', '.join(self.functions)})" if self.functions else ""
        return f"{self.name}{ran}{self.origin}"

    def ran(self, function: str) -> None:
        if function and function not in self.functions and len(self.functions) < _FUNCTIONS_MAX:
            self.functions.append(function)


def entered(event: TraceEvent) -> Context:
    """The context that an event "..._entry" begins; its key is that of the "..._exit"."""
    vector, time = event.name.rpartition("_")[0], event.time
    if vector == "irq_handler":
        number = event.field("irq")
        # The exit does not repeat the device.
        device = event.text.partition("name=")[2]
        if device == ARM_IPI:
            return Context("ipi", device, time, f"irq {number}")
        return Context("irq", f"irq {number} {device}", time, f"irq {number}", f"{number}:")
    if vector == "softirq":
        name = _bracketed(event.text, "action")
        return Context("softirq", name, time, f"softirq {name}")
    if vector == "tasklet":
        name = f"tasklet {event.symbol('func')}".strip()
        return Context("softirq", name, time, name)
    if vector == "ipi":  # arm64: the reason in brackets
        name = f"IPI {event.text.strip('()').removesuffix(' interrupts').lower()}"
        return Context("ipi", name, time, name, ARM_IPI)
    return Context(*_named(vector), time, vector, _VECTORS.get(vector, ("", ""))[0])


def _bracketed(text: str, key: str) -> str:
    """The part of "vec=1 [action=TIMER]" that a person reads."""
    found = re.search(rf"\[{key}=(\w+)\]", text)
    return found[1] if found else text
