# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs that isolcpus=, nohz_full=, rcu_nocbs= and irqaffinity= keep from the system's work."""

import re
from dataclasses import dataclass, field
from typing import Optional

from lowlat.kernel.booting import Booting
from lowlat.kernel.line import Word
from lowlat.kernel.lists import ReadList, read_list
from lowlat.model.cpuset import MAX_CPU, CpuSet

#: The parameters that isolate CPUs.
ISOLATING = ("isolcpus", "nohz_full")

#: The kinds of isolation. TICK stops the tick; NOISE keeps unbound work, timers and lockup
#: detection away (include/linux/sched/isolation.h, enum hk_type).
_DOMAIN, _MANAGED, _TICK, _NOISE = "domain", "managed_irq", "nohz", "noise"

#: How long RCU waits before it asks a CPU without a tick (kernel/rcu/tree.c, rcu_pending()).
_PATIENCE = "rcutree.nohz_full_patience_delay"

#: An option that only POWER has: the boot CPU need not keep time.
_NONZERO = "PM_SLEEP_SMP_NONZERO_CPU"


@dataclass(frozen=True)
class Isolation:
    """The possible CPUs in each kind of isolation; ``tickless`` is without the boot CPU."""

    domain: CpuSet
    managed: CpuSet
    tickless: CpuSet
    noise: CpuSet


@dataclass
class _Masks:
    """What the calls of housekeeping_setup() have left: the isolated CPUs of each kind."""

    kinds: dict[str, CpuSet] = field(default_factory=dict)
    tickless: CpuSet = CpuSet()


def housekeeping(boot: Booting) -> Isolation:
    """Read isolcpus= and nohz_full= in the order of the line: each is a call of
    housekeeping_setup() (kernel/sched/isolation.c)."""
    masks = _Masks()
    words = boot.given(*ISOLATING)
    if boot.needs("CPU_ISOLATION", *words):
        for word in words:
            _call(word, masks, boot)
    none = CpuSet()
    return Isolation(
        masks.kinds.get(_DOMAIN, none),
        masks.kinds.get(_MANAGED, none),
        _without_boot_cpu(masks.tickless, boot),
        masks.kinds.get(_NOISE, none),
    )


def _call(word: Word, masks: _Masks, boot: Booting) -> None:
    kinds, text = {_TICK, _NOISE}, word.value
    if word.name == "isolcpus":
        flags = _flags(word, boot)
        if flags is None:
            return
        kinds, text = flags
    if _TICK in kinds and not boot.needs("NO_HZ_FULL", word):
        if word.name == "isolcpus":  # without that flag the kernel has it
            boot.drop(word, boot.fate(word).why)
        return
    read = read_list(text, boot)
    boot.note(word, assumed=read.assumed)
    if read.error:
        boot.drop(word, f"{read.error}: the kernel drops the whole parameter", read.assumed)
        return
    isolated = _keeping_one(read, word, masks, boot)
    if not isolated:
        empty = "no CPU of the list can come online" if text else "the list is empty"
        boot.drop(word, boot.fate(word).why or empty)
        return
    refused = _refused(kinds, isolated, masks, boot)
    if refused:
        boot.drop(word, refused)
        return
    boot.stays_offline(word, isolated)
    if _TICK in kinds and _TICK not in masks.kinds:
        masks.tickless = isolated
    for kind in kinds:
        masks.kinds.setdefault(kind, isolated)


def _flags(word: Word, boot: Booting) -> Optional[tuple[set[str], str]]:
    """The kinds and the list of isolcpus= (housekeeping_isolcpus_setup()); None if the flags make
    the kernel drop it."""
    kinds: set[str] = set()
    text = word.value
    if text[:1].isalpha() and not boot.has("CONFIG_CPU_ISOLATION"):
        boot.drop(word, "kernels before 4.15 know no flags: they drop the parameter")
        return None
    while text[:1].isascii() and text[:1].isalpha():
        flag, comma, text = text.partition(",")
        if flag == _MANAGED and comma and not boot.has("managed_irq in isolcpus"):
            boot.drop(word, "kernels before 5.6 do not know managed_irq: the parameter is dropped")
            return None
        if flag in (_DOMAIN, _MANAGED, _TICK) and comma:
            kinds.add(flag)
        elif not comma or not flag.replace("_", "").isalpha():
            known = "a flag (domain, nohz, managed_irq) followed by a comma"
            boot.drop(word, f"'{flag[:30]}' is not {known}: the kernel drops the whole parameter")
            return None
        elif not boot.has("isolcpus skips unknown flags"):
            boot.drop(word, f"this kernel drops the parameter for the unknown flag {flag[:30]}")
            return None
        else:
            boot.note(word, f"no mainline kernel knows the flag {flag[:30]}: it is skipped")
    if _TICK in kinds and boot.has("isolcpus=nohz equals nohz_full"):
        kinds.add(_NOISE)
    return kinds or {_DOMAIN}, text


def _keeping_one(read: ReadList, word: Word, masks: _Masks, boot: Booting) -> CpuSet:
    """The CPUs of the list; without the boot CPU if no present CPU would be left."""
    most = boot.most_started if boot.has("isolation counts maxcpus=") else MAX_CPU + 1
    left = boot.present - read.cpus
    if left and left.first < most:
        return read.cpus
    boot.note(word, f"must include one present CPU, using boot CPU:{boot.cpu}")
    return read.cpus - CpuSet.of([boot.cpu])


def _refused(kinds: set[str], isolated: CpuSet, masks: _Masks, boot: Booting) -> Optional[str]:
    """Why the kernel ignores a second call."""
    if not masks.kinds or not boot.has("CONFIG_CPU_ISOLATION"):
        return None
    apart = boot.has("unequal isolcpus and nohz_full")
    others = kinds & masks.kinds.keys() if apart else masks.kinds.keys()
    if any(masks.kinds[kind] != isolated for kind in others):
        before = "" if apart else "before 5.18 "
        return f"{before}isolcpus and nohz_full have to list the same CPUs: the second is dropped"
    if others and not boot.has("an equal second list is taken"):
        return "from 7.0 on the kernel drops a second list of one kind, an equal one too"
    both = masks.kinds.get(_DOMAIN, masks.kinds.get(_TICK))
    if both is None or not kinds & {_DOMAIN, _TICK}:
        return None
    left = boot.present - (both | isolated)
    if not (left and left.first < boot.most_started) and boot.has(
        "isolation keeps a CPU in neither"
    ):
        return "must include one present CPU neither in nohz_full= nor in isolcpus=domain"
    return None


def _without_boot_cpu(tickless: CpuSet, boot: Booting) -> CpuSet:
    """tick_nohz_init() (kernel/time/tick-sched.c) clears the CPU that keeps time."""
    if boot.cpu not in tickless or boot.built(_NONZERO):
        return tickless
    for word in boot.given(*ISOLATING):
        if word.name == "nohz_full":
            boot.note(word, f"the kernel clears CPU {boot.cpu}, which keeps time")
    return tickless - CpuSet.of([boot.cpu])


def ticks_stop(boot: Booting) -> bool:
    """Whether a CPU stops its tick at all, idle or not (kernel/time/tick-sched.c,
    setup_tick_nohz(); without it tick_nohz_full_update_tick() does nothing)."""
    word = boot.last("nohz")
    stop = word is None or re.match("[0nNfF]|[oO][fF]", word.value) is None
    if word is not None and not stop:
        for other in boot.given("nohz_full"):
            boot.note(other, f"with {word.text} no CPU stops its tick")
    return stop


def offloaded(tickless: CpuSet, boot: Booting) -> CpuSet:
    """The CPUs whose RCU callbacks run in threads (kernel/rcu/tree_nocb.h, rcu_nocb_setup() and
    rcu_init_nohz()): those of rcu_nocbs= and those without a tick; without either all, where the
    kernel is built so."""
    words = boot.given("rcu_nocbs")
    built = boot.needs("RCU_NOCB_CPU", *words)
    bare = [word for word in words if word.flag and not boot.has("rcu_nocbs without a list")]
    for word in bare:
        boot.drop(word, "this kernel wants a list of CPUs")
    for word in boot.given(_PATIENCE):
        if not tickless:
            boot.drop(word, "RCU waits for CPUs without a tick only, and this line has none")
    if not boot.has("nohz_full implies rcu_nocbs"):
        tickless = CpuSet()
    last = boot.last("rcu_nocbs")
    listed = _callbacks(last, boot) if last else CpuSet()
    if not last and not tickless and built and boot.built("RCU_NOCB_CPU_DEFAULT_ALL"):
        return boot.possible
    _polling(listed | tickless, boot)
    return listed | tickless


def _callbacks(word: Word, boot: Booting) -> CpuSet:
    every = boot.has("a bad list of rcu_nocbs= means all")
    if word.value == "all" and every and not word.flag:
        return boot.possible
    read = read_list(word.value, boot)
    boot.note(word, assumed=read.assumed)
    if not read.error:
        boot.stays_offline(word, read.cpus)
        return read.cpus
    if not every:
        boot.fail(word, f"{read.error}: no CPU is offloaded", read.assumed)
        return CpuSet()
    boot.note(word, f"{read.error}: the kernel then offloads every CPU")
    return boot.possible


def _polling(cpus: CpuSet, boot: Booting) -> None:
    words = boot.given("rcu_nocb_poll")
    if boot.needs("RCU_NOCB_CPU", *words) and not cpus:
        for word in words:
            boot.drop(word, "this line offloads no CPU, so no thread would poll")


def interrupts(boot: Booting) -> CpuSet:
    """The CPUs that new interrupts may use (kernel/irq/irqdesc.c, irq_affinity_setup()): those of
    irqaffinity= up to what cannot be read, and the boot CPU."""
    word = boot.last("irqaffinity")
    if word is None:
        return boot.possible
    read = read_list(word.value, boot)
    if read.error:
        boot.note(word, f"{read.error}: the rest of the list is not read", read.assumed)
    return read.cpus | CpuSet.of([boot.cpu])


def unbound(kept: Isolation, boot: Booting) -> CpuSet:
    """The CPUs of unbound work (kernel/workqueue.c, workqueue_init_early())."""
    allowed = boot.possible
    noise = kept.noise if boot.has("nohz_full keeps unbound work away") else CpuSet()
    for isolated in (noise, kept.domain):
        if allowed - isolated or not boot.has("unbound work always has a CPU"):
            allowed = allowed - isolated
    word = boot.last("workqueue.unbound_cpus")
    if word is None:
        return allowed
    read = read_list(word.value, boot)
    if read.error:
        boot.fail(word, f"{read.error}: the kernel uses its default", read.assumed)
    elif not allowed & read.cpus:
        boot.fail(word, "it leaves no CPU for unbound work: the kernel ignores it")
    else:
        return allowed & read.cpus
    return allowed
