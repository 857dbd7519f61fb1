# SPDX-License-Identifier: GPL-2.0-or-later
"""``capture``: everything that probe reads, as one text archive for ``--root``; with ``--evidence``
what verify reads too."""

from __future__ import annotations

import argparse
import gzip
import os
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.host.archive import Recorder, dump, open_root
from lowlat.host.redact import LEFT_OUT, redact
from lowlat.host.root import Root
from lowlat.probe import probe
from lowlat.verbs.options import add_root
from lowlat.verbs.verify import add_duration, duration
from lowlat.verify import evidence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "out", nargs="?", metavar="OUT", help="the archive; compressed if it ends in .gz"
    )
    parser.add_argument(
        "--evidence", action="store_true", help="also what 'lowlat-gen verify --root OUT' judges"
    )
    add_duration(parser, "with --evidence: count interrupts for that long")
    what = "print a sh script that gathers the evidence on a machine without Python"
    parser.add_argument("--evidence-script", action="store_true", help=what)
    add_root(parser)


def main(args: argparse.Namespace) -> int:
    if args.duration is not None and not args.evidence:
        raise Refused(f"--duration {args.duration}: only --evidence waits", hint="give both")
    if args.evidence_script:
        print(evidence.script(), end="")
        return 0
    if not args.out:
        raise Refused("capture: no file is named", hint="give one, such as machine.txt.gz")
    text = capture(open_root(args.root), duration(args) if args.evidence else None)
    data = text.encode()
    files.write(
        "capture", args.out, gzip.compress(data, mtime=0) if args.out.endswith(".gz") else data
    )
    print(f"{args.out}: {text.count(chr(10))} lines; {LEFT_OUT}; read it before you pass it on")
    return 0


def capture(root: Root, evidence_s: Optional[float] = None) -> str:
    """The archive of what a probe of ``root`` reads; with ``evidence_s`` also of what verify
    reads, interrupts being counted for so many seconds."""
    recorder = Recorder(root)
    probe(recorder)
    contents = recorder.contents
    if evidence_s is not None:
        evidence.gather(recorder, evidence_s)
        contents = evidence.needed(contents)
    host_name = os.uname().nodename if root.live else ""
    return dump(redact(contents, host_name), (LEFT_OUT,))
