# SPDX-License-Identifier: GPL-2.0-or-later
"""``capture``: everything that probe reads, as one text archive for ``--root``."""

from __future__ import annotations

import argparse
import gzip
import os

from lowlat import files
from lowlat.archive import Recorder, dump
from lowlat.errors import Refused
from lowlat.probe import probe
from lowlat.redact import LEFT_OUT, redact
from lowlat.root import Root, open_root
from lowlat.verbs.common import add_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "out", nargs="?", metavar="OUT", help="the archive; compressed if it ends in .gz"
    )
    add_root(parser)


def main(args: argparse.Namespace) -> int:
    if not args.out:
        raise Refused("capture: no file is named", hint="give one, such as machine.txt.gz")
    text = capture(open_root(args.root))
    data = text.encode()
    files.write(
        "capture", args.out, gzip.compress(data, mtime=0) if args.out.endswith(".gz") else data
    )
    print(f"{args.out}: {text.count(chr(10))} lines; {LEFT_OUT}; read it before you pass it on")
    return 0


def capture(root: Root) -> str:
    """The archive of what a probe of ``root`` reads."""
    recorder = Recorder(root)
    probe(recorder)
    host_name = os.uname().nodename if root.live else ""
    return dump(redact(recorder.contents, host_name), (LEFT_OUT,))
