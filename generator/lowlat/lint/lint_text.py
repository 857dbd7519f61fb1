# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdicts on a line as text: what matters in a few rows, or everything."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lowlat.base.terminal import bold, columns, filled, plain, section
from lowlat.catalogue.entry import Risk
from lowlat.catalogue.words import WordVerdict
from lowlat.lint import Against, Lint
from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import JudgedWord
from lowlat.lint.opinion import KEEP

#: The findings that get a row each.
_ROWS = 4

#: The width of a row's label, and of a word before its reason.
_LABEL, _WORD = 14, 40

#: The prices that get a row.
_GRAVE = (Risk.SECURITY, Risk.HIDES_FAULTS, Risk.STARVATION, Risk.POWER)

#: Run-time settings that are not as lowlat sets them: names and reasons.
Undone = Sequence[tuple[str, str]]


def short(result: Lint, line: LintedLine, undone: Undone) -> Iterator[str]:
    """The findings, worst first, what is missing, and the difference to the mended line."""
    count = f"words: {len(result.words)}; --all tells every reason"
    yield from map(bold, filled(f"{_head(line)} ({count})"))
    rows = [*_findings(result), *_lacks(result)]
    yield from rows
    if not rows:
        yield from _needless(result)
    yield from _costly(result)
    yield from _difference(result, line)
    if not rows and result.mended is None:
        yield "  nothing to mend"
    others = [word.word for word in result.words if word.verdict is WordVerdict.UNKNOWN]
    if others:
        yield _row("not judged", _words(others))
    yield from _compared(result.against)
    if undone:
        yield _row(
            "at run time", f"other values than lowlat's: {_words(name for name, _ in undone)}"
        )


def _head(line: LintedLine) -> str:
    return f"For kernel {line.kernel.release or 'unknown'}, CPU {line.effect.online}"


def _findings(result: Lint) -> Iterator[str]:
    """The worst findings with the beginning of their reasons, then the words of the others."""
    found = [
        w for verdict in WordVerdict if verdict.bad for w in result.words if w.verdict is verdict
    ]
    for word in found[:_ROWS]:
        yield _row(word.verdict.value, f"{_cut(word.word)}: {word.why}")
    if found[_ROWS:]:
        yield _row("bad as well", _words(word.word for word in found[_ROWS:]))


def _lacks(result: Lint) -> Iterator[str]:
    return (_row("missing", f"{_cut(word)}: {why}") for word, why in result.missing)


def _needless(result: Lint) -> Iterator[str]:
    """The words that go because they change nothing: of a single one the reason."""
    found = [word for word in result.words if word.verdict is WordVerdict.REDUNDANT]
    why = f": {found[0].why}" if len(found) == 1 else ""
    if found:
        yield _row(WordVerdict.REDUNDANT.value, f"{_words(word.word for word in found)}{why}")


def _costly(result: Lint) -> Iterator[str]:
    """The words that take effect at a price which lowlat does not pay unasked."""
    plan = result.against.plan
    ours = {parameter.name for parameter in plan.parameters} if plan else set()
    costly = [
        word
        for word in result.words
        if word.risk in _GRAVE and not word.verdict.bad and word.entry not in ours
    ]
    by_price = [(risk, [one.word for one in costly if one.risk is risk]) for risk in _GRAVE]
    text = "; ".join(
        f"{risk.value.replace('-', ' ')}: {_words(words)}" for risk, words in by_price if words
    )
    if text:
        yield from filled(text, f"  {'costly'.ljust(_LABEL)}", " " * (_LABEL + 2))


def _compared(ours: Against) -> Iterator[str]:
    """The difference from lowlat's line. Many words that it leaves out are only counted."""
    out = [each.word for each in ours.leaves_out]
    adds = f"adds {_words(each.word for each in ours.adds)}" if ours.adds else ""
    for left in (f"leaves out {_words(out)}", f"leaves out {len(out)} words") if out else ("",):
        row = _row("lowlat", "; ".join(filter(None, (left, adds))))
        if not row.endswith(" …"):
            break
    if out or adds:
        yield row


def _words(words: Iterable[str]) -> str:
    return " ".join(map(_cut, words))


def _row(label: str, text: str) -> str:
    """One row, which ends with "…" where the text does not fit."""
    head = f"  {label.ljust(_LABEL)}"
    return head + textwrap.shorten(plain(text), columns() - len(head), placeholder=" …")


def _cut(word: str) -> str:
    most = min(_WORD, columns() - _LABEL - 4)
    return word if len(word) <= most else f"{word[: most - 1]}…"


def whole(result: Lint, line: LintedLine, undone: Undone) -> Iterator[str]:
    """Findings first, then the other verdicts, missing words and lowlat's line."""
    yield bold(_head(line))
    for verdict in WordVerdict:
        words = [word for word in result.words if word.verdict is verdict]
        if verdict is WordVerdict.UNKNOWN:
            yield from section("Not judged", filled(" ".join(word.word for word in words), "  "))
        else:
            yield from section(verdict.value.capitalize(), _items(map(_told, words)))
    yield from section("Missing", _items(result.missing))
    yield from section("The line with this advice followed", _mended(result, line))
    yield from section("Compared with lowlat's line", _ours(result.against))
    yield from section("Run-time settings that differ from lowlat's", _items(undone))
    bad = sum(word.verdict.bad for word in result.words)
    yield ""
    yield f"words: {len(result.words)}; findings: {bad}; missing: {len(result.missing)}"


def _told(word: JudgedWord) -> tuple[str, str]:
    return word.word, f"{word.why}{f' -> {word.fix}' if word.fix else ''}"


def _mended(result: Lint, line: LintedLine) -> Iterator[str]:
    yield from _difference(result, line)
    kept = Counter((result.mended or line.given).split())
    bad = (word for word in result.words if word.verdict.bad and word.put is None)
    left = [word.word for word in bad if kept[word.word] and word.fix != KEEP]
    if left:
        yield from filled(f"left to you: {' '.join(left)}", "  ", "    ")
    if result.mended is not None:
        yield from filled(result.mended, "  ")


def _difference(result: Lint, line: LintedLine) -> Iterator[str]:
    """The words that go and those that come, or why there is no such line."""
    if result.unmended:
        yield from filled(f"no line to offer: {result.unmended}", "  ")
    if result.mended is None:
        return
    old, new = line.given.split(), result.mended.split()
    for sign, words in (("-", _less(old, new)), ("+", _less(new, old))):
        if words:
            yield from filled(f"{sign} {' '.join(words)}", "  ", "    ")


def _less(words: Sequence[str], others: Sequence[str]) -> list[str]:
    left = Counter(words) - Counter(others)
    return list(left.elements())


def _ours(ours: Against) -> Iterator[str]:
    yield from filled(ours.plan.cmdline.text if ours.plan else ours.why or "", "  ")
    for title, differences in (("lowlat adds", ours.adds), ("lowlat leaves out", ours.leaves_out)):
        yield from _items((f"{title} {d.word}", f"{d.why}; costs: {d.cost}") for d in differences)


def _items(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for label, text in pairs:
        yield from filled(label, "  ")
        yield from filled(text, "      ")
