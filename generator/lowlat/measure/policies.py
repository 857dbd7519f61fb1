# SPDX-License-Identifier: GPL-2.0-or-later
"""The set-ups of one boot: the same measurement under several scheduling policies, a run each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.harness import MeasureOptions

#: As lowlat-measure has them; it checks the numbers.
_POLICY = re.compile(r"other|fifo:\d{1,2}|deadline:\d+[a-z]+/\d+[a-z]+", re.ASCII)


def set_ups(options: MeasureOptions) -> Iterator[MeasureOptions]:
    """The measurement under each policy of a comma-separated list ("other,fifo:1").

    Where there are several, the label and the named files of each get the policy's word
    ("stock-fifo1", "gaps-fifo1.csv"). Raises Refused where the list is no list.
    """
    policies = () if options.policy is None else _parse(options.policy)
    if len(policies) < 2:
        yield options
        return
    for policy in policies:
        end = word(policy)
        yield replace(
            options,
            label=f"{options.label}-{end}",
            policy=policy,
            out=_beside(options.out, end),
            events=_text(_beside(Path(options.events) if options.events else None, end)),
        )


def _parse(text: str) -> tuple[str, ...]:
    policies = tuple(text.split(","))
    for number, policy in enumerate(policies):
        if not _POLICY.fullmatch(policy) or policy in policies[:number]:
            raise Refused(
                f"--policy {text[:100]!r}: {policy!r} is no scheduling policy, or named twice",
                hint="use other, fifo:N or deadline:RUNTIME/PERIOD, several as in other,fifo:1",
            )
    return policies


def word(policy: str) -> str:
    """A policy as part of a label: "deadline5ms-10ms" for "deadline:5ms/10ms"."""
    return re.sub(r"[^A-Za-z0-9._-]", "", policy.replace("/", "-"))


def _beside(path: Optional[Path], end: str) -> Optional[Path]:
    return path.with_name(f"{path.stem}-{end}{path.suffix}") if path else None


def _text(path: Optional[Path]) -> Optional[str]:
    return str(path) if path else None
