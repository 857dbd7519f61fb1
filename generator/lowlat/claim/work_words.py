# SPDX-License-Identifier: GPL-2.0-or-later
"""The change of the time of a piece of work, in sentences, with the verdict of each kind."""

from collections.abc import Iterable, Iterator, Mapping

from lowlat.claim import verdict
from lowlat.claim.pair import ComparedFigure
from lowlat.claim.verdict import INCREASED, REDUCED, UNCHANGED
from lowlat.figures.measure import Key
from lowlat.figures.work import MEAN, kinds

#: The kind of work that is a system call; one that became slower by this factor is reported.
_CALL = "kill"
_DEARER = 1.05

#: Before and after, over all CPUs.
_Values = Mapping[Key, tuple[float, float]]


def _verdicts(figures: Iterable[ComparedFigure]) -> dict[str, str]:
    """The verdict about each kind of work whose mean time was tested."""
    timed = (one for one in figures if one.name == MEAN and one.cpu == "all")
    return {one.row: verdict.word_of(one) for one in timed if one.p is not None}


def told(figures: Iterable[ComparedFigure]) -> tuple[list[str], list[str]]:
    """What is to be said of work among these figures: what weighs on the claim, and the rest."""
    every = list(figures)
    known = {one.key: (one.before, one.after) for one in every if one.cpu == "all"}
    judged = _verdicts(every)
    return list(_dearer_calls(known, judged)), list(_sentences(known, judged))


def anew(
    flags: Iterable[str], before: Iterable[ComparedFigure], after: Iterable[ComparedFigure]
) -> tuple[str, ...]:
    """The notes of a report whose figures were tested otherwise ``after`` than ``before``."""
    old, new = ([words for part in told(figures) for words in part] for figures in (before, after))
    return (*new, *(flag for flag in flags if flag not in old))


def _sentences(known: _Values, judged: Mapping[str, str]) -> Iterator[str]:
    """The change of the mean time of work in percent, by the verdict of each kind that was
    tested."""
    changes = {kind: _shorter(kind, known) for kind in kinds(known)}
    for word, sign, found in (("shorter", 1, REDUCED), ("longer", -1, INCREASED)):
        own = {kind: sign * one for kind, one in changes.items() if judged.get(kind) == found}
        if own:
            yield f"latency of work {found}: {_span(own)} {word} ({', '.join(own)})"
    same = [kind for kind in changes if judged.get(kind) == UNCHANGED]
    if same:
        yield f"latency of work: no measurable change ({', '.join(same)})"
    for word, sign in (("shorter", 1), ("longer", -1)):
        others = ((kind, one) for kind, one in changes.items() if kind not in judged)
        own = {kind: abs(one) for kind, one in others if round(sign * one) > 0}
        if own:
            yield f"latency of work was {_span(own)} {word} ({', '.join(own)}), which is not tested"


def _dearer_calls(known: _Values, judged: Mapping[str, str]) -> Iterator[str]:
    """A message if a system call takes longer: nohz_full makes entering the kernel slower. Where
    that was tested, the test decides."""
    before, after = known.get(Key("work_p50_ns", row=_CALL), (1.0, 1.0))
    if before and after / before >= _DEARER and judged.get(_CALL, INCREASED) == INCREASED:
        times = f"kill: {before:.0f} ns before, {after:.0f} ns after"
        untested = "" if _CALL in judged else ", which is not tested"
        yield f"a system call takes {after / before:.2f} times as long ({times}){untested}"


def _span(changes: Mapping[str, float]) -> str:
    least, most = (f"{end:.0f}" for end in (min(changes.values()), max(changes.values())))
    return f"{least} %" if least == most else f"{least} to {most} %"


def _shorter(kind: str, known: _Values) -> float:
    """The decrease of the mean in percent; of a sleep, of its time beyond the requested one."""
    before, after = known.get(Key("work_late_ns", row=kind)) or known[Key(MEAN, row=kind)]
    return 100 * (1 - after / before) if before else 0.0
