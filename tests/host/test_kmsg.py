# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel messages: the records of /dev/kmsg, and the live kernel's own where it can be read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lowlat.base import process
from lowlat.host.kmsg import parse, parse_record, read_journal, read_messages
from lowlat.host.root import Root


def test_a_record_loses_its_prefix_its_properties_and_its_escapes() -> None:
    record = "6,117,291966,-;rcu: \\x09Offload RCU callbacks from CPUs: 2-3.\n SUBSYSTEM=cpu\n"
    assert parse_record(record) == "rcu: \tOffload RCU callbacks from CPUs: 2-3."


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="/dev/kmsg cannot be read here")
def test_the_live_messages_are_read_to_their_end() -> None:
    shown = process.run(["dmesg"], timeout=20)
    if shown.status or not shown.stdout:
        pytest.skip("dmesg has nothing to show here")
    messages = read_messages(Root())
    assert messages is not None
    assert parse(process.last_line(shown.stdout)).text in messages.text


def test_a_device_that_is_empty_has_no_messages() -> None:
    """As in containers, where /dev/null stands in its place; in a process that can be ended."""
    code = "from lowlat.host import kmsg; kmsg.DEVICE = '/dev/null'; print(kmsg._read_kernel())"
    done = process.run([sys.executable, "-c", code], timeout=30)
    assert (done.status, done.stdout) == (0, "None\n")


@pytest.mark.parametrize(
    "prefix", ["", "[    0.000000] ", "<6>[   12.345678] ", "[    0.1234][    T0] "]
)
def test_a_line_of_dmesg_loses_level_time_and_caller(prefix: str) -> None:
    text = f"{prefix}Linux version 6.12\n{prefix}rcu: \\x09Offload RCU callbacks from CPUs: 2-3.\n"
    messages = parse(text)
    assert messages.text == "Linux version 6.12\nrcu: \tOffload RCU callbacks from CPUs: 2-3.\n"
    assert messages.complete


def test_messages_without_their_start_are_not_complete(tmp_path: Path) -> None:
    assert not parse("[  100.0] usb 1-1: new device\n").complete
    assert read_messages(Root(str(tmp_path))) is None
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/dmesg").write_text("[  100.0] usb 1-1: new device\n")
    messages = read_messages(Root(str(tmp_path)))
    assert messages is not None and not messages.complete


def test_the_journal_is_asked_for_this_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "journalctl"
    program.write_text('#!/bin/sh\necho "Linux version 6.12, asked with $*"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    messages = read_journal()
    assert messages is not None and messages.complete
    assert "--dmesg --boot" in messages.text
    program.write_text("#!/bin/sh\nexit 1\n")
    assert read_journal() is None
