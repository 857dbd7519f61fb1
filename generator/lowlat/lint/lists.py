# SPDX-License-Identifier: GPL-2.0-or-later
"""Words that list CPUs: whether the kernel can read them, and their effect on this machine."""

from typing import NamedTuple, Optional

from lowlat.catalogue.entry import Target
from lowlat.catalogue.names import NEVER
from lowlat.catalogue.words import KEPT_LISTS, UNREADABLE, BootLine, WordVerdict
from lowlat.kernel import facts
from lowlat.kernel.cpus import takes_nosmt
from lowlat.kernel.line import Word
from lowlat.lint.line import FLAGS, flags_of, read_cpus
from lowlat.model.cpuset import CpuSet

_IGNORED, _HARMFUL = WordVerdict.IGNORED, WordVerdict.HARMFUL
_CONTRADICTORY, _REDUNDANT = WordVerdict.CONTRADICTORY, WordVerdict.REDUNDANT


_MANAGED, _UNEQUAL = "managed_irq in isolcpus", "unequal isolcpus and nohz_full"


class Opinion(NamedTuple):
    verdict: WordVerdict
    why: str
    fix: Optional[str] = None


def judge_list(word: Word, line: BootLine) -> Optional[Opinion]:
    """The error in a word that lists CPUs, or None."""
    flags, text = (
        flags_of(word.value) if word.name == "isolcpus" else (frozenset[str](), word.value)
    )
    refused = _flags(flags, text, line) if word.name == "isolcpus" else None
    if refused:
        return refused
    if word.name == "rcu_nocbs" and word.flag:
        return None
    machine, target = line.target.machine, line.target
    cpus = read_cpus(text, machine)
    if cpus is None or not cpus:
        verdict = _HARMFUL if word.name == "rcu_nocbs" else _IGNORED
        return Opinion(verdict, f"'{text[:40]}' is no list of CPUs; {_dropped(word.name)}")
    lacks = _lacks(word.name, text, target)
    if lacks:
        return Opinion(_IGNORED, f"{lacks}; {_dropped(word.name)}", _listing(word, cpus, line))
    absent = cpus - (machine.cpus.online | machine.cpus.offline | machine.cpus.possible)
    if absent:
        why = f"there is no CPU {absent} (online: {machine.cpus.online}); "
        return Opinion(_CONTRADICTORY, why + _outside(word.name, line))
    if word.name in KEPT_LISTS:
        return _kept(word, cpus, line)
    return _isolating(word, cpus, line)


def _lacks(name: str, text: str, target: Target) -> Optional[str]:
    """The form of a list that its reader does not know."""
    words, strides = text.strip("0123456789-,:/"), ":" in text
    if name == "systemd.cpu_affinity" and (words or strides):
        return "systemd knows numbers and ranges only"  # parse_cpu_set() in src/shared
    if words and target.has("N in CPU lists") is False:
        return "this kernel knows neither N nor all"
    if strides and target.has("strides in CPU lists") is False:
        return "this kernel knows no strides"
    return None


def _dropped(name: str) -> str:
    return UNREADABLE.get(name, "it is not read")


def _outside(name: str, line: BootLine) -> str:
    """The effect of a missing CPU: CONFIG_CPUMASK_OFFSTACK limits lists to possible CPUs."""
    by_hand = line.built("CPUMASK_OFFSTACK")
    if by_hand is None:
        return f"the kernel's configuration decides whether {_dropped(name)}"
    return _dropped(name) if by_hand else "the other CPUs of the list count"


def _flags(flags: frozenset[str], text: str, line: BootLine) -> Optional[Opinion]:
    target = line.target
    if text[:1].isalpha() and text not in ("all", "N") and not text.startswith("N-"):
        return Opinion(
            _IGNORED,
            f"'{text[:30]}' is not a flag (domain, nohz, managed_irq) followed by a comma; "
            f"{_dropped('isolcpus')}",
        )
    unknown = flags - FLAGS
    if unknown:
        named = ", ".join(sorted(unknown))
        return Opinion(
            _HARMFUL,
            f"no mainline kernel knows the flag {named}: it is skipped, CPU {text[:30]} isolated",
        )
    if "managed_irq" in flags and target.has(_MANAGED) is False:
        first = facts.bound(_MANAGED)
        why = f"kernels before {first} do not know managed_irq and drop the whole parameter"
        return Opinion(_IGNORED, why, f"isolcpus={text}")
    if "nohz" in flags and line.built("NO_HZ_FULL") is False:
        why = "without CONFIG_NO_HZ_FULL the flag nohz invalidates the whole parameter"
        return Opinion(_IGNORED, why, f"isolcpus=managed_irq,domain,{text}")
    return None


def _kept(word: Word, cpus: CpuSet, line: BootLine) -> Optional[Opinion]:
    both = cpus & line.target.isolated
    if not both:
        return None
    why = f"it lists the CPUs that are allowed, and CPU {both} is isolated on this line"
    return Opinion(_CONTRADICTORY, why, _listing(word, line.target.housekeeping, line))


def _isolating(word: Word, cpus: CpuSet, line: BootLine) -> Optional[Opinion]:
    target = line.target
    machine, online = target.machine, target.machine.cpus.online
    everything = word.value in ("all", "0-N") or (word.name == "rcu_nocbs" and online <= cpus)
    if word.name == "rcu_nocbs":
        if line.tickless and cpus <= line.tickless and line.built("NO_HZ_FULL") is not False:
            return Opinion(_REDUNDANT, "nohz_full includes it for these CPUs")
        return None
    if online <= cpus and not everything:
        return Opinion(_CONTRADICTORY, "no CPU is left for the system")
    if everything and word.name == "nohz_full":
        kept = f"every CPU but {machine.cpus.boot}, which serves all the rest"
        return Opinion(
            WordVerdict.ASSUMED, f"takes {kept}", f"nohz_full={target.listed(_whole(cpus, line))}"
        )
    boot = machine.cpus.boot
    if boot in cpus:
        why = f"CPU {boot} boots the system and keeps time: it cannot be left alone"
        return Opinion(_HARMFUL, why, _listing(word, _whole(cpus, line), line))
    if line.strange:
        why = f"CPU {line.strange} comes back with this boot and may share cores with these CPUs"
        return Opinion(_HARMFUL, why, f"{word.text} nosmt" if takes_nosmt(machine) else None)
    split = _split(cpus | line.domains | line.tickless, line)
    if split:
        why = f"splits cores: the sibling CPU {split} is not isolated and shares the core"
        return Opinion(_HARMFUL, why, _listing(word, _whole(cpus, line), line))
    if word.name == "isolcpus" and "nohz" in flags_of(word.value)[0] and not line.tickless:
        return Opinion(
            WordVerdict.ASSUMED, NEVER["isolcpus=nohz"], f"nohz_full={target.listed(cpus)}"
        )
    other = line.tickless if word.name == "isolcpus" else line.domains
    if other and other != cpus and target.has(_UNEQUAL) is False:
        first = facts.bound(_UNEQUAL)
        same = "isolcpus and nohz_full have to list the same CPUs: the second is dropped"
        why = f"before {first} {same}"
        return Opinion(_CONTRADICTORY, why)
    return None


def _split(cpus: CpuSet, line: BootLine) -> CpuSet:
    """The siblings of these CPUs that are not among them."""
    cores = [core.cpus for core in line.target.machine.cores if core.cpus & cpus]
    return CpuSet.of(cpu for core in cores for cpu in core) - cpus


def _whole(cpus: CpuSet, line: BootLine) -> CpuSet:
    """The CPUs extended to whole cores, without the boot CPU's core."""
    boot = line.target.machine.cpus.boot
    cores = [core.cpus for core in line.target.machine.cores if core.cpus & cpus]
    return CpuSet.of(cpu for core in cores if boot not in core for cpu in core)


def _listing(word: Word, cpus: CpuSet, line: BootLine) -> Optional[str]:
    """The word with these CPUs instead, as its reader knows lists."""
    flags = sorted(flags_of(word.value)[0]) if word.name == "isolcpus" else []
    text = str(cpus) if word.name == "systemd.cpu_affinity" else line.target.listed(cpus)
    return f"{word.name}={','.join([*flags, text])}" if cpus else None
