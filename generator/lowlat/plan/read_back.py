# SPDX-License-Identifier: GPL-2.0-or-later
"""The planned line, read back as the kernel will read it."""

from collections.abc import Iterable, Iterator

from lowlat.base.errors import Refused
from lowlat.kernel.booting import End
from lowlat.kernel.effect import Effect, read
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine
from lowlat.model.plan import Plan, PlannedParameter


def read_planned(
    machine: Machine, kernel: Kernel, parameters: Iterable[PlannedParameter]
) -> Effect:
    """What a boot with the stock line and these parameters comes to."""
    planned = list(parameters)
    stock = cmdline.without(machine.cmdline or "", [each.name for each in planned])
    return read(" ".join([stock, *(each.word for each in planned)]), kernel, machine)


def check(effect: Effect, plan: Plan) -> None:
    """Raises Refused if the planned boot does not come to what the plan says: a word of the stock
    line is in the way, or lowlat has a bug."""
    for why in _differences(plan, effect):
        hint = "this is a bug of lowlat unless a word of the stock line causes it: see 'lowlat-gen "
        raise Refused(f"the planned line would not do what it says: {why}", hint=f"{hint}lint'")


def _differences(plan: Plan, effect: Effect) -> Iterator[str]:
    planned = {parameter.word for parameter in plan.parameters}
    for word, fate in zip(effect.words, effect.fates):
        if word.text in planned and fate.end is not End.TAKEN:
            yield f"the kernel would not take {word.text} ({fate.why})"
        if word.text in planned and word.name == "nohz_full" and not effect.ticks_stop:
            yield fate.why
    if plan.isolated and effect.online != plan.cpus.online:
        yield f"online would be CPU {effect.online}, not {plan.cpus.online}"
    for what, is_, should in _sets(plan, effect):
        if is_ != should:
            yield f"{what} would be CPU {is_ or 'none'}, not {should or 'none'}"


def _sets(plan: Plan, effect: Effect) -> Iterator[tuple[str, CpuSet, CpuSet]]:
    """The sets that the plan decides: in words, by the effect, by the plan."""
    isolated = plan.isolated
    for parameter in plan.parameters:
        if parameter.name == "isolcpus":
            flags = parameter.value.rpartition(",")[0].split(",")
            if "domain" in flags or not parameter.value[:1].isalpha():
                yield "out of load balancing", effect.unbalanced, isolated
            if "managed_irq" in flags:
                yield "without managed interrupts", effect.managed, isolated
        elif parameter.name == "nohz_full":
            yield "without a tick", effect.stopped, isolated
        elif parameter.name == "rcu_nocbs":
            listed = effect.online if parameter.value == "all" else isolated
            yield "without RCU callbacks", effect.offloaded, listed | effect.tickless
        elif parameter.name == "irqaffinity":
            yield "open to interrupts", effect.interrupts, plan.housekeeping
