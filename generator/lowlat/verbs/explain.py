# SPDX-License-Identifier: GPL-2.0-or-later
"""``explain``: the effect, cost and needs of one tunable or profile; a guide by a word for it."""

from dataclasses import dataclass

from lowlat.base.arguments import flag, positional
from lowlat.base.errors import Refused
from lowlat.base.terminal import filled
from lowlat.catalogue import BY_NAME, CATALOGUE, alias, area, lookup, unset
from lowlat.explain import guides, reference
from lowlat.explain.entries import (
    explain,
    explain_area,
    explain_fact,
    explain_profile,
    explain_source,
    overview,
)
from lowlat.host import noise
from lowlat.host.root import Root
from lowlat.kernel.facts import FACTS
from lowlat.plan import profile
from lowlat.probe.kernel import running_release
from lowlat.verbs import VERBS


@dataclass(frozen=True)
class ExplainArguments:
    name: tuple[str, ...] = positional(
        "NAME",
        "a tunable, a profile, a verb, or a word such as irq, memory or docker; default: list all",
        (),
        nargs="*",
        action="store",
    )
    all: bool = flag("every tunable in full")
    markdown: bool = flag("with --all: the reference as Markdown")


def main(args: ExplainArguments) -> int:
    name = " ".join(args.name)
    if args.all and name:
        raise Refused(f"--all and {name[:60]}: give one of the two")
    if args.markdown and not args.all:
        raise Refused("--markdown: it is the form of the whole reference", hint="add --all")
    if args.markdown:
        print(reference.everything(), end="")
    elif args.all:
        print("\n\n".join(explain(entry) for entry in CATALOGUE))
    else:
        print(_one(name, Root()) if name else overview(profile.own_names(Root())))
    return 0


def _one(name: str, root: Root) -> str:
    source = noise.find(name)
    if source:
        return explain_source(source, noise.here(root).get(source.name, ""))
    why = unset(name)
    if why:
        return "\n".join(filled(f"{name} {why}."))
    release = running_release(root)
    other = alias(name)
    if other:
        return f"{name} is {other} here.\n\n{explain(lookup(other), release)}"
    if name.partition("=")[0] not in BY_NAME:
        if name in FACTS:
            return explain_fact(name, release)
        guide = guides.find(name)
        if guide:
            return guide.text
        if name in VERBS:
            return f"{name}: {VERBS[name]}.\n'lowlat-gen help {name}' shows its options."
        for one in (name, f"lowlat-{name}"):
            if one in profile.names(root):
                return explain_profile(profile.load(one, root))
        if found := area(name):
            return explain_area(*found)
    known = (*guides.names(), *VERBS, *profile.names(root), *FACTS, *noise.names())
    return explain(lookup(name, known), release)
