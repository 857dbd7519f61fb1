# SPDX-License-Identifier: GPL-2.0-or-later
"""``capture``: everything that probe reads, as one text archive for ``--root``; ``--evidence`` adds
what verify reads, and ``--runs`` takes names from runs."""

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base import bounds, files, reader, typed_json
from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import Refused
from lowlat.host.archive import Recorder, dump, open_root
from lowlat.host.redact import LEFT_OUT, redact
from lowlat.host.redact_runs import without_names
from lowlat.host.root import Root
from lowlat.measure.run_file import campaign_file, read_campaign
from lowlat.model.campaign import SCHEMA
from lowlat.probe import probe
from lowlat.verbs import options
from lowlat.verify import evidence

_OURS = "give files of 'lowlat-gen measure'"
_READ = "read it before you pass it on"


@dataclass(frozen=True)
class CaptureArguments:
    out: Optional[str] = positional("OUT", "the archive; compressed if it ends in .gz", nargs="?")
    evidence: bool = flag("also save the evidence that 'lowlat-gen verify --root OUT' reads")
    duration: Optional[str] = options.count_time("with --evidence: how long to count interrupts")
    evidence_script: bool = flag(
        "print a sh script that gathers the evidence on a machine without Python"
    )
    runs: tuple[Path, ...] = option(
        "FILE",
        "instead write these runs into the folder OUT, without the names of hosts and people",
        (),
        nargs="+",
        action="extend",
    )
    root: str = options.root()


def main(args: CaptureArguments) -> int:
    if args.runs:
        return _runs(args)
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
    print(f"{args.out}: {text.count(chr(10))} lines; {LEFT_OUT}; {_READ}")
    return 0


def _runs(args: CaptureArguments) -> int:
    if args.evidence or args.duration or args.evidence_script or not args.out:
        hint = "lowlat-gen capture FOLDER --runs FILE..."
        raise Refused("capture --runs: takes a folder alone", hint=hint)
    documents = {path: _document(path) for path in args.runs}
    documents.update((path, _document(path)) for path in _campaigns(documents))
    names = [path.name for path in documents]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise Refused(f"capture --runs: two files are {twice}", hint="rename one of them")
    found = without_names({path.name: document for path, document in documents.items()})
    folder = files.make_folder(Path(args.out), "capture")
    for name, document in found.items():
        files.write("capture", str(folder / name), (json.dumps(document) + "\n").encode())
    plans = sum(document["schema"] == SCHEMA for document in documents.values())
    what = f"{len(found) - plans} runs" + (
        f" and {plans} campaign{'s' * (plans > 1)}" if plans else ""
    )
    print(f"{args.out}: {what}; {LEFT_OUT}, hosts numbered; {_READ}")
    return 0


def _campaigns(documents: Mapping[Path, Mapping[str, object]]) -> set[Path]:
    """The files of the campaigns that documents name, if they lie beside these and are not among
    them."""
    found = set()
    for path, document in documents.items():
        place = document.get("campaign")
        if isinstance(place, dict):
            found.add(campaign_file(path, str(place.get("digest"))))
    return {path.resolve() for path in found if path} - {path.resolve() for path in documents}


def _document(path: Path) -> Mapping[str, object]:
    with files.reporting_errors(str(path), _OURS):
        data = reader.read(path, bounds.DOCUMENT)
    try:
        document = typed_json.parse(data)
    except ValueError as error:
        raise Refused(f"{path}: not JSON: {error}", hint=_OURS) from error
    if not isinstance(document, dict) or not str(document.get("schema")).startswith("lowlat."):
        raise Refused(f"{path}: not a document of lowlat", hint=_OURS)
    if document["schema"] == SCHEMA:
        read_campaign(path)
    return document


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
