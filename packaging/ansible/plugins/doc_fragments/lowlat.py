# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the modules' pages share."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  program:
    description: The C(lowlat-gen) to call, by name or by path.
    type: path
    default: lowlat-gen
  root:
    description: Another system's whole tree, in place of the host's own.
    type: path
    default: /
requirements:
  - lowlat-gen 1.0 or newer on the host
author:
  - The lowlat authors (@lowlat)
"""

    PLAN = r"""
options:
  profile:
    description:
      - The profile to plan by. Without any option of a plan, the applied plan; where nothing is
        applied, lowlat-gen's own default.
    type: str
  isolate:
    description: Isolate exactly these CPUs, a list such as V(2-7,10).
    type: str
  housekeeping:
    description: Keep exactly these CPUs for the system.
    type: str
  housekeeping_cores:
    description: How many cores of each NUMA node the system keeps.
    type: int
  housekeeping_per:
    description: What keeps housekeeping cores where a package has several NUMA nodes.
    type: str
    choices: [node, package]
  isolate_cores:
    description: How many cores to isolate, the best ones.
    type: int
  keep_efficiency_cores:
    description: Allow isolating cores of the least capable type.
    type: bool
    default: false
  for_device:
    description: Isolate near this network interface, NVMe disk or PCI address.
    type: str
  enable:
    description: Settings to switch on at your own risk, as V(NAME) or V(NAME=VALUE).
    type: list
    elements: str
    default: []
  disable:
    description: Settings to leave out.
    type: list
    elements: str
    default: []
  kernel:
    description: An installed kernel's release. Without it, the running kernel.
    type: str
  as_host:
    description: Plan as for physical hardware, even in a virtual machine.
    type: bool
    default: false
"""
