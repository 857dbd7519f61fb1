# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that lowlat-gen prints for its reader, as a test types them.
(PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import re
import shlex

from lowlat.cli import parser_of
from support.cli import Answer

_COMMAND = r"((?:sudo )?lowlat-gen [a-z]"
#: In quotes, and in a list of next steps or after "Next:".
_QUOTED = re.compile(rf"['`]{_COMMAND}[^'`]*)['`]")
_LISTED = re.compile(rf"(?m)^(?:  |Next: ){_COMMAND}[^(]*?)(?: {{2,}}.*| \(.*)?$")

#: The words of a verb's shortest call that changes nothing. The other verbs measure or boot.
SHORTEST = {
    **dict.fromkeys(("apply", "trial", "promote", "rollback", "tune"), "--dry-run"),
    **dict.fromkeys(("plan", "status", "doctor", "probe"), ""),
    "verify": "--duration 0s",
    "cpus": "isolated",
    "run": "--dry-run -- true",
    "lint": "quiet",
}


def named(answer: Answer) -> list[str]:
    """The commands that an answer names."""
    said = f"{answer.out}\n{answer.err}"
    joined = " ".join(said.split())
    return [*dict.fromkeys((*_QUOTED.findall(joined), *_LISTED.findall(said)))]


def typed(command: str) -> list[str]:
    """The words of a command after "lowlat-gen": with --dry-run, without what the shell redirects,
    and with an example for a placeholder. Empty for a verb that measures or boots, whose words are
    accepted."""
    text = command.removeprefix("sudo ").removeprefix("lowlat-gen ").partition(" > ")[0]
    verb, *words = shlex.split(text.replace("CMD", "true"))
    if verb not in SHORTEST:
        assert verb == "help" or parser_of(verb).parse_args(words)
        return []
    dry = ["--dry-run"] if "--dry-run" in SHORTEST[verb] and "--dry-run" not in words else []
    return [verb, *dry, *words]
