# SPDX-License-Identifier: GPL-2.0-or-later
"""What weakens a claim, each kind with its effect on the verdict and on a gate."""

from dataclasses import dataclass
from enum import Enum


class CaveatEffect(Enum):
    """The status of ``report`` follows the gate: 1 if one is asked for and missed."""

    #: Verdict and gate are as without it.
    NOTE = "note"
    #: The test is made at a stricter level, for verdict and gate.
    STRICTER = "stricter"
    #: The lost boots count against the claim. If it does not hold with them: as FORBIDS.
    COUNTED = "counted-against"
    #: The verdict is "descriptive-only", and every gate is missed.
    FORBIDS = "forbids"


class Caveat(Enum):
    """A kind of what weakens a claim."""

    MISSING = "missing", CaveatEffect.COUNTED
    NOT_ENDED = "not-ended", CaveatEffect.COUNTED
    LEFT_OUT = "left-out", CaveatEffect.COUNTED
    HOST_MISSING = "host-missing", CaveatEffect.COUNTED
    OF_NO_BOOT = "of-no-boot", CaveatEffect.FORBIDS
    AGAINST_ORDER = "against-order", CaveatEffect.FORBIDS
    MEASURED_TWICE = "measured-twice", CaveatEffect.FORBIDS
    MEASURED_LATE = "measured-late", CaveatEffect.FORBIDS
    OTHER_LINE = "other-line", CaveatEffect.FORBIDS
    OTHER_ENDPOINT = "other-endpoint", CaveatEffect.FORBIDS
    WRITTEN_AFTER = "written-after", CaveatEffect.FORBIDS
    CAMPAIGN_GONE = "campaign-gone", CaveatEffect.FORBIDS
    ORDER_NOT_DRAWN = "order-not-drawn", CaveatEffect.STRICTER
    ORDER_NOT_KNOWN = "order-not-known", CaveatEffect.STRICTER
    NOT_REGISTERED = "not-registered", CaveatEffect.NOTE
    KEXEC = "kexec", CaveatEffect.NOTE
    DISCARD = "discard", CaveatEffect.NOTE
    SAME_LINE = "same-line", CaveatEffect.NOTE
    KERNELS = "kernels", CaveatEffect.NOTE

    def __init__(self, word: str, effect: CaveatEffect) -> None:
        self.word = word
        self.effect = effect


@dataclass(frozen=True)
class FoundCaveat:
    """A caveat of some runs, in a sentence without a full stop."""

    kind: Caveat
    text: str

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind.word, "effect": self.kind.effect.value, "text": self.text}
