# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings, the reasons for them, and whether they held."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.catalogue import BY_NAME
from lowlat.figures.in_effect import rank
from lowlat.figures.measured_arm import Arm
from lowlat.host.kernel_threads import display_name
from lowlat.model import cmdline
from lowlat.model.finding import Finding, Standing
from lowlat.model.plan import Plan
from lowlat.present.tables import Table

#: Parameters that differ between boot entries without being settings.
_OWN = (cmdline.MARKER, "BOOT_IMAGE")

#: The origin and the state of a parameter that a rehearsal adds to every boot, even to stock ones.
OWN = "the rehearsal's own"


@dataclass(frozen=True)
class SettingReason:
    """One setting as written, where it is set, and why."""

    name: str
    written: str
    where: str
    why: str
    source: str


@dataclass(frozen=True)
class SettingReasons:
    """Every setting of the tuned arm; ``origin`` is a sentence on the source of this knowledge."""

    origin: str
    settings: tuple[SettingReason, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(reason.name for reason in self.settings)


def reasons(plan: Optional[Plan], arms: Sequence[Arm]) -> SettingReasons:
    """From the plan, else from the catalogue for the command lines of the runs after."""
    if plan is not None:
        return _planned(plan)
    return SettingReasons(
        "No plan of these runs is known ('report' takes one with --plan FILE): these are the "
        "parameters the runs after had on their command line and those before had not. Settings "
        "made at run time are not among them.",
        tuple(_booted(arms)),
    )


def _planned(plan: Plan) -> SettingReasons:
    boot = [SettingReason(p.name, p.word, "boot", p.why, p.source) for p in plan.parameters]
    runtime: dict[str, SettingReason] = {}
    for item in plan.runtime:
        where, value = display_name(item.target), listed(item.value, item.name)
        reason = SettingReason(item.name, value, where, item.why, item.source)
        runtime.setdefault(item.name, reason)
    return SettingReasons(
        f"From plan {plan.id}, profile {plan.profile}, kernel {plan.kernel or 'unknown'}.",
        (*boot, *runtime.values()),
        tuple((item.name, item.why) for item in plan.skipped),
    )


def _booted(arms: Sequence[Arm]) -> Iterator[SettingReason]:
    before, *others = map(_line, arms)
    for item in dict.fromkeys(item for after in others for item in after if item not in before):
        entry = BY_NAME.get(cmdline.name_of(item))
        if entry:
            yield SettingReason(entry.name, item, "boot", entry.why, entry.source)
        else:
            why = "not a parameter of the catalogue"
            yield SettingReason(cmdline.name_of(item), item, "boot", why, "")


def changes(arms: Sequence[Arm]) -> Iterator[Table]:
    """The words in which each arm's command line differs from the first arm's."""
    first, *others = map(_line, arms)
    rows = [
        (
            arm.name,
            " ".join(item for item in own if item not in first),
            " ".join(item for item in first if item not in own),
        )
        for arm, own in zip(arms[1:], others)
    ]
    if any(row[1] or row[2] for row in rows):
        yield Table((f"beside {arms[0].name}", "has", "has not"), tuple(rows))


def _line(arm: Arm) -> dict[str, None]:
    items = (item for run in arm.runs for item in cmdline.parse(run.cmdline))
    return {item: None for item in items if cmdline.name_of(item) not in _OWN}


@dataclass(frozen=True)
class SettingsShown:
    """The findings of verify in the boots of an arm, lost settings first."""

    arm: str
    rows: tuple[Finding, ...]

    @property
    def counted(self) -> str:
        """The number of settings in each state."""
        counts = Counter(map(stands, self.rows))
        words = (f"{count} {state}" for state, count in counts.items())
        return ", ".join(words) or "nothing was planned"


def effects(arms: Sequence[Arm]) -> tuple[SettingsShown, ...]:
    """The effects in each arm whose boots verify checked."""
    looked = ((arm.name, arm.effect) for arm in arms if arm.effect is not None)
    return tuple(SettingsShown(name, ordered(rows)) for name, rows in looked)


def ordered(settings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of verify, lost settings first."""
    return tuple(sorted(settings, key=lambda row: (row.by == OWN, rank(row))))


def stands(row: Finding) -> str:
    """The state of a setting in words."""
    return OWN if row.by == OWN else row.state.value


def listed(value: Optional[str], name: str) -> str:
    """A setting's value, CPUs as a list."""
    entry = BY_NAME.get(name)
    return entry.reads.listed(value) if entry and value else value or "nothing"


def mark(row: Finding) -> str:
    """A sign beside the state, so that colour is never the only signal."""
    if row.by == OWN or row.state is Standing.NO_SETTING:
        return "–"
    return "✓" if row.state is Standing.EFFECTIVE else "✗" if row.state.lost else "?"
