# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal of the run-time settings: on disk before each write, and gone with the next boot."""

import json
from dataclasses import dataclass, field

from lowlat.base.errors import LowlatError
from lowlat.base.schema import stamped
from lowlat.base.typed_json import decode, encode_fields
from lowlat.host import runstate
from lowlat.host.root import BOOT_ID, Root
from lowlat.runtime import cgroup, targets

#: The values before ``start``, and the outcome of each write. A reboot clears /run.
JOURNAL = "/run/lowlat/runtime.json"

SCHEMA = "lowlat.runtime/1"


@dataclass(frozen=True)
class RuntimeRecord:
    """By path: the values before ``start``, the reasons why the kernel refused a value (as for
    managed and per-CPU interrupts), and the values that were effective after ``start``. ``old``
    also records how each control group was made; ``shown`` is what a path showed before ``start``
    where that is not the text to write."""

    old: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, text in (pair for held in vars(self).values() for pair in held.items()):
            if not targets.is_path(path) and not cgroup.is_key(path):
                raise ValueError("no path of a setting")
            text.encode()

    def settled(self, path: str) -> bool:
        """Whether a value is final. It is not where a verb was killed before irqbalance took its
        message."""
        return targets.lasts(path) or path not in self.old or path in self.done


def read(root: Root) -> RuntimeRecord:
    """The journal of this boot; empty before ``start``, or if it comes from another boot. Raises
    LowlatError if it is damaged or, for root, if others can write it."""
    root.check_owned(JOURNAL)
    try:
        document = json.loads(root.read(JOURNAL) or "{}")
        if document.get("boot") not in (None, root.read(BOOT_ID)):
            return RuntimeRecord()
        return decode(RuntimeRecord, document)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        hint = "remove it: the old values are back after a reboot"
        raise LowlatError(f"{JOURNAL} is damaged", hint=hint) from error


def write(root: Root, journal: RuntimeRecord) -> None:
    """Keep the journal, synced to disk. Raises Refused if that fails."""
    document = stamped(SCHEMA, {"boot": root.read(BOOT_ID), **encode_fields(journal)})
    runstate.keep(root, JOURNAL, json.dumps(document, indent=1))
