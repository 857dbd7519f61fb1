# SPDX-License-Identifier: GPL-2.0-or-later
"""Laws of ``lint`` that hold for every line."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lowlat.base.errors import Refused
from lowlat.catalogue.words import RULES, WordVerdict, missing
from lowlat.host.archive import open_root
from lowlat.kernel.cpus import LIMITING
from lowlat.kernel.effect import read
from lowlat.kernel.line import changed
from lowlat.lint import notes_on
from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import JudgedWord, judge
from lowlat.lint.mend import mended
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.plan import planner, profile
from lowlat.plan.planner import Options
from lowlat.plan.system_cores import least_cores
from lowlat.probe import probe

MACHINES = Path(__file__).parents[1] / "machines"

CAPTURES = sorted([*MACHINES.glob("[cq]*.txt"), *MACHINES.glob("field/*.txt.gz")])
CAPTURES = [path for path in CAPTURES if not path.name.endswith("refused.txt")]

NAMES = "isolcpus nohz_full rcu_nocbs irqaffinity systemd.cpu_affinity idle nr_cpus maxcpus"
NAMES += " intel_idle.max_cstate processor.max_cstate tsc clocksource hugepages hugepagesz nohz"
VALUES = "2-7 4-7 0-3 3-5 nohz,2-7 managed_irq,4-7 x 9 poll nomwait 0 1 4 1G reliable hpet off on"
FLAGS = "nosmt nosoftlockup nowatchdog nmi_watchdog=0 skew_tick=1 rcu_nocb_poll odd mitigations=off"
FLAGS += " mds=off iommu=pt iommu.passthrough=1 rcupdate.rcu_expedited=1 notsc quiet mce=off"
WORDS = st.builds("{}={}".format, st.sampled_from(NAMES.split()), st.sampled_from(VALUES.split()))
LINES = st.lists(WORDS | st.sampled_from(FLAGS.split()), min_size=1, max_size=7).map(" ".join)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    folder = reference.bare_metal(tmp_path_factory.mktemp("host"), cpus=8, threads=2)
    return probe(open_root(str(folder)))


def linted(line: str, at: Machine) -> LintedLine:
    return LintedLine.of(f"root=/dev/sda1 {line}", at, at.kernel)


def verdicts(words: tuple[JudgedWord, ...]) -> list[tuple[str, WordVerdict]]:
    return [(word.word, word.verdict) for word in words]


@settings(max_examples=25, deadline=None)
@given(LINES)
def test_a_dropped_word_changes_no_other_verdict(host: Machine, line: str) -> None:
    whole = linted(line, host)
    judged = judge(whole, {})
    for at, word in enumerate(judged):
        name = whole.words[at].name
        if word.verdict is WordVerdict.IGNORED and not name.startswith("hugepages"):
            rest = verdicts(judge(whole.put({at: ""}), {}))
            assert rest == verdicts((*judged[:at], *judged[at + 1 :])), word


@settings(max_examples=25, deadline=None)
@given(LINES)
def test_redundant_words_may_all_be_left_out_at_once(host: Machine, line: str) -> None:
    whole = linted(line, host)
    spare = {
        at: ""
        for at, word in enumerate(judge(whole, {}))
        if word.verdict is WordVerdict.REDUNDANT
        and whole.words[at].normal not in ("iommu=pt", "iommu.passthrough=1")
    }
    kept = changed(whole.text, spare)
    assert read(kept, whole.kernel, whole.machine) == whole.effect


@settings(max_examples=25, deadline=None)
@given(LINES)
def test_advice_that_is_followed_is_not_advised_against(host: Machine, line: str) -> None:
    whole = linted(line, host)
    first = judge(whole, {})
    better, _, why = mended(whole, first)
    assert better is None or why is None
    assume(better is not None)
    assert better is not None
    again = judge(better, {})
    assert [word for word in again if word.put is not None] == []
    decided_by_the_user = {word.word for word in first if word.verdict.bad and word.put is None}
    assert {word.word for word in again if word.verdict.bad} <= decided_by_the_user
    assert better.effect.online - better.effect.isolated
    assert list(missing(better.boot_line)) == []


@settings(max_examples=25, deadline=None)
@given(LINES)
def test_advice_is_another_word_and_no_empty_list(host: Machine, line: str) -> None:
    for word in judge(linted(line, host), {}):
        assert word.fix != word.word and not (word.fix or "").endswith("="), word


@settings(max_examples=25, deadline=None)
@given(LINES)
def test_no_two_rules_apply_to_one_word(host: Machine, line: str) -> None:
    """So that their order decides nothing."""
    whole = linted(line, host)
    for word in whole.words:
        found = [r for r in RULES if re.fullmatch(r.words, word.normal) and r.when(whole.boot_line)]
        assert len(found) <= 1, word


@settings(max_examples=20, deadline=None)
@given(LINES, st.sampled_from(["nosmt", "nr_cpus=4"]))
def test_a_word_that_keeps_cpus_off_leaves_a_smaller_machine(
    host: Machine, line: str, word: str
) -> None:
    """The sets are parts of the CPUs that are left."""
    assume(not LIMITING & {part.partition("=")[0] for part in line.split()})
    effect = linted(f"{line} {word}", host).effect
    assert len(effect.online) == 4
    for cpus in (effect.isolated, effect.offloaded, effect.interrupts, effect.soft, effect.unbound):
        assert cpus <= effect.online


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_a_line_that_leaves_the_system_less_than_a_plan_is_told(capture: Path) -> None:
    """The system's part of the planned line is cut down core by core, on every captured machine:
    below the number of cores that the planner needs each list is harmful, below that which a plan
    keeps there is a note, and a plan's own line has neither. On many cores only the borders."""
    root = open_root(str(capture))
    at = probe(root)
    try:
        plan = planner.make_plan(at, at.kernel, profile.load("lowlat", root), Options())
    except Refused:
        return
    machine = planner.at_boot(at, at.kernel, profile.load("lowlat", root), Options())
    kept = [core.cpus for core in machine.cores if core.cpus & plan.housekeeping]
    kept.sort(key=lambda cpus: machine.cpus.boot not in cpus)
    least = least_cores(machine)
    assert 1 <= least <= len(kept)
    steps = {1, least - 1, least, len(kept) - 1, len(kept)} if len(kept) > 8 else {*range(20)}
    for number in sorted(steps & {*range(1, len(kept) + 1)}):
        system = CpuSet.of(cpu for core in kept[:number] for cpu in core)
        isolated = plan.cpus.online - system
        limits = [word for word in (at.cmdline or "").split() if word.partition("=")[0] in LIMITING]
        whole = linted(" ".join([*limits, f"isolcpus={isolated} nohz_full={isolated}"]), at)
        short = [word.why for word in judge(whole, {}) if "for the system, which needs" in word.why]
        assert bool(short) is (number < least), (number, least)
        told = [*notes_on(whole)]
        assert bool(told) is (least <= number < len(kept)), (number, told)


def test_no_line_of_lowlats_leaves_the_system_too_little() -> None:
    """Two profiles on each captured machine, every profile on several."""
    names, checked = itertools.cycle(profile.packaged_names()), Counter[str]()
    for path in CAPTURES:
        root = open_root(str(path))
        at = probe(root)
        for name in itertools.islice(names, 2):
            wanted = profile.load(name, root)
            with suppress(Refused):
                plan = planner.make_plan(at, at.kernel, wanted, Options())
                whole = LintedLine.of(plan.cmdline.text or "quiet", at, at.kernel)
                assert [word for word in judge(whole, {}) if word.verdict.bad] == [], (path, name)
                assert [*notes_on(whole)] == [], (path, name)
                checked[name] += 1
    assert set(checked) == set(profile.packaged_names()), checked


def test_planned_lines_have_no_finding() -> None:
    captures = [*MACHINES.glob("qemu-*-4c*.txt"), *MACHINES.glob("field/[a-g]*.txt.gz")]
    for path in captures:
        root = open_root(str(path))
        at = probe(root)
        wanted = profile.load("lowlat", root)
        try:
            plan = planner.make_plan(at, at.kernel, wanted, Options())
        except Refused:
            continue
        whole = LintedLine.of(plan.cmdline.text, at, at.kernel)
        judged = judge(whole, {})
        bad = [word for word in judged if word.verdict.bad or word.put is not None]
        assert bad == [], path.name
        assert list(missing(whole.boot_line)) == [], path.name
