# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot line to judge, on the machine that it boots, and the same line with other words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from lowlat.base import bounds
from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Target
from lowlat.catalogue.words import CPU_LISTS, BootLine
from lowlat.kernel import line_length
from lowlat.kernel.booting import End, Fate
from lowlat.kernel.cpus import LIMITING
from lowlat.kernel.effect import Effect, read
from lowlat.kernel.line import Word, changed, cut, names_of, read_words
from lowlat.lint.system_part import SystemPart
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine
from lowlat.plan.boot_machine import UnknownSiblings, boot_machine

#: A list of that many CPUs costs as much as a word.
_CPUS_A_WORD = 256


@dataclass(frozen=True)
class LintedLine:
    """``text`` is what the kernel reads of the line, and ``rest`` what it does not. The words from
    index ``first`` on are judged; the others are the running line's that keep CPUs off. ``now`` is
    the machine as it is."""

    text: str
    first: int
    now: Machine
    kernel: Kernel
    rest: str = ""
    _work: list[int] = field(default_factory=list, compare=False, repr=False)
    _boots: dict[tuple[str, ...], tuple[Machine, CpuSet, SystemPart]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _known: dict[frozenset[int], Effect] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, given: str, machine: Machine, kernel: Kernel) -> LintedLine:
        """The given words; without a root= they are no whole line, and would be added to the
        running one. Raises Refused if they are longer, or more, than any line's."""
        names = names_of(given)
        running = read_words(machine.cmdline or "") if "root" not in names else ()
        kept = [w.text for w in running if w.name in LIMITING and w.name not in names]
        whole = " ".join([*kept, given])
        text, rest = cut(whole, line_length.limit(machine.arch, kernel))
        number = len(read_words(text))
        if number > bounds.BOOT_WORDS:
            raise Refused(f"the line has {number} words", hint="give one that is shorter")
        return cls(text, len(kept), replace(machine, kernel=kernel), kernel, rest)

    @cached_property
    def _boot(self) -> tuple[Machine, CpuSet, SystemPart]:
        """The machine in the boot with this line; else the machine as it is, and the CPUs that come
        back without a sign of their siblings; and the system's part there."""
        limits = tuple(word.text for word in self._all if word.name in LIMITING)
        if limits not in self._boots:
            self.count(len(self.now.cpus.online) // 2)
            machine, strange = self._booted()
            returning = machine.cpus.online - self.now.cpus.online
            self._boots[limits] = machine, strange, SystemPart(machine, returning)
        return self._boots[limits]

    def _booted(self) -> tuple[Machine, CpuSet]:
        if self.now.container:  # its host boots
            return self.now, CpuSet()
        try:
            return boot_machine(self.text, self.now)[0], CpuSet()
        except UnknownSiblings as error:
            return self.now, error.cpus
        except Refused:
            return self.now, CpuSet()

    @property
    def machine(self) -> Machine:
        return self._boot[0]

    @property
    def system_part(self) -> SystemPart:
        return self._boot[2]

    @cached_property
    def effect(self) -> Effect:
        return self.without(frozenset())

    @property
    def unread(self) -> str:
        """Why the kernel does not read the rest."""
        return line_length.why_cut(line_length.limit(self.now.arch, self.kernel))

    @property
    def words(self) -> tuple[Word, ...]:
        return self.effect.words[self.first :]

    def fate(self, word: Word) -> Fate:
        return self.effect.fates[word.at]

    def taken(self, word: Word) -> bool:
        return self.fate(word).end is End.TAKEN

    def without(self, places: frozenset[int]) -> Effect:
        """The effect of the line without the words at these indices."""
        if places not in self._known:
            line = self.put(dict.fromkeys(places, "")) if places else self
            # Another word may bring other CPUs, and their cores.
            limits = any(self._all[at].name in LIMITING for at in places)
            machine = line.machine if limits else self.machine
            lists = 3 + sum(word.name in CPU_LISTS for word in self._all)
            self.count(len(self._all) + lists * len(self.now.cpus.online) // _CPUS_A_WORD)
            self._known[places] = read(line.text, self.kernel, machine)
        return self._known[places]

    def count(self, work: int) -> None:
        """Raises Refused if this and the lines made of it have taken too much work, in words that
        were read: the more words bring or undo what others do, the more often they are read."""
        self._work.append(work)
        if sum(self._work) > bounds.LINT_WORDS:
            [(name, times)] = Counter(word.name for word in self._all).most_common(1)
            why = "too many words of the line bring or undo what others do"
            raise Refused(why, hint=f"it has {name[:40]} {times} times")

    @cached_property
    def _all(self) -> tuple[Word, ...]:
        return read_words(self.text)

    def put(self, words: Mapping[int, str]) -> LintedLine:
        """The line with other words at these indices, "" for none."""
        return replace(self, text=changed(self.text, words), _known={})

    @cached_property
    def given(self) -> str:
        """The judged words alone."""
        return changed(self.text, dict.fromkeys(range(self.first), ""))

    @cached_property
    def boot_line(self) -> BootLine:
        effect, machine = self.effect, self.machine
        names = {word.name for word in effect.words if self.taken(word)}
        enabled = {entry.name for entry in CATALOGUE if entry.at_boot and entry.name in names}
        for name, cpus in (("isolcpus", effect.unbalanced), ("nohz_full", effect.tickless)):
            enabled = enabled | {name} if cpus else enabled - {name}
        target = Target(
            machine=machine,
            kernel=self.kernel,
            isolated=effect.isolated,
            housekeeping=effect.online - effect.isolated,
            guest=machine.hypervisor is not None,
            enabled=frozenset(enabled),
        )
        return BootLine(target, effect, self._boot[1])
