# SPDX-License-Identifier: GPL-2.0-or-later
"""Proof of the prover: for every setting of the catalogue, the test builds a machine on which the
setting is in effect. The test then plants the opposite in each way that the setting's sign allows,
and verify must notice.

The plants follow from the catalogue: a new kind of sign fails here until it has a plant.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import pytest

from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import EvidenceKind, Target, Tunable, Value, ValueFormat
from lowlat.host.archive import Archive, Recorder
from lowlat.host.root import Root
from lowlat.kernel.booting import End
from lowlat.kernel.effect import read
from lowlat.model.cpuset import CpuSet
from lowlat.model.finding import Finding, Standing
from lowlat.model.machine import Core, Cpus, Kernel, Machine, PowerControl
from lowlat.model.plan import Plan, PlannedCpus, PlannedLine, PlannedParameter, PlannedSetting
from lowlat.runtime import settings
from lowlat.verify import evidence
from lowlat.verify.findings import verify
from support.machines import CPU, machine, write_tree

Files = dict[str, str]

_ONLINE, _ISOLATED = CpuSet.parse_list("0-3"), CpuSet.parse_list("1-3")
_HOUSE = _ONLINE - _ISOLATED
_CPUS = Cpus(online=_ONLINE, offline=CpuSet(), possible=_ONLINE, boot=0)
_CORES = tuple(Core(CpuSet.of([cpu])) for cpu in _ONLINE)
_MACHINE = Machine("x86_64", _CPUS, _CORES, power=PowerControl(l3_ways={"0": 12}))
_TARGET = Target(_MACHINE, Kernel("6.12.107-test"), _ISOLATED, _HOUSE, guest=False)
_BEGIN = "Linux version 6.12.107-test\n"
_JOURNAL = "run/lowlat/runtime.json"


def _thread(pid: int, comm: str, mask: str = "1", policy: str = "0 0") -> Files:
    fields = f"{pid} ({comm}) S 2 0 0 0 -1 2097152 {'0 ' * 12}77 {'0 ' * 16}0 {policy} 0 0 0"
    return {f"proc/{pid}/stat": f"{fields}\n", f"proc/{pid}/status": f"Cpus_allowed:\t{mask}\n"}


def _interrupts(*counts: int, number: int = 24) -> Files:
    row = " ".join(f"{count:10}" for count in counts)
    head = "           CPU0       CPU1       CPU2       CPU3\n"
    return {"proc/interrupts": f"{head}  {number}: {row}   PCI-MSI 1-edge      rtc0\n"}


def _timers(apart: int) -> Files:
    ticks = (f"cpu: {cpu}\n  .last_tick : {8 * 10**9 + cpu * apart} nsecs\n" for cpu in _ONLINE)
    clocks = f"now at {9 * 10**9} nsecs\njiffies: {2**32 - 291 * 250}\n"
    return {"proc/timer_list": f"{clocks}{''.join(ticks)}"}


def _irq(number: int, mask: str, goes: str) -> Files:
    folder = f"proc/irq/{number}"
    return {f"{folder}/smp_affinity": f"{mask}\n", f"{folder}/effective_affinity": f"{goes}\n"}


def _states(number: int, usage: int = 0) -> Files:
    folder = f"{CPU}/cpu1/cpuidle"
    return {
        f"{folder}/state{each}/{name}": f"{text}\n"
        for each in range(number + 1)
        for name, text in (("name", f"C{each}"), ("usage", usage))
    }


def _groups(*types: str) -> Files:
    folder = "sys/kernel/iommu_groups"
    return {f"{folder}/{number}/type": f"{text}\n" for number, text in enumerate(types)}


#: For each kind of evidence: a machine with the effect, and further machines without it.
_BEHAVIOUR: dict[EvidenceKind, tuple[Files, ...]] = {
    EvidenceKind.MANAGED_IRQ: (_irq(30, "7", "1"), _irq(30, "7", "4")),
    EvidenceKind.DEVICE_IRQS: (
        _interrupts(9, 0, 0, 0),
        _interrupts(9, 0, 1, 0),
        _interrupts(0, 0, 0, 0),
    ),
    EvidenceKind.CALLBACK_THREADS: ({},),
    EvidenceKind.FORCED_THREADS: (
        {**_thread(50, "irq/24-rtc0"), **_interrupts(9, 0, 0, 0)},
        {**_thread(50, "irq/24-xhci_own"), **_interrupts(9, 0, 0, 0)},
    ),
    EvidenceKind.THREAD_PRIORITY: (
        _thread(51, "rcuc/1", "2", "4 1"),
        _thread(51, "rcuc/1", "2", "1 1"),
    ),
    EvidenceKind.IDLE_STATES: (_states(1), _states(2)),
    EvidenceKind.IDLE_USAGE: (_states(1), _states(1, usage=5)),
    EvidenceKind.TICKS_APART: (_timers(500_000), _timers(0), _timers(4_000_000)),
    EvidenceKind.IOMMU_GROUPS: (
        _groups("identity", "identity"),
        _groups("DMA-FQ", "DMA-FQ"),
        _groups("identity", "DMA"),
    ),
    EvidenceKind.STATE: ({},),
    EvidenceKind.MESSAGE: ({},),
    EvidenceKind.COPY: ({},),
}

#: Texts in which ``part`` finds its line, by the path of the sign.
_AROUND = {
    "/proc/1/status": "Cpus_allowed_list:\t{}\n",
    "/sys/kernel/debug/sched/preempt": "none voluntary ({})\n",
}


@dataclass(frozen=True)
class PlantedSetting:
    """A plan of one setting, the machine on which it is in effect, and the row that shows this."""

    entry: Tunable
    plan: Plan
    files: Files
    where: str
    value: str

    def found(self, folder: Path, files: Files) -> Finding:
        """verify's rows for the machine in a folder with these files."""
        _change(folder, self.files, files)
        for managed in folder.glob("proc/irq/30/smp_affinity"):
            managed.chmod(0o444)
        rows = verify(self.plan, Root(str(folder)))
        _change(folder, files, self.files)
        return next(r for r in rows if (r.name, r.where) == (self.entry.name, self.where))


def _change(folder: Path, old: Files, new: Files) -> None:
    for name in old.keys() - new.keys():
        (folder / name).unlink()
        with suppress(OSError):
            os.removedirs((folder / name).parent)
    write_tree(folder, {name: text for name, text in new.items() if old.get(name) != text})


def _plan(line: str, boot: tuple[PlannedParameter, ...], run: tuple[PlannedSetting, ...]) -> Plan:
    cpus = PlannedCpus(_ONLINE, _ISOLATED, _HOUSE, CpuSet(), ())
    return Plan("made", "6.12.107-test", cpus, PlannedLine(line, boot), run, (), (), ())


def _base() -> Files:
    files = {**machine(config=None), "var/log/dmesg": _BEGIN}
    return {**files, "proc/sys/kernel/random/boot_id": "1-1\n"}


def _held(reads: ValueFormat, text: str) -> str:
    return f"one [{text}] other\n" if reads is ValueFormat.CHOICE else f"{text}\n"


def _example(pattern: str, text: str) -> str:
    """A message that a sign's pattern matches; ``text`` is the content of its group."""
    said = re.sub(r"\(\?:([^|)]*)[^)]*\)", r"\1", pattern).partition("|")[0]
    said = re.sub(r"\([^)]*\)", lambda _: text, said)
    return said.replace(r"\s+", "\t").replace("\\", "") + "\n"


def _boot(entry: Tunable) -> PlantedSetting:
    value, sign = entry.own_value(_TARGET), entry.sign
    shown = _shown(entry, value)
    files = {**_base(), **_BEHAVIOUR[sign.shows][0]}
    files["proc/cmdline"] = f"quiet {entry.parameter(value)}\n"
    if sign.path:
        around = _AROUND.get(sign.path, "{}")
        files[sign.path[1:]] = around.format(_held(sign.reads, shown).strip())
    if sign.proof:
        files["var/log/dmesg"] += _example(sign.proof, shown)
    item = PlannedParameter(entry.name, value, "", "", "")
    return PlantedSetting(
        entry, _plan(entry.parameter(value), (item,), ()), files, "cmdline", value
    )


def _shown(entry: Tunable, value: str) -> str:
    """What the sign's file and message show of a planned value."""
    sign = entry.sign
    if sign.cpus is None:
        return sign.expected(value) or ""
    cpus = sign.cpus(read(entry.parameter(value), _TARGET.kernel, _MACHINE))
    return cpus.mask() if sign.reads is ValueFormat.MASK else str(cpus)


def _run_time(entry: Tunable) -> PlantedSetting:
    # Settings named after a device that this machine lacks: any name will do.
    rows = [*entry.settings(_TARGET)] or [
        Value(_any(row.path), _any(row.value)) for row in entry.rows
    ]
    item = PlannedSetting(entry.name, rows[0].path, rows[0].value, "", "", "")
    files = {**_base(), **_file(entry, item.target, item.value)}
    sign = entry.sign
    if sign.path:
        folder = _path(item.target).rpartition("/")[0]
        path = _path(sign.path) if "/" in sign.path else f"{folder}/{sign.path}"
        files[path] = f"{sign.expected(item.value)}\n"
        if sign.like:
            files[f"{folder}/{sign.like}"] = files[path]
    return PlantedSetting(entry, _plan("", (), (item,)), files, item.target, item.value)


def _any(text: str) -> str:
    return re.sub(r"\{\w+\}", "1", text)


def _path(target: str) -> str:
    return re.sub(r"\[[^]]*\]\*?|\*", "1", target)[1:]


def _file(entry: Tunable, target: str, value: str) -> Files:
    """The place where a target holds a value: a file, a kernel thread, or irqbalance's answer."""
    if target.startswith("irqbalance:"):
        said = f"SLEEP 10 BANNED {CpuSet.parse_list(value).mask()}\n"
        return {".lowlat/irqbalance": said, ".lowlat/managers": "irqbalance\n"}
    if not target.startswith("kthread:"):
        return {_path(target): _held(entry.reads, value)}
    name = target[len("kthread:") :].rpartition(":")[0].replace("*", "kswapd0")
    number = {"fifo": "1", "other": "0"}.get(value.partition(":")[0], "0")
    priority = value.partition(":")[2] or "0"
    mask = value if target.endswith("affinity") else "f"
    return _thread(60, name, mask, f"{priority} {number}")


def _other(reads: ValueFormat, value: str) -> str:
    """A value that means something else."""
    if reads in (ValueFormat.MASK, ValueFormat.WITHIN):
        return "f"
    if reads in (ValueFormat.LIST, ValueFormat.COVERS):
        return "0-1"
    return "7" if value != "7" else "8"


# ------------------------------------------------------------------- the plants


def _planted_at_boot(made: PlantedSetting) -> Iterator[tuple[str, Files]]:
    sign, files = made.entry.sign, made.files
    name, line = made.entry.name, files["proc/cmdline"]
    yield "absent", {**files, "proc/cmdline": "quiet\n"}
    twice = f"{line.strip()} {name}=other"
    if read(twice, _TARGET.kernel, _MACHINE).fates[1].end is End.OVERRIDDEN:
        yield "given twice", {**files, "proc/cmdline": f"{twice}\n"}
    word = made.entry.parameter(made.value)
    unknown = f'{_BEGIN}Unknown kernel command line parameters "{word}", will be passed\n'
    yield "refused as unknown", {**files, "var/log/dmesg": unknown}
    said = files["var/log/dmesg"]
    yield (
        "refused as malformed",
        {**files, "var/log/dmesg": f"{said}Malformed early option '{name}'\n"},
    )
    if sign.contradiction:
        against = f"{said}{_example(sign.contradiction, '')}"
        if "Housekeeping:" not in against:
            yield "refused with a message", {**files, "var/log/dmesg": against}
    if name == "nohz_full":
        yield "spoiled by another word", {**files, "proc/cmdline": f"{line.strip()} nohz=off\n"}
    for opposite in _BEHAVIOUR[sign.shows][1:]:
        yield "not seen to work", {**files, **opposite}
    if sign.gone:
        yield "there all the same", {**files, f"{sign.gone[1:]}/cpu": "\n"}
    if sign.proof and not (sign.path and sign.shows is EvidenceKind.STATE):
        yield "not confirmed", {**files, "var/log/dmesg": _BEGIN}
    if sign.proof and "(" in sign.proof and "(?:" not in sign.proof:
        changed = f"{_BEGIN}{_example(sign.proof, _other(sign.reads, made.value))}"
        rest = {path: text for path, text in files.items() if path != (sign.path or "")[1:]}
        yield "confirmed otherwise", {**rest, "var/log/dmesg": changed}
    if sign.path:
        around = _AROUND.get(sign.path, "{}")
        other = around.format(_held(sign.reads, _other(sign.reads, made.value)).strip())
        yield "undone afterwards", {**files, sign.path[1:]: other}
        record = {"boot": "1-1", "old": {sign.path: "x"}, "refused": {}, "done": {}}
        yield "set by our other half", {**files, _JOURNAL: json.dumps(record)}
        yield "set by another manager", {**files, **_tuned(sign.path)}


def _planted_at_run_time(made: PlantedSetting) -> Iterator[tuple[str, Files]]:
    entry, target, files = made.entry, made.where, made.files
    thread = target.startswith("kthread:")
    held = _file(entry, target, made.value)
    name = next(iter(held))
    path = f"/{name}" if target.startswith("/") else target
    if thread:
        comm = re.search(r"\((.*)\)", held[name])
        what = target.rpartition(":")[2]
        path = f"kthread:{comm[1] if comm else ''}:60:77:{what}"
    wrong = "fifo:7" if target.endswith(":policy") else _other(entry.reads, made.value)
    other = {**files, **_file(entry, target, wrong)}
    yield "not there", {key: text for key, text in files.items() if key not in held}
    yield "never set", other
    done = {"boot": "1-1", "old": {}, "refused": {}, "done": {path: made.value}}
    yield "undone afterwards", {**other, _JOURNAL: json.dumps(done)}
    refused = {"boot": "1-1", "old": {}, "refused": {path: "No space left on device"}, "done": {}}
    yield "refused by the kernel", {**other, _JOURNAL: json.dumps(refused)}
    if not thread:
        yield "moved by another manager", {**other, **_tuned(path)}
    for key in files.keys() - held.keys() if entry.sign.path else ():
        if key.endswith(_path(f"/{entry.sign.path or ''}").rpartition("/")[2]):
            yield "held without effect", {**files, key: f"{_other(entry.sign.reads, made.value)}\n"}


def _tuned(path: str) -> Files:
    return {
        "etc/tuned/active_profile": "theirs\n",
        "etc/tuned/theirs/tuned.conf": f"[sysfs]\n{path}=x\n",
    }


def _made(
    entry: Tunable,
) -> tuple[PlantedSetting, Callable[[PlantedSetting], Iterator[tuple[str, Files]]]]:
    if entry.at_boot:
        return _boot(entry), _planted_at_boot
    return _run_time(entry), _planted_at_run_time


#: Counts over all tests: planted and noticed.
COUNT: Counter[str] = Counter()

#: Signs once taken for an effect, by the planned value: they also occur without the effect.
_LOOKALIKES: dict[str, tuple[str, str, Files]] = {
    "the message names fewer CPUs than all": (
        "rcu_nocbs",
        "all",
        {"var/log/dmesg": f"{_BEGIN}rcu: \tOffload RCU callbacks from CPUs: 1-3.\n"},
    ),
    "every CPU has the threads from 5.17 on, though some offload nothing": (
        "rcu_nocbs",
        "all",
        {
            "var/log/dmesg": "later messages only\n",
            **{k: v for cpu in _ONLINE for k, v in _thread(40 + cpu, f"rcuop/{cpu}").items()},
        },
    ),
    "one managed interrupt lies on the housekeeping CPU by chance": (
        "isolcpus",
        "managed_irq,1-3",
        _irq(30, "f", "1"),
    ),
    "nothing is offloaded that could be polled for": (
        "rcu_nocb_poll",
        "",
        {
            "var/log/dmesg": f"{_BEGIN}rcu: \tOffload RCU callbacks from CPUs: (none).\n"
            "rcu: \tPoll for callbacks from no-CBs CPUs.\n"
        },
    ),
    "the default is passthrough, and every device is translated": (
        "iommu.passthrough",
        "1",
        {
            "var/log/dmesg": f"{_BEGIN}iommu: Default domain type: Passthrough "
            "(set via kernel command line)\n",
            **_groups("DMA", "DMA"),
        },
    ),
    "no device has an address translation to pass": (
        "iommu.passthrough",
        "1",
        {"var/log/dmesg": f"{_BEGIN}iommu: Default domain type: Passthrough\n"},
    ),
}


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_what_is_planted_is_noticed(entry: Tunable, tmp_path: Path) -> None:
    made, plants = _made(entry)
    write_tree(tmp_path, made.files)
    row = made.found(tmp_path, made.files)
    if entry.sign.shows is EvidenceKind.COPY:
        assert row.state is Standing.UNVERIFIABLE, row
    else:
        assert row.state is Standing.EFFECTIVE, row
    planted = list(plants(made))
    assert len(planted) >= 4
    missed = []
    for fault, files in planted:
        row = made.found(tmp_path, files)
        COUNT.update(planted=1, noticed=row.state is not Standing.EFFECTIVE, findings=row.state.bad)
        if row.state is Standing.EFFECTIVE:
            missed.append((fault, row))
    assert missed == []
    assert made.found(tmp_path, made.files).state is not Standing.IGNORED, "all was put back"


def _told(folder: Path, entry: Tunable, value: str, files: Files) -> Finding:
    word = entry.parameter(value)
    item = PlannedParameter(entry.name, value, "", "", "")
    write_tree(folder, {**_base(), "proc/cmdline": f"quiet {word}\n", **files})
    for managed in folder.glob("proc/irq/*/smp_affinity"):
        managed.chmod(0o444)
    return verify(_plan(word, (item,), ()), Root(str(folder)))[0]


@pytest.mark.parametrize("fault", _LOOKALIKES)
def test_what_only_looks_like_an_effect_is_noticed(fault: str, tmp_path: Path) -> None:
    name, value, files = _LOOKALIKES[fault]
    state = _told(tmp_path, lookup(name), value, files).state
    COUNT.update(planted=1, noticed=state is not Standing.EFFECTIVE, findings=state.bad)
    assert state is not Standing.EFFECTIVE


def test_all_cpus_are_those_of_the_machine(tmp_path: Path) -> None:
    """On a machine with fewer CPUs than the kernel supports, the kernel says that some CPUs do not
    exist."""
    said = (
        "rcu: \tNote: kernel parameter 'rcu_nocbs=' contains nonexistent CPUs.\n"
        "rcu: \tOffload RCU callbacks from CPUs: 0-3.\n"
    )
    files = {"var/log/dmesg": f"{_BEGIN}{said}"}
    assert _told(tmp_path, lookup("rcu_nocbs"), "all", files).state is Standing.EFFECTIVE


def test_more_managed_interrupts_than_chance_explains_show_it(tmp_path: Path) -> None:
    files = {**_irq(30, "f", "1"), **_irq(31, "3", "1")}
    row = _told(tmp_path, lookup("isolcpus"), "managed_irq,1-3", files)
    assert row.state is Standing.EFFECTIVE and "2 managed interrupts" in row.evidence


def test_older_kernels_print_a_flag_as_a_number(tmp_path: Path) -> None:
    entry = lookup("kvm_amd.avic")
    assert _told(tmp_path, entry, "1", {f"{entry.sign.path}"[1:]: "1\n"}).state is (
        Standing.EFFECTIVE
    )


@pytest.mark.parametrize("key", ["old", "done", "plan"])
def test_a_policy_that_cpus_share_proves_no_default_governor(key: str, tmp_path: Path) -> None:
    """The run-time half may have written the value through another name; a value that it found in
    place is a proof."""
    shared = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
    record = {"boot": "1-1", "old": {}, "refused": {}, "done": {shared: "performance"}}
    if key == "old":
        record["old"] = {shared: "powersave"}
    value, word = "performance", "cpufreq.default_governor=performance"
    files = {"proc/cmdline": f"{word}\n", f"{CPU}/cpufreq/policy0/scaling_governor": f"{value}\n"}
    write_tree(tmp_path, {**_base(), **files})
    (tmp_path / CPU / "cpu1/cpufreq").symlink_to("../cpufreq/policy0")
    if key != "plan":
        write_tree(tmp_path, {_JOURNAL: json.dumps(record)})
    boot = PlannedParameter("cpufreq.default_governor", value, "", "", "")
    run = PlannedSetting("scaling_governor", shared, value, "", "", "")
    recorder = Recorder(Root(str(tmp_path)))
    evidence.gather(recorder, 0)
    for root in (Root(str(tmp_path)), Archive("told", recorder.contents)):
        row = verify(_plan(word, (boot,), (run,)), root)[0]
        expected = {"old": Standing.IGNORED, "plan": Standing.UNVERIFIABLE}
        assert row.state is expected.get(key, Standing.EFFECTIVE), row


@pytest.mark.parametrize("times", [0, 3])
def test_a_kept_interrupt_that_came_leaves_the_setting_open(times: int, tmp_path: Path) -> None:
    """The kernel keeps a managed interrupt on an isolated CPU: only an arrived interrupt shows a
    cost."""
    files = {**_irq(30, "4", "4"), **_interrupts(9, 0, times, 0, number=30)}
    write_tree(tmp_path, {**_base(), **files})
    (tmp_path / "proc/irq/30/smp_affinity").chmod(0o444)
    item = PlannedSetting("irq.smp_affinity", "/proc/irq/[0-9]*/smp_affinity", "1", "", "", "")
    row = verify(_plan("", (), (item,)), Root(str(tmp_path)))[0]
    assert row.state is (Standing.UNVERIFIABLE if times else Standing.EFFECTIVE), row
    assert ("irq 30 rtc0 came to CPU 2 3 times" in row.evidence) == bool(times)


_OURS = [
    entry
    for entry in CATALOGUE
    if entry.rows and entry.rows[0].path.startswith("/") and not (entry.tuned or entry.cgroup)
]


@pytest.mark.parametrize("entry", _OURS, ids=lambda entry: entry.name)
def test_every_run_time_setting_is_put_back(entry: Tunable, tmp_path: Path) -> None:
    values = [*entry.settings(_TARGET)] or [
        Value(_any(row.path), _any(row.value)) for row in entry.rows
    ]
    rows = tuple(PlannedSetting(entry.name, row.path, row.value, "", "", "") for row in values)
    others = {row.target: _other(entry.reads, row.value) for row in rows}
    held = {_path(path): _held(entry.reads, text) for path, text in others.items()}
    root = Root(str(write_tree(tmp_path, {**_base(), **held})))
    settings.start(_plan("", (), rows), root)
    assert all(
        settings.equal(ValueFormat.TEXT, root.read(f"/{_path(row.target)}"), row.value)
        for row in rows
    )
    assert settings.stop(root) == ([], [])
    put_back = {path: root.read(f"/{_path(path)}") for path in others}
    assert put_back == others, "as the kernel takes it: a choice without its brackets"


def test_all_that_is_planted_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    """The counts cover the tests that ran in this process."""
    with capsys.disabled():
        print(f"\nplanted {COUNT['planted']}, noticed {COUNT['noticed']}", end=" ")
        print(f"({COUNT['findings']} as findings, the others as what cannot be told);", end=" ")
        echoes = [entry.name for entry in CATALOGUE if entry.sign.shows is EvidenceKind.COPY]
        print(f"{len(CATALOGUE) - len(echoes)} settings have a sign, {len(echoes)} have none:")
        print(", ".join(echoes))
    assert COUNT["planted"] == COUNT["noticed"]
