# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of other authors passes through every verb that shows it: the output is printable, or a
refusal of one clear line replaces it. The texts come from profiles, the files of a machine, and
runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import partial
from typing import Any, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import runs
from support.cli import Answer, lowlat
from support.machines import machine, write_tree

pytestmark = pytest.mark.security

#: A small number, because each example goes through many verbs; LOWLAT_EXAMPLES changes it.
FEW = settings(max_examples=max(settings().max_examples // 20, 12))

ODD = [
    *("\x1b[8m", "\x1b]0;title\x07", "\x9b2J", "\x00", "\x08", "\x85", "\x0b", "\r", "\t"),
    *("\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\u00a0", "é", "𝄞"),
    *("\n", "\n\n", "\n[sysctl]\n", "\n  [sysctl]\n  kernel.core_pattern=|/bin/x", "\n # x"),
    *("'", '"', "`", "$(x)", "${f:exec:/bin/x}", "$x", "\\", "%n", "%(x)s", "{{ x }}", " #", ";"),
    *("<script>", "&lt;", "|", "=1+1", "@x", "-1", "*", "](x)", "../", "x" * 100_000),
]
TEXT = st.lists(st.sampled_from(ODD) | st.text(max_size=8), min_size=1, max_size=4).map("".join)

#: lowlat's own colours, which hide nothing.
_OURS = re.compile(r"\x1b\[(?!8)[0-9;]*m")


def check(answer: Answer, statuses: Iterable[int] = (0, 1)) -> Answer:
    """Assert that the verb succeeded and all of its output is visible, or that it printed a refusal
    of one line."""
    if answer.status == 2:
        answer.refused()
    else:
        assert answer.status in statuses, answer
        assert answer.err == "" or answer.status == 1
    return visible(answer)


def visible(answer: Answer) -> Answer:
    """Assert that all of the output is visible."""
    for char in set(_OURS.sub("", answer.out + answer.err)):
        assert char.isprintable() or char in "\n\t\u00a0" or char.isspace(), hex(ord(char))
        assert char not in "\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"
    return answer


def check_json(answer: Answer) -> Any:
    check(answer)
    assert answer.out.isascii()
    return json.loads(answer.out) if answer.status != 2 else None


FILES = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: {}\nmicrocode\t: {}\nflags\t\t: {}\n",
    "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz {} quiet lowlat.plan={}\n",
    "proc/sys/kernel/osrelease": "{}\n",
    "proc/version": "Linux version {}\n",
    "proc/interrupts": "     CPU0 CPU1 CPU2 CPU3\n 24: 1 2 3 4 chip edge {}\n {}: 1 2 3 4 x\n",
    "proc/irq/24/smp_affinity": "{}\n",
    "proc/sys/vm/compaction_proactiveness": "{}\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[{}] madvise never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "{}\n",
    "sys/devices/system/cpu/cpuidle/current_driver": "{}\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/name": "{}\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "{}\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "{} performance\n",
    "etc/tuned/active_profile": "{}\n",
    "boot/config-6.12.107-test": "CONFIG_PREEMPT_RT={}\n",
    "etc/default/grub.d/99-lowlatency.cfg": 'GRUB_CMDLINE_LINUX_DEFAULT="{}"\n',
    "proc/1/comm": "{}\n",
    "proc/1/stat": "1 ({}) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0\n",
}


@FEW
@given(text=TEXT, names=st.sets(st.sampled_from(sorted(FILES)), min_size=1))
def test_a_machines_files(
    tmp_path_factory: pytest.TempPathFactory, text: str, names: set[str]
) -> None:
    root = write_tree(tmp_path_factory.mktemp("host"), {**machine(), "etc/hostname": "h\n"})
    plan = lowlat("plan", "--root", root, "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    write_tree(root, {name: FILES[name].replace("{}", text) for name in names})
    for words in (("probe",), ("plan",), ("plan", "--diff"), ("status",)):
        check(lowlat(*words, "--root", root))
        check(lowlat(*words, "--root", root, env={"FORCE_COLOR": "1"}))
        check_json(lowlat(*words, "--root", root, "--json"))
    check(lowlat("probe", "--root", root, "--svg", root / "machine.svg"))
    check(lowlat("render", "--root", root, "--out", root / "out"))
    check(lowlat("capture", "--root", root, root / "capture.txt"))
    check(lowlat("verify", "--root", root, "--duration", "0s"))
    # No lowlat-gen is installed in the tree: the files, then the refusal.
    foreseen = visible(lowlat("apply", "--dry-run", "--runtime", "none", "--root", root))
    assert foreseen.status == 2 and foreseen.err.count("\n") == 1, foreseen
    for verb in ("verify", "start", "stop"):
        check(lowlat("runtime", verb, "--root", root))
        check(lowlat("runtime", verb, "--dry-run", "--root", root))
    check(lowlat("run", "--dry-run", "--root", root, "--cpus", "1", "--", text.replace("\0", "")))


#: A profile for configparser: each text stays on one line or continues on indented lines.
PROFILE = "[main]\nparent = lowlat\nsummary = {}\nfor = {}\ncosts = {}\n{}\n"


@FEW
@given(text=TEXT, key=st.sampled_from(["summary", "for", "costs", "more", "skew_tick"]))
def test_a_profiles_text(tmp_path_factory: pytest.TempPathFactory, text: str, key: str) -> None:
    fields = {"summary": "s", "for": "f", "costs": "c", "more": "", key: text}
    more = f"[settings]\nskew_tick = {text}" if key == "skew_tick" else fields["more"]
    written = PROFILE.format(fields["summary"], fields["for"], fields["costs"], more)
    root = write_tree(tmp_path_factory.mktemp("host"), machine())
    write_tree(root, {"etc/lowlat/profiles/mine/lowlat.conf": written})
    asked = ("--root", root, "--profile", "mine")
    check(lowlat("plan", *asked))
    document = check_json(lowlat("plan", *asked, "--json"))
    if check(lowlat("render", *asked, "--out", root / "out")).status != 0:
        assert not (root / "out").exists()
        return
    for path in (root / "out").rglob("*"):
        if path.name == "tuned.conf":
            sections = re.findall(r"(?m)^\s*\[(.*)\]", path.read_text("utf-8"))
            assert set(sections) <= {"main", "variables", "sysctl", "script"}
        if path.name in ("boot.conf", "cmdline"):
            assert path.read_text().isascii()
    assert document is not None


CAUSE = {"class": "irq", "cause": "LOC", "events": 5, "time_ns": 900}

#: The places of a run that hold text of others.
PLACES: dict[str, Callable[[dict[str, Any], str], object]] = {
    **{
        key: partial(lambda key, run, text: run.update({key: text}), key)
        for key in ("label", "boot_id", "kernel", "cmdline", "policy", "started", "harness")
    },
    "problems": lambda run, text: run.update(problems=[text]),
    "host": lambda run, text: run.update(host={"arch": text, "processor": text}),
    "clock": lambda run, text: run["clock"].update(source=text),
    "loads": lambda run, text: run["loads"][0].update(tool=text, version=text, command=[text]),
    "output": lambda run, text: run["loads"][0].update(output=text),
    "oslat": lambda run, text: run["oslat"].update(version=text, output=text),
    "causes": lambda run, text: _each(run, causes=[{**CAUSE, "class": text, "cause": text}]),
    "rows": lambda run, text: _each(run, interrupts_per_s={text: 7.0, "total": 7.0}),
    "softirqs": lambda run, text: _each(run, softirqs_per_s={text: 7.0}),
}


def _each(run: dict[str, Any], **changes: Any) -> None:
    for cpu in run["cpus"]:
        cpu.update(changes)


@FEW
@given(text=TEXT, places=st.sets(st.sampled_from(sorted(PLACES)), min_size=1))
def test_a_runs_text(tmp_path_factory: pytest.TempPathFactory, text: str, places: set[str]) -> None:
    folder = tmp_path_factory.mktemp("runs")
    files: list[object] = []
    for side in ("before", "after"):
        for run in runs.arm(side, (100.0, 90.0)):
            for place in sorted(places) if side == "after" else ():
                PLACES[place](run, text)
            path = folder / f"{run['boot_id'] if side == 'before' else len(files)}.json"
            path.write_text(json.dumps(run))
            files.append(path)
    files.insert(2, "--against")
    page, table = folder / "page.html", folder / "table.csv"
    told = check(lowlat("report", *files, "--markdown"))
    check(lowlat("report", *files, env={"FORCE_COLOR": "1", "COLUMNS": "100"}))
    check_json(lowlat("report", *files, "--json"))
    if check(lowlat("report", *files, "--html", page, "--csv", table)).status != 2:
        assert "<script" not in page.read_text("utf-8").lower()
        for path in (page, table):
            check(Answer(0, path.read_text("utf-8"), ""))
    # A name must not end its row in a ticket: every table stays one table.
    rows = [row for row in told.out.split("\n") if "|" in row]
    assert all(row.startswith(("|", "-", "**", "(")) for row in rows)
