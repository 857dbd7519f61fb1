# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection plugin for tests: the host is a file tree on this machine. Commands run on this
machine, but see the tree's boot ID. Where there is a file "dies" beside the tree, "MODULE N", the
N-th call of that module loses the connection, as ssh's status 255 does, and the host is reset."""

from __future__ import annotations

DOCUMENTATION = """
name: tree
short_description: A tree of files as a host
description: Commands run on the controller.
version_added: "0.1.0"
author: The lowlat authors
options:
  tree:
    description: The tree.
    vars:
      - name: lowlat_root
  become_success_timeout:
    description: As the connection local has it.
    type: int
    default: 10
  become_strip_preamble:
    description: As the connection local has it.
    type: bool
    default: true
extends_documentation_fragment:
  - connection_pipelining
"""

import os
import subprocess
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection.local import Connection as Local

#: The Python that has lowlat.
PYTHON = os.environ["LOWLAT_PYTHON"]

BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Connection(Local):  # type: ignore[misc]
    transport = "tree"

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> Any:
        self._die(cmd)
        cmd = cmd.replace(BOOT_ID, self.get_option("tree") + BOOT_ID)
        return super().exec_command(cmd, in_data=in_data, sudoable=sudoable)

    def _die(self, cmd: str) -> None:
        tree = Path(self.get_option("tree"))
        dies = tree / "../dies"
        module, _, left = dies.read_text().partition(" ") if dies.exists() else ("", "", "")
        if not module or f"AnsiballZ_{module}.py" not in cmd or "chmod" in cmd:
            return
        if int(left) > 1:
            dies.write_text(f"{module} {int(left) - 1}")
            return
        dies.unlink()
        subprocess.run([PYTHON, Path(__file__).with_name("reboot"), tree], check=True)
        raise AnsibleConnectionFailure("Failed to connect to the host via ssh: timed out")
