# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that ``report`` writes beside what it prints: ``--html``, ``--csv``, and ``--open``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.base.files import state_folder
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.report.comparison import ArmRuns, Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--html", metavar="FILE", help="write a page with drawings, in one file")
    add("--csv", metavar="FILE", help="write every figure as a table for programs")
    what = "show the page (kept in the state folder without --html)"
    add("--open", action="store_true", help=what)
    add("--plan", metavar="FILE", help="the plan of the runs after, whose reasons the page tells")


def check(args: argparse.Namespace) -> None:
    """Raises Refused where the options contradict each other."""
    if args.open and (args.json or args.markdown):
        raise Refused("--open is for a person, --json and --markdown are not", hint="leave one out")
    if args.plan and not (args.html or args.open):
        raise Refused("--plan: only a page tells a plan's reasons", hint="add --html FILE")
    for option, path in (("--html", args.html), ("--csv", args.csv)):
        if path in ("", "-"):
            raise Refused(f"{option} {path!r}: not a file", hint="name one")
    arms = [file for _, *files in args.arm for file in files]
    read = (*args.before, *(args.against or ()), *arms, args.verify, args.plan)
    taken = {os.path.realpath(path) for path in read if path}
    for option, path in (("--html", args.html), ("--csv", args.csv)):
        if path and os.path.realpath(path) in taken:
            raise Refused(f"{option} {path}: has another use already", hint="name another file")
        taken.add(os.path.realpath(path or ""))


def write(
    args: argparse.Namespace,
    found: Comparison,
    arms: Sequence[ArmRuns],
) -> tuple[str, ...]:
    """Write what was asked for, and tell in a line each what came of it.

    Raises Refused where a file cannot be written or the plan cannot be read.
    """
    told = []
    if args.csv:
        _write_csv(args.csv, found)
        told.append(f"Table: {args.csv}")
    if args.html or args.open:
        out = Path(args.html) if args.html else _kept()
        _write_page(args, out, found, arms)
        told.append(_shown(out) if args.open else f"Page: {out}")
    return tuple(told)


def _write_csv(out: str, found: Comparison) -> None:
    from lowlat.view.contents import endpoint_data
    from lowlat.view.plot.figure import csv_text

    data = endpoint_data(found)
    files.write("--csv", out, csv_text(data.header, data.rows).encode())


def _write_page(
    args: argparse.Namespace,
    out: Path,
    found: Comparison,
    arms: Sequence[ArmRuns],
) -> None:
    # Imported late: templates and drawings are for those who ask for a page.
    from lowlat.view.arm import Group
    from lowlat.view.html import render

    plan = store.read(args.plan, Root()) if args.plan else _stored(arms[1])
    page = render(Group.of("", found, arms, plan))
    files.write("--html" if args.html else "--open", str(out), page.encode())


def _stored(after: ArmRuns) -> Optional[Plan]:
    """The plan applied on this machine, where the runs after were booted with it."""
    markers = {
        marker for run in after.runs for marker in cmdline.values(run.cmdline, cmdline.MARKER)
    }
    with suppress(Refused):
        plan = store.read(None, Root())
        return plan if plan.id in markers else None
    return None


def _kept() -> Path:
    folder = state_folder()
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}", hint="name a file with --html") from error
    if folder.is_symlink():
        raise Refused(f"{folder}: is a symbolic link", hint="name a file with --html")
    return folder / "report.html"


def _shown(page: Path) -> str:
    from lowlat.view.browser import show

    return show(page.absolute())
