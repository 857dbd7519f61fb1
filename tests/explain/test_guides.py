# SPDX-License-Identifier: GPL-2.0-or-later
"""The guides: the words that lead to them, and the commands in them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Optional

import pytest

from lowlat import cli
from lowlat.catalogue import CATALOGUE
from lowlat.explain.guides import Guide, find, guides
from lowlat.plan import profile
from lowlat.verbs import VERBS
from support.cli import lowlat
from support.screens import README
from support.waits import GUARD_S

MACHINE = Path(__file__).parents[1] / "machines/qemu-x86-2s4c-2n-devices.txt"

#: Words that users type, and the guide for each.
WORDS = {
    "c-states": "c-states",
    "C-States": "c-states",
    "cstate": "c-states",
    "smt": "smt",
    "hyper-threading": "smt",
    "hyperthreading": "smt",
    "irq": "irq",
    "usb": "irq",
    "nic": "nic",
    "audio": "audio",
    "jack": "audio",
    "pipewire": "audio",
    "crackles": "audio",
    "xruns": "audio",
    "dropouts": "audio",
    "drop-outs": "audio",
    "heat": "heat",
    "watts": "heat",
    "temperature": "heat",
    "power-profiles-daemon": "tuned",
    "dpdk": "dpdk",
    "docker": "containers",
    "kubernetes": "containers",
    "libvirt": "libvirt",
    "slurm": "slurm",
    "trading": "trading",
    "raspberry pi": "raspberry-pi",
    "ros": "robots",
    "linuxcnc": "robots",
    "noise": "measuring",
    "cyclictest": "measuring",
    "gaming": "games",
    "ansible": "ansible",
    "fleet": "ansible",
    "undo": "undo",
    "kill": "undo",
    "canary": "ansible",
    "cloud-init": "ansible",
    "cloud": "ansible",
    "exit codes": "ansible",
    "does not boot": "undo",
    "rescue": "undo",
    "hang": "health",
    "tuned": "tuned",
    "ubuntu": "boot",
    "grub": "boot",
    "reboot": "boot",
    "remove": "boot",
    "Secure Boot": "boot",
    "smi": "hardware",
    "bios": "hardware",
    "hybrid": "hardware",
    "e-core": "hardware",
    "jitter": "measuring",
    "osnoise": "measuring",
    "oslat": "measuring",
    "rtla": "measuring",
    "throughput": "measuring",
    "numa": "taskset",
    "tick": "tick",
    "timer": "tick",
    "raspberry": "raspberry-pi",
    "security": "risk",
    "cost": "risk",
    "steam": "games",
    "redis": "service",
    "postgres": "service",
    "proxmox": "libvirt",
    "openshift": "openshift",
    "must-gather": "openshift",
    "PerformanceProfile": "openshift",
    "latency": "measuring",
    "proof": "measuring",
    "spikes": "measuring",
    "softirqs": "irq",
    "files": "boot",
    "install": "boot",
    "arch": "boot",
    "cgroups": "taskset",
    "core": "taskset",
    "fifo": "robots",
    "xeon": "hardware",
    "governor": "c-states",
    "java": "service",
    "puppet": "ansible",
    "guest": "libvirt",
    "SR-IOV": "dpdk",
    "reservedSystemCPUs": "containers",
    "performance-profile-creator": "openshift",
    "alerts": "metrics",
}

#: Words of README.md: its trades, tools and systems.
IN_README = (
    *("trading", "telecom", "NFV", "DPDK", "AF_XDP", "HPC", "MPI", "OpenMP", "PREEMPT_RT"),
    *("desktop", "games", "benchmarks", "KVM", "oslat", "cyclictest", "rtla", "stress-ng"),
    *("Debian", "Ubuntu", "Fedora", "RHEL", "GRUB", "systemd-boot", "kexec", "TuneD"),
    *("OpenShift", "Slurm", "undo", "Prometheus", "raspberry-pi", "robots", "LinuxCNC"),
    *("JACK", "PipeWire"),
    *("Containers", "Raspberry", "audio", "docker"),
)

#: Areas of the catalogue.
AREAS = {
    "memory": "hugepages",
    "rcu": "rcu_nocb_poll",
    "clock": "clocksource",
    "scheduler": "preempt",
}

#: Wrong guesses of earlier versions, and what no page is honest about.
NO_GUESS = ("root", "ping", "nice", "python", "lag", "aws", "qqq", "zstd")

#: Verbs that only read, and take a captured machine.
READING = ("plan", "cpus", "probe")


def commands(guide: Guide) -> list[list[str]]:
    """The words of each lowlat-gen command in the text."""
    found = re.findall(r"(?m)^  (?:\w+=\$\()?(?:sudo )?lowlat-gen ([^)\n]*?)(?:\)|$)", guide.text)
    return [shlex.split(words) for words in found]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_users_type_leads_to_its_guide(word: str) -> None:
    assert lowlat("explain", *word.split()).out.startswith(f"{WORDS[word]}: ")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_a_page_and_what_is_unlike_any_word_no_guess(verb: str) -> None:
    told = lowlat("explain", verb).out
    assert told.startswith(f"{verb}: ") or find(verb)
    assert "did you mean" not in lowlat("explain", f"qq{verb[:3]}zz").err


@pytest.mark.parametrize("word", IN_README)
def test_a_word_of_the_readme_has_a_page(word: str) -> None:
    assert re.search(rf"\b{word}", README.read_text("utf-8")), "no longer in README"
    assert lowlat("explain", word).status == 0


@pytest.mark.parametrize("word", AREAS)
def test_an_area_lists_its_tunables(word: str) -> None:
    told = lowlat("explain", word).out
    assert f"  {AREAS[word]} " in told and max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize("word", NO_GUESS)
def test_what_is_not_alike_is_not_guessed(word: str) -> None:
    assert "'lowlat-gen explain' lists them" in lowlat("explain", word).refused()


def test_letters_in_another_order_are_guessed() -> None:
    assert "did you mean slurm?" in lowlat("explain", "slrum").refused()


def test_a_word_leads_to_one_place() -> None:
    words = [word for guide in guides() for word in (guide.name, *guide.words)]
    assert len(words) == len(set(words))
    taken = {entry.name for entry in CATALOGUE} | set(profile.packaged_names())
    assert not taken & set(words)
    assert all(find(word) for word in words)


@pytest.mark.parametrize("guide", guides(), ids=lambda guide: guide.name)
def test_a_guide_is_a_screen_that_names_what_there_is(guide: Guide) -> None:
    lines = guide.text.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert lines[0] == f"{guide.name}: {guide.title}"
    text = " ".join(guide.text.split())
    for label, known in (
        ("Profiles", set(profile.packaged_names())),
        ("Tunables", {entry.name for entry in CATALOGUE}),
    ):
        for named in re.findall(rf"{label}: (.*?)(?= Tunables| Source|$)", text):
            names = set(re.sub(r"\([^)]*\)", "", named).replace(" ", "").split(","))
            assert names <= known, names - known


@pytest.mark.parametrize("guide", guides(), ids=lambda guide: guide.name)
def test_the_commands_of_a_guide_are_taken_and_those_that_read_are_run(guide: Guide) -> None:
    found = commands(guide)
    assert found
    for verb, *words in found:
        cli.arguments(verb, words)
        if verb in READING:
            answer = lowlat(verb, *words, "--root", MACHINE)
            assert answer.status == 0 and answer.out, (verb, words, answer.err)


def test_kubernetes_finds_the_forms_that_a_plan_is_written_in() -> None:
    told = lowlat("explain", "kubernetes").out
    assert "--format performance-profile" in told and "--format kubelet" in told


@pytest.mark.parametrize(
    ("isolated", "number"), [("4", "4"), ("10-11", "10"), ("2,18", "2"), ("3-5,9", "3"), ("", None)]
)
def test_linuxcnc_is_told_one_isolated_cpu_or_not_started(
    isolated: str, number: Optional[str], tmp_path: Path
) -> None:
    """The guide's command, by a shell; ``cpus`` fails where nothing is isolated."""
    (guide,) = [one for one in guides() if one.name == "robots"]
    found = re.search(r"^  (cpus=.*?FILE\.ini)$", guide.text, re.M | re.S)
    assert found
    for name, script in {
        "lowlat-gen": f"echo {isolated}" if isolated else "exit 1",
        "linuxcnc": 'echo "$RTAPI_CPU_NUMBER $1"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", found[1]],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD_S,
    )
    assert done.stdout == (f"{number} FILE.ini\n" if number else "")


def test_who_looks_for_power_is_led_to_watts() -> None:
    assert "explain heat" in lowlat("explain", "power").out


def test_the_overview_begins_with_the_guides() -> None:
    overview = lowlat("explain").out
    assert overview.startswith("Guides")
    assert all(f"  {guide.name} " in overview for guide in guides())
