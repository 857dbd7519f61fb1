# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that ``report`` writes beside its output: ``--html``, ``--csv``, ``--svg``, and
``--open``."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Union

from lowlat.base import files, process
from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.files import state_folder
from lowlat.claim.campaign_check import set_ups_registered
from lowlat.claim.comparison import Comparison
from lowlat.claim.limits import PRESETS
from lowlat.figures.measured_arm import Arm
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.present import article, as_json, as_markdown
from lowlat.present.contents import endpoint_data
from lowlat.present.drawn_arm import Group
from lowlat.present.plot.figure import Data, csv_text
from lowlat.verbs import refusals


@dataclass(frozen=True)
class ReportArguments:
    before: tuple[Path, ...] = positional(
        None, "the runs to describe, or those before the change", (), nargs="*", action="store"
    )
    against: tuple[Path, ...] = option(
        "AFTER",
        "runs after the change; with 6 or more pairs of boots the change is tested",
        (),
        nargs="+",
        action="extend",
    )
    arm: tuple[list[str], ...] = option(
        ("NAME", "FILE"),
        "runs of a further arm, against the same runs before; may be repeated",
        (),
        nargs="+",
    )
    pairs_by_name: bool = flag(
        "count each file of another tool (oslat, cyclictest, ...) as a boot, and files of the same "
        "name before and after as a pair"
    )
    campaign: Optional[Path] = option(
        "FILE", "what was written down before the first boot (default: what lies beside the runs)"
    )
    verify: Optional[Path] = option("FILE", "output of 'lowlat-gen verify --json' after the change")
    json: bool = flag("print lowlat.report/1", group="form")
    markdown: bool = flag("print Markdown for a ticket", group="form")
    article: bool = flag(
        "print the table of the article on osnoise: noise, its range and its classes for each "
        "set-up, runs under several policies apart; with --html the page of all set-ups"
    )
    level: tuple[str, ...] = option(
        "TIME", "count the gaps of this length and more too, such as 1ms; may be repeated", ()
    )
    limit: tuple[str, ...] = option(
        "TIME",
        "exit with 1 if a gap, a wake-up or the maximum of oslat or cyclictest is longer, such as "
        "20us; or a public limit by name: "
        + "; ".join(f"{one.name} ({one.words})" for one in PRESETS.values())
        + "; repeatable",
        (),
    )
    require: tuple[str, ...] = option(
        "'ENDPOINT>=N'",
        "exit with 1 unless the lower end of the interval of the ratio before/after reaches N; "
        "such as 'interrupts_per_s>=40', or 'ARM:interrupts_per_s>=40'; or 'throughput_loss<=5%%': "
        "unless the interval of the loss stays within that",
        (),
    )
    html: Optional[str] = option("FILE", "write a page with drawings, in one file")
    csv: Optional[str] = option("FILE", "write every figure as a table for programs")
    svg: Optional[str] = option("FOLDER", "write each drawing of the page as an image, in a folder")
    open: bool = flag("open the page in a browser (without --html it is kept in the state folder)")
    plan: Optional[str] = option("FILE", "the plan of the runs after; the page shows its reasons")


#: The forms for standard output, by the name of their option; without one it is a screen.
FORMS: Mapping[str, Callable[[Comparison], str]] = {
    "json": as_json.render,
    "markdown": as_markdown.render,
}


def check(args: ReportArguments) -> None:
    """Raises Refused if options contradict each other."""
    if args.open and (args.json or args.markdown):
        raise Refused("--open is for a person, --json and --markdown are not", hint="leave one out")
    if args.article and (args.json or args.csv or args.svg or args.limit or args.require):
        why = "--article prints its table alone, or a page with --html"
        raise Refused(why, hint="leave the other forms, limits and gates out")
    if args.plan is not None and not (args.html or args.open):
        raise Refused("--plan: only a page shows a plan's reasons", hint="add --html FILE")
    arms = [file for _, *files in args.arm for file in files]
    read = (*args.before, *args.against, *arms, args.verify, args.plan)
    check_files({"--html": args.html, "--csv": args.csv, "--svg": args.svg}, read)


def check_files(
    written: Mapping[str, Optional[str]], read: Iterable[Union[Path, str, None]]
) -> None:
    """Raises Refused if an option names no file, or a file that is read or written already."""
    taken = {os.path.realpath(path) for path in read if path}
    for name, path in written.items():
        if path in ("", "-"):
            raise Refused(f"{name} {path!r}: not a file", hint="name one")
        if path and os.path.realpath(path) in taken:
            raise Refused(f"{name} {path}: has another use already", hint="name another file")
        taken.add(os.path.realpath(path or ""))


def write(args: ReportArguments, comparison: Comparison) -> tuple[str, ...]:
    """Write the requested files; returns a line about each. Raises Refused if a file cannot be
    written or the plan cannot be read."""
    told = [_table(args.csv, endpoint_data(comparison))] if args.csv else []
    if args.svg:
        # Imported late: only drawings need templates.
        from lowlat.present.html import images

        told.append(_images(args.svg, images(comparison)))
    if args.html or args.open:
        from lowlat.present.html import render

        plan = (
            store.read(args.plan, Root())
            if args.plan is not None
            else _stored(comparison.arms[1:2])
        )
        told.append(_page(args, render(Group("", comparison, plan, refusals.offered_here))))
    return tuple(told)


def write_article(args: ReportArguments, arms: Sequence[Arm]) -> str:
    """The table of the article; writes the page of all set-ups if it is asked for."""
    text = (article.ticket if args.markdown else article.text)(arms)
    if not (args.html or args.open):
        return text
    from lowlat.present.html import render_groups

    groups = [
        Group(title or "set-ups", one, None, refusals.offered_here)
        for title, one in set_ups_registered(*arms)
    ]
    return f"{text}\n{_page(args, render_groups('OS noise by set-up', groups))}\n"


def _page(args: ReportArguments, page: str) -> str:
    out = Path(args.html or files.make_folder(state_folder(), "--html") / "report.html")
    files.write("--html" if args.html else "--open", str(out), page.encode())
    return _show(out.absolute()) if args.open else f"Page: {out}"


def _table(out: str, data: Data) -> str:
    files.write("--csv", out, csv_text(data.header, data.rows).encode())
    return f"Table: {out}"


def _images(folder: str, images: Iterable[tuple[str, str]]) -> str:
    path = files.make_folder(Path(folder), "--svg")
    count = 0
    for name, image in images:
        files.write("--svg", str(path / name), image.encode())
        count += 1
    return f"Images: {count} in {folder}"


def _stored(after: Sequence[Arm]) -> Optional[Plan]:
    """The plan applied on this machine, if the runs after were booted with it."""
    with suppress(Refused):
        plan = store.read(None, Root())
        lines = (run.cmdline for arm in after for run in arm.runs)
        return plan if any(cmdline.marker(line) == plan.id for line in lines) else None
    return None


#: In seconds: an opener that fails does so within this time, others keep running.
_SOON_S = 2.0


def _show(page: Path) -> str:
    """Open the page with the desktop's opener; returns the outcome as one line."""
    opener = process.find("xdg-open")
    if opener is None or not {"DISPLAY", "WAYLAND_DISPLAY"}.intersection(os.environ):
        return f"No browser to open it in: the page is {page}"
    silent = process.NOWHERE
    try:
        child = process.start([opener, page.as_uri()], stdout=silent, stderr=silent)
    except LowlatError as error:
        return f"{error.message}: the page is {page}"
    if process.wait(child, _SOON_S):
        return f"xdg-open ended with status {child.returncode}: the page is {page}"
    return f"Opened {page}"
