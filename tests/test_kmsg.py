# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel messages: the records of /dev/kmsg, and the live kernel's own where it can be read."""

from __future__ import annotations

import os

import pytest

from lowlat.kmsg import parse_record, read_messages
from lowlat.root import Root


def test_a_record_loses_its_prefix_its_properties_and_its_escapes() -> None:
    record = "6,117,291966,-;rcu: \\x09Offload RCU callbacks from CPUs: 2-3.\n SUBSYSTEM=cpu\n"
    assert parse_record(record) == "rcu: \tOffload RCU callbacks from CPUs: 2-3."


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="/dev/kmsg cannot be read here")
def test_the_live_messages_are_read_to_their_end() -> None:
    messages = read_messages(Root())
    assert messages is None or messages.text
