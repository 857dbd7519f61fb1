# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the files of runs, once for all their uses: lowlat's own, and those of other tools; and of
their campaigns."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from lowlat.base import bounds, files, reader, typed_json
from lowlat.base.errors import Refused
from lowlat.measure import imported
from lowlat.measure.tools import files as tool_files
from lowlat.measure.tools import results
from lowlat.measure.tools.files import Unknown
from lowlat.model import campaign
from lowlat.model.campaign import Campaign
from lowlat.model.run import SCHEMA, Run

#: A campaign lies beside its runs, or this many folders above.
_ABOVE = 3

#: What a terminal was told: colours, movements of the cursor, and that it be cleared.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|c)")


def read_run(path: Path, *, inside: Optional[Path] = None) -> Run:
    """Read a file of ``lowlat-gen measure``, ``lowlat-measure --json``, or another tool. Raises
    Refused if it is missing or damaged, has a form that is not read, or does not lie ``inside`` the
    folder that was given."""
    hint = f"give a file of 'lowlat-gen measure', or of {tool_files.READ}"
    with files.reporting_errors(str(path), hint):
        data = reader.read(path, bounds.DOCUMENT, inside=inside)
    try:
        document = typed_json.parse(data)
    except ValueError as error:
        if path.suffix == ".json" or data.lstrip()[:1] == b"{":
            raise Refused(f"{path}: not JSON: {error}", hint=hint) from error
        document = None
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        run = typed_json.built(path, _run, document, "measure again")
    elif isinstance(document, dict) and "schema" in document:
        raise Unknown(f"{path}: not a {SCHEMA} document", hint=hint)
    else:
        run = _imported(path, data, document)
    return replace(run, path=path)


def read_campaign(path: Path, *, inside: Optional[Path] = None) -> Campaign:
    """Raises Refused if the file cannot be read, lies elsewhere, or is no campaign."""
    writer, redo = "'lowlat-gen tune' or 'lowlat-gen rehearse'", "have it written anew"
    build, schema = Campaign.from_json, campaign.SCHEMA
    return typed_json.read_document(path, build, schema, writer, redo, inside=inside)


def campaign_file(run: Path, digest: str) -> Optional[Path]:
    """The file of the campaign with this digest: beside the run's file, or a few folders above."""
    for folder in [*run.absolute().parents][:_ABOVE]:
        for path in sorted(folder.glob("*campaign.json")):
            with suppress(Refused):
                if read_campaign(path, inside=folder).digest == digest:
                    return path
    return None


def _run(value: dict[str, object]) -> Run:
    results.add(value)  # lowlat-measure alone stores only what the tools printed
    return Run.from_json(value)


def _imported(path: Path, data: bytes, document: Any) -> Run:
    try:
        return imported.run_of(tool_files.read(_plain(data), document))
    except Refused as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from error


def _plain(data: bytes) -> str:
    """The text as the tool printed it, also if it went through a terminal or was pasted."""
    text = data[: bounds.HOST_FILE].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return textwrap.dedent(_ESCAPES.sub("", text))


def read_runs(path: Path) -> tuple[Run, ...]:
    """The run in a file, or the runs in the files of a folder, by name; subfolders and files that
    are no runs are passed over. Raises Refused as read_run() does, or if there is no run."""
    if not path.is_dir():
        return (read_run(path),)
    with files.reporting_errors(str(path)):
        names = [name for name in reader.list_folder(path) if not name.startswith(".")]
    runs = tuple(_once(list(_of_folder(path, names))))
    if not runs:
        raise Refused(f"{path}: has no run", hint=f"give a folder of runs, or of {tool_files.READ}")
    return runs


def _of_folder(folder: Path, names: Iterable[str]) -> Iterator[Run]:
    for name in names:
        if (folder / name).is_file():
            with suppress(Unknown):
                yield read_run(folder / name, inside=folder)


def runs_in(folder: Path) -> Iterator[Run]:
    """The runs in a folder's JSON files; what cannot be read, or is no run, is passed over."""
    for path in sorted(folder.glob("*.json")):
        with suppress(Refused):
            yield read_run(path, inside=folder)


def _once(runs: list[Run]) -> Iterator[Run]:
    """One run of those that a tool wrote in two forms: with the same name but for its end, the one
    that a program shall read."""
    kept = {(run.path.stem, run.imported.tool) for run in runs if run.imported and _formal(run)}
    for run in runs:
        twin = run.imported and not _formal(run) and (run.path.stem, run.imported.tool) in kept
        if not twin:
            yield run


def _formal(run: Run) -> bool:
    return run.imported is not None and run.imported.form in ("JSON", "YAML")
