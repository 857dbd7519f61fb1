# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs that irqbalance leaves alone, as run-time targets: those of the running daemon, by its
socket, and those of its next start in this boot, by a drop-in below /run.

Of irqbalance's source, 1.7 to 1.9.5: irqbalance.c init_socket() names the socket; sock_handle()
takes one message a connection. It answers "setup" with "SLEEP seconds … BANNED mask". The message
"settings cpus LIST" replaces the ban list from its next look at the interrupts on, after these
seconds and as long again at most.
"""

import os
import re
import socket
import struct
import time
from contextlib import suppress
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.host import runstate
from lowlat.host.daemons import read_managers
from lowlat.host.interrupt_movers import read_ban_list
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.plan.interrupt_movers import InterruptMovers

NOW, RESTARTED = "irqbalance:now", "irqbalance:restarted"

PATHS = (NOW, RESTARTED)

_SOCKETS = "/run/irqbalance"
_SOCKET = re.compile(r"irqbalance(\d{1,10})\.sock", re.ASCII)

_DROP_IN = "/run/systemd/system/irqbalance.service.d/lowlat.conf"
#: A file, since the unit's own EnvironmentFile= would override Environment=. The mask would count
#: before the list.
_ENVIRONMENT = f"{runstate.FOLDER}/irqbalance.env"
_UNIT = f"""# Until the next boot, by lowlat-gen apply --now.
[Service]
EnvironmentFile=-{_ENVIRONMENT}
"""
_INCOMPLETE = "incomplete"
_TEXT = "IRQBALANCE_BANNED_CPUS=\nIRQBALANCE_BANNED_CPULIST="

#: No list: it bans no CPU (bitmap.c). "NULL" would have the daemon's environment count again, which
#: has the drop-in's list if it was restarted.
_NONE = "-"

#: In seconds: the daemon answers nothing while it looks at the interrupts, 10 s by default.
_ANSWER_S, _TAKEN_S = 30.0, 60.0
_LOOK_S = 0.2
_SYSTEMCTL_S = 90.0


def read(root: Root, path: str) -> Optional[str]:
    """A LIST of CPUs; None if the daemon does not tell; no list if a change was interrupted."""
    if path == NOW:
        said = root.answer("irqbalance", lambda tree: _ask(tree, "setup") or "")
        told = re.search(r"BANNED ([0-9a-f,]+)", said)
        with suppress(CpuSetError):
            return str(CpuSet.parse_mask(told[1])) if told else None
        return None
    text = root.read(_ENVIRONMENT)
    if root.absent(_DROP_IN) != (text is None):
        return _INCOMPLETE
    return str(_unaided(root)) if text is None else text.rpartition("=")[2]


def there(root: Root, path: str) -> bool:
    """Whether a target exists: a daemon that runs, and systemd, which may start it again."""
    if path == NOW:
        return "irqbalance" in read_managers(root)
    return root.exists("/run/systemd/system")


def write(root: Root, path: str, value: str) -> str:
    """Have irqbalance leave this LIST of CPUs alone. Returns the problem as text, or ""."""
    try:
        # What was interrupted is taken away whole.
        cpus = _unaided(root) if value == _INCOMPLETE else CpuSet.parse_list(value)
        return _tell(root, cpus) if path == NOW else _keep(root, cpus)
    except (CpuSetError, LowlatError) as error:
        return str(error)


def command(path: str, value: str) -> str:
    """What write() does, in words."""
    if path == NOW:
        return f"irqbalance's socket: settings cpus {value or _NONE}"
    return f"{_DROP_IN}: IRQBALANCE_BANNED_CPULIST={value}"


def _unaided(root: Root) -> CpuSet:
    """What irqbalance leaves alone after a start without the drop-in."""
    shown = [root.read_cpus(f"{CPU}/{name}") or CpuSet() for name in ("isolated", "nohz_full")]
    known = InterruptMovers(CpuSet(), CpuSet(), shown[0] | shown[1], True, read_ban_list(root), ())
    return known.banned()[0]


def _keep(root: Root, cpus: CpuSet) -> str:
    unaided = _unaided(root)
    aided = cpus != unaided
    if aided:
        runstate.keep(root, _DROP_IN, _UNIT)
    else:
        runstate.forget(root, _DROP_IN)
        runstate.forget_folder(root, _DROP_IN.rpartition("/")[0])
    if problem := _systemctl(root, "daemon-reload"):
        return problem
    # Last: until both files are there or gone, read() tells of no list.
    if aided:
        runstate.keep(root, _ENVIRONMENT, f"{_TEXT}{cpus | unaided}\n")
    else:
        runstate.forget(root, _ENVIRONMENT)
    return ""


def _tell(root: Root, cpus: CpuSet) -> str:
    # The zero byte ends the text in versions before 1.9.
    if _ask(root, f"settings cpus {cpus or _NONE}\0", answers=False) is None:
        return "irqbalance does not answer at its socket"
    until = time.monotonic() + _TAKEN_S
    while (held := read(root, NOW)) != str(cpus):
        if time.monotonic() > until:
            return f"irqbalance still leaves CPU {held or 'none'} alone"
        time.sleep(_LOOK_S)
    return ""


def _daemons(root: Root) -> list[str]:
    """The numbers of the processes with a socket."""
    found = (_SOCKET.fullmatch(name) for name in root.names(_SOCKETS))
    numbers = (match[1] for match in found if match)
    return [one for one in numbers if root.read(f"/proc/{one}/comm") == "irqbalance"]


def _ask(root: Root, text: str, *, answers: bool = True) -> Optional[str]:
    """Send a message, with who sends it, as irqbalance-ui does; the answer, "" if none is due, None
    if there is no daemon to ask."""
    credentials = struct.pack("3i", os.getpid(), os.getuid(), os.getgid())
    with suppress(OSError):
        for number in _daemons(root) if root.trusted else ():
            with root.folder(_SOCKETS) as at, socket.socket(socket.AF_UNIX) as to:
                to.settimeout(_ANSWER_S)
                # By its folder's descriptor: an address has room for 107 bytes.
                to.connect(f"/proc/self/fd/{at}/irqbalance{number}.sock")
                if _user(to) not in (0, os.geteuid()):
                    continue
                who = (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)
                to.sendmsg([text.encode()], [who])
                return to.recv(1 << 16).decode("utf-8", "replace") if answers else ""
    return None


def _user(peer: socket.socket) -> int:
    """Who listens there (unix(7)). A process may have any name in /proc."""
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)


def _systemctl(root: Root, *words: str) -> str:
    """Run systemctl on the live system. Returns the problem as text, or ""."""
    if not root.live:
        return ""
    ended = process.run(["systemctl", "--no-ask-password", *words], timeout=_SYSTEMCTL_S)
    return f"systemctl {words[0]}: {ended.last_words}" if ended.status else ""
