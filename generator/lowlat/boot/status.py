# SPDX-License-Identifier: GPL-2.0-or-later
"""The applied decision, the tried entries, the next boot, and what is missing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.typed_json import encode
from lowlat.boot import decision as decisions
from lowlat.boot import (
    entry_line,
    places,
    promote,
    rollback,
    transaction,
    trials,
    tuned_plugin,
    tuned_profile,
    way_back,
    way_to_try,
)
from lowlat.boot import journal as journals
from lowlat.boot.added_words import AddedWords
from lowlat.boot.decision import Decision
from lowlat.boot.disk import Disk
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.detect import detect
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Loader
from lowlat.boot.trials import Trials
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.plan import Plan
from lowlat.plan import profile, store
from lowlat.plan.now import NowPlan
from lowlat.plan.online_cpus import difference, read_online
from lowlat.probe.container import read_container, told
from lowlat.probe.kernel import running_release

SCHEMA = "lowlat.status/1"

_WRITES = "'lowlat-gen apply' writes it again"
_REMOVES = "'lowlat-gen rollback' removes what is lowlat's"

#: The fields of a decision that the JSON form shows.
_SHOWN = ("profile", "isolated", "boot", "runtime")


@dataclass(frozen=True)
class Running:
    """The running boot: ``plan`` is the marker on its line, ``ours`` whether it is known."""

    kernel: Optional[str]
    plan: Optional[str]
    ours: bool
    trial: bool


@dataclass(frozen=True)
class Status:
    """The JSON form is the contract lowlat.status/1:

    {"schema", "state": "none"|"applied"|"trial-set"|"tried"|"promoted"|"interrupted",
    "loader": str|null, "decision": {"profile", "isolated": LIST, "boot", "runtime"}|null,
    "default", "next": {"entry", "kernel", "ours": bool}|null,
    "running": {"kernel": str|null, "plan": id|null, "ours": bool, "trial": bool},
    "kernels": [{"kernel", "entry", "plan": id|null, "tried": bool, "default": bool}],
    "edited": [path], "missing": ["boot"|"runtime"], "notes": [str], "loaded": bool,
    "now": {"plan": id, "profile", "isolated": LIST}|null}

    ``kernels`` are those with a tuned entry; ``edited`` the files changed since lowlat wrote
    them; ``missing`` the half that this boot lacks although it has the other one; ``loaded``
    whether ``systemctl kexec`` boots the pending trial; ``now`` what ``apply --now`` isolates
    until the next boot. The form leaves out ``remains``, whether anything can be rolled back,
    ``lost``, whether what was there before cannot be restored, ``trial``, the command that tries
    the plan, "" if only a person can have its line boot, ``by_hand``, whether a person makes it the
    default, and ``added``, the words of a plan that this person's file has.
    """

    loader: Optional[str]
    decision: Optional[Decision]
    boot: BootMenu
    running: Running
    trials: Trials
    plans: dict[str, str]
    remains: bool
    lost: bool
    edited: tuple[str, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    loaded: bool
    trial: str
    by_hand: bool
    added: Optional[AddedWords]
    now: Optional[NowPlan]

    @property
    def state(self) -> str:
        if self.decision is None:
            return "interrupted" if self.remains else "none"
        tuned_ids = {entry.id for entry in self.boot.tuned()}
        default = self.boot.default
        if self.decision.boot == "own" and self.loader and not tuned_ids:
            return "interrupted"
        if default and default.ours and not self.boot.is_edited(default):
            return "promoted"
        if self.loaded or (self.boot.next and self.boot.next.ours):
            return "trial-set"
        return "tried" if any(map(self.is_tried, self.boot.tuned())) else "applied"

    def is_tried(self, entry: BootEntry) -> bool:
        """Whether a trial of this entry's line came up."""
        return entry.id in self.trials.seen and not self.boot.is_edited(entry)

    def to_json(self) -> dict[str, object]:
        made = self.decision
        return {
            "schema": SCHEMA,
            "state": self.state,
            "loader": self.loader,
            "decision": made and {name: encode(getattr(made, name)) for name in _SHOWN},
            "default": _entry_json(self.boot.default),
            "next": _entry_json(self.boot.next),
            "running": vars(self.running),
            "kernels": [
                {
                    "kernel": entry.release,
                    "entry": entry.id,
                    "plan": self.plans.get(entry.release),
                    "tried": self.is_tried(entry),
                    "default": self.boot.default == entry,
                }
                for entry in self.boot.tuned()
            ],
            "edited": list(self.edited),
            "missing": list(self.missing),
            "notes": list(self.notes),
            "loaded": self.loaded,
            "now": self.now and _now_json(self.now.plan),
        }


def read(root: Root) -> Status:
    """Raises Refused if lowlat's own state is damaged."""
    disk = Disk(root)
    decision = decisions.read(root)
    known = trials.read(root)
    journal = journals.read(disk)
    stored = tuple(decisions.all_stored(root))
    plans = {str(plan.kernel): plan.id for plan in stored}
    running = read_boot(root, set(plans.values()))
    loader, boot, notes = _loader(root)
    notes += _unkept(root)
    added = loader.added if isinstance(loader, ByHand) else None
    edited = tuple(transaction.edited(disk, journal))
    inside = read_container(root)
    if inside:
        notes.append(": ".join(told(inside)))
    notes += (
        text
        for plan in stored
        if plan.id == running.plan and (text := difference(plan, read_online(root)))
    )
    notes += [f"{path} was edited since lowlat wrote it" for path in edited]
    gone = transaction.gone(disk, journal) if decision else []
    gone += [*boot.lacking(), *_unmade(boot, stored, decision, loader)]
    notes += [f"{each} is gone: {_WRITES}" for each in gone]
    notes += [f"{each}: {_WRITES}" for each in decisions.damaged(root)]
    notes += tuned_profile.damaged(root)
    notes += loader.differing() if loader else ()
    lost = [f"{one}: {_REMOVES}" for one in rollback.lost(root, loader)]
    notes += lost
    notes += [promote.edited(entry) for entry in boot.edited()]
    if loader and boot.next and boot.next.ours and (why := way_to_try.cannot_once(loader)):
        notes.append(f"the trial is set, but {why}: 'lowlat-gen rollback' cancels it")
    if running.trial and known.failed:
        notes.append(f"this trial does not count: {known.failed}")
    elif failed := known.failed or ("" if running.trial else promote.failure(root, known)):
        notes.append(f"the last trial did not come up: {failed}")
    if decision and decision.boot == "tuned":
        notes += (fault for plan in stored for fault in tuned_plugin.faults(root, boot, plan))
    notes += _differing(root, running, boot)
    notes += _by_person(root, running, set(plans.values()), boot, added)
    if known.promoted and not (boot.default and boot.default.ours):
        notes.append(f"{known.promoted} was promoted and is not the default any more: try it again")
    if decision and decision.runtime == "tuned" and (advice := tuned.advice(root)):
        notes.append(advice)
    missing = tuple(_missing(root, running, decision))
    return Status(
        loader.name if loader else None,
        decision,
        boot,
        running,
        known,
        plans,
        rollback.applied(root, loader),
        bool(lost),
        edited,
        missing,
        tuple(notes),
        promote.waits(root, known),
        way_to_try.command(root, loader, boot),
        isinstance(loader, ByHand),
        added,
        store.now(root),
    )


def read_boot(root: Root, known: set[str]) -> Running:
    """The running boot, by its command line."""
    text = root.read("/proc/cmdline") or ""
    plan = cmdline.marker(text)
    return Running(running_release(root), plan, plan in known, entry_line.is_tried(text))


def _by_person(
    root: Root, running: Running, known: set[str], boot: BootMenu, added: Optional[AddedWords]
) -> Iterator[str]:
    """Words of a plan that a person added or removed without lowlat."""
    back = way_back.read(root)
    if back and back.plan not in known:
        yield f"{back.why}, which is not stored: 'lowlat-gen rollback' prints how to remove them"
    here = running.ours and not running.trial
    if here and added and not added.words and not (boot.default and boot.default.ours):
        yield f"this boot has the words of plan {running.plan}, and {added.path} has not"


def _differing(root: Root, running: Running, boot: BootMenu) -> Iterator[str]:
    """A message if the running line names a plan but is not the tuned line: perhaps a person's."""
    if running.ours and not running.trial:
        for entry in (entry for entry in boot.tuned() if entry.release == running.kernel):
            word = entry_line.same(root.read("/proc/cmdline") or "", entry.words)
            if word is not None:
                yield f"the running line is not that of {entry.id}: '{word[:80]}' differs"


def _unmade(
    boot: BootMenu, stored: Iterable[Plan], made: Optional[Decision], loader: Optional[Loader]
) -> Iterator[str]:
    """The tuned entries that are gone although their kernels boot."""
    if made is None or made.boot != "own" or isinstance(loader, ByHand):
        return
    there = {entry.release for entry in boot.tuned()}
    for release in (str(plan.kernel) for plan in stored):
        if release not in there and boot.stock(release):
            yield f"the tuned entry of Linux {release}"


def _loader(root: Root) -> tuple[Optional[Loader], BootMenu, list[str]]:
    try:
        loader = detect(root)
        return loader, loader.describe(), []
    except LowlatError as error:
        return None, BootMenu(()), [str(error)]


def _unkept(root: Root) -> Iterator[str]:
    """A message if what apply would write is gone with this boot."""
    try:
        places.check_state(root)
    except Refused as error:
        yield str(error)


def _missing(root: Root, running: Running, decision: Optional[Decision]) -> list[str]:
    active = tuned.active_profiles(root)
    names = {*active, *(part.name for name in active for part in tuned.chain(root, name))}
    by_tuned = bool(names.intersection((tuned.LOCAL, *profile.names(root))))
    if running.ours and not by_tuned and decision and decision.runtime == "tuned":
        return ["runtime"]
    return ["boot"] if by_tuned and not running.ours else []


def _now_json(plan: Plan) -> dict[str, object]:
    return {"plan": plan.id, "profile": plan.profile, "isolated": str(plan.isolated)}


def _entry_json(entry: Optional[BootEntry]) -> Optional[dict[str, object]]:
    if entry is None:
        return None
    return {"entry": entry.id, "kernel": entry.release, "ours": entry.ours}
