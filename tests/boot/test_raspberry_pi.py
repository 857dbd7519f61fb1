# SPDX-License-Identifier: GPL-2.0-or-later
"""A Raspberry Pi with the stand-in firmware of pi_firmware.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from support import pi_firmware
from support.cutting import Cut, cut_everywhere
from support.hosttree import NEEDS, RELEASE, Host, Namespace, bare, plan_of, refusal
from support.powercut import NEEDS_CC, Cutting, sample

pytest_plugins = ["support.hosttree", "support.powercut"]
pytestmark = [*NEEDS, NEEDS_CC]

_FOLDER = "boot/firmware"
_LINE = "console=serial0,115200 console=tty1 root=PARTUUID=1-02 rootwait quiet isolcpus=9"
_CONFIG = (
    "# no newline at its end\ndtparam=audio=on\n[cm4]\notg_mode=1\n"
    "[all]\ncmdline=cmdline.txt\nenable_uart=1"
)
_TRIAL = {"panic=30", "systemd.wants=lowlat-trial.service"}

#: A later kernel of the same kind.
_NEWER = "6.12.108-test"


def make_pi(path: Path, namespace: Namespace) -> Host:
    files = {
        f"{_FOLDER}/config.txt": _CONFIG,
        f"{_FOLDER}/cmdline.txt": f"{_LINE}\n",
        "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.5\0",
    }
    host = bare(path, namespace, files)
    host.live = True  # the mailbox is that of the machine that runs
    pi_firmware.add_mailbox(host)
    switch_on(host, "boot-0")
    return host


@pytest.fixture
def pi(tmp_path: Path, namespace: Namespace) -> Host:
    return make_pi(tmp_path / "host", namespace)


def chosen(host: Host, tried: bool) -> Path:
    """The file whose line the firmware passes to the kernel."""
    folder = host.path / _FOLDER
    return folder / pi_firmware.choose(lambda name: (folder / name).read_text(), tried).cmdline


def switch_on(host: Host, boot_id: str, *, power_cut: bool = False, kernel: str = RELEASE) -> str:
    """Start the machine; returns the line. The flag survives a reboot, but not a power cut."""
    if power_cut:
        pi_firmware.forget_flags(host)
    text = chosen(host, pi_firmware.take_flag(host)).read_text()
    host.write("proc/cmdline", f"{pi_firmware.line_of(text, 'ttyS0')}\n")
    host.write("proc/sys/kernel/osrelease", f"{kernel}\n")
    host.write("proc/sys/kernel/random/boot_id", f"{boot_id}\n")
    return text.partition("\n")[0]


def try_once(host: Host) -> None:
    host.done("apply")
    host.done("trial")
    assert set(switch_on(host, "boot-1").split()) >= _TRIAL
    assert "came up" in host.done("boot", "record")


def test_apply_only_adds(pi: Host) -> None:
    before = pi.snapshot()
    said = pi.done_as_foreseen("apply")
    assert f"isolcpus=9 on the stock line (/{_FOLDER}/cmdline.txt)" in said
    assert "or the two conflict" not in said
    assert pi.status()["loader"] == "Raspberry Pi firmware"
    added = {path: held for path, held in pi.snapshot().items() if path not in before}
    assert {path: pi.snapshot()[path] for path in before} == before
    lines = [path for path in added if path.startswith(f"{_FOLDER}/")]
    assert len(lines) == 2 and all("/cmdline-0-lowlat-" in path for path in lines)
    assert switch_on(pi, "boot-1") == _LINE
    pi.done_as_foreseen("rollback")
    assert pi.snapshot() == before


def test_a_trial_is_for_one_boot(pi: Host) -> None:
    pi.done("apply")
    pi.done("trial")
    assert pi.status()["state"] == "trial-set"
    line = switch_on(pi, "boot-1")
    assert set(line.split()) >= {*_TRIAL, *plan_of(pi, RELEASE)} and "isolcpus=9" not in line
    assert pi.status()["running"]["trial"]
    assert "came up" in pi.done("boot", "record")
    assert switch_on(pi, "boot-2") == _LINE
    assert (pi.status()["state"], pi.status()["next"]) == ("tried", None)


def test_a_trial_replaces_no_tryboot_of_another_program(pi: Host) -> None:
    pi.done("apply")
    pi.write(f"{_FOLDER}/tryboot.txt", "kernel=new/vmlinuz\n")
    assert "is another program's, and a trial would replace it" in refusal(pi, "trial")


def test_a_changed_configuration_for_one_boot_is_told(pi: Host) -> None:
    pi.done("apply")
    pi.done("trial")
    text = pi.read(f"{_FOLDER}/tryboot.txt")
    pi.write(f"{_FOLDER}/tryboot.txt", f"{text}kernel=other.img\n")
    assert any("tryboot.txt" in note for note in pi.status()["notes"])
    pi.done("trial")
    assert pi.read(f"{_FOLDER}/tryboot.txt") == text
    assert not any("tryboot.txt" in note for note in pi.status()["notes"])


def test_a_power_cut_after_arming_is_a_stock_boot(pi: Host) -> None:
    pi.done("apply")
    pi.done("trial")
    assert switch_on(pi, "boot-1", power_cut=True) == _LINE
    pi.done("boot", "start")
    assert [note for note in pi.status()["notes"] if "did not come up" in note]


def test_a_trial_takes_the_watchdog_from_the_firmware(pi: Host) -> None:
    pi.write("sys/class/watchdog/watchdog0/identity", "Broadcom BCM2835 Watchdog timer\n")
    pi.done("apply")
    pi.done("trial")
    tried = pi.read(f"{_FOLDER}/tryboot.txt")
    assert tried.startswith(f"{_CONFIG}\n") and "\nkernel_watchdog_timeout=60\n" in tried
    assert "systemd.watchdog_sec=180" in switch_on(pi, "boot-1")


def test_what_was_tried_is_promoted_and_taken_back(pi: Host) -> None:
    before = pi.snapshot()
    try_once(pi)
    switch_on(pi, "boot-2")
    pi.done("promote")
    assert pi.read(f"{_FOLDER}/config.txt").startswith(f"{_CONFIG}\n")
    assert pi.read(f"{_FOLDER}/cmdline.txt") == f"{_LINE}\n"
    line = switch_on(pi, "boot-3")
    assert set(line.split()) >= set(plan_of(pi, RELEASE)) and not _TRIAL & set(line.split())
    assert pi.status()["state"] == "promoted"
    pi.done_as_foreseen("rollback")
    assert pi.snapshot() == before
    assert switch_on(pi, "boot-4") == _LINE


@pytest.mark.parametrize("follow", [False, True])
def test_a_new_kernel_is_default_only_where_kernels_are_followed(pi: Host, follow: bool) -> None:
    before = pi.snapshot()
    try_once(pi)
    pi.done("promote", *(["--follow-kernels"] if follow else []))
    pi.chroot("mkdir", "-p", f"/usr/lib/modules/{_NEWER}")
    try:
        config = pi.read(f"boot/config-{RELEASE}")
        pi.write(f"boot/config-{_NEWER}", config)
        said = pi.chroot("/etc/kernel/postinst.d/zz-lowlat", _NEWER)
        assert said.status == 0, said
        line = switch_on(pi, "boot-3", kernel=_NEWER)
        assert ("lowlat.plan=" in line) == follow
        assert chosen(pi, False).exists()
        assert ("is the default" in said.err) != follow
        pi.done("rollback")
    finally:
        pi.chroot("rmdir", f"/usr/lib/modules/{_NEWER}")
    (pi.path / f"boot/config-{_NEWER}").unlink()
    assert pi.snapshot() == before


def test_what_debian_generates_anew_is_promoted_again(pi: Host) -> None:
    pi.write("etc/kernel/postinst.d/z50-raspi-firmware", "#!/bin/sh\n")
    try_once(pi)
    pi.done("promote")
    pi.write(f"{_FOLDER}/config.txt", f"{_CONFIG}\n# generated\n")
    assert pi.chroot("/etc/kernel/postinst.d/zz-lowlat", RELEASE).status == 0
    assert "lowlat.plan=" in switch_on(pi, "boot-3")
    assert pi.status()["state"] == "promoted"


@pytest.mark.parametrize(
    ("files", "why", "line"),
    [
        ({"config.txt": "os_prefix=current/\n"}, "sets os_prefix=", "current/cmdline.txt"),
        ({"config.txt": "cmdline=mine.txt\n"}, "sets cmdline=", "mine.txt"),
        ({"autoboot.txt": "[all]\ntryboot_a_b=1\n"}, "between two systems", "cmdline.txt"),
        ({"tryboot.txt": "kernel=new/vmlinuz\n"}, "is another program's", "cmdline.txt"),
        ({"config.txt": "[pi4]\ncmdline=mine.txt\n"}, "sets cmdline=", "mine.txt"),
        (
            {"config.txt": "[gpio4=1]\ncmdline=mine.txt\n", "mine.txt": f"{_LINE}\n"},
            "may set cmdline= ([gpio4=1])",
            "cmdline.txt and of /boot/firmware/mine.txt",
        ),
        ({"config.txt": "[tryboot]\nos_prefix=new/\n"}, "sets os_prefix=", "cmdline.txt"),
        (
            {
                "config.txt": "include user.txt\n",
                "user.txt": "include board.txt\ninclude config.txt\n",
                "board.txt": "os_prefix=new/\n",
            },
            "board.txt sets os_prefix=",
            "new/cmdline.txt",
        ),
    ],
)
def test_what_is_not_ours_to_disturb_is_left_to_the_person(
    pi: Host, files: dict[str, str], why: str, line: str
) -> None:
    for name, text in files.items():
        pi.write(f"{_FOLDER}/{name}", text)
    before = pi.snapshot(("boot",))
    for words in (("--dry-run",), ()):
        said = pi.done("apply", *words)
        assert f"{why}" in said and f"one line of /{_FOLDER}/{line}: isolcpus=" in said
    assert pi.snapshot(("boot",)) == before
    # Once that is gone, entries are written again.
    for name in files:
        pi.write(f"{_FOLDER}/{name}", _CONFIG)
    (pi.path / _FOLDER / "tryboot.txt").unlink(missing_ok=True)
    assert "added the entry" in pi.done("apply")
    assert pi.status()["default"]["entry"] == "cmdline"


@pytest.mark.parametrize(
    "others",
    [
        "[pi5]\ncmdline=mine.txt\nos_prefix=new/\n",
        "[none]\ncmdline=mine.txt\n",
        "[gpio4=1]\nos_prefix=new/\n[all]\nos_prefix=\n",
        "[pi4]\ninclude board.txt\n",
    ],
)
def test_sections_of_other_boards_are_nothing_to_this_one(pi: Host, others: str) -> None:
    pi.write(f"{_FOLDER}/config.txt", f"{others}[all]\nenable_uart=1\n")
    pi.write(f"{_FOLDER}/board.txt", "[pi3+]\ncmdline=mine.txt\n")
    assert "added the entry" in pi.done_as_foreseen("apply")
    pi.done("trial")
    assert set(switch_on(pi, "boot-1").split()) >= _TRIAL
    assert switch_on(pi, "boot-2") == _LINE


def test_what_is_no_more_ours_to_disturb_can_still_be_taken_back(pi: Host) -> None:
    pi.done("apply")
    pi.write(f"{_FOLDER}/tryboot.txt", "kernel=new/vmlinuz\n")
    pi.done("rollback")
    assert not [path for path in pi.snapshot() if "lowlat" in path]
    assert pi.read(f"{_FOLDER}/tryboot.txt") == "kernel=new/vmlinuz\n"


def test_a_kernel_that_cannot_set_the_flag_is_told(pi: Host) -> None:
    pi.chroot("rm", "/dev/vcio")
    for words in (("--dry-run",), ()):
        said = pi.done("apply", *words)
        assert "this kernel has no /dev/vcio" in said and "cmdline.txt: isolcpus=" in said
    assert "/dev/vcio" in refusal(pi, "trial")


def test_a_kernel_that_cannot_set_the_flag_takes_back_what_another_did(pi: Host) -> None:
    before = pi.snapshot()
    try_once(pi)
    pi.done("promote")
    pi.chroot("rm", "/dev/vcio")
    pi.done("rollback")
    assert pi.snapshot() == before


class _PiCut(Cut):
    def lines(self) -> dict[str, Any]:
        return {"cmdline.txt": (self.host.path / _FOLDER / "cmdline.txt").read_bytes()}

    def check_config(self, where: str) -> None:
        for tried in {False, pi_firmware.is_armed(self.host)}:
            line = chosen(self.host, tried).read_text()
            assert "root=PARTUUID=1-02" in line, where


@pytest.mark.parametrize("verb", sample(["promote"], "apply", "trial", "rollback"))
def test_every_cut_is_survived(
    tmp_path: Path, cutting: Cutting, tell: Callable[[str], None], verb: str
) -> None:
    (tmp_path / "kept").mkdir()
    host = make_pi(tmp_path / "host", cutting)
    cut = _PiCut(host, cutting, tmp_path / "kept")
    defaults = {host.status()["default"]["entry"]} if verb == "apply" else {"cmdline"}
    if verb == "trial":
        host.done("apply")
    elif verb != "apply":
        try_once(host)
        defaults.add(str(host.status()["kernels"][0]["entry"]))
    if verb == "rollback":
        host.done("promote")
    tell(f"Raspberry Pi firmware, {cut_everywhere(cut, (verb,), defaults)}")
