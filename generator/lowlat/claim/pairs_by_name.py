# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other tools as boots: their names declare which of one arm and of another are a pair."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lowlat.base.errors import Refused
from lowlat.figures.measured_arm import Arm


def paired(arms: Sequence[Arm]) -> list[Arm]:
    """Each file a boot of its own, the pairs in the order of their names (without the end, such as
    ".txt"). Raises Refused if a run is lowlat's, or a name lacks its partner."""
    for run in (run for arm in arms for run in arm.runs):
        if not run.imported:
            why = f"--pairs-by-name: {run.path.name} is a run of lowlat and names its boot"
            raise Refused(why, hint="leave out the option")
    names = [[run.path.stem for run in arm.runs] for arm in arms]
    for arm, own in zip(arms, names):
        _check(arm.name, own, {name for other in names for name in other})
    place = {name: number for number, name in enumerate(sorted(names[0]))}
    return [
        replace(
            arm,
            runs=tuple(
                replace(run, boot_id=f"{arm.name}/{run.path.stem}", pair=place[run.path.stem])
                for run in arm.runs
            ),
        )
        for arm in arms
    ]


def _check(arm: str, own: Sequence[str], everywhere: Iterable[str]) -> None:
    missing = sorted(set(everywhere) - set(own))
    twice = [name for name, count in Counter(own).items() if count > 1]
    if missing or twice:
        wrong = f"no file {missing[0]}" if missing else f"two files {twice[0]}"
        hint = "give files of the same names before and after"
        raise Refused(f"--pairs-by-name: {arm} has {wrong}", hint=hint)
