# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``run --audit``, and what comes of it."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.audit import audit_text, kinds, result, session
from lowlat.audit.session import Wish
from lowlat.base import files
from lowlat.base.arguments import Span, flag, option, seconds
from lowlat.base.errors import Refused
from lowlat.host.root import Root
from lowlat.model.launch import Launch

_AFTER: Span = (0.001, 86400.0, "1ms to 24h")


@dataclass(frozen=True)
class AuditArguments:
    audit: bool = flag("tell what the program itself had the kernel do there, by kind and place")
    mark_fd: Optional[str] = option(
        "FD", "with --audit: from the 1 to the 0 that the program writes there; each is answered"
    )
    after: Optional[str] = option("TIME", "with --audit: from this time after the start on")
    limit: tuple[str, ...] = option(
        "KIND=N", "with --audit: exit with 1 if there are more, such as page-faults=0", ()
    )
    out: Optional[str] = option("FILE", "with --audit: also write it there, as JSON")

    def wish(self) -> Wish:
        """Raises Refused if options contradict each other."""
        given = (self.mark_fd, self.after, self.out, self.limit or None)
        if not self.audit and any(value is not None for value in given):
            why = "--mark-fd, --after, --limit and --out are about an audit"
            raise Refused(why, hint="add --audit")
        if self.mark_fd is not None and self.after is not None:
            raise Refused("--mark-fd and --after both say when to begin", hint="give one of them")
        fd = None if self.mark_fd is None else _descriptor(self.mark_fd)
        after = None if self.after is None else seconds("--after", self.after, _AFTER)
        return Wish(fd, after, tuple(map(_limit, self.limit)))


def _descriptor(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 3 <= int(text[:9]) <= 1023):
        raise Refused(f"--mark-fd {text[:40]}: no such descriptor", hint="a number from 3 to 1023")
    return int(text)


def _limit(text: str) -> result.Most:
    name, _, most = text.partition("=")
    if not kinds.parts_of(name):
        known = ", ".join((*kinds.SUMS, *kinds.TITLES))
        raise Refused(f"--limit {text[:40]}: there is no such kind", hint=f"there are {known}")
    if not (most.isascii() and most.isdecimal() and len(most) <= 9):
        raise Refused(f"--limit {text[:40]}: no number", hint="such as --limit page-faults=0")
    return result.Most(name, int(most))


def foreseen(root: Root) -> Iterator[str]:
    """What an audit on this machine would see."""
    perf, sight = session.observer(root)
    yield f"It would be audited by {audit_text.observer(bool(perf))}."
    yield from audit_text.not_seen(sight.unseen)


def audit(command: Sequence[str], place: Launch, args: AuditArguments, root: Root) -> int:
    """Run the program. Returns 1 if a limit was not kept, else the program's exit status."""
    if args.out is not None:
        files.check("--out", args.out)
    wish = args.wish()
    found = session.run(command, place, wish, root)
    for line in audit_text.lines(found, wish.limits):
        print(line, file=sys.stderr)
    if args.out is not None:
        told = result.document(found, wish.limits, audit_text.sentence(found))
        files.write("--out", args.out, json.dumps(told, indent=2).encode() + b"\n")
    return found.status if all(map(found.keeps, wish.limits)) else 1
