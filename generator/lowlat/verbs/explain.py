# SPDX-License-Identifier: GPL-2.0-or-later
"""``explain``: what one tunable or profile does, costs and needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from lowlat.base import resources
from lowlat.base.errors import Refused
from lowlat.base.terminal import filled
from lowlat.catalogue import CATALOGUE, alias, lookup, unset
from lowlat.explain import reference
from lowlat.explain.entries import explain, explain_profile, overview
from lowlat.host.root import Root
from lowlat.plan import profile
from lowlat.verbs.arguments import flag, positional

#: How work gets onto the isolated CPUs by other ways than ``lowlat-gen run``: a screen each.
GUIDES = ("containers", "dpdk", "taskset")


@dataclass(frozen=True)
class ExplainArguments:
    name: Optional[str] = positional(
        "NAME", "a tunable, a profile or a guide; without it: all names", nargs="?"
    )
    all: bool = flag("every tunable in full")
    markdown: bool = flag("with --all: the reference as Markdown")


def main(asked: ExplainArguments) -> int:
    if asked.all and asked.name:
        raise Refused(f"--all and {asked.name[:60]}: give one of the two")
    if asked.markdown and not asked.all:
        raise Refused("--markdown: it is the form of the whole reference", hint="add --all")
    if asked.markdown:
        print(reference.everything(), end="")
    elif asked.all:
        print("\n\n".join(explain(entry) for entry in CATALOGUE))
    else:
        guides = f"Work on the isolated CPUs:\n  {', '.join(GUIDES)}"
        print(_one(asked.name) if asked.name else f"{overview()}\n\n{guides}")
    return 0


def _one(name: str) -> str:
    if name in GUIDES:
        return resources.template(f"guides/{name}.txt").partition("\n")[2].rstrip()
    why = unset(name)
    if why:
        return "\n".join(filled(f"{name} {why}."))
    other = alias(name)
    if other:
        return f"{name} is {other} here.\n\n{explain(lookup(other))}"
    root = Root()
    is_tunable = name.partition("=")[0] in {entry.name for entry in CATALOGUE}
    if not is_tunable and name in profile.names(root):
        return explain_profile(profile.load(name, root))
    return explain(lookup(name))
