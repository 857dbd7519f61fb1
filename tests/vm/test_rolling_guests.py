# SPDX-License-Identifier: GPL-2.0-or-later
"""rolling_trial over two Debian 13 machines with sshd on loopback ports: the trial of the second
panics. The first is promoted, the second is stock again, and the play stops there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest

from lowlat.base import process
from lowlat.base.errors import LowlatError
from support import needs, procs
from support.ansible_hosts import Ansible, Played, ansible_or_skip
from support.guest import boots, emulator, image
from support.guest.boots import Guest
from support.guest.journey import packages_or_skip

pytest_plugins = ["support.powercut"]
pytestmark = [pytest.mark.vm, pytest.mark.proof, pytest.mark.ansible]

#: Runs in each boot, as root. The line of a trial has panic=30: the boot after it is stock.
_TASK = """set -eu
[ -e /usr/sbin/sshd ] || DEBIAN_FRONTEND=noninteractive dpkg --install ./*.deb
install -D -m 600 key.pub /root/.ssh/authorized_keys
for nic in /sys/class/net/e*; do
	ip link set dev "${nic##*/}" up
	ip address add 10.0.2.15/24 dev "${nic##*/}"
done
if [ -e panics ] && grep -q lowlat.plan= /proc/cmdline; then
	echo c >/proc/sysrq-trigger
fi
systemctl restart ssh
echo "=== ready"
sleep infinity
"""

_READY = "=== ready"

#: A session with a host that panicked would wait for ever.
_ALIVE = "-o ServerAliveInterval=30 -o ServerAliveCountMax=10"
_SSH = f"-o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o LogLevel=ERROR {_ALIVE}"

#: In CPU seconds, to come up; in seconds, for Ansible's reboots and for one answer.
_LIMIT_S = 900.0
_REBOOT_S = 1800
_ANSWER_S = 600.0

_LOOK_S = 1.0


@dataclass(frozen=True)
class RollingMachine:
    """A guest that runs, and its sshd's port on this host."""

    share: Path
    port: int

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        key = ["-i", str(self.share / "key"), "-p", str(self.port)]
        argv = ["ssh", *_SSH.split(), "-o", "ConnectTimeout=30", *key, "root@127.0.0.1", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_ANSWER_S)

    def told(self, *words: str) -> str:
        done = self.ask(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def status(self) -> Any:
        return json.loads(self.told("lowlat-gen", "status", "--json"))

    def files(self) -> str:
        """A digest of every file of the boot and of /etc."""
        return self.told(
            "cd / && find boot etc -type f ! -name grubenv -print0 | sort -z | xargs -0 sha256sum"
        )


@contextlib.contextmanager
def running(work: Path, name: str, *, panics: bool) -> Iterator[RollingMachine]:
    """A guest that stays on over its reboots. Where the emulator spoils its first boot, another
    takes its place; what follows cannot begin again."""
    share = _share(work / name, panics=panics)
    log = work / name / "console"
    guests: list[Guest] = []

    def attempt() -> emulator.RunningBoot:
        held.close()
        guests.append(boots.installed_or_skip(work))
        words = "\0".join(_argv(guests[-1], share)[1:])
        return emulator.RunningBoot(log, _LIMIT_S, words, cut_at=_READY)

    def boot(stop: threading.Event) -> Guest:
        child = held.enter_context(_switched_on(_argv(guests[-1], share), log))
        while not stop.wait(_LOOK_S):
            if child.poll() is not None:
                raise LowlatError(process.last_line(log.read_text(errors="replace")))
        return guests[-1]

    with contextlib.ExitStack() as held:
        guest = emulator.repeated(boot, attempt, "")
        yield RollingMachine(share, _listens(int(guest.pidfile.read_text())))


def _share(folder: Path, *, panics: bool) -> Path:
    """What the guest is given: its task, the packages and a key."""
    share = folder / "share"
    share.mkdir(parents=True)
    debs = image.packages_or_skip(image.image_or_skip(), *image.SSH)
    for file in (*debs, packages_or_skip()[0]):
        shutil.copy(file, share)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", share / "key"], check=True)
    (share / "task").write_text(_TASK)
    if panics:
        (share / "panics").touch()
    return share


def _argv(guest: Guest, share: Path) -> list[str]:
    words = guest.argv(share)
    words.remove("-no-reboot")
    # With a thread for each CPU the emulator spoils more boots.
    words[words.index(emulator.THREADS[1])] = "tcg,thread=single"
    # The host's kernel chooses the port.
    forward = "restrict=on,hostfwd=tcp:127.0.0.1:0-:22"
    words[words.index("-nic") + 1] = f"user,model=virtio-net-pci,{forward}"
    return words


@contextlib.contextmanager
def _switched_on(words: list[str], log: Path) -> Iterator[process.Child]:
    guard = ["timeout", "--kill-after=10", "4h"]
    with log.open("wb") as console:
        child = process.start([*guard, *words], stdout=console, stderr=subprocess.STDOUT)
    try:
        yield child
    finally:
        process.end_group(child)


def _listens(pid: int) -> int:
    """The port on which a process listens (proc_pid_net(5), tcp: the state 0A)."""
    own = {str(path) for path in procs.opened(pid)}
    rows = (row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    (port,) = (row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own)
    return int(port.rpartition(":")[2], 16)


def _play(ansible: Ansible, hosts: dict[str, RollingMachine], book: str, **more: Any) -> Played:
    rows = {
        name: {
            "ansible_host": "127.0.0.1",
            "ansible_port": host.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(host.share / "key"),
            "ansible_ssh_common_args": _SSH,
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        for name, host in hosts.items()
    }
    inventory = ansible.folder / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": rows}}))
    evidence = str(ansible.folder / "runs")
    # Emulated durations mean nothing, and counting interrupts takes a spinner minutes.
    given = {"lowlat_evidence": evidence, "lowlat_measure": False, "lowlat_verify_duration": "0s"}
    variables = ansible.folder / "variables.json"
    variables.write_text(json.dumps({**given, "lowlat_reboot_timeout": _REBOOT_S, **more}))
    # A socket's path has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ssh-") as sockets:
        env = {"ANSIBLE_TIMEOUT": "120", "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets}
        done = subprocess.run(
            ["ansible-playbook", "-i", inventory, "-e", f"@{variables}", book],
            env={**os.environ, **ansible.env(), **env},
            cwd=ansible.folder,
            capture_output=True,
            text=True,
            check=False,
        )
    return Played(done.returncode, done.stdout + done.stderr)


def _recap(name: str, played: Played) -> str:
    return f"{name}, exit {played.status}: PLAY RECAP{played.out.rpartition('PLAY RECAP')[2]}"


@needs.program("ssh", "apt install openssh-client")
def test_the_healthy_one_is_promoted_and_the_other_is_stock(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    ansible = ansible_or_skip("newest", tmp_path / "controller")
    with contextlib.ExitStack() as held:
        work = Path(held.enter_context(boots.work_folder()))
        hosts = {
            name: held.enter_context(running(work, name, panics=name == "b")) for name in ("a", "b")
        }
        before = hosts["b"].files()
        played = _play(ansible, hosts, "lowlat.lowlat.rolling_trial")
        tell(_recap("rolling_trial", played))
        assert played.status != 0, played.out
        assert [played.recap(name)["failed"] for name in ("a", "b")] == [0, 1], played.out
        assert "not what came up" in played.out
        assert hosts["a"].status()["state"] == "promoted"
        stock = hosts["b"].status()
        assert (stock["state"], stock["running"]["plan"]) == ("none", None)
        assert hosts["b"].files() == before

        told = _play(ansible, hosts, "lowlat.lowlat.report")
        assert told.status == 0, told.out
        assert "a: promoted, tuned boot" in told.out and "b: none, stock boot" in told.out
        assert "b: Make sure that the tuned trial is what came up" in told.out

        again = _play(ansible, {"a": hosts["a"]}, "lowlat.lowlat.rolling_trial")
        tell(_recap("rolling_trial again, over a", again))
        assert again.status == 0, again.out
        assert again.recap("a")["changed"] == 0, again.out
