# SPDX-License-Identifier: GPL-2.0-or-later
"""Causes of a hanging tuned boot, as files to plant in a Debian guest with a given kernel; and how
the machine recovers."""

from __future__ import annotations

from typing import Callable

from support.guest import initramfs, results
from support.guest.boots import Guest
from support.guest.journey import Journey, other_boot

Hang = Callable[[Guest, str], dict[str, bytes]]

#: The kernel's last message after a request to reboot.
_TOLD = "reboot: Restarting system"

#: Hangs in tuned boots only, as a bad parameter would.
_CUT = "cut-the-power-now"
_UNIT = """[Unit]
ConditionKernelCommandLine=lowlat.plan
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'date >/var/tmp/hung; sync; {command}'
"""
_WANTED = "[Unit]\nWants=hang.service\n"

#: The trial's unit, with a shorter wait than ten minutes.
_SOON = "[Unit]\nJobTimeoutSec=2min\n"

_NO_ROOT = b"""read -r line </proc/cmdline
case $line in (*lowlat.plan*) ROOT=/dev/missing ;; esac
"""

#: After systemd has armed the watchdog, real-time tasks take every CPU and never give one back.
_TAKEN = b"""#!/bin/sh
until grep -q ^active /sys/class/watchdog/watchdog0/state; do
	sleep 1
done
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
for file in /sys/kernel/debug/sched/fair_server/*/runtime; do
	echo 0 >"$file"
done
for cpu in 3 2 1 0; do
	taskset --cpu-list $cpu chrt --fifo 99 sh -c 'while :; do :; done' &
done
wait
"""


def _with_unit(command: str) -> dict[str, bytes]:
    return {
        "/etc/systemd/system/hang.service": _UNIT.format(command=command).encode(),
        "/etc/systemd/system/multi-user.target.d/hang.conf": _WANTED.encode(),
    }


def panics(guest: Guest, kernel: str) -> dict[str, bytes]:
    return _with_unit("echo c >/proc/sysrq-trigger")


def never_ends(guest: Guest, kernel: str) -> dict[str, bytes]:
    soon = {"/etc/systemd/system/lowlat-trial.service.d/soon.conf": _SOON.encode()}
    return {**_with_unit("sleep infinity"), **soon}


def crashes_systemd(guest: Guest, kernel: str) -> dict[str, bytes]:
    return _with_unit("kill -SEGV 1; sleep infinity")


def takes_every_cpu(guest: Guest, kernel: str) -> dict[str, bytes]:
    """Nothing else runs, not even a reboot: only the watchdog is left."""
    return {**_with_unit("exec sh /usr/local/sbin/hang"), "/usr/local/sbin/hang": _TAKEN}


def loses_power(guest: Guest, kernel: str) -> dict[str, bytes]:
    """The test cuts the power when the console shows the word."""
    return _with_unit(f"echo {_CUT} >/dev/console; sleep infinity")


def has_no_root(guest: Guest, kernel: str) -> dict[str, bytes]:
    """The initramfs waits for a missing disk: its init reads this file last."""
    path = f"/boot/initrd.img-{kernel}"
    held = guest.read(path)
    more = initramfs.pack({"conf/param.conf": _NO_ROOT})
    return {path: held + b"\0" * (-len(held) % 4) + more}


def comes_back(
    road: Journey, hang: Hang, said: str = "", told: bool | None = None, *, how: str = ""
) -> None:
    """The trial that boot "stock" armed hangs this way: the next boot is stock. The console
    contains ``said``; ``told`` tells whether something in the guest requested the reboot."""
    before = road.found["stock"]
    guest = road.after["stock"]
    (road.share / "status").unlink(missing_ok=True)
    planted = guest.planted(hang(guest, before["boot"]["kernel"]))
    hung = planted.boot(road.share, cut_at=_CUT if hang is loses_power else "")
    assert not (road.share / "status").exists(), f"it came up: {hung.tail}"
    assert said in hung.console, hung.tail
    assert told is None or (_TOLD in hung.console) == told, hung.tail
    if hang is not has_no_root:
        assert hung.read("/var/tmp/hung"), hung.tail

    road.go(hung, "hung", "look")
    found = road.found["hung"]
    assert other_boot(before["boot"], found["boot"]) == {}
    assert (found["status"]["state"], found["status"]["next"]) == ("applied", None)
    assert [note for note in found["status"]["notes"] if "did not come up" in note]
    name = hang.__name__.replace("_", " ")
    remark = f"{how or found['status']['loader']}, one try that {name}: back in stock"
    results.add(before["boot"]["kernel"], "lowlat", "none", remark)
