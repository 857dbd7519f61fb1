# SPDX-License-Identifier: GPL-2.0-or-later
"""The reason for a word that the kernel takes: what its entry says, or what its name tells."""

import re
from collections.abc import Iterator
from typing import Optional

from lowlat.catalogue import BY_NAME, alias
from lowlat.catalogue.entry import Risk, Tunable
from lowlat.catalogue.names import (
    ELSEWHERE,
    NEVER,
    is_boot_parameter,
    is_newer,
    is_older,
    kernel_names,
    nearest,
    newest,
    oldest,
)
from lowlat.catalogue.words import (
    CPU_LISTS,
    MANAGED_ONLY,
    PATCHED,
    RULES,
    STANDS_FOR,
    TICK_ONLY,
    USER_SPACE,
    WITHOUT_MANAGED,
    WordVerdict,
)
from lowlat.kernel import facts
from lowlat.kernel.cpus import KEEPING_OFF, LIMITING
from lowlat.kernel.line import Word
from lowlat.kernel.settings import accepted
from lowlat.lint.booted import LintedLine
from lowlat.lint.opinion import DELETE, Opinion

UNSET = {**ELSEWHERE, **NEVER}
_OURS = frozenset(name for name, entry in BY_NAME.items() if entry.at_boot)
_NOT_OURS = "lowlat does not judge it"
#: The prices that only the user may pay.
_UNASKED = (Risk.SECURITY, Risk.HIDES_FAULTS)


def said_of(word: Word) -> Optional[str]:
    """The reason in NEVER or ELSEWHERE for the word, else for its name."""
    names = (word.normal, word.name, word.name.replace("_", "-"))
    return next((UNSET[name] for name in names if name in UNSET), None)


def entry_of(word: Word) -> Optional[Tunable]:
    other = STANDS_FOR.get(word.normal)
    if other is None and word.name not in kernel_names():
        other = alias(word.name)
    return BY_NAME.get(other or word.name)


def by_entry(word: Word, line: LintedLine) -> Optional[Opinion]:
    """The verdict by the catalogue's entry for this name, or for one that the name implies."""
    entry = entry_of(word)
    if entry is None:
        return None
    if not is_boot_parameter(entry, word.name):
        return _run_time(word, entry, line)
    target, assumed = line.boot_line.target, []
    for need in entry.needs:
        met = need.test(target)
        if met is False and need.of_kernel:
            return Opinion(WordVerdict.IGNORED, need.missing, DELETE)
        if met is None and need.of_kernel:
            assumed.append(need.assumed)
    said = said_of(word)
    if not said and _differs(word, entry, line):
        return _other_value(word, entry, line)
    why = said or "; ".join([_why(entry, line), *_cost(entry), *dict.fromkeys(assumed)])
    effective = not (assumed or said or target.kernel.release is None)
    verdict = WordVerdict.EFFECTIVE if effective else WordVerdict.ASSUMED
    return Opinion(verdict, why, risk=Risk.NONE if said else entry.risk)


def _other_value(word: Word, entry: Tunable, line: LintedLine) -> Opinion:
    """A value of which the entry's reason is not true."""
    idle = line.effect.idle
    if word.name.endswith(".max_cstate") and idle.deepest is not None:
        why = f"CPUs may sleep up to idle state {idle.deepest} of {idle.driver}"
        return Opinion(WordVerdict.EFFECTIVE, why)
    if word.name in LIMITING:
        return Opinion(WordVerdict.EFFECTIVE, _brings(line))
    if entry.risk is not Risk.NONE:
        return Opinion(WordVerdict.UNKNOWN, _NOT_OURS)
    own = entry.parameter(entry.own_value(line.boot_line.target))
    return Opinion(WordVerdict.ASSUMED, f"lowlat would set {own}: {entry.why}")


def _brings(line: LintedLine) -> str:
    return f"this boot has CPU {line.effect.online}"


def _why(entry: Tunable, line: LintedLine) -> str:
    effect = line.effect
    system = effect.online - effect.isolated
    if entry.name == "systemd.cpu_affinity" and effect.services != system:
        return f"keeps systemd and what it starts on CPU {effect.services}, of CPU {system}"
    if entry.name != "isolcpus" or (effect.managed and effect.unbalanced):
        return entry.why
    if effect.unbalanced:
        return WITHOUT_MANAGED
    return MANAGED_ONLY if effect.managed else TICK_ONLY


def _differs(word: Word, entry: Tunable, line: LintedLine) -> bool:
    """Whether the word's value differs from the one that the entry's reason is about."""
    if entry.value is None or word.name in CPU_LISTS or word.normal in STANDS_FOR:
        return False
    own = entry.own_value(line.boot_line.target)
    if own == accepted(word.name) == "":  # of a flag the kernel reads the name alone
        return False
    if word.value in {own, *({"y", "Y", "on"} if own == "1" else ())}:
        return False
    number = own.isdecimal()  # a reason about a number is about that number
    return number or not re.fullmatch(entry.accepts or "(?!)", word.value)


def _cost(entry: Tunable) -> list[str]:
    return [] if entry.risk is Risk.NONE else [f"costs: {entry.cost}"]


def _run_time(word: Word, entry: Tunable, line: LintedLine) -> Opinion:
    path = re.sub(r"\{\w+\}", "N", entry.rows[0].path)
    sysctl = path.startswith("/proc/sys/")
    fix = f"sysctl.{path[10:].replace('/', '.')}={word.value}" if sysctl else None
    usual = entry.rows[0].value
    if sysctl and "{" not in usual and word.value != usual:
        fix = f"{DELETE} (lowlat would set {usual})"
    target = line.boot_line.target
    early = target.has("workqueue.unbound_cpus")
    if entry.name == "workqueue.cpumask" and early and target.isolated:
        fix = f"workqueue.unbound_cpus={target.listed(target.housekeeping)}"
    why = f"no boot parameter: it is set at run time ({path})"
    return Opinion(WordVerdict.IGNORED, "; ".join([why, *_faults(entry, line)]), fix)


def _faults(entry: Tunable, line: LintedLine) -> Iterator[str]:
    """The faults of this kernel that the entry's values bring out."""
    release = line.kernel.release
    for name in entry.faults:
        if line.boot_line.target.has(name) is not False:
            yield f"leave it alone: {facts.told(name, release or 'an unknown kernel')}"


def by_name(word: Word, line: LintedLine) -> Opinion:
    """A word without entry: the reason in NEVER or ELSEWHERE, else what the kernel's names tell."""
    name = word.name
    if name.startswith("sysctl."):
        return _sysctl(name[len("sysctl.") :], word.value, line)
    said = said_of(word)
    if name.startswith(("kernel.", "vm.", "net.core.", "fs.")) and name not in kernel_names():
        why = said or "a sysctl, no boot parameter"
        return Opinion(WordVerdict.IGNORED, why, f"sysctl.{word.normal}")
    if name in KEEPING_OFF and not said:
        return Opinion(WordVerdict.EFFECTIVE, _brings(line))
    if USER_SPACE.fullmatch(name) or (name in kernel_names() and not said):
        return Opinion(WordVerdict.UNKNOWN, _NOT_OURS)
    if said:
        known = name in kernel_names() or "." in name  # the list lacks some modules' parameters
        return Opinion(WordVerdict.ASSUMED if known else WordVerdict.IGNORED, said)
    if name in facts.FACTS:
        return Opinion(WordVerdict.UNKNOWN, _NOT_OURS)
    near = nearest(name, _OURS)
    other_kernel = is_newer(line.kernel.release) or is_older(line.kernel.release)
    if near and (near in _OURS or not other_kernel):
        fix = near if word.flag else f"{near}={word.value.strip(chr(39))}"
        # A misspelt word costs nothing yet: the mended line must not bring its price unseen.
        fix = f"{DELETE} (or write {fix})" if _price(fix) in _UNASKED else fix
        return Opinion(WordVerdict.IGNORED, f"no kernel knows it: did you mean {near}?", fix)
    if "." in name:
        why = "a parameter of a module that lint does not know"
        return Opinion(WordVerdict.UNKNOWN, why)
    (major, minor), release = newest(), line.kernel.release
    if other_kernel:
        why = f"lint knows the names of other kernels only (up to {major}.{minor})"
        return Opinion(WordVerdict.UNKNOWN, why)
    mainline = f"no mainline kernel from {oldest()[0]}.{oldest()[1]} to {major}.{minor} knows it"
    if PATCHED.fullmatch(release or ""):
        return Opinion(WordVerdict.UNKNOWN, f"{mainline}; this one has patches of its own")
    return Opinion(WordVerdict.IGNORED, f"{mainline}: the kernel passes it to init")


def _price(text: str) -> Risk:
    """The price of a word that is not on the line."""
    name = text.partition("=")[0]
    rules = (rule.risk for rule in RULES if re.fullmatch(rule.words, text, re.DOTALL))
    entry = BY_NAME.get(STANDS_FOR.get(text, name))
    known = (*rules, entry.risk if entry else Risk.NONE)
    return next((risk for risk in known if risk is not Risk.NONE), Risk.NONE)


def _sysctl(name: str, value: str, line: LintedLine) -> Opinion:
    entry = BY_NAME.get(name.replace("/", "."))
    said = UNSET.get(name)
    if entry is None or said:
        why = said or _NOT_OURS
        return Opinion(WordVerdict.ASSUMED if said else WordVerdict.UNKNOWN, why)
    unneeded = entry.unneeded(line.boot_line.target)
    if unneeded:
        return Opinion(WordVerdict.REDUNDANT, unneeded, DELETE)
    usual = entry.rows[0].value
    if "{" not in usual and value != usual:
        return Opinion(WordVerdict.ASSUMED, f"lowlat would set {usual}: {entry.why}")
    why = "; ".join([entry.why, *_cost(entry)])
    return Opinion(WordVerdict.ASSUMED, why, risk=entry.risk)
