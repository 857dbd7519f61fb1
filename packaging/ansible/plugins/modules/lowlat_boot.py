#!/usr/bin/python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The boot entries of a plan, from absent to promoted."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: lowlat_boot
short_description: Bring the boot of a host to a state, without risk
version_added: "1.0.0"
description:
  - "The states follow each other: V(absent), V(applied), V(armed), V(running), V(promoted)."
  - No state reboots the host. Between V(armed) and V(running) the playbook does.
  - A state that the plan's entry has reached or passed is left as it is. For that, call it with the
    same options of the plan each time.
options:
  state:
    description:
      - V(absent) takes back everything that lowlat did to the boot.
      - V(applied) adds a tuned boot entry for each kernel. The default entry stays.
      - V(armed) has the next boot be the tuned entry, once. An entry that was tried and runs, or
        that is the default, is not armed again.
      - V(running) changes nothing. It fails unless the tuned entry that was applied is what runs,
        and its trial counts as good. C(ansible.builtin.reboot) cannot tell that, since a trial that
        panicked came back too, in the stock entry.
      - V(promoted) makes the entry that was tried the default.
      - V(previous) applies the plan again that the last V(applied) replaced, which counts as tried
        if it was. It cancels the trial of the other plan, and takes no options of a plan.
    type: str
    choices: [absent, applied, armed, running, promoted, previous]
    required: true
  kexec:
    description: With O(state=armed), load the trial for C(systemctl kexec), past the boot loader.
    type: bool
    default: false
  runtime:
    description: With O(state=applied), what applies the run-time settings.
    type: str
    choices: [tuned, none]
    default: tuned
  accept_pending:
    description:
      - With O(state=applied), also generate boot entry changes that others made and have not
        generated yet.
    type: bool
    default: false
  follow_kernels:
    description: With O(state=promoted), tuned entries of newer kernels become the default untried.
    type: bool
    default: false
  timeout:
    description:
      - With O(state=running), how many seconds to wait until the trial counts as good. The unit
        that records it runs at the end of the boot.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
    description: Nothing is written; RV(ignore:changed) says what would be.
  diff_mode:
    support: full
    description: Shows the boot line before and after, a word a row.
extends_documentation_fragment:
  - lowlat.lowlat.lowlat
  - lowlat.lowlat.lowlat.plan
"""

EXAMPLES = r"""
- name: Add the tuned boot entries
  lowlat.lowlat.lowlat_boot:
    state: applied
    profile: lowlat-nfv

- name: Have the next boot be the tuned one, once
  lowlat.lowlat.lowlat_boot:
    state: armed
  register: trial

- name: Reboot into it
  ansible.builtin.reboot:
  when: trial is changed

- name: Make sure that the tuned boot is what came up
  lowlat.lowlat.lowlat_boot:
    state: running

- name: Make it the default
  lowlat.lowlat.lowlat_boot:
    state: promoted

- name: Take everything back
  lowlat.lowlat.lowlat_boot:
    state: absent
"""

RETURN = r"""
status:
  description: The document lowlat.status/1 after the task, in check mode as it is.
  returned: success
  type: dict
plan_id:
  description: The plan of the kernel in question; none where nothing is applied.
  returned: success
  type: str
change:
  description: The document lowlat.change/1 of what the task called, if it called something.
  returned: success
  type: dict
said:
  description: What lowlat-gen said, a sentence an item.
  returned: success
  type: list
  elements: str
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.lowlat.lowlat.plugins.module_utils.lowlat_gen import (
    PLAN_OPTIONS,
    PROGRAM_OPTIONS,
    LowlatGen,
    diff,
    words,
)

#: How often to look whether the trial counts by now.
LOOK_S = 2

STATES = ["absent", "applied", "armed", "running", "promoted", "previous"]


class Boot:
    def __init__(self, module):
        self.module = module
        self.params = module.params
        self.lowlat_gen = LowlatGen(module)

    def absent(self):
        return self._change("rollback")

    def applied(self):
        options = words(self.params, [*PLAN_OPTIONS, "runtime", "accept_pending"])
        return self._change("apply", *options)

    def previous(self):
        return self._change("apply", "--previous", *words(self.params, ["accept_pending"]))

    def armed(self):
        status = self.lowlat_gen.status()
        entry = self._entry(status)
        if entry["default"] or (_runs(status, entry) and entry["tried"]):
            return self._unchanged("it was tried and runs, or is the default, already")
        return self._change("trial", *words(self.params, ["kernel", "kexec"]))

    def running(self):
        if self.module.check_mode:
            return self._unchanged("check mode does not reboot")
        until = time.monotonic() + self.params["timeout"]
        while True:
            status = self.lowlat_gen.status()
            entry = self._entry(status)
            if _runs(status, entry) and (entry["tried"] or entry["default"]):
                return self._unchanged(f"plan {entry['plan']} runs")
            if not _runs(status, entry):
                self._fail("the tuned boot is not what came up", status)
            if time.monotonic() > until:
                self._fail("the trial runs, and does not count as good yet", status)
            time.sleep(LOOK_S)

    def promoted(self):
        return self._change("promote", *words(self.params, ["kernel", "follow_kernels"]))

    def _change(self, verb, *options):
        dry = ["--dry-run"] if self.module.check_mode else []
        return self.lowlat_gen(verb, *options, *dry)

    def _unchanged(self, why):
        return {"changed": False, "before": "", "after": "", "said": [why]}

    def _entry(self, status):
        """The tuned entry in question, as the status has it."""
        found = self.entry(status)
        if found is None:
            self._fail("nothing is applied here for that kernel", status)
        return found

    def entry(self, status):
        """The same as lowlat-gen chooses it, or None."""
        wanted = self.params["kernel"] or status["running"]["kernel"]
        entries = status["kernels"]
        found = [entry for entry in entries if entry["kernel"] == wanted]
        return next(iter(found or ([] if self.params["kernel"] else entries)), None)

    def _fail(self, why, status):
        notes = "; ".join(status["notes"])
        self.module.fail_json(msg=why + (": " + notes if notes else ""), status=status)


def _runs(status, entry):
    running = status["running"]
    return running["ours"] and running["plan"] == entry["plan"]


def main():
    options = {
        "state": {"type": "str", "choices": STATES, "required": True},
        "kexec": {"type": "bool", "default": False},
        "runtime": {"type": "str", "choices": ["tuned", "none"], "default": "tuned"},
        "accept_pending": {"type": "bool", "default": False},
        "follow_kernels": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 300},
    }
    arguments = dict(PROGRAM_OPTIONS, **PLAN_OPTIONS, **options)
    module = AnsibleModule(arguments, supports_check_mode=True)
    boot = Boot(module)
    answer = getattr(boot, module.params["state"])()
    status = boot.lowlat_gen.status()
    entry = boot.entry(status)
    module.exit_json(
        changed=answer["changed"],
        said=answer["said"],
        change=answer,
        status=status,
        plan_id=entry and entry["plan"],
        diff=diff(answer["before"], answer["after"], "boot line"),
    )


if __name__ == "__main__":
    main()
