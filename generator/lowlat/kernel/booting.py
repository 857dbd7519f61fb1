# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel while it reads its boot line: the words, the machine, and the fate of each word."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Optional

from lowlat.kernel import facts, line_length
from lowlat.kernel.cpus import (
    KEEPING_OFF,
    LIMITING,
    boot_cpu,
    cpus_after,
    possible_below,
    started_by,
)
from lowlat.kernel.line import ReadBy, Word, read_words
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import ARM, Kernel, Machine

#: Their cores become present after the line is read (smp_prepare_cpus()).
_PRESENT_LATE = ARM | {"riscv64"}


class End(Enum):
    """What becomes of a word."""

    TAKEN = "taken"
    OFFLINE = "of CPUs that stay offline"
    DROPPED = "dropped"
    OVERRIDDEN = "overridden"
    NOT_READ = "not read"


@dataclass(frozen=True)
class Fate:
    """``why``: what drops the word, or what the kernel makes of it if not what it says. ``by`` is
    the index of the word that overrides it. ``assumed`` is what is not known and was assumed.
    ``absent``: this kernel, or any on this machine, has no such parameter, whatever the value."""

    end: End = End.TAKEN
    why: str = ""
    by: Optional[int] = None
    assumed: str = ""
    absent: bool = False


class Booting:
    """The words that the kernel reads, and what is known of it. Fates are set as modules read."""

    def __init__(self, line: str, kernel: Kernel, machine: Machine) -> None:
        self.line = line
        self.kernel = kernel
        self.machine = replace(machine, kernel=kernel)
        limit = line_length.limit(machine.arch, kernel)
        unread = {
            ReadBy.INIT: "what follows -- goes to init, not to the kernel",
            ReadBy.NOBODY: line_length.why_cut(limit),
        }
        self.all = read_words(line, limit)
        self.words = tuple(word for word in self.all if word.reader is ReadBy.KERNEL)
        self.fates = {
            word.at: Fate(End.NOT_READ, unread[word.reader])
            for word in self.all
            if word.reader is not ReadBy.KERNEL
        }

    def given(self, *names: str) -> tuple[Word, ...]:
        """The words with these names that nothing has dropped or overridden yet, in order."""
        return tuple(word for word in self.words if word.name in names and self.counts(word))

    def counts(self, word: Word) -> bool:
        return self.fate(word).end in (End.TAKEN, End.OFFLINE)

    def fate(self, word: Word) -> Fate:
        return self.fates.get(word.at, Fate())

    def drop(self, word: Word, why: str, assumed: str = "", *, absent: bool = False) -> None:
        self.fates[word.at] = Fate(End.DROPPED, why, assumed=assumed, absent=absent)

    def override(self, words: Iterable[Word], by: Word, why: str) -> None:
        for word in words:
            self.fates[word.at] = Fate(End.OVERRIDDEN, why, by.at)

    def note(self, word: Word, why: str = "", assumed: str = "") -> None:
        """Say what the kernel makes of a word that it takes, or what is assumed of it."""
        old = self.fate(word)
        self.fates[word.at] = replace(old, why=why or old.why, assumed=assumed or old.assumed)

    def fail(self, word: Word, why: str, assumed: str = "") -> None:
        """Drop the last word of a name; if it overrides others, it counts so far."""
        if any(fate.by == word.at for fate in self.fates.values()):
            self.note(word, why, assumed)
        else:
            self.drop(word, why, assumed)

    def stays_offline(self, word: Word, cpus: CpuSet) -> None:
        """Say that a word's CPUs stay offline, if all of them do."""
        if cpus and not cpus & self.online:
            words = (one.text for one in self.given(*LIMITING) if self.counts(one))
            by = next((f" by {text}" for text in words if _keeps_off(text)), "")
            self.fates[word.at] = Fate(End.OFFLINE, f"CPU {cpus} stays offline in this boot{by}")

    def last(self, *names: str) -> Optional[Word]:
        """The last of the words with these names, which overrides the others."""
        words = self.given(*names)
        if not words:
            return None
        self.override(words[:-1], words[-1], "the last one counts")
        return words[-1]

    def built(self, option: str) -> Optional[bool]:
        """Whether the kernel has an option; None if its configuration is missing."""
        config = self.kernel.config
        if config is None:
            return None
        return config.enabled(option) or facts.predates(option, self.kernel.release)

    def needs(self, option: str, *words: Word) -> bool:
        """Whether the kernel has an option without which it does not know these words; they are
        dropped, or taken to be known, by that."""
        built = self.built(option)
        for word in words:
            if built is False:
                self.drop(word, f"the kernel is built without CONFIG_{option}", absent=True)
            elif built is None:
                self.note(word, assumed="assumed: kernel configuration not found")
        return built is not False

    def has(self, fact: str) -> bool:
        """Whether the kernel has a fact; one whose release is not known is like the newest."""
        known = facts.has(fact, self.kernel.release)
        return not facts.FACTS[fact].until if known is None else known

    @cached_property
    def online(self) -> CpuSet:
        return cpus_after(self.line, self.machine)

    @cached_property
    def cpu(self) -> int:
        return boot_cpu(self.machine)

    @cached_property
    def possible(self) -> CpuSet:
        cpus = self.machine.cpus
        below = possible_below(self.line, self.machine)
        there = cpus.possible | cpus.online | cpus.offline
        return CpuSet.of(cpu for cpu in there if below is None or cpu < below or cpu == self.cpu)

    @cached_property
    def present(self) -> CpuSet:
        """The CPUs that are present while the line is read."""
        if self.machine.arch in _PRESENT_LATE:
            return CpuSet.of([self.cpu])
        return (self.machine.cpus.online | self.machine.cpus.offline) & self.possible

    @cached_property
    def most_started(self) -> int:
        """setup_max_cpus (kernel/smp.c): the number of CPUs that maxcpus= lets the boot start."""
        limit = started_by(self.line)
        return max(self.possible) + 1 if limit is None else limit


def _keeps_off(text: str) -> bool:
    return "nosmt" in text or text.partition("=")[0] in KEEPING_OFF
