# SPDX-License-Identifier: GPL-2.0-or-later
"""Follow the steps over a reboot on a host, as README.md and packaging/doc/boot.md show them."""

from __future__ import annotations

import re

import pytest

from support.hosttree import NEEDS, RELEASE, Host
from support.machines import CPU, fair_server
from support.screens import DOCUMENTS, Screen, blocks

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

ROADS = {
    document.name: block
    for document in DOCUMENTS
    for block in blocks(document)
    if any(screen.command == "sudo reboot" for screen in block)
}

#: The kernel's state and the run-time settings in a boot with the plan of this host.
TUNED_BOOT = {
    f"{CPU}/isolated": "1-3\n",
    f"{CPU}/nohz_full": "1-3\n",
    "sys/module/rcupdate/parameters/rcu_normal_after_boot": "1\n",
    "proc/irq/default_smp_affinity": "1\n",
    "proc/irq/24/smp_affinity": "1\n",
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/sys/vm/compaction_proactiveness": "0\n",
    "sys/devices/virtual/workqueue/cpumask": "1\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    **fair_server(range(1, 4)),
    "var/log/dmesg": f"Linux version {RELEASE}\n"
    "rcu: \tOffload RCU callbacks from CPUs: 1-3.\n"
    "NO_HZ: Full dynticks CPUs: 1-3.\n",
}


def test_both_documents_show_it() -> None:
    assert set(ROADS) == {"README.md", "boot.md"}


@pytest.mark.parametrize("document", ROADS)
def test_it_prints_what_the_document_shows(host: Host, document: str) -> None:
    host.write("proc/77/comm", "tuned\n")
    for screen in ROADS[document]:
        if screen.command == "sudo reboot":
            reboot(host)
        else:
            walk(host, screen)


def walk(host: Host, screen: Screen) -> None:
    answer = host.lowlat(*screen.words[1:])
    # The documents' machine is the one that runs; below --root a dry run checks less.
    said = re.sub(r"(?m)^not checked: .*\n", "", answer.out + answer.err)
    assert screen.fits(said), (screen.command, answer)


def reboot(host: Host) -> None:
    """Boot the one-shot entry, up to the end of the boot."""
    host.boot(host.status()["next"]["entry"], "boot-1")
    for name, text in TUNED_BOOT.items():
        host.write(name, text)
    host.done("boot", "start")
    host.done("boot", "record")
