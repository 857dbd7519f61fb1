# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of a capture proves no absence: what was not captured is not known."""

from __future__ import annotations

import re
from pathlib import Path

from booted import lowlat, planned

from lowlat.host.archive import Archive, Recorder, dump, parse
from lowlat.host.root import Root
from lowlat.model.finding import Finding, Standing
from lowlat.plan import store
from lowlat.verify import evidence
from lowlat.verify.findings import verify
from support.machines import write_tree

_Rows = dict[tuple[str, str], Finding]


def rows(text: str) -> _Rows:
    root = Archive("made", parse(text.encode()))
    plan = store.read(None, root)
    return {(row.name, row.where): row for row in verify(plan, root)}


def captured(host: Path) -> str:
    write_tree(host, {"proc/sys/kernel/random/boot_id": "11111111-aaaa\n"})
    assert lowlat("runtime", "start", "--root", host).status == 0
    recorder = Recorder(Root(str(host)))
    evidence.gather(recorder, 0)
    return dump(recorder.contents)


def test_a_line_that_is_missing_makes_nothing_worse(tmp_path: Path) -> None:
    """Take each line of a capture away: a row stays as it is, or is unverifiable."""
    text = captured(planned(tmp_path))
    whole = rows(text)
    assert {row.state for row in whole.values()} == {Standing.EFFECTIVE}
    lines = [line for line in text.splitlines() if re.match(r"[fdm] /(?!var/lib|run/)\S+ ", line)]
    assert len(lines) > 30
    worse = {
        line: row
        for line in lines
        for key, row in rows(text.replace(f"{line}\n", "", 1)).items()
        if key in whole and row.state not in (whole[key].state, Standing.UNVERIFIABLE)
    }
    assert worse == {}


def test_what_a_capture_looked_for_in_vain_is_not_there(tmp_path: Path) -> None:
    host = planned(tmp_path)
    (host / "proc/sys/kernel/timer_migration").unlink()
    text = captured(host)
    key = ("kernel.timer_migration", "/proc/sys/kernel/timer_migration")
    row = rows(text)[key]
    assert row.state is Standing.NOT_APPLIED and row.evidence == f"{key[1]} is not there"
    row = rows(text.replace(f"|{key[1]}\n", "", 1))[key]
    assert row.state is Standing.UNVERIFIABLE and row.evidence == f"{key[1]} cannot be read"
