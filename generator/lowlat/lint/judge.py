# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict on each word of a boot line: a property of the effect with and without the word, and
where no effect can tell it, a rule of words.ini."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
)
from lowlat.catalogue.words import (
    CPU_LISTS,
    MANAGED_ONLY,
    MEANT,
    RULES,
    STANDS_FOR,
    USER_SPACE,
    WITHOUT_MANAGED,
    WordVerdict,
)
from lowlat.kernel import facts
from lowlat.kernel.booting import End
from lowlat.kernel.cpus import KEEPING_OFF, LIMITING
from lowlat.kernel.line import ReadBy, Word
from lowlat.kernel.lists import isolcpus_flags
from lowlat.kernel.settings import accepted
from lowlat.lint.booted import LintedLine
from lowlat.lint.harm import harms
from lowlat.lint.opinion import DELETE, Opinion
from lowlat.lint.redundancy import also_by, repeated, spare
from lowlat.model.cpuset import CpuSet, CpuSetError

_UNSET = {**ELSEWHERE, **NEVER}
_OURS = frozenset(name for name, entry in BY_NAME.items() if entry.at_boot)
_NOT_OURS = "lowlat does not judge it"
_TWICE = "the line has it twice"
_SAME = "the boot comes to the same without it"

#: By parameter, the evidence of the running kernel: a verdict and its proof.
Shown = Mapping[str, tuple[WordVerdict, str]]


@dataclass(frozen=True)
class JudgedWord:
    """``entry`` is the catalogue's name for what the word sets, if it has one; ``put`` is the word
    to write instead, "" for none, where the advice is that simple."""

    word: str
    verdict: WordVerdict
    why: str
    fix: Optional[str] = None
    entry: Optional[str] = None
    put: Optional[str] = None

    def to_json(self) -> dict[str, Optional[str]]:
        return {"word": self.word, "verdict": self.verdict.value, "why": self.why, "fix": self.fix}


def judge(line: LintedLine, shown: Shown) -> tuple[JudgedWord, ...]:
    """Every given word with its verdict; ``shown`` is the running kernel's evidence by name."""
    harmful, needless = harms(line), spare(line)
    judged = []
    for word in line.words:
        finding = _judge(word, line, harmful, needless)
        if word.reader is ReadBy.KERNEL and word.name in shown:
            finding = _seen(finding, *shown[word.name])
        entry = _entry_of(word)
        name = entry.name if entry else None
        judged.append(JudgedWord(word.text, *finding, entry=name, put=finding.put))
    return tuple(judged)


def _seen(finding: Opinion, verdict: WordVerdict, evidence: str) -> Opinion:
    """The kernel's evidence overrides the expectation, and what it ignores does no harm."""
    if verdict is WordVerdict.IGNORED:
        return Opinion(verdict, evidence, finding.fix)
    if finding.verdict in (WordVerdict.HARMFUL, WordVerdict.CONTRADICTORY, WordVerdict.REDUNDANT):
        return finding
    if verdict is WordVerdict.UNKNOWN:  # the kernel accepts it, though no table here lists it
        return Opinion(verdict, evidence) if finding.verdict is WordVerdict.IGNORED else finding
    if verdict is WordVerdict.ASSUMED and finding.verdict.bad:
        return finding
    return Opinion(verdict, evidence, finding.fix)


def _judge(
    word: Word, line: LintedLine, harmful: Mapping[int, Opinion], needless: frozenset[int]
) -> Opinion:
    if not line.taken(word):
        return _not_taken(word, line)
    rule = _by_rule(word, line)
    if word.at in harmful or (rule and rule.verdict.bad):
        return harmful.get(word.at) or rule or _by_name(word, line)
    if word.at in needless and any(
        word.normal == one.normal for one in line.effect.words[: word.at]
    ):
        return Opinion(WordVerdict.REDUNDANT, _TWICE, DELETE)
    also = next(also_by(word, line), None) if word.at in needless else None
    if word.at in needless and also is None:
        return Opinion(WordVerdict.REDUNDANT, _why_needless(word, line), DELETE)
    found = rule or _by_entry(word, line) or _by_name(word, line)
    if also is not None:
        return Opinion(WordVerdict.EFFECTIVE, f"{found.why}; also by {also.text[:40]}")
    return _with_notes(found, word, line)


def _with_notes(found: Opinion, word: Word, line: LintedLine) -> Opinion:
    """The opinion of a word that takes effect, with what the kernel makes of it or is assumed."""
    fate = line.fate(word)
    notes = [note for note in (fate.why, fate.assumed) if note and note not in found.why]
    if not notes or found.verdict not in (WordVerdict.EFFECTIVE, WordVerdict.ASSUMED):
        return found
    return Opinion(WordVerdict.ASSUMED, "; ".join([found.why, *notes]), found.fix)


def _not_taken(word: Word, line: LintedLine) -> Opinion:
    fate = line.fate(word)
    if fate.end is End.NOT_READ:
        known = word.name in kernel_names() or word.name in BY_NAME
        if word.reader is ReadBy.INIT:
            verdict = WordVerdict.IGNORED if known else WordVerdict.UNKNOWN
            return Opinion(verdict, fate.why, "before the --" if known else None)
        return Opinion(WordVerdict.IGNORED, fate.why)
    if repeated(word, line):
        unknown = _entry_of(word) is None and _by_name(word, line)
        twice = Opinion(WordVerdict.REDUNDANT, _TWICE, DELETE)
        return unknown if unknown and unknown.verdict is WordVerdict.IGNORED else twice
    if fate.by is not None:
        why = f"{fate.why}: {line.effect.words[fate.by].text[:40]}"
        return Opinion(WordVerdict.CONTRADICTORY, why, DELETE)
    if fate.end is End.DROPPED and fate.assumed and "not found" in fate.assumed:
        return Opinion(WordVerdict.ASSUMED, f"{fate.why}; {fate.assumed}")
    values = accepted(word.name)
    taken = values is None or re.fullmatch(values, word.value, re.DOTALL)
    said = None if taken else _UNSET.get(word.normal)
    fix = _listed(word, line) if word.name in CPU_LISTS else _meant(word) or DELETE
    return Opinion(WordVerdict.IGNORED, said or fate.why, fix)


def _listed(word: Word, line: LintedLine) -> Optional[str]:
    """The list of a dropped word, of the CPUs that there are; None if it is no list."""
    effect, flags = line.effect, ""
    if word.name == "nohz_full" and effect.unbalanced and not effect.tickless:
        return f"{word.name}={line.boot_line.target.listed(effect.unbalanced)}"
    if word.name == "isolcpus":
        flags = isolcpus_flags(word.value)
    try:
        cpus = CpuSet.parse_list(word.value[len(flags) :], last=max(effect.online))
    except CpuSetError:
        return None
    plain = f"{flags}{cpus & effect.online}"
    return f"{word.name}={plain}" if plain not in (flags, word.value) else DELETE


def _meant(word: Word) -> Optional[str]:
    """The word that was probably meant by one whose value no kernel accepts."""
    values = accepted(word.name)
    if values == "" and word.value:
        return word.name
    if word.normal in MEANT or values is None or re.fullmatch(values, word.value, re.DOTALL):
        return MEANT.get(word.normal)
    choices = [part for part in re.split(r"\W+", values) if len(part) > 1]
    near = next(iter(difflib.get_close_matches(word.value[:40], choices, n=1)), None)
    return f"{word.name}={near}" if near and word.normal not in NEVER else None


def _why_needless(word: Word, line: LintedLine) -> str:
    entry, driver = _entry_of(word), line.effect.idle.driver
    unneeded = entry.unneeded(line.boot_line.target) if entry else None
    if word.name.endswith(".max_cstate") and driver is not None:
        unneeded = f"it bounds nothing here, where {driver} chooses the idle states"
    return unneeded or _UNSET.get(word.normal) or line.fate(word).why or _SAME


def _by_rule(word: Word, line: LintedLine) -> Optional[Opinion]:
    for rule in RULES:
        if re.fullmatch(rule.words, word.normal, re.DOTALL) and rule.when(line.boot_line):
            why = rule.why or _said(word)
            return Opinion(rule.verdict, why or "does nothing of use here", rule.fix)
    return None


def _said(word: Word) -> Optional[str]:
    """The reason in NEVER or ELSEWHERE for the word, else for its name."""
    names = (word.normal, word.name, word.name.replace("_", "-"))
    return next((_UNSET[name] for name in names if name in _UNSET), None)


def _entry_of(word: Word) -> Optional[Tunable]:
    other = STANDS_FOR.get(word.normal)
    if other is None and word.name not in kernel_names():
        other = alias(word.name)
    return BY_NAME.get(other or word.name)


def _by_entry(word: Word, line: LintedLine) -> Optional[Opinion]:
    """The verdict by the catalogue's entry for this name, or for one that the name implies."""
    entry = _entry_of(word)
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
    said = _said(word)
    if not said and _differs(word, entry, line):
        return _other_value(word, entry, line)
    why = said or "; ".join([_why(entry, line), *_cost(entry), *dict.fromkeys(assumed)])
    effective = not (assumed or said or target.kernel.release is None)
    return Opinion(WordVerdict.EFFECTIVE if effective else WordVerdict.ASSUMED, why)


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
    if entry.name != "isolcpus" or (line.effect.managed and line.effect.unbalanced):
        return entry.why
    return WITHOUT_MANAGED if line.effect.unbalanced else MANAGED_ONLY


def _differs(word: Word, entry: Tunable, line: LintedLine) -> bool:
    """Whether the word's value differs from the one that the entry's reason is about."""
    if entry.value is None or word.name in CPU_LISTS or word.normal in STANDS_FOR:
        return False
    own = entry.own_value(line.boot_line.target)
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


def _by_name(word: Word, line: LintedLine) -> Opinion:
    """A word without entry: the reason in NEVER or ELSEWHERE, else what the kernel's names tell."""
    name = word.name
    if name.startswith("sysctl."):
        return _sysctl(name[len("sysctl.") :], word.value, line)
    said = _said(word)
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
    if near:
        fix = near if word.flag else f"{near}={word.value.strip(chr(39))}"
        return Opinion(WordVerdict.IGNORED, f"no kernel knows it: did you mean {near}?", fix)
    if "." in name:
        why = "a parameter of a module that lint does not know"
        return Opinion(WordVerdict.UNKNOWN, why)
    (major, minor), release = newest(), line.kernel.release
    if is_newer(release) or is_older(release):
        why = f"lint knows the names of other kernels only (up to {major}.{minor})"
        return Opinion(WordVerdict.UNKNOWN, why)
    why = f"no mainline kernel up to {major}.{minor} knows it: the kernel passes it to init"
    return Opinion(WordVerdict.IGNORED, why)


def _sysctl(name: str, value: str, line: LintedLine) -> Opinion:
    entry = BY_NAME.get(name.replace("/", "."))
    said = _UNSET.get(name)
    if entry is None or said:
        why = said or _NOT_OURS
        return Opinion(WordVerdict.ASSUMED if said else WordVerdict.UNKNOWN, why)
    unneeded = entry.unneeded(line.boot_line.target)
    if unneeded:
        return Opinion(WordVerdict.REDUNDANT, unneeded, DELETE)
    usual = entry.rows[0].value
    if "{" not in usual and value != usual:
        return Opinion(WordVerdict.ASSUMED, f"lowlat would set {usual}: {entry.why}")
    return Opinion(WordVerdict.ASSUMED, "; ".join([entry.why, *_cost(entry)]))
