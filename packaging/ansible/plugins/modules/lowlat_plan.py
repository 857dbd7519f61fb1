#!/usr/bin/python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The plan for a host, with its reasons."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: lowlat_plan
short_description: The CPU split and the settings that lowlat would choose for a host
version_added: "1.0.0"
description:
  - Plans for this host's hardware and kernel, with a reason for each CPU and each setting.
  - It changes nothing.
attributes:
  check_mode:
    support: full
    description: It changes nothing in either mode.
  diff_mode:
    support: none
    description: It changes nothing.
extends_documentation_fragment:
  - lowlat.lowlat.lowlat
  - lowlat.lowlat.lowlat.plan
"""

EXAMPLES = r"""
- name: Plan for this host
  lowlat.lowlat.lowlat_plan:
    profile: lowlat-nfv
    for_device: eth1
  register: planned

- name: Show the CPUs and the words for the boot line
  ansible.builtin.debug:
    msg: "{{ planned.isolated }}: {{ planned.line }}"
"""

RETURN = r"""
plan:
  description: The document lowlat.plan/1 of C(lowlat-gen plan --json).
  returned: success
  type: dict
plan_id:
  description: A digest of the plan. Hosts with the same one have the same plan.
  returned: success
  type: str
isolated:
  description: The CPUs that the plan isolates.
  returned: success
  type: str
  sample: 2-7
line:
  description: What the plan adds to the kernel's command line.
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.lowlat.lowlat.plugins.module_utils.lowlat_gen import (
    PLAN_OPTIONS,
    PROGRAM_OPTIONS,
    LowlatGen,
    words,
)


def main():
    module = AnsibleModule(dict(PROGRAM_OPTIONS, **PLAN_OPTIONS), supports_check_mode=True)
    plan = LowlatGen(module)("plan", *words(module.params, PLAN_OPTIONS))
    module.exit_json(
        changed=False,
        plan=plan,
        plan_id=plan["id"],
        isolated=plan["cpus"]["isolated"],
        line=plan["cmdline"]["text"],
    )


if __name__ == "__main__":
    main()
