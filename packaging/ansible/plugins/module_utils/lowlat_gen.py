# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calls lowlat-gen with --json. What it refuses, and what it cannot do, fails the task with its
own sentence."""

from __future__ import annotations

import json

#: Options of a plan, as the modules take them; each is lowlat-gen's of the same name.
PLAN_OPTIONS = {
    "profile": {"type": "str"},
    "isolate": {"type": "str"},
    "housekeeping": {"type": "str"},
    "housekeeping_cores": {"type": "int"},
    "housekeeping_per": {"type": "str", "choices": ["node", "package"]},
    "isolate_cores": {"type": "int"},
    "keep_efficiency_cores": {"type": "bool", "default": False},
    "for_device": {"type": "str"},
    "enable": {"type": "list", "elements": "str", "default": []},
    "disable": {"type": "list", "elements": "str", "default": []},
    "kernel": {"type": "str"},
    "as_host": {"type": "bool", "default": False},
}

#: Options of every module: which program, and whose tree.
PROGRAM_OPTIONS = {
    "program": {"type": "path", "default": "lowlat-gen"},
    "root": {"type": "path", "default": "/"},
}


def words(params, names):
    """The command line of these options."""
    found = []
    for name in names:
        option = "--" + name.replace("_", "-")
        value = params[name]
        if value is True:
            found.append(option)
        elif isinstance(value, list):
            found.extend(word for item in value for word in (option, item))
        elif value is not None and value is not False and value != "":  # 0 == False
            found.extend([option, str(value)])
    return found


class LowlatGen:
    def __init__(self, module):
        self.module = module
        program = module.params["program"]
        self._program = program if "/" in program else module.get_bin_path(program, required=True)

    def __call__(self, verb, *options, accept=(0,), rooted=True):
        """The answer of a verb, which is a dictionary. ``accept`` are the exit statuses that are no
        failure: 1 means completed, but a check failed."""
        argv = [self._program, *verb.split(), "--json", *options]
        if rooted:
            argv += ["--root", self.module.params["root"]]
        status, out, err = self.module.run_command(argv)
        try:
            answer = json.loads(out) if out.strip() else {}
        except ValueError:
            answer = {}
        if status not in accept or not answer:
            why = err.strip().replace("lowlat-gen: ", "", 1) or f"ended with {status}"
            self.module.fail_json(
                msg=f"lowlat-gen {verb}: {why}", cmd=argv, rc=status, answer=answer
            )
        return answer

    def version(self):
        dummy, out, dummy = self.module.run_command([self._program, "--version"], check_rc=True)
        return out.split()[-1]

    def status(self):
        return self("status")


def diff(before, after, header):
    """For --diff: a row for each word, so that what comes and goes shows."""
    return {
        "before": "".join(word + "\n" for word in before.split()),
        "after": "".join(word + "\n" for word in after.split()),
        "before_header": header,
        "after_header": header,
    }
