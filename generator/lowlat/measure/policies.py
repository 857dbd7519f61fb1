# SPDX-License-Identifier: GPL-2.0-or-later
"""The set-ups of one boot: the same measurement under several scheduling policies, a run each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Optional

from lowlat.measure.options import MeasureOptions
from lowlat.model.policy import parse_policies, word


def set_ups(options: MeasureOptions) -> Iterator[MeasureOptions]:
    """The measurement under each policy of a comma-separated list ("other,fifo:1").

    Where there are several, the label and the named files of each get the policy's word
    ("stock-fifo1", "gaps-fifo1.csv"). Raises Refused where the list is no list.
    """
    policies = () if options.policy is None else parse_policies(options.policy)
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


def _beside(path: Optional[Path], end: str) -> Optional[Path]:
    return path.with_name(f"{path.stem}-{end}{path.suffix}") if path else None


def _text(path: Optional[Path]) -> Optional[str]:
    return str(path) if path else None
