# SPDX-License-Identifier: GPL-2.0-or-later
"""Scheduling policies as users write them: "other", "fifo:N", "rr:N", "deadline:RUNTIME/PERIOD"."""

import re

from lowlat.base.errors import Refused

#: Policies of a program; N is a priority from 1 to 99 (sched(7)).
_OF_PROGRAMS = re.compile(r"other|(?:fifo|rr):(?:[1-9]|[1-9]\d)", re.ASCII)

#: Policies of lowlat-measure, which checks the numbers itself.
_OF_DETECTORS = re.compile(r"other|(fifo|rr):\d{1,2}|deadline:\d+[a-z]+/\d+[a-z]+", re.ASCII)


def of_program(text: str) -> str:
    """The policy of a program: "other", "fifo:N" or "rr:N". Raises Refused for any other text."""
    if not _OF_PROGRAMS.fullmatch(text):
        why = f"--policy {text[:40]}: not a scheduling policy"
        raise Refused(why, hint="other, or fifo:N or rr:N with N to 99")
    return text


def parse_policies(text: str) -> tuple[str, ...]:
    """The policies of a comma-separated list ("other,fifo:1"). Raises Refused if one is unknown or
    named twice."""
    policies = tuple(text.split(","))
    for number, policy in enumerate(policies):
        if not _OF_DETECTORS.fullmatch(policy) or policy in policies[:number]:
            raise Refused(
                f"--policy {text[:100]!r}: {policy!r} is no scheduling policy, or named twice",
                hint="use other, fifo:N, rr:N or deadline:RUNTIME/PERIOD, several: other,fifo:1",
            )
    return policies


def word(policy: str) -> str:
    """A policy as part of a label: "deadline5ms-10ms" for "deadline:5ms/10ms"."""
    return re.sub(r"[^A-Za-z0-9._-]", "", policy.replace("/", "-"))
