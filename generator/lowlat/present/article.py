# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the article on osnoise, of one's own machine: a row for each set-up, as it is and
tuned, under each scheduling policy.

D. B. de Oliveira, D. Casini, T. Cucinotta, "Operating System Noise in the Linux Kernel", IEEE
Transactions on Computers 72(1), 2023: the share of noise with its range, the longest single noise,
and the interruptions by class.
"""

from collections.abc import Iterator, Sequence

from lowlat.base.encode import markdown
from lowlat.base.errors import Refused
from lowlat.base.terminal import filled
from lowlat.claim.description import Description, describe, left_out
from lowlat.figures import pooling
from lowlat.figures.endpoint import ALONE, POOLED_NOISE
from lowlat.figures.figures import CLASS_MAXIMA, KINDS
from lowlat.figures.measure import Key
from lowlat.figures.measured_arm import Arm
from lowlat.present import as_markdown, as_text, osnoise
from lowlat.present.osnoise import OsnoiseArm
from lowlat.present.tables import Table, with_rows
from lowlat.present.wording import number

TITLE = "OS noise by set-up, as in the article on osnoise"
_NOTE = (
    "of all runs together, least and greatest of their boots; by class the number of events, and "
    "their total time in ms; the table describes, a claim needs the report of one policy; after "
    "de Oliveira, Casini and Cucinotta, Operating System Noise in the Linux Kernel, 2023"
)
_NOISE = next(one for one in ALONE if one.name == POOLED_NOISE)


def text(arms: Sequence[Arm]) -> str:
    """The table for a terminal, and the longest noises with their causes. Raises Refused if a
    run is another tool's, the CPUs were emulated, or none was measured in all runs of an arm."""
    lines = [TITLE, ""]
    for table in _tables(arms):
        lines += [*as_text.aligned(table), ""]
    for note in _notes(arms):
        lines += filled(f"Note: {note}")
    return "\n".join(lines).rstrip() + "\n"


def ticket(arms: Sequence[Arm]) -> str:
    """The same in Markdown. Raises Refused as text() does."""
    lines = [f"**{TITLE}**", ""]
    for table in _tables(arms):
        lines += [*as_markdown.ruled(table), ""]
    lines += [f"- {markdown(note)}" for note in _notes(arms)]
    return "\n".join(lines).rstrip() + "\n"


def _tables(arms: Sequence[Arm]) -> tuple[Table, ...]:
    others = (run.imported for arm in arms for run in arm.runs if run.imported)
    if other := next(others, None):
        why = f"--article: a file of {other.tool} has no share of noise and no classes"
        raise Refused(why, hint="give runs of 'lowlat-gen measure'")
    if any(run.emulated for arm in arms for run in arm.runs):
        why = "the CPUs of these runs are emulated: durations mean nothing there"
        raise Refused(f"--article: {why}", hint="measure on hardware")
    set_ups = [(arm, describe(arm)) for arm in _set_ups(arms)]
    gaps = [gap for _, told in set_ups for gap in told.longest_gaps]
    longest = Table.of(osnoise.gaps(gaps, arms[0].sets))
    return with_rows((Table.of(_rows(set_ups), _NOTE), Table.of(_by_class(set_ups)), longest))


def _set_ups(arms: Sequence[Arm]) -> Iterator[Arm]:
    split = [arm.by_policy() for arm in arms]
    for policy in dict.fromkeys(policy for own in split for policy in own):
        yield from (own[policy] for own in split if policy in own)


def _rows(set_ups: Sequence[tuple[Arm, Description]]) -> Iterator[tuple[str, ...]]:
    told = [OsnoiseArm(arm.name, one.seconds, one.by_key) for arm, one in set_ups]
    header, *rows = osnoise.rows(told, ("all",), {})
    beside = 2 if len(told) > 1 else 1  # the CPU, and the arm where there are several
    yield ("set-up", "boots", "least, %", "greatest, %", *header[beside:])
    for (arm, one), row in zip(set_ups, rows):
        each = (pooling.of_runs(boot, one.cpus, (_NOISE,)) for boot in arm.boots)
        boots = [own[_NOISE.key()] for own in each if _NOISE.key() in own]
        ends = (number(end(boots) / 1e4) if boots else "-" for end in (min, max))
        yield (arm.name, str(len(arm.boots)), *ends, *row[beside:])


def _by_class(set_ups: Sequence[tuple[Arm, Description]]) -> Iterator[tuple[str, ...]]:
    """The longest event of each class."""
    keys = [Key(CLASS_MAXIMA, row=kind) for kind in KINDS]
    known = [key for key in keys if any(key in one.by_key for _, one in set_ups)]
    if known:
        yield ("the longest by class, us", *(key.row for key in known))
        for arm, one in set_ups:
            yield (arm.name, *(osnoise.cell(one.by_key.get(key), 1e3) for key in known))


def _notes(arms: Sequence[Arm]) -> Iterator[str]:
    yield from dict.fromkeys(arm.kernels for arm in arms if arm.kernels)
    yield from (note for arm in _set_ups(arms) for note in left_out(arm))
    if not any(cpu.causes for arm in arms for run in arm.runs for cpu in run.cpus):
        yield "no run has causes, so there are no classes: measure --causes"
    if {run.policy for arm in arms for run in arm.runs} <= {"other"}:
        yield "the article measures under fifo:1 too: measure --policy other,fifo:1"
