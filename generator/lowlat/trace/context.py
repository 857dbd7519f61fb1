# SPDX-License-Identifier: GPL-2.0-or-later
"""One stay in the kernel or in another thread, named after the event that begins it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from lowlat.base import resources
from lowlat.trace.ftrace import TraceEvent

#: Interrupt vectors of x86: the row of /proc/interrupts that counts each (arch/x86/kernel/irq.c),
#: and its name if other CPUs raise it (arch/x86/include/asm/trace/irq_vectors.h).
_VECTORS = {
    vector: told.partition(", ")[::2]
    for vector, told in resources.texts("trace/vectors.ini")["x86"].items()
}


def _named(vector: str) -> tuple[str, str]:
    """The class and the name of the cause that a vector of x86 stands for."""
    _, name = _VECTORS.get(vector, ("", ""))
    return ("ipi", name) if name else ("irq", vector)


#: Class and name by the row of /proc/interrupts that counts a vector.
NAMES = {
    "NMI": ("nmi", "NMI"),
    "PMI": ("nmi", "performance counter"),
    **{row: _named(vector) for vector, (row, _) in _VECTORS.items()},
}


def row_name(label: str) -> tuple[str, str]:
    """The class and the name of a row of /proc/interrupts, such as "LOC" or "30:nvme0q1"."""
    number, colon, device = label.partition(":")
    return ("irq", f"irq {number} {device}") if colon else NAMES.get(label, ("irq", label))


#: Rows whose events count in another row too: TLB shoot-downs are function calls, which CAL counts
#: (arch/x86/kernel/irq.c).
PARTS = ("TLB",)

#: arm64's name for all interrupts between CPUs, and for their rows together.
ARM_IPI = "IPI"

#: The cause of a stay without its begin or end in the trace: its length is not known.
LOST = ("not-recorded", "the trace lacks an event")

_FUNCTIONS_MAX = 3


@dataclass(eq=False)
class Context:
    """One stay in the kernel or in another thread.

    ``key`` finds its end, ``row`` is its row in /proc/interrupts ("" if it has none). The functions
    that ran in it are added while it lasts; ``busy`` marks a worker with unfinished work;
    ``earlier`` is the part before its thread was off the CPU.
    """

    kind: str
    name: str
    begin: int
    key: str = ""
    row: str = ""
    origin: str = ""
    functions: list[str] = field(default_factory=list)
    busy: bool = False
    earlier: Optional["Context"] = None

    @property
    def cause(self) -> str:
        ran = f" ({', '.join(self.functions)})" if self.functions else ""
        return f"{self.name}{ran}{self.origin}"

    @property
    def nests(self) -> int:
        """Only a stay with a higher number can begin within it: bottom halves are disabled in a
        softirq, interrupts in an interrupt (kernel/softirq.c, kernel/irq/handle.c)."""
        if self.kind == "softirq":
            return 2 if self.name.startswith("tasklet") else 1
        return 0 if self.kind == "thread" else 3

    def lose(self) -> None:
        """Its end was not seen."""
        for part in self.parts():
            (part.kind, part.name), part.origin = LOST, ""
            part.functions.clear()

    def parts(self) -> Iterator["Context"]:
        """It and its earlier parts."""
        part: Optional[Context] = self
        while part is not None:
            yield part
            part = part.earlier

    def ran(self, function: str) -> None:
        if function and function not in self.functions and len(self.functions) < _FUNCTIONS_MAX:
            self.functions.append(function)


def entered(event: TraceEvent) -> Context:
    """The context that an event "..._entry" begins, with the key of its event "..._exit"."""
    vector, time = event.name.rpartition("_")[0], event.time
    if vector == "irq_handler":
        number = event.field("irq")
        # The exit does not repeat the device.
        device = event.text.partition("name=")[2]
        if device == ARM_IPI:
            return Context("ipi", device, time, f"irq {number}")
        return Context("irq", f"irq {number} {device}", time, f"irq {number}", f"{number}:")
    if vector == "softirq":  # "vec=1 [action=TIMER]"
        action = re.search(r"\[action=(\w+)\]", event.text)
        name = action[1] if action else event.text
        return Context("softirq", name, time, f"softirq {name}")
    if vector == "tasklet":
        name = f"tasklet {event.symbol('func')}".strip()
        return Context("softirq", name, time, name)
    if vector == "ipi":  # arm64: the reason in brackets
        name = f"IPI {event.text.strip('()').removesuffix(' interrupts').lower()}"
        return Context("ipi", name, time, name, ARM_IPI)
    return Context(*_named(vector), time, vector, _VECTORS.get(vector, ("", ""))[0])
