# SPDX-License-Identifier: GPL-2.0-or-later
"""``status``: what is applied, tried, and booted next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lowlat.boot import status
from lowlat.boot.loaders.interface import BootEntry
from lowlat.boot.status import Status
from lowlat.host.archive import open_root
from lowlat.verbs import options

_STATES = {
    "none": "nothing is applied",
    "applied": "applied, not tried yet: 'lowlat-gen trial' boots it once",
    "trial-set": "the next boot is the trial: reboot when it suits",
    "tried": "tried: 'lowlat-gen promote' makes it the default",
    "promoted": "promoted: the tuned entry is the default",
    "interrupted": "a change was interrupted: 'lowlat-gen rollback' takes it back",
}

_LOADED = "the trial is loaded: run 'systemctl kexec' when it suits"


@dataclass(frozen=True)
class StatusArguments:
    root: str = options.root()
    json: bool = options.as_json()


def main(asked: StatusArguments) -> int:
    found = status.read(open_root(asked.root))
    options.show(asked.json, found.to_json, _describe(found))
    return 0


def _describe(found: Status) -> Iterator[str]:
    yield _LOADED if found.loaded else _STATES[found.state]
    made = found.decision
    if made is not None:
        yield f"decision  profile {made.profile}, isolated CPUs {made.isolated or 'none'}"
    yield f"loader    {found.loader or 'not known'}"
    if found.boot.default:
        yield f"default   {_named(found.boot.default)}"
    if found.boot.next:
        yield f"next      {_named(found.boot.next)}, once"
    running = found.running
    kind = "a trial" if running.trial else "tuned" if running.ours else "stock"
    yield f"running   Linux {running.kernel or 'unknown'}, {kind}"
    for entry in found.boot.tuned():
        tried = "tried" if entry.id in found.trials.seen else "not tried yet"
        yield f"kernel    {entry.release}: {entry.id}, {tried}"
    for half in found.missing:
        yield f"missing   the {'boot' if half == 'boot' else 'run-time'} half is not in effect"
    for note in found.notes:
        yield f"note      {note}"


def _named(entry: BootEntry) -> str:
    return f"{entry.id} ({'tuned' if entry.ours else 'stock'}, Linux {entry.release or 'unknown'})"
