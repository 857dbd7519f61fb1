#!/usr/bin/python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is applied, tried and running on a host, and whether it is in effect."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: lowlat_facts
short_description: What lowlat has applied, tried and running on a host
version_added: "1.0.0"
description:
  - Gathers lowlat's status, and on request holds every planned setting against the running kernel.
  - It changes nothing.
options:
  verify:
    description:
      - Compare the applied plan with the running kernel.
      - What is not in effect comes back in RV(ansible_facts.lowlat.findings); it is no failure of
        this task.
    type: bool
    default: false
  duration:
    description: With O(verify=true), how long to count interrupts on the isolated CPUs.
    type: str
    default: 10s
attributes:
  check_mode:
    support: full
    description: It changes nothing in either mode.
  diff_mode:
    support: none
    description: It changes nothing.
  facts:
    support: full
    description: It returns facts.
extends_documentation_fragment:
  - lowlat.lowlat.lowlat
"""

EXAMPLES = r"""
- name: Read lowlat's state
  lowlat.lowlat.lowlat_facts:

- name: Hold every planned setting against the running kernel
  lowlat.lowlat.lowlat_facts:
    verify: true
    duration: 30s

- name: Refuse to go on where one is not in effect
  ansible.builtin.assert:
    that: ansible_facts.lowlat.findings | length == 0
"""

RETURN = r"""
ansible_facts:
  description: The facts, below one name.
  returned: always
  type: dict
  contains:
    lowlat:
      description: Of lowlat.
      returned: always
      type: dict
      contains:
        version:
          description: Version of lowlat-gen.
          type: str
          returned: always
          sample: 1.0.0
        status:
          description: The document lowlat.status/1 of C(lowlat-gen status --json).
          type: dict
          returned: always
        settings:
          description: Every planned setting with its state, as C(lowlat-gen verify --json) has it.
          type: list
          elements: dict
          returned: with O(verify=true)
        findings:
          description: Those of them that the kernel ignored, or that are not or no longer applied.
          type: list
          elements: dict
          returned: with O(verify=true)
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.lowlat.lowlat.plugins.module_utils.lowlat_gen import (
    PROGRAM_OPTIONS,
    LowlatGen,
)

#: The states that lowlat-gen verify exits with 1 for.
BAD = ("ignored-by-kernel", "not-applied", "undone")


def main():
    options = {
        "verify": {"type": "bool", "default": False},
        "duration": {"type": "str", "default": "10s"},
    }
    module = AnsibleModule(dict(PROGRAM_OPTIONS, **options), supports_check_mode=True)
    lowlat_gen = LowlatGen(module)
    found = {"version": lowlat_gen.version(), "status": lowlat_gen.status()}
    if module.params["verify"]:
        answer = lowlat_gen("verify", "--duration", module.params["duration"], accept=(0, 1))
        found["settings"] = answer["settings"]
        found["findings"] = [row for row in answer["settings"] if row["state"] in BAD]
    module.exit_json(changed=False, ansible_facts={"lowlat": found})


if __name__ == "__main__":
    main()
