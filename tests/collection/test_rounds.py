# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign over hosts by the collection: written down once, followed by every host, complete in
the report; and taken up again where it was stopped. Machines and measurements are stand-ins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import needs
from support.ansible_hosts import ansible_or_skip, play
from support.cli import lowlat
from support.hosttree import NEEDS, Namespace, make

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.ansible, pytest.mark.proof]

CAMPAIGN = "lowlat.lowlat.campaign"
ON_HOST = "{{ lowlat_root }}/var/lib/lowlat/runs/campaign"


def test_all_hosts_follow_one_campaign(tmp_path: Path, namespace: Namespace) -> None:
    needs.module("scipy", "the extra `report` is not installed")
    ansible = ansible_or_skip("newest", tmp_path / "controller")
    hosts = {name: make(tmp_path / name / "host", namespace) for name in ("a", "b")}
    for name, host in hosts.items():
        host.write("proc/sys/kernel/hostname", f"{name}.example\n")
    (tmp_path / "b/panics").touch()
    folder = ansible.folder / "campaign"
    more = {"lowlat_campaign": str(folder), "lowlat_campaign_on_host": ON_HOST, "lowlat_rounds": 2}

    stopped = play(ansible, hosts, CAMPAIGN, **more)
    assert stopped.status != 0 and "the next is boot" in stopped.out, stopped.out
    written = (folder / "campaign.json").read_text()
    (tmp_path / "b/panics").unlink()
    played = play(ansible, hosts, CAMPAIGN, **more)
    assert played.status == 0, played.out
    assert (folder / "campaign.json").read_text() == written
    campaign = json.loads(written)
    due = [f"{n:02d}-{arm}" for n, arm in enumerate(campaign["order"], 1)]
    names = [f"{name}.example-{boot}.json" for name in hosts for boot in due]
    assert sorted(path.name for path in (folder / "runs").iterdir()) == names
    for host in hosts.values():
        assert not host.status()["default"]["ours"]

    runs = [[folder / "runs" / name for name in names if arm in name] for arm in ("stock", "tuned")]
    told = lowlat("fleet", "report", *runs[0], "--against", *runs[1], "--json").json()
    assert [one["name"] for one in told["hosts"]] == ["a.example", "b.example"]
    for one in told["hosts"]:
        assert one["report"]["campaign"]["departures"] == []
        assert one["report"]["pairs"] == 2

    again = play(ansible, hosts, CAMPAIGN, **more)
    assert [again.recap(name)["changed"] for name in hosts] == [0, 0], again.out
