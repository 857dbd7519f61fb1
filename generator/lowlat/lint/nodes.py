# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdicts on the lines of a must-gather's nodes, and what each node waits for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lowlat.base.terminal import bold, filled
from lowlat.catalogue.operator import Version
from lowlat.lint import Lint, lint, lint_text
from lowlat.lint.booted import LintedLine
from lowlat.lint.must_gather import ClusterNode
from lowlat.model.machine import Machine
from lowlat.plan.profile import Profile
from lowlat.probe import probe

SCHEMA = "lowlat.lint-nodes/1"


@dataclass(frozen=True)
class LintedNode:
    node: ClusterNode
    line: LintedLine
    result: Lint
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return {
            "node": self.node.name,
            "source": self.node.source,
            "notes": list(self.notes),
            "lint": self.result.to_json(),
        }


def lint_node(node: ClusterNode, version: Version, other: Machine, wanted: Profile) -> LintedNode:
    """Judge a node's line on its own machine, or on another one if the folder lacks it."""
    machine = probe(node.root) if node.root is not None else other
    line = LintedLine.of(node.line, machine, machine.kernel)
    notes = [*node.pending, *node.of_profiles(machine, version)]
    if node.root is None:
        notes.append("its machine is not known (no sysinfo.tgz): judged on that of --root")
    result = lint(line, {}, wanted)
    return LintedNode(node, line, result, (*notes, *result.notes))


def nodes_json(linted: Sequence[LintedNode]) -> dict[str, object]:
    return {"schema": SCHEMA, "nodes": [node.to_json() for node in linted]}


def nodes_text(linted: Sequence[LintedNode], *, whole: bool) -> Iterator[str]:
    """The verdicts of each node; nodes with the same line and verdicts share one text."""
    told = lint_text.whole if whole else lint_text.short
    same: dict[tuple[str, ...], list[str]] = {}
    for node in linted:
        rows = [row for note in node.notes for row in filled(note, "  ", "    ")]
        text = (*rows, *told(node.result, node.line, ()))
        same.setdefault((f"line of {node.node.source}", *text), []).append(node.node.name)
    for text, names in same.items():
        yield from map(bold, filled(f"{', '.join(names)} ({text[0]})"))
        yield from (*text[1:], "")
