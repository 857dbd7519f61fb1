# SPDX-License-Identifier: GPL-2.0-or-later
"""``lint``: judge any boot line word by word for this machine, and against lowlat's line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import Refused
from lowlat.base.terminal import filled
from lowlat.catalogue import BY_NAME, operator
from lowlat.catalogue.entry import Target
from lowlat.catalogue.operator import Version
from lowlat.catalogue.performance_profile import ProfileSpec
from lowlat.catalogue.words import WordVerdict
from lowlat.host.archive import open_root
from lowlat.host.kmsg import UNKNOWN_PARAMETERS, read_messages
from lowlat.host.root import Root
from lowlat.kernel.line import ReadBy, read_words
from lowlat.lint import Lint, lint
from lowlat.lint.booted import LintedLine
from lowlat.lint.judge import Shown
from lowlat.lint.lint_text import short, whole
from lowlat.lint.must_gather import read_must_gather
from lowlat.lint.nodes import lint_node, nodes_json, nodes_text
from lowlat.lint.profiles import origins
from lowlat.lint.source import Source
from lowlat.model import cmdline
from lowlat.model.finding import Standing
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan, PlannedCpus, PlannedLine, PlannedParameter
from lowlat.plan import profile
from lowlat.plan.profile import Profile
from lowlat.probe import probe
from lowlat.probe.kernel import read_release
from lowlat.runtime import settings
from lowlat.verbs import options
from lowlat.verify.behaviour import Behaviour
from lowlat.verify.boot import BootFindings

_STANDING = {
    Standing.IGNORED: WordVerdict.IGNORED,
    Standing.EFFECTIVE: WordVerdict.EFFECTIVE,
    Standing.UNVERIFIABLE: WordVerdict.ASSUMED,
}


@dataclass(frozen=True)
class LintArguments:
    line: tuple[str, ...] = positional(
        "LINE|FILE|-",
        "a boot line in quotes; a file that holds one, a TuneD profile or a PerformanceProfile; an "
        "OpenShift must-gather; or - for standard input; default: the running line",
        (),
        nargs="*",
        action="store",
    )
    profile: str = option(
        "P", "compare with this profile's line; default: %(default)s", profile.DEFAULT
    )
    root: str = options.root()
    kernel: Optional[str] = option("RELEASE", "an installed kernel; default: the running one")
    openshift: Optional[str] = option(
        "VERSION",
        "the OpenShift whose operator makes a PerformanceProfile's line; default: a must-gather's, "
        "else the newest known",
    )
    all: bool = flag("show every word with its reason, and the whole line that is offered")
    json: bool = options.as_json()


def main(args: LintArguments) -> int:
    root = open_root(args.root)
    machine = probe(root)
    kernel = read_release(root, args.kernel, machine.kernel)
    wanted = profile.load(args.profile, root)
    version = operator.read_version(args.openshift) if args.openshift else None
    source = Source(root, replace(machine, kernel=kernel), version or operator.NEWEST)
    folder = source.folder(args.line)
    if folder is not None:
        return _nodes(folder, version, source.machine, wanted, args)
    given = source.given(args.line)
    running, text = given is None, given.line if given else root.read("/proc/cmdline")
    if text is None:
        raise Refused("/proc/cmdline cannot be read", hint="give a line")
    if not read_words(text):
        raise Refused("the boot line is empty", hint="give one in quotes")
    line = LintedLine.of(text, machine, kernel)
    alive = running and kernel == machine.kernel
    result = lint(line, shown(line, root) if alive else {}, wanted)
    ours = result.against.plan
    undone = tuple(run_time(ours, root)) if alive and ours else ()
    concerns, fields = _of_profile(given.profile if given else None, result, source)
    notes = [*result.notes, *concerns, *fields]
    document = {
        **result.to_json(),
        "runtime": [{"name": name, "why": why} for name, why in undone],
        "notes": notes,
    }
    rows = (row for note in notes for row in filled(note, "  ", "    "))
    told = (whole if args.all else short)(result, line, undone)
    options.show(args.json, lambda: document, (*told, *rows))
    return 1 if result.bad or concerns else 0


def _of_profile(
    profile: Optional[ProfileSpec], result: Lint, source: Source
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is wrong with a profile's lists, and which of its fields bring the words that go."""
    if profile is None:
        return (), ()
    words = [word.word for word in result.words if word.verdict.bad or word.put is not None]
    fields = origins(profile, words, source.machine, source.version)
    return tuple(profile.cpu.concerns(source.machine)), tuple(fields)


def _nodes(
    folder: Path, version: Optional[Version], other: Machine, wanted: Profile, args: LintArguments
) -> int:
    gathered = read_must_gather(folder)
    version = version or gathered.version or operator.NEWEST
    linted = [lint_node(node, version, other, wanted) for node in gathered.nodes]
    text = nodes_text(linted, whole=args.all)
    options.show(args.json, lambda: nodes_json(linted), text)
    return 1 if any(node.result.bad for node in linted) else 0


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
