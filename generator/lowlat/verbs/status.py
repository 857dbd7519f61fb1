# SPDX-License-Identifier: GPL-2.0-or-later
"""``status``: what is applied, what was tried, and what boots next."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat import __version__
from lowlat.base import resources
from lowlat.base.terminal import bold, filled, item, say, section
from lowlat.boot import status, way_to_try
from lowlat.boot.loaders.interface import BootEntry
from lowlat.boot.status import Status
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.machine import Machine
from lowlat.probe import probe
from lowlat.probe.container import told
from lowlat.verbs import chosen_plan, options, refusals

#: By state: its meaning ("is"), then each next command, or commands of which the first counts that
#: is not refused, and the purpose.
_STATES = resources.texts("verbs/status.ini")


_NOW = "isolated now, until the next boot"


@dataclass(frozen=True)
class StatusArguments:
    root: str = options.root()
    json: bool = options.as_json()


def main(args: StatusArguments) -> int:
    root = open_root(args.root)
    found = status.read(root)
    options.show(args.json, found.to_json, _describe(found, root))
    return 0


def standing() -> int:
    """Print this machine's state and the next step, as lowlat-gen does without a verb."""
    root = Root()
    for line in _standing(status.read(root), probe(root), root):
        say(line)
    return 0


def _standing(found: Status, machine: Machine, root: Root) -> Iterator[str]:
    (_, meaning), *steps = _texts(found, root)
    yield bold(f"lowlat {__version__}: {meaning}")
    yield from item("machine", machine.processor.model or machine.arch or "unknown")
    yield from item("CPUs", f"{machine.cpus.online}; isolated: {machine.cpus.isolated or 'none'}")
    if found.now:
        yield from item("now", f"{_NOW}: CPU {found.now.plan.isolated}")
    yield from item("running", _running(found))
    if machine.container:
        yield from item("container", f"{machine.container}: {told(machine.container)[1]}")
    shown = (refusals.offered_step(ways.split(" | "), why, root) for ways, why in steps)
    yield from section("Next", (line for step in shown if step for line in item(*step)))
    yield ""
    yield "'lowlat-gen doctor' shows what is missing here, 'lowlat-gen help' all verbs."


def _texts(found: Status, root: Root) -> list[tuple[str, str]]:
    """The meaning of the state, under "is", then each next command with its purpose."""
    state = "loaded" if found.loaded else found.state
    ways = {
        "refused": state == "applied" and found.trial and refusals.refusal(found.trial, root),
        "added": found.by_hand and not found.running.ours,
        "kexec": found.trial == way_to_try.BY_KEXEC,
        "either": found.trial == way_to_try.EITHER,
        "hand": found.by_hand,
        "lost": found.lost,
    }
    names = (*(f"{state}-{way}" for way, here in ways.items() if here), state)
    return list(_STATES[next(name for name in names if name in _STATES)].items())


def _running(found: Status) -> str:
    running = found.running
    kind = _kind(found, running.plan)
    if running.trial:
        kind = "a trial" if running.ours else f"a trial of {kind}"
    return f"Linux {running.kernel or 'unknown'}, {kind}"


def _kind(found: Status, plan: Optional[str]) -> str:
    """What a line is by the plan that it names."""
    if plan is None:
        return "stock"
    return "tuned" if plan in found.plans.values() else "a plan that is no longer stored"


def _describe(found: Status, root: Root) -> Iterator[str]:
    yield _texts(found, root)[0][1]
    if found.now:
        plan = found.now.plan
        yield f"now       {_NOW}: {chosen_plan.summary(plan.profile, plan.isolated)}"
    made = found.decision
    if made is not None:
        yield f"decision  {chosen_plan.summary(made.profile, made.isolated)}"
    yield f"loader    {found.loader or 'not known'}"
    if found.boot.default:
        yield f"default   {_named(found, found.boot.default)}"
    if found.boot.next:
        yield f"next      {_named(found, found.boot.next)}, once"
    yield f"running   {_running(found)}"
    for entry in found.boot.tuned():
        tried = "tried" if found.is_tried(entry) else "not tried yet"
        yield f"kernel    {entry.release}: {_called(found, entry)}, {tried}"
    for half in found.missing:
        what = "boot parameters" if half == "boot" else "run-time settings"
        yield f"missing   the {what} are not in effect"
    for note in found.notes:
        yield from filled(note, "note      ", " " * 10)


def _called(found: Status, entry: BootEntry) -> str:
    """Its id, or its line where a person adds that."""
    plan = cmdline.marker(" ".join(entry.words))
    return f"the line with {cmdline.MARKER}={plan}" if found.by_hand and plan else entry.id


def _named(found: Status, entry: BootEntry) -> str:
    if entry.is_others:
        return f"{entry.id} (another system's, or a person's)"
    kind = "tuned" if entry.ours else _kind(found, cmdline.marker(" ".join(entry.words)))
    edited = ", changed since lowlat wrote it" if found.boot.is_edited(entry) else ""
    place = f", which {found.added.path} has" if found.added and found.added.words else ""
    return f"{_called(found, entry)}{place} ({kind}{edited}, Linux {entry.release or 'unknown'})"
