# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot line to judge, on the machine that it boots, and the same line with other words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Target
from lowlat.catalogue.words import BootLine
from lowlat.kernel.booting import End, Fate
from lowlat.kernel.cpus import LIMITING
from lowlat.kernel.effect import Effect, read
from lowlat.kernel.line import Word, changed, read_words
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine
from lowlat.plan.boot_machine import UnknownSiblings, boot_machine


@dataclass(frozen=True)
class LintedLine:
    """``text`` is the whole line, of which the words from index ``first`` on are judged; the others
    are the running line's that keep CPUs off. ``now`` is the machine as it is."""

    text: str
    first: int
    now: Machine
    kernel: Kernel
    _known: dict[frozenset[int], Effect] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, given: str, machine: Machine, kernel: Kernel) -> LintedLine:
        """The given words; without a root= they are no whole line, and would be added to the
        running one. Raises Refused if they are longer than any line."""
        names = {word.name for word in read_words(given)}
        running = read_words(machine.cmdline or "") if "root" not in names else ()
        kept = [w.text for w in running if w.name in LIMITING and w.name not in names]
        return cls(" ".join([*kept, given]), len(kept), replace(machine, kernel=kernel), kernel)

    @cached_property
    def _boot(self) -> tuple[Machine, CpuSet]:
        """The machine in the boot with this line; else the machine as it is, and the CPUs that come
        back without a sign of their siblings."""
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

    @cached_property
    def effect(self) -> Effect:
        return self.without(frozenset())

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
            self._known[places] = read(line.text, self.kernel, machine)
        return self._known[places]

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
