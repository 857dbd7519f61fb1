# SPDX-License-Identifier: GPL-2.0-or-later
"""The next boot of a campaign, for ``measure --campaign``."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import entry_line
from lowlat.host.root import BOOT_ID, Root
from lowlat.measure.options import MeasureOptions
from lowlat.measure.run_file import read_campaign, runs_in
from lowlat.model import cmdline
from lowlat.model.campaign import Campaign
from lowlat.model.run import Run
from lowlat.probe import host_name


def placed(path: Path, wanted: MeasureOptions, root: Root) -> tuple[MeasureOptions, str]:
    """The options for the next boot of the campaign in the file, whose runs lie beside it, and this
    boot in words. Raises Refused if the campaign is complete, or the running boot is not the next
    one: another host, another line, or one that was measured already."""
    campaign, host = read_campaign(path), host_name(root)
    if campaign.within:
        why = f"{path}: its pairs are measured within boots, by 'lowlat-gen tune --within'"
        raise Refused(why, hint="'lowlat-gen tune --within' goes on with it")
    if host not in campaign.hosts:
        why = f"{path}: this host is {host or 'without a name'}, the campaign is of"
        raise Refused(f"{why} {', '.join(sorted(campaign.hosts))}")
    folder = wanted.out.parent if wanted.out else path.parent
    done = {run.campaign.number: run for run in _runs(folder, campaign, host) if run.campaign}
    number = next((n for n in range(1, len(campaign.order) + 1) if n not in done), 0)
    if not number:
        why = f"{path}: all {len(campaign.order)} boots of the campaign are measured"
        raise Refused(why, hint=f"'lowlat-gen report' compares the runs in {folder}")
    arm = campaign.order[number - 1]
    _check_boot(campaign, number, {run.boot_id: n for n, run in done.items()}, host, root)
    if wanted.label not in (None, arm):
        why = f"--label {wanted.label[:64]}: this is {campaign.boot(number)}, of the campaign"
        raise Refused(why, hint="leave out --label")
    out = wanted.out or folder / f"{host}-{number:02d}-{arm}.json"
    told = replace(wanted, label=arm, out=out, campaign=campaign.place(number))
    return told, f"{campaign.boot(number)}: {_then(campaign, number)}"


def _runs(folder: Path, campaign: Campaign, host: str) -> Iterator[Run]:
    """The complete runs of the campaign on this host."""
    for run in runs_in(folder):
        ours = run.campaign and run.campaign.digest == campaign.digest
        if ours and run.host.name == host and run.complete:
            yield run


def _check_boot(
    campaign: Campaign, number: int, measured: dict[str, int], host: str, root: Root
) -> None:
    due, arm = campaign.boot(number), campaign.order[number - 1]
    before = measured.get(root.read(BOOT_ID) or "")
    if before:
        why = f"this boot was measured already, as {campaign.boot(before)}; the next is {due}"
        raise Refused(why, hint=f"boot {arm}, then measure again")
    lines = campaign.hosts[host]
    running = root.read("/proc/cmdline") or ""
    differs = _apart(running, lines[arm])
    if differs is not None:
        found = [name for name, line in lines.items() if _apart(running, line) is None]
        what = f"a boot of {found[0]}" if found else f"another line, '{differs[:60]}' differs"
        raise Refused(f"the next is {due}; this is {what}", hint=f"boot {arm}, then measure again")


def _apart(running: str, line: str) -> Optional[str]:
    """The first word that differs, None if none does: a trial's own words count for nothing."""
    own, words = cmdline.settings_of_line(running), cmdline.settings_of_line(line)
    return entry_line.same(" ".join(own), words)


def _then(campaign: Campaign, number: int) -> str:
    """What comes after this boot."""
    if number == len(campaign.order):
        return "the last one"
    arm = campaign.order[number]
    twice = campaign.discard and arm != campaign.order[number - 1]
    return f"next boot {arm}{', twice: the first is not measured' if twice else ''}"
