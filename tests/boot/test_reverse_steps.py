# SPDX-License-Identifier: GPL-2.0-or-later
"""The way back on machines whose loader lowlat does not write: for every section of loaders.ini the
step that is printed, its reverse, and what is told as long as the words are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_line_files import ENTRIES, OPTIONS, TREES, Tree, follow, gen, planned, plant

from support import needs
from support.cli import Answer, lowlat
from support.machines import write_tree

pytestmark = needs.root("files below --root belong to root")

_TRIAL = (
    "panic=30 rd.shell=0 rd.emergency=reboot systemd.crash_reboot=1 "
    "systemd.wants=lowlat-trial.service"
)

#: What holds the line is not read.
_ELSEWHERE = ("Ubuntu Core", "another system's GRUB")

#: Those whose words stand in a file that lowlat reads.
_READABLE = [
    section
    for section, tree in TREES.items()
    if section not in ("Ubuntu Core", "another system's GRUB")
    and "@" in "".join(tree.files.values())
]

_NAMES = re.compile(
    r"\b(?:isolcpus|nohz_full|rcu_nocbs|irqaffinity|rcupdate\.rcu_normal_after_boot|skew_tick|"
    r"workqueue\.power_efficient|lowlat\.plan)=[\w,-]+"
)


def rollback(root: Path, *words: str) -> Answer:
    return lowlat("rollback", "--root", root, *words)


def files(root: Path, tree: Tree) -> dict[str, bytes]:
    """The files of the boot that a step may change."""
    return {name: (root / name).read_bytes() for name in tree.files}


def undo(root: Path, tree: Tree, words: list[str]) -> None:
    """Take the words out of the files, in the form that they have there."""
    for name, text in tree.files.items():
        if "@" in text:
            form = '"{}"' if "[" in text or "(list" in text else "{}"
            now = (root / name).read_text()
            write_tree(root, {name: now.replace(" ".join(map(form.format, words)), "")})


def printed_words(printed: str) -> list[str]:
    """The words of the plan in what was printed, the marker last."""
    return _NAMES.findall(re.sub("(?m)^and put back: .*", "", printed))


@pytest.mark.parametrize("section", TREES)
def test_each_step_has_its_reverse(section: str, tmp_path: Path) -> None:
    """The step, then its reverse leave every byte of the loader's files; until then rollback ends
    with 1 and prints the reverse, each time."""
    tree = TREES[section]
    plant(tmp_path, tree)
    before, stock = files(tmp_path, tree), (tmp_path / "proc/cmdline").read_text()
    gen(tmp_path, "apply")
    words = planned(tmp_path)
    follow(tmp_path, tree)
    if section not in _READABLE:
        line = stock.strip().replace("isolcpus=9", " ".join(words))
        write_tree(tmp_path, {"proc/cmdline": f"{line}\n"})

    foreseen, first = rollback(tmp_path, "--dry-run"), rollback(tmp_path)
    for answer in (foreseen, first, rollback(tmp_path)):
        assert answer.status == 1 and f"has the words of plan {words[-1][12:]}" in answer.err
        told = [name for word in words if (name := word.partition("=")[0]) not in answer.out]
        assert told == [] and "as it was before lowlat" not in answer.out
        # xen-cmdline takes the names alone.
        assert printed_words(answer.out) == (words if section != "Xen of XenServer" else [])
        assert [then for then in tree.then if f"then: {then}" not in answer.out] == []
    assert "and put back: isolcpus=9\n" in first.out

    undo(tmp_path, tree, printed_words(first.out) or words)
    write_tree(tmp_path, {"proc/cmdline": stock})
    assert files(tmp_path, tree) == before
    assert rollback(tmp_path).status == 0 and "words" not in gen(tmp_path, "status")


def running(root: Path) -> str:
    return next(row for row in gen(root, "status").splitlines() if row.startswith("running"))


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(name, marks=[] if number % 3 == 0 else [pytest.mark.proof])
        for number, name in enumerate(_READABLE)
    ],
)
def test_the_file_and_the_running_line_decide(section: str, tmp_path: Path) -> None:
    """The default is what the file has; rollback ends with 0 only if neither the file has the
    words, nor a line that came from it."""
    tree = TREES[section]
    plant(tmp_path, tree)
    stock = (tmp_path / "proc/cmdline").read_text()
    gen(tmp_path, "apply")
    line = stock.partition("isolcpus")[0] + " ".join(planned(tmp_path)) + tree.line
    for added in (False, True):
        if added:
            follow(tmp_path, tree)
        for kind, text in {"stock": stock, "tuned": line, "a trial": f"{line} {_TRIAL}"}.items():
            write_tree(tmp_path, {"proc/cmdline": f"{text.strip()}\n"})
            status = gen(tmp_path, "status")
            default = next(row for row in status.splitlines() if row.startswith("default"))
            assert (", which /" in default and "(tuned, " in default) is added, (kind, added)
            assert running(tmp_path).endswith(f", {kind}")
            left = added or kind == "tuned"
            assert rollback(tmp_path, "--dry-run").status == left, (kind, added)


@pytest.mark.parametrize("trial", ["", f" {_TRIAL}"])
@pytest.mark.parametrize("section", ["extlinux", "GRUB", "GRUB with entry files", "NixOS"])
def test_a_line_with_the_marker_is_never_called_stock(
    section: str, trial: str, tmp_path: Path
) -> None:
    plant(tmp_path, TREES[section])
    line = (tmp_path / "proc/cmdline").read_text().strip()
    marked = f"{line} isolcpus=1 lowlat.plan=0123456789ab{trial}\n"
    write_tree(tmp_path, {"proc/cmdline": marked})
    kind = "a trial of a plan that" if trial else "a plan that"
    assert running(tmp_path).endswith(f"{kind} is no longer stored")


def test_what_a_command_has_not_made_anew_is_told(tmp_path: Path) -> None:
    """The words are out of the settings, and still in what the loader reads."""
    tree = TREES["Limine by its entry tool"]
    plant(tmp_path, tree)
    gen(tmp_path, "apply")
    write_tree(tmp_path, {"boot/limine.conf": f"cmdline: quiet {' '.join(planned(tmp_path))}\n"})
    assert "/boot/limine.conf has (tuned" in " ".join(gen(tmp_path, "status").split())
    assert "add to /etc/default/limine" in gen(tmp_path, "promote")
    left = rollback(tmp_path)
    assert left.status == 1 and left.out.endswith("\nthen: limine-mkinitcpio\n")
    assert "/boot/limine.conf has the words of plan" in left.err and "remove from" not in left.out


def test_words_of_an_earlier_plan_are_replaced(tmp_path: Path) -> None:
    plant(tmp_path, TREES["extlinux"])
    gen(tmp_path, "apply")
    old = planned(tmp_path)
    follow(tmp_path, TREES["extlinux"])
    gen(tmp_path, "apply", "--isolate", "3")
    assert planned(tmp_path) != old
    status = gen(tmp_path, "status")
    assert not status.startswith("promoted") and "a plan that is no longer stored" in status
    other = [word for word in old if word not in planned(tmp_path)]
    assert f"in place of: isolcpus=9 {' '.join(other)}\n" in gen(tmp_path, "promote")


def test_the_words_of_a_person_stay(tmp_path: Path) -> None:
    """Those that stand before the plan's, or after them, though lowlat plans such words too."""
    tree = TREES["GRUB with entry files, without grubby"]
    plant(tmp_path, tree)
    gen(tmp_path, "apply")
    words = planned(tmp_path)
    entry = OPTIONS.replace("@", f"nosmt=force skew_tick=1 {' '.join(words)} nosoftlockup")
    write_tree(tmp_path, {f"{ENTRIES}/other.conf".lstrip("/"): entry})
    for _ in range(2):
        assert f": {' '.join(words)}\n" in rollback(tmp_path).out
