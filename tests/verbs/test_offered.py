# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat-gen offers as a next step on a machine that lacks something for it; the boot set-ups
are in tests/boot/test_next_steps.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

import pytest

from lowlat.base.process import NotInstalled
from lowlat.claim.comparison import compare
from lowlat.figures.measured_arm import Arm
from lowlat.host.root import Root
from lowlat.measure.run_file import read_run
from lowlat.present import next_steps
from lowlat.rehearse import kernel, packages, ready
from lowlat.verbs import refusals
from support import machines
from support.cli import Answer, lowlat
from support.next_steps import named, typed
from support.runs import document

CAPTURES = sorted((Path(__file__).parents[1] / "machines").glob("*.txt"))


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that can rehearse, but has no kernel in /boot or the cache."""
    monkeypatch.setattr(ready, "missing_programs", lambda: iter(()))
    monkeypatch.setattr(packages, "check_host", lambda: None)
    monkeypatch.setattr(kernel, "find", lambda text: None)


@pytest.mark.usefixtures("no_kernel")
def test_without_a_kernel_the_rehearsal_that_fetches_one_is_offered() -> None:
    commands = named(lowlat())
    if any("rehearse" in command for command in commands):  # nothing is applied on this machine
        assert "lowlat-gen rehearse --fetch-kernel" in commands
    assert "lowlat-gen rehearse" not in commands
    refused = lowlat("rehearse").refused()
    assert refused.startswith("no bootable kernel in /boot or the cache")


@pytest.mark.usefixtures("no_kernel")
def test_doctor_names_a_missing_kernel() -> None:
    answer = lowlat("doctor", "rehearse")
    said = " ".join(answer.out.split())
    assert answer.status == 1 and said.startswith(("Ready: none", "Ready with limits: none"))
    assert "no bootable kernel in /boot or the cache: --fetch-kernel takes one" in said


def test_where_nothing_can_be_rehearsed_doctor_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "missing_programs", lambda: iter((NotInstalled("busybox"),)))
    for command in ("lowlat-gen rehearse", "lowlat-gen rehearse --fetch-kernel --boots 6"):
        assert refusals.offered_here(command) == "lowlat-gen doctor rehearse"
    assert "lowlat-gen rehearse" not in named(lowlat())


def test_an_unreadable_kernel_is_told_before_the_rehearsal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /boot/vmlinuz of Ubuntu is for an ordinary user: mode 0600."""
    monkeypatch.setattr(ready, "missing_programs", lambda: iter(()))
    monkeypatch.setattr(kernel, "_installed", lambda boot: {"6.8.0-49-generic": tmp_path / "none"})
    error = refusals.refusal("lowlat-gen rehearse", Root())
    assert error is not None and error.message.endswith("none: not readable")
    assert refusals.offered_here("lowlat-gen rehearse") == "lowlat-gen doctor rehearse"


@pytest.mark.parametrize("capture", CAPTURES[:3], ids=lambda path: path.stem)
def test_a_capture_promises_no_boot_entry(capture: Path) -> None:
    check_capture(capture)


@pytest.mark.proof
def test_no_capture_promises_a_boot_entry() -> None:
    for capture in CAPTURES:
        check_capture(capture)


def check_capture(capture: Path) -> None:
    """It has no files of the boot: the dry run tells on that machine, the other commands here."""
    for options in (("--brief",), ("--now",)):
        answer = lowlat("plan", "--root", capture, *options)
        if answer.status == 2:
            continue
        assert "boot entry" not in answer.out
        for command in named(answer):
            there = "on that machine, to " in answer.out and command.startswith("sudo ")
            words = typed(command)
            assert there or lowlat(words[0], "--root", capture, *words[1:]).status != 2, command


def test_a_verb_that_waits_for_another_is_not_ready(tmp_path: Path) -> None:
    tree = machines.write_tree(tmp_path / "tree", {**machines.machine(), "etc/fstab": ""})
    answer = lowlat("doctor", "trial", "verify", "--root", tree)
    said = " ".join(answer.out.split())
    assert answer.status == 0 and "Ready with limits: none" in said
    assert "Not yet: trial: nothing is applied here ('lowlat-gen apply' comes first)" in said
    assert "Not yet: verify: no plan is applied here" in said
    rows = lowlat("doctor", "trial", "--root", tree, "--json").json()["verbs"]
    assert [row["ready"] for row in rows] == [False]
    assert rows[0]["waits"] == "nothing is applied here ('lowlat-gen apply' comes first)"


def test_plan_tells_why_apply_would_be_refused(tmp_path: Path) -> None:
    fstab = {"etc/fstab": "/dev/sda1 /efi vfat\n"}
    tree = machines.write_tree(tmp_path / "tree", {**machines.machine(), **fstab})
    refused = lowlat("apply", "--dry-run", "--root", tree).refused()
    said = " ".join(lowlat("plan", "--brief", "--root", tree).out.split())
    assert said.endswith(f"'apply' would be refused here: {refused}")
    assert "lowlat-gen apply" not in said


# ------------------------------------------------------------------ report


def write_runs(folder: Path) -> list[str]:
    paths = [folder / f"{name}.json" for name in ("stock", "tuned")]
    for path, each in zip(paths, (236.1, 3.8)):
        path.write_text(json.dumps(document(path.stem, each)))
    return [str(paths[0]), "--against", str(paths[1])]


def test_the_next_step_of_a_report_is_not_refused(tmp_path: Path) -> None:
    answer = lowlat("report", *write_runs(tmp_path))
    (command, *_) = named(Answer(0, answer.out, ""))
    words = typed(command)
    assert not words or lowlat(*words).status != 2


def test_a_step_that_is_refused_here_is_not_offered(tmp_path: Path) -> None:
    stock, _, tuned = write_runs(tmp_path)
    comparison = compare(*(Arm(path, (read_run(Path(path)),)) for path in (stock, tuned)))
    usual = [step.command for step in next_steps.steps(comparison)]
    verify = "sudo lowlat-gen verify --json > verify.json"
    tune = "sudo lowlat-gen tune --boots 6 --reboot"
    assert {verify, tune} <= set(usual)

    def offered(command: str) -> Optional[str]:
        return {verify: None, tune: "lowlat-gen doctor tune"}.get(command, command)

    steps = next_steps.steps(comparison, offered=offered)
    commands = [step.command for step in steps]
    assert verify not in commands and tune not in commands and "lowlat-gen doctor tune" in commands
    (lacking,) = [step.why for step in steps if step.command == "lowlat-gen doctor tune"]
    assert lacking.endswith("Something is missing here for that:")
