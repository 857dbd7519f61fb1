# SPDX-License-Identifier: GPL-2.0-or-later
"""``doctor``: show what each verb lacks on this machine, and how to get it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lowlat.base.arguments import flag, positional
from lowlat.base.errors import NotYet, Refused
from lowlat.base.terminal import bold, filled, item, section
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.verbs import VERBS, options, refusals
from lowlat.verbs.doctor_lacks import Lack, find_gaps

SCHEMA = "lowlat.doctor/1"


@dataclass(frozen=True)
class DoctorArguments:
    verbs: tuple[str, ...] = positional(
        "VERB", "check these verbs only; default: all", (), nargs="*", action="store"
    )
    all: bool = flag("also what to do about each limit, as with a VERB")
    root: str = options.root()
    json: bool = options.as_json()


@dataclass(frozen=True)
class Examined:
    """What these verbs lack; ``waiting`` has those that another command comes before, with the
    refusal."""

    verbs: tuple[str, ...]
    lacking: tuple[Lack, ...]
    waiting: Mapping[str, str]

    @property
    def blocked(self) -> set[str]:
        return {verb for lack in self.lacking if not lack.use for verb in lack.verbs}

    @property
    def ready(self) -> list[str]:
        """The verbs that would not be refused."""
        return [verb for verb in self.verbs if verb not in self.blocked | {*self.waiting}]

    def to_json(self) -> dict[str, object]:
        """The contract lowlat.doctor/1: {"schema", "verbs": [{"verb", "ready": bool, "missing":
        [{"what", "needed": bool, "for": str|null, "mend"}], "waits": str|null}]}."""
        rows = []
        for verb in self.verbs:
            missing = [
                {"what": one.what, "needed": not one.use, "for": one.use or None, "mend": one.mend}
                for one in self.lacking
                if verb in one.verbs
            ]
            waits = self.waiting.get(verb)
            known = {"verb": verb, "ready": verb in self.ready, "missing": missing, "waits": waits}
            rows.append(known)
        return {"schema": SCHEMA, "verbs": rows}


def main(args: DoctorArguments) -> int:
    """Returns 1 if a requested verb lacks something that it cannot work without."""
    unknown = [verb for verb in args.verbs if verb not in VERBS]
    if unknown:
        raise Refused(f"there is no verb '{unknown[0][:40]}'", hint="'lowlat-gen help' lists them")
    verbs = args.verbs or tuple(verb for verb in VERBS if verb != "boot")
    found = _examine(verbs, open_root(args.root))
    options.show(args.json, found.to_json, _describe(found, bool(args.verbs) or args.all))
    return 1 if found.blocked else 0


def _examine(verbs: tuple[str, ...], root: Root) -> Examined:
    """What these verbs lack, and whether they would be refused all the same."""
    lacking = tuple(lack for lack in find_gaps(root) if set(lack.verbs) & set(verbs))
    blocked, waiting = Examined(verbs, lacking, {}).blocked, {}
    refused: dict[tuple[str, str], tuple[str, ...]] = {}
    for verb in (verb for verb in verbs if verb not in blocked):
        error = refusals.refusal(verb, root)
        if isinstance(error, NotYet):
            waiting[verb] = str(error)
        elif error is not None:
            key = error.message, error.hint or "no remedy is known"
            refused[key] = (*refused.get(key, ()), verb)
    others = (Lack(names, what, "", mend) for (what, mend), names in refused.items())
    return Examined(verbs, (*others, *lacking), waiting)


def _describe(found: Examined, full: bool) -> Iterator[str]:
    """What stops a verb with its remedy; what limits one so too if wanted in ``full``, else only
    named."""
    verbs, blocked, ready = found.verbs, found.blocked, found.ready
    others = [verb for verb in verbs if verb not in ready]
    told = ", ".join(ready) or "none"
    if len(others) < len(ready) > 1:
        told = f"all verbs but {', '.join(others)}" if others else "all verbs"
    limits = [lack for lack in found.lacking if lack.use]
    yield from filled(told, bold("Ready with limits" if limits else "Ready") + ": ", "  ")
    for why, waiting in _by_reason(found.waiting).items():
        yield from filled(f"{', '.join(waiting)}: {why}", bold("Not yet") + ": ", "  ")
    needed = [lack for lack in found.lacking if not lack.use]
    yield from section("Not ready", _items(verbs, needed) if blocked else ())
    if full:
        yield from section("Limits", _items(verbs, limits))
    elif limits:
        named = dict.fromkeys(f"{lack.what} ({lack.use})" for lack in limits)
        yield from filled(", ".join(named), bold("Limits") + ": ", "  ")
        yield "'lowlat-gen doctor --all' tells what to do about each."


def _by_reason(waiting: Mapping[str, str]) -> Mapping[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for verb, why in waiting.items():
        reasons.setdefault(why, []).append(verb)
    return reasons


def _items(verbs: tuple[str, ...], rows: Iterable[Lack]) -> Iterator[str]:
    for lack in rows:
        named = ", ".join(verb for verb in lack.verbs if verb in verbs)
        use = f" ({lack.use})" if lack.use else ""
        yield from item(named, f"{lack.what}{use}: {lack.mend}")
