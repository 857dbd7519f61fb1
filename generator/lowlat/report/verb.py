# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``report``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Callable

from lowlat.report import document, evidence, gate, markdown, text
from lowlat.report.build import Report, build
from lowlat.run import read_run
from lowlat.terminal import bold


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lowlat-gen report``."""
    parser.add_argument("before", nargs="+", type=Path, help="runs before (of lowlat-gen measure)")
    parser.add_argument(
        "--against",
        nargs="+",
        type=Path,
        required=True,
        metavar="AFTER",
        help="runs after; several of one side are its boots, compared by their median",
    )
    parser.add_argument(
        "--verify", type=Path, metavar="FILE", help="what 'lowlat-gen verify --json' printed after"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print lowlat.report/1")
    form.add_argument("--markdown", action="store_true", help="print Markdown for a ticket")
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="'ENDPOINT>=N'",
        help="exit with 1 unless before/after reaches N, such as 'kernel_entries_per_s>=40'",
    )


def main(args: argparse.Namespace) -> int:
    """Compare the runs and print the report: 0 done, 1 not comparable.

    Raises Refused on bad input (nothing is printed then) and Unmet where a gate was missed.
    """
    gates = [gate.parse(words) for words in args.require]
    before = [read_run(path) for path in args.before]
    after = [read_run(path) for path in args.against]
    settings = evidence.read_verify(args.verify) if args.verify else None
    report = build(before, after, settings)
    sys.stdout.write(_renderer(args)(report))
    gate.check(gates, report)
    return 1 if report.verdict == "refused" else 0


def _renderer(args: argparse.Namespace) -> Callable[[Report], str]:
    if args.json:
        return document.render
    return markdown.render if args.markdown else _terminal


def _terminal(report: Report) -> str:
    first, _, rest = text.render(report).partition("\n")
    return f"{bold(first)}\n{rest}"
