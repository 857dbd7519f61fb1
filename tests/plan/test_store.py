# SPDX-License-Identifier: GPL-2.0-or-later
"""A stored plan is not trusted: its id is a digest that anyone can compute."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

from lowlat.boot.status import read_boot
from lowlat.host.root import Root
from lowlat.model.plan import digest
from lowlat.plan import profile, store
from support import needs
from support.cli import lowlat
from support.machines import CONFIG, machine, write_tree

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    root = write_tree(tmp_path / "host", machine())
    found: dict[str, Any] = lowlat("plan", "--root", root, "--json").json()
    return found


def signed(document: dict[str, Any]) -> str:
    """The document with the id that matches its content, as a forger would write it."""
    content = {key: value for key, value in document.items() if key not in ("schema", "id")}
    return json.dumps({**document, "id": digest(content)})


def setting(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in document["runtime"] if item["name"] == name)
    return found


@pytest.mark.parametrize("others", ["{} quiet lowlat.plan=other", "lowlat.plan=other {}"])
def test_the_last_marker_names_the_plan_of_a_boot(
    document: dict[str, Any], tmp_path: Path, others: str
) -> None:
    line = others.format(f"lowlat.plan={document['id']}")
    files = {"proc/cmdline": line, "var/lib/lowlat/plan.json": json.dumps(document)}
    root = Root(str(write_tree(tmp_path / "booted", files)))
    is_last = line.endswith(document["id"])
    assert (store.applied(root) is not None) is is_last
    assert (read_boot(root, set()).plan == document["id"]) is is_last


def test_a_forger_can_make_the_id(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(signed(document))
    assert lowlat("render", "--plan", path, "--out", tmp_path / "out").status == 0


CHANGES: dict[str, Change] = {
    "another file": lambda d: setting(d, "vm.compaction_proactiveness").update(
        target="/proc/sys/kernel/core_pattern"
    ),
    "a way out": lambda d: setting(d, "vm.compaction_proactiveness").update(
        target="/proc/sys/vm/../../../etc/passwd"
    ),
    "another value": lambda d: setting(d, "vm.compaction_proactiveness").update(value="|/bin/sh"),
    "a number": lambda d: setting(d, "vm.compaction_proactiveness").update(value=0),
    "no mask": lambda d: setting(d, "irq.smp_affinity").update(value="x"),
    "half a character": lambda d: setting(d, "irq.smp_affinity").update(value="\ud800"),
    "an unknown name": lambda d: d["runtime"][0].update(name="zzz"),
    "a boot name at run time": lambda d: d["runtime"][0].update(name="isolcpus"),
    "a line of its own": lambda d: d["cmdline"].update(text="isolcpus=1; rm -rf / init=/bin/sh"),
    "a parameter's value": lambda d: d["cmdline"]["parameters"][0].update(value="1; reboot"),
    "an unknown parameter": lambda d: d["cmdline"]["parameters"][0].update(name="init"),
    "a profile that climbs": lambda d: d.update(profile="../../../../tmp/evil"),
    "a profile with a section": lambda d: d.update(profile="x]\n[script]\nscript=/tmp/evil"),
    "a kernel that runs": lambda d: d.update(kernel="$(touch /tmp/evil)"),
    "a kernel that is none": lambda d: d.update(kernel=5),
    "lists that are none": lambda d: d["cpus"].update(isolated="all of them"),
    "CPUs that are none": lambda d: d.update(cpus=5),
    "CPUs as a text": lambda d: d.update(cpus="ab"),
    "nothing set": lambda d: d.pop("runtime"),
    "a deep hole": lambda d: d.update(warnings=[[[[]]]]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("verb", ["render", "verify", "runtime"])
def test_a_forged_plan_is_refused(
    document: dict[str, Any], tmp_path: Path, change: Change, verb: str
) -> None:
    change(document)
    path = tmp_path / "plan.json"
    path.write_text(signed(document))
    more = {
        "render": ["--out", str(tmp_path / "out")],
        "runtime": ["--root", str(tmp_path / "host")],
    }
    words = [verb, *(["start"] if verb == "runtime" else []), "--plan", str(path)]
    lowlat(*words, *more.get(verb, [])).refused()
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "host/run").exists()


@pytest.mark.parametrize("name", profile.packaged_names())
@pytest.mark.parametrize("machine_of", ["qemu-x86-2s4c-2n-devices", "qemu-arm64-4c"])
def test_every_plan_that_is_made_is_accepted(tmp_path: Path, name: str, machine_of: str) -> None:
    asked = ("--root", f"tests/machines/{machine_of}.txt", "--profile", name)
    plan = lowlat("plan", *asked, "--json")
    (tmp_path / "plan.json").write_text(plan.out)
    assert store.read(str(tmp_path / "plan.json"), Root()).to_json() == plan.json()


def test_threads_of_every_cpu_are_accepted_and_no_others(tmp_path: Path) -> None:
    host = write_tree(tmp_path / "rt", machine(cpus=12, config=f"{CONFIG}CONFIG_PREEMPT_RT=y\n"))
    words = ("--profile", "lowlat-rt", "--root", host, "--json")
    document = lowlat("plan", *words).json()
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    planned = {item.target for item in store.read(str(path), Root()).runtime}
    assert {"kthread:ksoftirqd/2:policy", "kthread:ksoftirqd/11:policy"} <= planned
    setting(document, "kthread.priority").update(target="kthread:kthreadd/1:policy")
    path.write_text(signed(document))
    lowlat("verify", "--plan", path).refused()


def test_a_text_far_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("[" * 100_000)
    lowlat("verify", "--plan", path).refused()


def test_a_missing_plan_is_told_as_missing(tmp_path: Path) -> None:
    """Others can write the folder, which does not matter to a file that is not there."""
    tmp_path.chmod(0o1777)
    path = tmp_path / "missing"
    assert f"{path}: No such file" in lowlat("verify", "--plan", path).refused()


def test_a_plan_of_another_machine_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(signed(document))
    root = write_tree(
        tmp_path / "small", {**machine(cpus=2), "sys/devices/system/cpu/possible": "0-1"}
    )
    for words in (("verify",), ("runtime", "start", "--dry-run"), ("runtime", "verify")):
        assert (
            "of another machine: CPU 2" in lowlat(*words, "--plan", path, "--root", root).refused()
        )
    # A machine that lost CPUs since it was booted with the plan has findings.
    line = document["cmdline"]["text"]
    write_tree(root, {"proc/cmdline": f"quiet {line}\n"})
    answer = lowlat("verify", "--plan", path, "--root", root)
    assert answer.status == 1 and "isolcpus" in answer.out


@needs.root("it is root who must not trust others")
def test_no_hint_gives_a_device_or_a_shared_folder_to_root(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    for path in ("/dev/null", tmp_path):
        refused = lowlat("verify", "--plan", path).refused()
        assert "that only root can write" in refused and "chown" not in refused


@needs.root("it is root who must not trust others")
def test_root_refuses_a_plan_that_others_can_write(
    document: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(signed(document))
    path.chmod(0o666)
    assert "others than root" in lowlat("verify", "--plan", path).refused()
    path.chmod(0o644)
    os.chown(path, 65534, 65534)
    assert "others than root" in lowlat("verify", "--plan", path).refused()


def test_options_of_a_fresh_plan_beside_a_stored_one_are_refused(
    document: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(signed(document))
    for options in (["--isolate", "3"], ["--profile", "other"], ["--kernel", "6.1"]):
        said = lowlat("render", "--plan", path, "--out", tmp_path / "out", *options).refused()
        assert "no effect" in said


def test_what_is_wrong_in_a_plan_is_named(document: dict[str, Any], tmp_path: Path) -> None:
    document["cmdline"]["parameters"][0].update(why=5)
    path = tmp_path / "plan.json"
    path.write_text(signed(document))
    said = lowlat("verify", "--plan", path).refused()
    assert "cmdline.parameters[0].why: a text is expected" in said
