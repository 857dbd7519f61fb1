# SPDX-License-Identifier: GPL-2.0-or-later
"""Daemons that run on the host, by their process name."""

from lowlat.base import resources
from lowlat.host.root import Root

_TOLD = resources.texts("host/noise.ini")

#: Daemons that also move CPUs, interrupts or frequencies.
MANAGERS = frozenset(name for name in _TOLD.sections() if "manager" in _TOLD[name])


def read_managers(root: Root) -> tuple[str, ...]:
    """Running daemons that also manage CPUs, interrupts or frequency."""
    # One question, so that a capture records no names of other processes.
    return running(root, "managers", MANAGERS)


def running(root: Root, question: str, programs: frozenset[str]) -> tuple[str, ...]:
    """The programs that run; a capture records the answer under the question's name."""
    said = root.answer(question, lambda tree: "\n".join(sorted(_found(tree, programs))))
    return tuple(sorted(programs.intersection(said.split())))


def _found(root: Root, programs: frozenset[str]) -> set[str]:
    # comm holds 15 characters at most
    known = {program[:15]: program for program in programs}
    pids = (name for name in root.names("/proc") if name.isdigit())
    comms = {root.read(f"/proc/{pid}/comm") or "" for pid in pids}
    return {known[comm] for comm in comms if comm in known}
