#!/usr/bin/python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""One measurement of the noise on a host's CPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: lowlat_measure
short_description: Measure the noise on a host's isolated CPUs
version_added: "1.0.0"
description:
  - Runs C(lowlat-gen measure), which keeps the run on the host.
  - Each run is a new file. A playbook that shall change nothing the second time measures only where
    an earlier task changed something.
options:
  label:
    description: Names the run, such as V(stock) or V(tuned). Needed without O(campaign).
    type: str
  campaign:
    description:
      - A campaign's file on the host, whose next boot this is. It names the run, which is kept
        beside it. The task fails where another boot is due.
    type: path
  out:
    description: The file to write, absolute. Without it, one in lowlat's state folder.
    type: path
  cpus:
    description: The CPUs to measure. Without it, the isolated ones.
    type: str
  duration:
    description: How long to measure.
    type: str
    default: 10s
  warmup:
    description: How long to wait before.
    type: str
    default: 5s
  load:
    description: What stress-ng does meanwhile on the other CPUs.
    type: str
  policy:
    description: The detectors' policy, V(other), V(fifo:N) or V(deadline:RUNTIME/PERIOD).
    type: str
  seed:
    description: The seed of the loads.
    type: str
  program:
    description: The C(lowlat-gen) to call, by name or by path.
    type: path
    default: lowlat-gen
requirements:
  - lowlat-gen 1.0 or newer and lowlat-measure on the host
author:
  - The lowlat authors (@lowlat)
attributes:
  check_mode:
    support: full
    description: Nothing is measured.
  diff_mode:
    support: none
    description: A run is a new file.
"""

EXAMPLES = r"""
- name: Measure a minute under load
  lowlat.lowlat.lowlat_measure:
    label: tuned
    duration: 1m
    load: mixed
  register: measured

- name: Fetch the run
  ansible.builtin.fetch:
    src: "{{ measured.path }}"
    dest: runs/{{ inventory_hostname }}/
    flat: true
"""

RETURN = r"""
path:
  description: The file of the first run.
  returned: outside check mode
  type: str
  sample: /var/lib/lowlat/runs/tuned-20261122T220000Z.json
runs:
  description: Every run's file, whether it is complete, and what it complained of.
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.lowlat.lowlat.plugins.module_utils.lowlat_gen import (
    LowlatGen,
    words,
)

OPTIONS = {
    "label": {"type": "str"},
    "campaign": {"type": "path"},
    "out": {"type": "path"},
    "cpus": {"type": "str"},
    "duration": {"type": "str", "default": "10s"},
    "warmup": {"type": "str", "default": "5s"},
    "load": {"type": "str"},
    "policy": {"type": "str"},
    "seed": {"type": "str"},
}


def main():
    program = {"program": {"type": "path", "default": "lowlat-gen"}}
    module = AnsibleModule(
        dict(program, **OPTIONS),
        required_one_of=[("label", "campaign")],
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=True, runs=[])
    answer = LowlatGen(module)("measure", *words(module.params, OPTIONS), rooted=False)
    module.exit_json(changed=answer["changed"], runs=answer["runs"], path=answer["runs"][0]["path"])


if __name__ == "__main__":
    main()
