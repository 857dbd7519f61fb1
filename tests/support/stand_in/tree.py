# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection plugin for tests: the host is a file tree on this machine. Commands run on this
machine, but see the tree's boot ID."""

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

from typing import Any

from ansible.plugins.connection.local import Connection as Local

BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Connection(Local):  # type: ignore[misc]
    transport = "tree"

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> Any:
        cmd = cmd.replace(BOOT_ID, self.get_option("tree") + BOOT_ID)
        return super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
