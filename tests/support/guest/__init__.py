# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels and machines in an emulator: what they are made from, boot, and leave behind.

Locks and what runs in a guest lie in ``tests/vm``, beside the tests.
"""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]

#: The locks, the image's recipe, and what runs in a guest.
VM = REPOSITORY / "tests/vm"
