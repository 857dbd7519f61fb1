# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel said of stopped CPUs is found in a log, kept in a capture, and told with its
time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from booted import DMESG, lowlat, planned

from lowlat.catalogue import lookup
from lowlat.host.kernel_messages import MESSAGES
from support.machines import CONFIG, machine, write_tree


def example(text: str) -> str:
    return re.sub(r"%[-0-9.l]*([dusx]|ps)?", lambda match: "7" if match[1] else "", text)


#: A line for each format, an hour into the boot and a second after the one before.
LOG = DMESG + "".join(
    f"[ {3600 + number}.123456] {example(text)}\n"
    for number, text in enumerate(each for message in MESSAGES for each in message.formats)
)


#: A kernel that throttles real-time tasks.
_REALTIME = machine(release="6.1.0-rt-amd64", config=f"{CONFIG}CONFIG_PREEMPT_RT=y\n")


def words(root: Path) -> list[dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--duration", "0s", "--json")
    return [row for row in answer.json()["settings"] if row["where"] == "kernel messages"]


def test_each_message_is_kept_and_told_with_its_time(tmp_path: Path) -> None:
    host = planned(tmp_path / "host")
    assert words(host) == []
    write_tree(host, {"var/log/dmesg": LOG, "proc/1/status": "Name:\tinit\n"})
    told = words(host)
    assert [row["effective"] for row in told] == [message.name for message in MESSAGES]
    number = 0
    for row, message in zip(told, MESSAGES):
        assert f"{3600 + number}.1 s" in row["evidence"] and message.means in row["evidence"]
        assert (row["state"] == "no-setting") == (not message.setting), row
        number += len(message.formats)
    archive = tmp_path / "evidence.txt"
    made = lowlat("capture", "--evidence", "--duration", "0s", "--root", host, archive)
    assert made.status == 0
    assert words(archive) == told
    assert words(write_tree(host, {"var/log/dmesg": re.sub(r"(?m)^\[.*?\] ", "", LOG)})) != told
    assert all("an unknown time" in row["evidence"] for row in words(host))


def test_every_setting_against_a_message_exists() -> None:
    assert all(lookup(message.setting) for message in MESSAGES if message.setting)


def test_a_setting_that_is_in_effect_now_may_have_come_later(tmp_path: Path) -> None:
    host = planned(tmp_path, "--enable", "kernel.sched_rt_runtime_us", files=_REALTIME)
    said = {"var/log/dmesg": f"{DMESG}[  157.924835] sched: RT throttling activated\n"}
    path = "proc/sys/kernel/sched_rt_runtime_us"
    for held, state in (("-1", "unverifiable"), ("950000", "not-applied")):
        (row,) = words(write_tree(host, {**said, path: f"{held}\n"}))
        assert (row["name"], row["state"]) == ("kernel.sched_rt_runtime_us", state)
        assert "kernel message at 157.9 s: sched: RT throttling activated; " in row["evidence"]
