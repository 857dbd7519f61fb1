#!/usr/bin/python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The run-time settings of a plan."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: lowlat_runtime
short_description: Set or undo the run-time settings of a plan
version_added: "1.0.0"
description:
  - Sets the values of the running kernel that a plan wants, or puts back what was there before.
  - Where TuneD does that, as it does in lowlat's tuned boots by default, leave it to TuneD.
options:
  state:
    description:
      - V(started) sets what differs from the plan.
      - V(stopped) puts the old values back.
    type: str
    choices: [started, stopped]
    default: started
  profile:
    description:
      - With O(state=started), plan by this profile for the machine as it runs. Without it, by the
        plan that is applied.
    type: str
attributes:
  check_mode:
    support: full
    description: Nothing is written; RV(ignore:changed) says what would be.
  diff_mode:
    support: full
    description: Shows the values that change.
extends_documentation_fragment:
  - lowlat.lowlat.lowlat
"""

EXAMPLES = r"""
- name: Isolate without a reboot, where the kernel has partitions
  lowlat.lowlat.lowlat_runtime:
    profile: lowlat-bench

- name: Give the CPUs back
  lowlat.lowlat.lowlat_runtime:
    state: stopped
"""

RETURN = r"""
said:
  description: What lowlat-gen said, a sentence an item.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.lowlat.lowlat.plugins.module_utils.lowlat_gen import (
    PROGRAM_OPTIONS,
    LowlatGen,
    words,
)


def main():
    options = {
        "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
        "profile": {"type": "str"},
    }
    module = AnsibleModule(dict(PROGRAM_OPTIONS, **options), supports_check_mode=True)
    starts = module.params["state"] == "started"
    chosen = words(module.params, ["profile"]) if starts else []
    dry = ["--dry-run"] if module.check_mode else []
    answer = LowlatGen(module)("runtime start" if starts else "runtime stop", *chosen, *dry)
    rows = set(answer["before"].splitlines()) ^ set(answer["after"].splitlines())
    shown = {
        when: "".join(row + "\n" for row in answer[when].splitlines() if row in rows)
        for when in ("before", "after")
    }
    module.exit_json(changed=answer["changed"], said=answer["said"], diff=shown)


if __name__ == "__main__":
    main()
