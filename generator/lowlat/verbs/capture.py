# SPDX-License-Identifier: GPL-2.0-or-later
"""``capture``: everything that probe reads, as one text archive for ``--root``; ``--evidence`` adds
what verify reads."""

import gzip
import os
from dataclasses import dataclass
from typing import Optional

from lowlat.base import files
from lowlat.base.arguments import flag, positional
from lowlat.base.errors import Refused
from lowlat.host.archive import Recorder, dump, open_root
from lowlat.host.redact import LEFT_OUT, redact
from lowlat.host.root import Root
from lowlat.probe import probe
from lowlat.verbs import options
from lowlat.verify import evidence


@dataclass(frozen=True)
class CaptureArguments:
    out: Optional[str] = positional("OUT", "the archive; compressed if it ends in .gz", nargs="?")
    evidence: bool = flag("also save the evidence that 'lowlat-gen verify --root OUT' reads")
    duration: Optional[str] = options.count_time("with --evidence: how long to count interrupts")
    evidence_script: bool = flag(
        "print a sh script that gathers the evidence on a machine without Python"
    )
    root: str = options.root()


def main(args: CaptureArguments) -> int:
    if args.duration is not None and not args.evidence:
        raise Refused(f"--duration {args.duration}: only --evidence waits", hint="give both")
    if args.evidence_script:
        print(evidence.script(), end="")
        return 0
    if not args.out:
        raise Refused("capture: no file is named", hint="give one, such as machine.txt.gz")
    counted = options.count_seconds(args.duration) if args.evidence else None
    text = capture(open_root(args.root), counted)
    data = text.encode()
    files.write(
        "capture", args.out, gzip.compress(data, mtime=0) if args.out.endswith(".gz") else data
    )
    print(f"{args.out}: {text.count(chr(10))} lines; {LEFT_OUT}; read it before you pass it on")
    return 0


def capture(root: Root, evidence_s: Optional[float] = None) -> str:
    """The archive of all reads of a probe of ``root``; with ``evidence_s`` also those of verify,
    which counts interrupts for so many seconds."""
    recorder = Recorder(root)
    probe(recorder)
    contents = recorder.contents
    if evidence_s is not None:
        evidence.gather(recorder, evidence_s)
        contents = evidence.needed(contents)
    host_name = os.uname().nodename if root.live else ""
    return dump(redact(contents, host_name), (LEFT_OUT,))
