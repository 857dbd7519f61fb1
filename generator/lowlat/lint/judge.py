# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict on each word of a boot line."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.catalogue import BY_NAME, alias
from lowlat.catalogue.entry import Risk, Tunable
from lowlat.catalogue.names import (
    ELSEWHERE,
    NEVER,
    is_boot_parameter,
    is_newer,
    kernel_names,
    nearest,
    newest,
)
from lowlat.catalogue.needs import ISOLATION
from lowlat.catalogue.words import (
    CPU_LISTS,
    MANAGED_ONLY,
    MEANT,
    REPEATED,
    RULES,
    STANDS_FOR,
    USER_SPACE,
    VALUES,
    WITHOUT_MANAGED,
    BootLine,
    WordVerdict,
    hugepages,
    too_many_hugepages,
)
from lowlat.kernel import facts, line_length
from lowlat.kernel.line import ReadBy, Word
from lowlat.lint.lists import Opinion, judge_list

_UNSET = {**ELSEWHERE, **NEVER}
_OURS = frozenset(name for name, entry in BY_NAME.items() if entry.at_boot)
_DELETE = "leave it out"
_NOT_OURS = "lowlat does not judge it"


@dataclass(frozen=True)
class JudgedWord:
    """``entry`` is the catalogue's name for what the word sets, if it has one."""

    word: str
    verdict: WordVerdict
    why: str
    fix: Optional[str] = None
    entry: Optional[str] = None

    def to_json(self) -> dict[str, Optional[str]]:
        return {"word": self.word, "verdict": self.verdict.value, "why": self.why, "fix": self.fix}


def judge(
    words: Sequence[Word], line: BootLine, shown: Mapping[str, tuple[WordVerdict, str]]
) -> tuple[JudgedWord, ...]:
    """Every word with its verdict; ``shown`` is the running kernel's evidence by name."""
    places = _by_place(words, line)
    judged = []
    for place, word in enumerate(words):
        finding = places.get(place) or _judge(word, line)
        if word.reader is ReadBy.KERNEL and word.name in shown:
            finding = _seen(finding, *shown[word.name])
        entry = _entry_of(word)
        judged.append(JudgedWord(word.text, *finding, entry=entry.name if entry else None))
    return tuple(judged)


def _seen(finding: Opinion, verdict: WordVerdict, evidence: str) -> Opinion:
    """The kernel's evidence overrides the expectation, except harm and contradiction."""
    if finding.verdict in (WordVerdict.HARMFUL, WordVerdict.CONTRADICTORY):
        return finding
    if verdict is WordVerdict.UNKNOWN:  # the kernel accepts it, though no table here lists it
        return Opinion(verdict, evidence) if finding.verdict is WordVerdict.IGNORED else finding
    if verdict is WordVerdict.EFFECTIVE and finding.verdict is WordVerdict.REDUNDANT:
        return finding
    if verdict is WordVerdict.ASSUMED and finding.verdict.bad:
        return finding
    return Opinion(verdict, evidence, finding.fix)


def _by_place(words: Sequence[Word], line: BootLine) -> dict[int, Opinion]:
    """Verdicts that depend on other words: cut off, behind "--", repeated, huge pages."""
    opinions: dict[int, Opinion] = {}
    kernel = [(place, word) for place, word in enumerate(words) if word.reader is ReadBy.KERNEL]
    named = [(word.name, word.value) for _, word in kernel]
    starved = too_many_hugepages(named, line.machine)
    if starved:
        counts = (place for place, word in kernel if word.name == "hugepages")
        opinions.update((place, Opinion(WordVerdict.HARMFUL, starved, "fewer")) for place in counts)
    for place, why, fix in hugepages(named):
        opinions[kernel[place][0]] = Opinion(WordVerdict.IGNORED, why, fix)
    opinions.update(_repeated(kernel))
    for place, word in enumerate(words):
        if word.reader is ReadBy.NOBODY:
            limit = line_length.limit(line.machine.arch, line.target.kernel)
            why = f"the kernel cuts the line after {limit - 1} bytes: it never sees this"
            opinions[place] = Opinion(WordVerdict.IGNORED, why)
        elif word.reader is ReadBy.INIT:
            known = word.name in kernel_names() or word.name in BY_NAME
            why = "what follows -- goes to init, not to the kernel"
            verdict = WordVerdict.IGNORED if known else WordVerdict.UNKNOWN
            opinions[place] = Opinion(verdict, why, "before the --" if known else None)
    return opinions


def _repeated(kernel: Sequence[tuple[int, Word]]) -> Iterator[tuple[int, Opinion]]:
    given: dict[str, list[tuple[int, Word]]] = {}
    for place, word in kernel:
        given.setdefault(word.name, []).append((place, word))
    for name, all_of in given.items():
        texts = {word.normal for _, word in all_of}
        if len(all_of) == 1 or (len(texts) > 1 and REPEATED.fullmatch(name)):
            continue
        if name.startswith(("hugepages", "console")):
            continue
        counts = all_of[0 if name == "isolcpus" or len(texts) == 1 else -1]
        for place, word in all_of:
            if place == counts[0] and len(texts) == 1:
                continue
            if word.normal == counts[1].normal and place != counts[0]:
                yield place, Opinion(WordVerdict.REDUNDANT, "the line has it twice", _DELETE)
            elif len(texts) > 1:
                why = f"given with another value too; the last counts: {counts[1].text[:40]}"
                if name == "isolcpus":  # kernel/sched/isolation.c, housekeeping_setup()
                    why = "given twice: the kernel takes a flag from the first of them that has it"
                yield place, Opinion(WordVerdict.CONTRADICTORY, why, "make them one")


def _judge(word: Word, line: BootLine) -> Opinion:
    finding = _by_value(word) or _by_rule(word, line)
    if finding is None and word.name in CPU_LISTS:
        finding = judge_list(word, line)
    return finding or _by_entry(word, line) or _by_name(word, line)


def _by_rule(word: Word, line: BootLine) -> Optional[Opinion]:
    for rule in RULES:
        if re.fullmatch(rule.words, word.normal, re.DOTALL) and rule.when(line):
            why = rule.why or _said(word)
            return Opinion(rule.verdict, why or "does nothing of use here", rule.fix)
    return None


def _said(word: Word) -> Optional[str]:
    """The reason in NEVER or ELSEWHERE for the word, else for its name."""
    names = (word.normal, word.name, word.name.replace("_", "-"))
    return next((_UNSET[name] for name in names if name in _UNSET), None)


def _by_value(word: Word) -> Optional[Opinion]:
    accepted = VALUES.get(word.name)
    if accepted is None or re.fullmatch(accepted, word.value):
        return None
    if accepted == "":
        why = f"takes no value; '{word.value[:30]}' makes it another, unknown parameter"
        return Opinion(WordVerdict.IGNORED, why, word.name)
    choices = [part for part in re.split(r"\W+", accepted) if len(part) > 1]
    said = NEVER.get(word.normal)
    near = next(iter(difflib.get_close_matches(word.value[:40], choices, n=1)), None)
    fix = MEANT.get(word.normal) or (f"{word.name}={near}" if near else None)
    why = said or f"'{word.value[:30]}' is not a value of this parameter"
    return Opinion(WordVerdict.IGNORED, why, None if said else fix)


def _entry_of(word: Word) -> Optional[Tunable]:
    other = STANDS_FOR.get(word.normal)
    if other is None and word.name not in kernel_names():
        other = alias(word.name)
    return BY_NAME.get(other or word.name)


def _by_entry(word: Word, line: BootLine) -> Optional[Opinion]:
    """The verdict by the catalogue's entry for this name, or for one that the name implies."""
    entry = _entry_of(word)
    if entry is None:
        return None
    if not is_boot_parameter(entry, word.name):
        return _run_time(word, entry, line)
    assumed = []
    for need in entry.needs:
        # Only lowlat needs isolated CPUs as a reason to set it; the kernel accepts it without.
        met = need is ISOLATION or need.test(line.target)
        if met is False:
            return Opinion(WordVerdict.IGNORED, need.missing, _DELETE)
        if met is None:
            assumed.append(need.assumed)
    said = _said(word)
    differs = _differs(word, entry)
    redundant = _redundant(entry, line) if said or not differs else None
    if redundant:
        return Opinion(WordVerdict.REDUNDANT, redundant, _DELETE)
    if differs and not said and entry.risk is not Risk.NONE:
        return Opinion(WordVerdict.UNKNOWN, _NOT_OURS)
    if differs:
        lowlats = entry.parameter(entry.value or "")
        return Opinion(WordVerdict.ASSUMED, said or f"lowlat would set {lowlats}: {entry.why}")
    why = said or "; ".join([_why(entry, line), *_cost(entry), *dict.fromkeys(assumed)])
    effective = not (assumed or said or line.target.kernel.release is None)
    return Opinion(WordVerdict.EFFECTIVE if effective else WordVerdict.ASSUMED, why)


def _why(entry: Tunable, line: BootLine) -> str:
    if entry.name != "isolcpus" or line.managed:
        return entry.why if line.domains or entry.name != "isolcpus" else MANAGED_ONLY
    return WITHOUT_MANAGED


def _differs(word: Word, entry: Tunable) -> bool:
    """Whether the word's value differs from the one that the entry's reason is about."""
    if entry.value is None or word.name in CPU_LISTS or word.normal in STANDS_FOR:
        return False
    usual = {entry.value, *({"y", "Y", "on"} if entry.value == "1" else ())}
    return word.value not in usual and not re.fullmatch(entry.accepts or "(?!)", word.value)


def _redundant(entry: Tunable, line: BootLine) -> Optional[str]:
    """Why an entry has no effect on this line; its CPU lists are judged elsewhere."""
    if entry.name in CPU_LISTS - {"systemd.cpu_affinity", "workqueue.unbound_cpus"}:
        return None
    for name in sorted(line.target.enabled):
        if entry.name in BY_NAME[name].implies:
            return f"{name} includes it"
    return entry.unneeded(line.target)


def _cost(entry: Tunable) -> list[str]:
    return [] if entry.risk is Risk.NONE else [f"costs: {entry.cost}"]


def _run_time(word: Word, entry: Tunable, line: BootLine) -> Opinion:
    path = re.sub(r"\{\w+\}", "N", entry.rows[0].path)
    sysctl = path.startswith("/proc/sys/")
    fix = f"sysctl.{path[10:].replace('/', '.')}={word.value}" if sysctl else None
    early = line.target.has("workqueue.unbound_cpus")
    if entry.name == "workqueue.cpumask" and early and line.target.isolated:
        fix = f"workqueue.unbound_cpus={line.target.listed(line.target.housekeeping)}"
    why = f"no boot parameter: it is set at run time ({path})"
    return Opinion(WordVerdict.IGNORED, "; ".join([why, *_faults(entry, line)]), fix)


def _faults(entry: Tunable, line: BootLine) -> Iterator[str]:
    """The faults of this kernel that the entry's values bring out."""
    release = line.target.kernel.release
    for name in entry.faults:
        if line.target.has(name) is not False:
            yield f"leave it alone: {facts.told(name, release or 'an unknown kernel')}"


def _by_name(word: Word, line: BootLine) -> Opinion:
    """A word without entry: the reason in NEVER or ELSEWHERE, else what the kernel's names tell."""
    name = word.name
    if name.startswith("sysctl."):
        return _sysctl(name[len("sysctl.") :], word.value, line)
    said = _said(word)
    if name.startswith(("kernel.", "vm.", "net.core.", "fs.")) and name not in kernel_names():
        why = said or "a sysctl, no boot parameter"
        return Opinion(WordVerdict.IGNORED, why, f"sysctl.{word.normal}")
    if USER_SPACE.fullmatch(name) or (name in kernel_names() and not said):
        return Opinion(WordVerdict.UNKNOWN, _NOT_OURS)
    if said:
        known = name in kernel_names() or "." in name  # the list lacks some modules' parameters
        return Opinion(WordVerdict.ASSUMED if known else WordVerdict.IGNORED, said)
    near = nearest(name, _OURS)
    if near:
        fix = near if word.flag else f"{near}={word.value.strip(chr(39))}"
        return Opinion(WordVerdict.IGNORED, f"no kernel knows it: did you mean {near}?", fix)
    if "." in name:
        why = "a parameter of a module that lint does not know"
        return Opinion(WordVerdict.UNKNOWN, why)
    major, minor = newest()
    if is_newer(line.target.kernel.release):
        why = f"newer than what lint knows (up to {major}.{minor}), or not a parameter"
        return Opinion(WordVerdict.UNKNOWN, why)
    why = f"no mainline kernel up to {major}.{minor} knows it: the kernel passes it to init"
    return Opinion(WordVerdict.IGNORED, why)


def _sysctl(name: str, value: str, line: BootLine) -> Opinion:
    entry = BY_NAME.get(name.replace("/", "."))
    said = _UNSET.get(name)
    if entry is None or said:
        why = said or _NOT_OURS
        return Opinion(WordVerdict.ASSUMED if said else WordVerdict.UNKNOWN, why)
    unneeded = entry.unneeded(line.target)
    if unneeded:
        return Opinion(WordVerdict.REDUNDANT, unneeded, _DELETE)
    usual = entry.rows[0].value
    if "{" not in usual and value != usual and not re.fullmatch(entry.accepts or "(?!)", value):
        return Opinion(WordVerdict.ASSUMED, f"lowlat would set {usual}: {entry.why}")
    return Opinion(WordVerdict.ASSUMED, "; ".join([entry.why, *_cost(entry)]))
