# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot loaders that lowlat does not write: lowlat stores the plan, and a person adds the line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from test_way_back import removal_script

from support.hosttree import (
    NEEDS,
    RELEASE,
    Host,
    Namespace,
    bare,
    plan_of,
    refusal,
    set_variable,
)

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_STOCK = f"/vmlinuz-{RELEASE} root=PARTUUID=1 ro quiet isolcpus=9"

_PI = {"boot/firmware/cmdline.txt": "root=/dev/sda\n", "boot/firmware/config.txt": ""}

_TRIAL = (
    "panic=30 rd.shell=0 rd.emergency=reboot systemd.crash_reboot=1 "
    "systemd.wants=lowlat-trial.service"
)


def _host(tmp_path: Path, namespace: Namespace, files: Mapping[str, str]) -> Host:
    host = bare(tmp_path / "host", namespace, files)
    host.boot_line(_STOCK, "boot-0")
    return host


def _tuned(host: Host) -> str:
    return " ".join((_STOCK.replace(" isolcpus=9", ""), *plan_of(host, RELEASE)))


def test_the_plan_is_stored_and_taken_back(tmp_path: Path, namespace: Namespace) -> None:
    host = _host(tmp_path, namespace, {"boot/extlinux/extlinux.conf": "label l0\n append ro\n"})
    before = host.snapshot()
    said = host.done("apply")
    assert "boots with extlinux: " in said and "'lowlat-gen trial --kexec' boots" in said
    assert host.status()["state"] == "applied"
    assert host.status()["default"] == {"entry": "stock", "kernel": RELEASE, "ours": False}
    assert host.snapshot(("boot",)) == {k: v for k, v in before.items() if k.startswith("boot/")}
    assert "entry" not in host.done("rollback", "--dry-run")
    host.done("rollback")
    assert host.snapshot() == before


def test_a_loader_that_cannot_be_written_keeps_its_name(
    tmp_path: Path, namespace: Namespace
) -> None:
    host = _host(tmp_path, namespace, {"boot/efi/loader/loader.conf": ""})
    set_variable(host, "LoaderInfo", "systemd-boot 257.9-1")
    assert json.loads(host.done("probe", "--json"))["boot_loader"] == "systemd-boot"
    assert "boots with systemd-boot" in host.done("apply")
    assert host.status()["loader"] == "systemd-boot"


def test_the_way_of_a_line_that_is_added_by_hand(tmp_path: Path, namespace: Namespace) -> None:
    host = _host(tmp_path, namespace, _PI)
    host.done("apply")
    assert "(--kexec tries" in refusal(host, "trial")
    assert "this machine only" in refusal(host, "trial", "--kexec")
    assert "not tried yet ('lowlat-gen trial --kexec', " in refusal(host, "promote")
    assert host.done("status").startswith("applied but not tried yet: 'lowlat-gen trial --kexec'")
    (kernel,) = host.status()["kernels"]
    _loaded(host, kernel["entry"])

    host.boot_line(f"{_tuned(host)} {_TRIAL}", "boot-1")
    host.done("boot", "start")
    assert "came up" in host.done("boot", "record")
    assert host.status()["state"] == "tried" and host.status()["running"]["trial"]
    assert "/boot/firmware/cmdline.txt: isolcpus=" in host.done("promote")
    assert host.status()["state"] == "tried"

    host.boot_line(_tuned(host).replace(" quiet", ""), "boot-2")
    assert host.status()["state"] == "tried"
    assert (
        f"the running line is not that of {kernel['entry']}: 'quiet' differs"
        in (host.status()["notes"])
    )
    host.boot_line(_tuned(host), "boot-2")
    host.done("boot", "start")
    added = f"root=/dev/sda {' '.join(plan_of(host, RELEASE))}\n"
    host.write("boot/firmware/cmdline.txt", added)
    status = host.status()
    assert (status["state"], status["default"]["entry"]) == ("promoted", kernel["entry"])
    answer = host.lowlat("rollback")
    assert answer.status == 1 and "remove from the one line of /boot/firmware/cmd" in answer.out
    assert answer.err.startswith("lowlat-gen: /boot/firmware/cmdline.txt has the words of plan ")
    assert "\nrunning   Linux 6.12.107-test, a plan that is no longer stored\n" in (
        host.done("status")
    )
    host.boot_line(_STOCK, "boot-3")
    assert host.status()["state"] == "none"


@pytest.mark.parametrize(("kind", "word"), [("deb", "remove"), ("rpm", "0")])
def test_removing_the_package_prints_the_way_back_and_goes_on(
    tmp_path: Path, namespace: Namespace, kind: str, word: str
) -> None:
    host = _host(tmp_path, namespace, _PI)
    host.done("apply")
    words = " ".join(plan_of(host, RELEASE))
    host.write("boot/firmware/cmdline.txt", f"root=/dev/sda {words}\n")
    host.write("tmp/script", removal_script(kind))
    answer = host.chroot("sh", "/tmp/script", word)
    assert answer.status == 0 and not (host.path / "var/lib/lowlat").exists()
    assert f"remove from the one line of /boot/firmware/cmdline.txt: {words}\n" in answer.out
    assert "/boot/firmware/cmdline.txt has the words of plan " in answer.err


@pytest.mark.parametrize(
    ("node", "text", "why"),
    [
        ("cpus/cpu@0/enable-method", "spin-table\0", "this firmware cannot stop a CPU"),
        ("compatible", "raspberrypi,5-model-b\0brcm,bcm2712\0", "a Raspberry Pi 5 does not start"),
    ],
)
def test_a_machine_without_kexec_is_not_sent_there(
    tmp_path: Path, namespace: Namespace, node: str, text: str, why: str
) -> None:
    host = _host(tmp_path, namespace, {**_PI, f"proc/device-tree/{node}": text})
    for words in (("--dry-run",), ()):
        said = host.done("apply", *words)
        assert f"nor can kexec try it: {why}" in said


def test_a_trial_that_kexec_did_not_start_is_told(tmp_path: Path, namespace: Namespace) -> None:
    host = _host(tmp_path, namespace, {})
    host.done("apply")
    entry = host.status()["kernels"][0]["entry"]
    _loaded(host, entry)
    assert host.status()["state"] == "trial-set" and host.status()["loaded"]
    host.boot_line(_STOCK, "boot-1")
    host.write("sys/kernel/kexec_loaded", "0\n")
    notes = host.status()["notes"]
    assert [note for note in notes if "was loaded for kexec; it was not started, or" in note]
    host.done("boot", "start")
    assert host.status()["state"] == "applied"


def _loaded(host: Host, entry: str) -> None:
    """Imitate ``trial --kexec``: no test loads a kernel into this machine."""
    words = f"{_tuned(host)} {_TRIAL}".split()[1:]
    pending = {"entry": entry, "release": RELEASE, "words": words, "boot_id": "boot-0"}
    state = {"schema": "lowlat.trials/1", "pending": {**pending, "kexec": True}}
    host.write("var/lib/lowlat/trials.json", json.dumps(state))
    host.write("sys/kernel/kexec_loaded", "1\n")
