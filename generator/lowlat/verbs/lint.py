# SPDX-License-Identifier: GPL-2.0-or-later
"""``lint``: judge any boot line word by word for this machine, and against lowlat's line."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Optional

from lowlat.base import bounds, files
from lowlat.base.arguments import option, positional
from lowlat.base.errors import Refused
from lowlat.base.terminal import bold, filled, section
from lowlat.catalogue import BY_NAME
from lowlat.catalogue.entry import Target
from lowlat.catalogue.words import WordVerdict
from lowlat.host.archive import open_root
from lowlat.host.kmsg import UNKNOWN_PARAMETERS, read_messages
from lowlat.host.root import Root
from lowlat.kernel.line import ReadBy, read_words
from lowlat.lint import Against, Lint, lint
from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import Shown
from lowlat.lint.line import the_line
from lowlat.lint.profiles import line_in
from lowlat.model import cmdline
from lowlat.model.plan import Plan, PlannedCpus, PlannedLine, PlannedParameter
from lowlat.plan import profile
from lowlat.probe import probe
from lowlat.probe.kernel import read_release
from lowlat.runtime import settings
from lowlat.verbs import options
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.boot import BootFindings
from lowlat.verify.finding import Standing

_STANDING = {
    Standing.IGNORED: WordVerdict.IGNORED,
    Standing.EFFECTIVE: WordVerdict.EFFECTIVE,
    Standing.UNVERIFIABLE: WordVerdict.ASSUMED,
}


#: A mistyped file must not be judged as a word.
_LIKE_A_FILE = re.compile(r"\.?/[^=]*|[^=\s]*\.(?:cfg|conf|json|txt|ya?ml)")


@dataclass(frozen=True)
class LintArguments:
    line: tuple[str, ...] = positional(
        "LINE|FILE|-",
        "a boot line in quotes; a file that holds one, a TuneD profile or a PerformanceProfile; or "
        "- for standard input; default: the running line",
        (),
        nargs="*",
        action="store",
    )
    profile: str = option(
        "P", "compare with this profile's line; default: %(default)s", profile.DEFAULT
    )
    root: str = options.root()
    kernel: Optional[str] = option("RELEASE", "an installed kernel; default: the running one")
    json: bool = options.as_json()


def main(args: LintArguments) -> int:
    root = open_root(args.root)
    machine = probe(root)
    kernel = read_release(root, args.kernel, machine.kernel)
    text = given(args.line, x86=machine.is_x86)
    running = text is None
    if text is None:
        text = root.read("/proc/cmdline")
        if text is None:
            raise Refused("/proc/cmdline cannot be read", hint="give a line")
    if not read_words(text):
        raise Refused("the boot line is empty", hint="give one in quotes")
    line = LintedLine.of(text, machine, kernel)
    alive = running and kernel == machine.kernel
    wanted = profile.load(args.profile, root)
    result = lint(line, shown(line, root) if alive else {}, wanted)
    ours = result.against.plan
    undone = tuple(run_time(ours, root)) if alive and ours else ()
    document = {**result.to_json(), "runtime": [{"name": n, "why": why} for n, why in undone]}
    options.show(args.json, lambda: document, describe(result, line, undone))
    return 1 if result.bad else 0


def given(arguments: Sequence[str], *, x86: bool) -> Optional[str]:
    """The line from the arguments; None without arguments."""
    if not arguments:
        return None
    text = " ".join(arguments)
    if text == "-":
        text = _decoded(sys.stdin.buffer) if sys.stdin else ""
    elif len(arguments) > 1 or not _is_file(text):
        return the_line(text) if "GRUB_CMDLINE" in text else text
    else:
        with (
            files.reporting_errors(text, "give a file that can be read"),
            Path(text).open("rb") as file,
        ):
            text = _decoded(file)
    if len(text) > bounds.BOOT_LINE:
        raise Refused(f"{arguments[0][:60]}: is too long for a boot line")
    line = line_in(text, x86=x86)
    return the_line(text) if line is None else line


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file() or bool(_LIKE_A_FILE.fullmatch(text))
    except (OSError, ValueError):
        return False


def _decoded(file: BinaryIO) -> str:
    return file.read(bounds.BOOT_LINE + 1).decode("utf-8", "replace")


def shown(line: LintedLine, root: Root) -> Shown:
    """The kernel's evidence for the running line, by parameter."""
    verdicts = {}
    values = {word.name: word.value for word in line.words if word.reader is ReadBy.KERNEL}
    messages = read_messages(root)
    for row in BootFindings(
        Behaviour(_as_plan(values, line.boot_line.target), root), messages, None
    ).rows():
        verdict = _STANDING.get(row.state)
        if verdict is not None:
            verdicts[row.name] = (verdict, row.evidence)
    unknown = UNKNOWN_PARAMETERS.search(messages.text)
    if messages.complete and unknown:
        said = {cmdline.name_of(word) for word in unknown[1].split()}
        taken = (WordVerdict.UNKNOWN, "the kernel accepts it; lowlat does not judge it")
        verdicts.update(
            {name: taken for name in values if name not in verdicts | dict.fromkeys(said)}
        )
    return verdicts


def _as_plan(values: Mapping[str, str], target: Target) -> Plan:
    """The words that the catalogue knows, as a plan, so that verify can check them."""
    parameters = tuple(
        PlannedParameter(name, values[name], entry.why, entry.source, entry.risk.value)
        for name, entry in BY_NAME.items()
        if entry.at_boot and name in values
        # A file that must be gone says nothing of another value: psi=1 keeps it.
        if not (entry.sign and entry.sign.gone) or values[name] == entry.value
    )
    online = target.machine.cpus
    cpus = PlannedCpus(online.online, target.isolated, target.housekeeping, online.offline, ())
    planned = PlannedLine("", parameters)
    return Plan("line", target.kernel.release, cpus, planned, (), (), (), ())


def run_time(plan: Plan, root: Root) -> Iterator[tuple[str, str]]:
    """The run-time settings of lowlat's plan for these CPUs that are not in effect, each once."""
    told: set[str] = set()
    for item in settings.inspect(plan.runtime, root):
        name = item.setting.name
        if item.failed and item.value is not None and name not in told:
            told.add(name)
            yield name, f"{item.path} is {item.value}, lowlat's {item.setting.value}"


def describe(result: Lint, line: LintedLine, undone: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Findings first, then the other verdicts, missing words and lowlat's line."""
    yield bold(f"For kernel {line.kernel.release or 'unknown'}, CPU {line.effect.online}")
    for verdict in WordVerdict:
        words = [word for word in result.words if word.verdict is verdict]
        pairs = ((w.word, f"{w.why}{f' -> {w.fix}' if w.fix else ''}") for w in words)
        if verdict is WordVerdict.UNKNOWN:
            yield from section("Not judged", filled(" ".join(word.word for word in words), "  "))
        else:
            yield from section(verdict.value.capitalize(), _items(pairs))
    yield from section("Missing", _items(result.missing))
    yield from section("The line with this advice followed", _mended(result.mended, line))
    yield from section("Compared with lowlat's line for the same CPUs", _ours(result.against))
    yield from section("Run-time settings that differ from lowlat's", _items(undone))
    yield ""
    bad = sum(word.verdict.bad for word in result.words)
    yield f"words: {len(result.words)}; findings: {bad}; missing: {len(result.missing)}"


def _mended(mended: Optional[str], line: LintedLine) -> Iterator[str]:
    """The difference from the given words, and the whole."""
    if mended is None:
        return
    old, new = line.given.split(), mended.split()
    for sign, words in (("-", _less(old, new)), ("+", _less(new, old))):
        if words:
            yield from filled(f"{sign} {' '.join(words)}", "  ")
    yield from filled(mended, "  ")


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
