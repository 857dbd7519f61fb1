# SPDX-License-Identifier: GPL-2.0-or-later
"""The collection as Ansible finds it, and playbooks over hosts that are file trees (hosttree).

On such a tree lowlat-gen really performs all of its boot actions. Some parts are stand-ins, as
their files say: the connection, the reboot, and the results of verify and measure.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import needs
from support.cli import Answer
from support.hosttree import REPOSITORY, Host

COLLECTION = REPOSITORY / "packaging/ansible"
STAND_IN = Path(__file__).parent / "stand_in"

#: `make ansible` and `make ansible-full` install these; packaging/dependencies/ansible.txt has the
#: versions.
VENVS = REPOSITORY / "build/ansible"


@dataclass(frozen=True)
class Ansible:
    """One version of Ansible, with the collection installed in ``folder``."""

    venv: Path
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "ansible_collections/lowlat/lowlat"

    def env(self) -> dict[str, str]:
        programs = [Path(sys.prefix) / "bin", self.venv / "bin", os.environ["PATH"]]
        return {
            "PATH": ":".join(map(str, programs)),
            "HOME": str(self.folder),
            "ANSIBLE_HOME": str(self.folder / ".ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.folder),
            "ANSIBLE_CONNECTION_PLUGINS": str(STAND_IN),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
            "LC_ALL": "C.UTF-8",
            "LOWLAT_PYTHON": sys.executable,
        }


def ansible_or_skip(name: str, folder: Path) -> Ansible:
    """The Ansible of this name in packaging/dependencies/ansible.txt."""
    if name == "oldest" and sys.version_info >= (3, 12):
        needs.absent("that ansible-core runs on Python 3.11 at most")
    venv = VENVS / name
    if not (venv / "installed").is_file():
        needs.absent(f"{venv} is not there: make ansible-full")
    found = Ansible(venv, folder)
    found.path.parent.mkdir(parents=True)
    found.path.symlink_to(COLLECTION)
    return found


@dataclass(frozen=True)
class Played:
    status: int
    out: str

    def recap(self, host: str) -> dict[str, int]:
        """The counts of a host in the last lines."""
        rows = re.findall(rf"(?m)^{host} +: (.*)$", self.out)
        assert len(rows) == 1, self.out
        return {key: int(count) for key, count in re.findall(r"(\w+)=(\d+)", rows[0])}


def play(
    ansible: Ansible, hosts: Mapping[str, Host], book: str, *words: str, **more: Any
) -> Played:
    """Run ansible-playbook in the trees' namespace; ``more`` are variables."""
    inventory = ansible.folder / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": _variables(ansible, hosts)}}))
    variables = ansible.folder / "variables.json"
    variables.write_text(json.dumps({"lowlat_evidence": str(ansible.folder / "runs"), **more}))
    argv = ["ansible-playbook", "-i", inventory, "-e", f"@{variables}", *words, book]
    settings = [f"{name}={value}" for name, value in ansible.env().items()]
    (any_host,) = {host.namespace for host in hosts.values()}
    answer: Answer = any_host.program("env", "-C", ansible.folder, *settings, *argv)
    return Played(answer.status, answer.out + answer.err)


def _variables(ansible: Ansible, hosts: Mapping[str, Host]) -> dict[str, Any]:
    return {
        name: {
            "ansible_connection": "tree",
            "ansible_python_interpreter": str(ansible.venv / "bin/python"),
            "lowlat_root": str(host.path),
            "lowlat_program": str(STAND_IN / "lowlat-gen"),
            "lowlat_reboot_command": f"{sys.executable} {STAND_IN / 'reboot'} {host.path}",
        }
        for name, host in hosts.items()
    }


def diff_rows(out: str) -> Sequence[str]:
    return re.findall(r"(?m)^[-+][^-+].*$", out)
