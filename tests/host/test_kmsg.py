# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel messages: from the live kernel (dmesg or the journal), and from a capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from lowlat.host.kmsg import NO_MESSAGES, Messages, parse, read_messages
from lowlat.host.root import Root


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
    assert read_messages(Root(str(tmp_path))) is NO_MESSAGES
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/dmesg").write_text("[  100.0] usb 1-1: new device\n")
    messages = read_messages(Root(str(tmp_path)))
    assert messages is not None and not messages.complete


def _printing(folder: Path, **said: str) -> None:
    for name, body in said.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)


def test_the_journal_is_asked_for_this_boot_where_the_kernel_has_lost_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _printing(
        tmp_path,
        dmesg="echo '[  100.0] usb 1-1: new device'",
        journalctl='echo "Linux version 6.12, asked with $*"',
    )
    messages = read_messages(Root())
    assert messages is not None and messages.complete
    assert "--dmesg --boot" in messages.text
    _printing(tmp_path, journalctl="exit 1")
    assert read_messages(Root()) == Messages("[  100.0] usb 1-1: new device\n", complete=False)


@pytest.mark.parametrize("kept", ["true", "echo denied >&2; exit 1"])
def test_a_kernel_whose_buffer_is_empty_or_closed_has_no_messages(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case of containers, where /dev/null replaces /dev/kmsg, and of ordinary users."""
    monkeypatch.setenv("PATH", str(tmp_path))
    _printing(tmp_path, dmesg=kept, journalctl="exit 1")
    assert read_messages(Root()) is NO_MESSAGES
