# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a plan's line fits into what the kernel reads, and what makes a longer one fit."""

from lowlat.catalogue import lookup
from lowlat.kernel import line_length
from lowlat.model import cmdline
from lowlat.model.machine import Kernel, Machine
from lowlat.model.plan import Plan


def check(machine: Machine, kernel: Kernel, plan: Plan) -> None:
    """Raises Refused if the line beside the stock words is too long, with what makes it fit."""
    stock = cmdline.without(machine.cmdline or "", [p.name for p in plan.parameters])
    line, limit = f"{stock} {plan.boot_line}", line_length.limit(machine.arch, kernel)
    excess = len(line.encode()) - limit + 1
    hint = None if excess <= 0 else _shorter(plan, len(stock), excess)
    cmdline.check_length(line, "the kernel command line", limit, hint)


def _shorter(plan: Plan, stock: int, excess: int) -> str:
    """What makes a line fit that is too long by so many bytes: without the words whose effect other
    words include, or that run-time settings repeat, else fewer ranges."""
    implied = {name for item in plan.parameters for name in lookup(item.name).implies}
    spare = [item for item in plan.parameters if item.name in implied]
    spare += [item for item in plan.parameters if item.name == "irqaffinity"]
    words: list[str] = []
    for item in spare:
        words.append(f"--disable {item.name}")
        excess -= len(item.word) + 1
        if excess <= 0:
            return " ".join(words)
    longest = max((len(item.word) for item in plan.parameters), default=0)
    if excess > longest:
        return f"the line without lowlat's words has {stock} bytes: shorten it"
    return f"{' '.join(words)}, and --isolate CPUs in fewer ranges: {excess} bytes less"
