# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree on which ``apply --now`` finds all it needs, and a stand-in for irqbalance."""

from __future__ import annotations

import os
import re
import socket
import threading
from pathlib import Path

from support.machines import CONFIG, fair_server, machine, write_tree

GROUPS = "sys/fs/cgroup"
GROUP = f"{GROUPS}/lowlat.slice"

#: The values before, as the kernel prints them.
VALUES = {
    f"{GROUP}/cpuset.cpus": "\n",
    f"{GROUP}/cpuset.cpus.partition": "member\n",
    "proc/irq/default_smp_affinity": "f\n",
    "proc/irq/24/smp_affinity": "f\n",
    "proc/irq/25/smp_affinity": "1\n",
    "proc/sys/kernel/timer_migration": "0\n",
    "proc/sys/kernel/watchdog_cpumask": "0-3\n",
    "proc/sys/vm/compaction_proactiveness": "20\n",
    "sys/devices/virtual/workqueue/cpumask": "f\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "f\n",
    # A tree would not print a chosen value in the kernel's form: this one is right already.
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    **fair_server(range(1, 4), planned=False),
}

#: Two tasks: one that asked for CPU 2, and one of a container.
_STATUS = "Name:\t{name}\nCpus_allowed:\t{mask}\n"


def task(pid: int, name: str, mask: str, group: str) -> dict[str, str]:
    """A user's task that may run on the CPUs of this mask."""
    numbers = ["S", *["0"] * 49]
    return {
        f"proc/{pid}/comm": f"{name}\n",
        f"proc/{pid}/stat": f"{pid} ({name}) {' '.join(numbers)}\n",
        f"proc/{pid}/status": _STATUS.format(name=name, mask=mask),
        f"proc/{pid}/cgroup": f"0::{group}\n",
    }


def write(folder: Path, release: str = "6.12.107-test") -> Path:
    """The tree of a machine of four CPUs, of which lowlat isolates three."""
    files = {
        **machine(release=release, config=f"{CONFIG}CONFIG_CPUSETS=y\nCONFIG_HZ=250\n"),
        f"{GROUPS}/cgroup.controllers": "cpuset cpu\n",
        f"{GROUPS}/cgroup.subtree_control": "cpuset cpu\n",
        f"{GROUP}/cgroup.procs": "",
        f"{GROUP}/cgroup.events": "populated 0\nfrozen 0\n",
        "etc/hostname": "host\n",
    }
    return write_tree(folder, {**files, **VALUES})


def content(tree: Path) -> dict[str, str]:
    """Every file but the lock, without the newline that a kernel file ends with."""
    files = (path for path in tree.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(tree)): path.read_text().strip() for path in sorted(files)}


class IrqbalanceStandIn(threading.Thread):
    """Answers as irqbalance 1.9.5 does (irqbalance.c sock_handle()), at once; ``banned`` is the
    mask in use. Has the messages that set something."""

    def __init__(self, tree: Path, pid: int = 77, banned: str = "00000000") -> None:
        super().__init__(daemon=True)
        self.told: list[str] = []
        self.banned = self._listed = banned
        #: The masks that it sets once it was told something.
        self.moves: dict[Path, str] = {}
        #: Whether a message takes effect only when ``look()`` is called.
        self.late = False
        self._socket = socket.socket(socket.AF_UNIX)
        write_tree(tree, {f"proc/{pid}/comm": "irqbalance\n", f"proc/{pid}/environ": "HOME=/\0"})
        folder = tree / "run/irqbalance"
        folder.mkdir(parents=True, exist_ok=True)
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._socket.bind(f"/proc/self/fd/{at}/irqbalance{pid}.sock")
        os.close(at)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.listen()

    def listen(self) -> None:
        """Listen, from now on as this process's user."""
        self._socket.listen(1)

    def run(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            with peer:
                data, ancillary, _, _ = peer.recvmsg(16384, 256)
                assert ancillary, "irqbalance hears nobody without credentials"
                self._handle(data.decode(), peer)

    def _handle(self, text: str, peer: socket.socket) -> None:
        match = re.fullmatch(r"settings cpus ([\d,-]+)\0", text)
        if match:
            self.told.append(text.rstrip("\0"))
            for path, mask in self.moves.items():
                path.write_text(mask)
            self._listed = _mask(match[1])
            if not self.late:
                self.look()
        elif text == "setup":
            peer.send(f"SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 BANNED {self.banned}".encode())

    def look(self) -> None:
        self.banned = self._listed

    def end(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self._socket.close()


def _mask(cpus: str) -> str:
    mask = 0
    for part in cpus.split(",") if cpus != "-" else ():
        first, _, last = part.partition("-")
        for cpu in range(int(first), int(last or first) + 1):
            mask |= 1 << cpu
    return f"{mask:08x}"
