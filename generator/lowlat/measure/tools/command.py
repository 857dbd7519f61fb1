# SPDX-License-Identifier: GPL-2.0-or-later
"""The command with which a program was started, where its output has it."""

import re
import shlex
from collections.abc import Iterator
from itertools import dropwhile
from typing import Optional

#: How many seconds a suffix of rt-tests' durations makes (parse_time_string() of rt-tests).
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def printed(program: str, text: str) -> str:
    """The command line that a script or a person wrote beside a program's output, such as "running
    cmd: cyclictest -q -D 12h" (container-perf-tools) or "running the cyclictest command with
    arguments [--duration 12h]" (OpenShift's cnf-tests); "" if the text has none, or several."""
    between = r"(?: top| hist)?(?: command with arguments \[| +)"
    found = re.findall(rf"\b{program}{between}(-[^\]\n]*)", text)
    return f"{program} {found[0].strip()}" if len(set(found)) == 1 else ""


def value(command: str, letter: str, name: str) -> Optional[str]:
    """The value of an option in any form that getopt takes: "-i 200", "-mi200", "--interval=200";
    None if the command lacks it."""
    spaced = shlex.join(command.split())
    long = rf"--{name}(?:=| )"
    short = rf"-(?!-)[a-zA-Z]*?{letter} ?" if letter else long
    found = re.search(rf"(?:^| )(?:{long}|{short})([^ -][^ ]*)", spaced)
    return found[1].strip("'") if found else None


def seconds(command: str) -> float:
    """What --duration of rt-tests says ("2h"); 0.0 if the command lacks it."""
    found = re.fullmatch(r"(\d+)([smhd]?)", (value(command, "D", "duration") or "").lower())
    return float(found[1]) * _SECONDS[found[2]] if found else 0.0


def interval_us(command: str) -> float:
    """The base interval of cyclictest's wake-ups (by default 1,000 us)."""
    given = value(command, "i", "interval") or "1000"
    return float(given) if given.isdecimal() else 0.0


#: Of all subcommands of rtla.
_RTLA = {
    **{"a": "auto", "b": "bucket-size", "c": "cpus", "C": "cgroup", "d": "duration", "e": "event"},
    **{"E": "entries", "H": "house-keeping", "p": "period", "P": "priority", "t": "trace"},
}

#: The long names of short options that take a value, and of those that take none, by program.
_VALUED = {
    "cyclictest": {
        **{"a": "affinity", "A": "aligned", "b": "breaktrace", "c": "clock", "d": "distance"},
        **{"D": "duration", "F": "fifo", "h": "histogram", "H": "histofall", "i": "interval"},
        **{"l": "loops", "o": "oscope", "p": "priority", "t": "threads"},
    },
    "oslat": {
        **{"b": "bucket-size", "c": "cpu-list", "C": "cpu-main-thread", "D": "duration"},
        **{"f": "rtprio", "m": "workload-mem", "T": "trace-threshold", "w": "workload"},
        **{"W": "bucket-width"},
    },
    "rtla osnoise": {**_RTLA, "r": "runtime", "s": "stop", "S": "stop-total", "T": "threshold"},
    "rtla hwnoise": {**_RTLA, "r": "runtime", "s": "stop", "S": "stop-total", "T": "threshold"},
    "rtla timerlat": {**_RTLA, "i": "irq", "T": "thread", "s": "stack"},
}
_FLAGS = {
    "cyclictest": {
        **{"m": "mlockall", "M": "refresh_on_max", "N": "nsecs", "q": "quiet", "r": "relative"},
        **{"R": "resolution", "s": "system", "S": "smp", "u": "unbuffered", "v": "verbose"},
        **{"x": "posix_timers"},
    },
    "oslat": {"B": "bias", "q": "quiet", "s": "single-preheat", "z": "zero-omit"},
    "rtla osnoise": {"D": "debug", "q": "quiet"},
    "rtla hwnoise": {"D": "debug", "q": "quiet"},
    "rtla timerlat": {
        **{"D": "debug", "k": "kernel-threads", "n": "nano", "q": "quiet", "u": "user-threads"},
        **{"U": "user-load"},
    },
}

#: These say what is printed and where, or are compared by themselves.
_NOT_COMPARED = {
    *("quiet", "json", "histogram", "histofall", "histfile", "nsecs", "refresh_on_max", "fifo"),
    *("unbuffered", "oscope", "resolution", "bucket-size", "bucket-width", "zero-omit"),
    *("duration", "interval", "loops", "debug", "nano", "entries", "with-zeros"),
    *("no-header", "no-summary", "no-index", "no-irq", "no-thread"),
}


def settings(program: str, command: str) -> str:
    """The options of oslat, cyclictest or rtla that change what is measured, in one form and order,
    however they were written: "affinity=2-3 mlockall priority=80"."""
    return " ".join(
        sorted(
            f"{name}={given}" if given else name
            for name, given in _options(program, command.split())
            if name not in _NOT_COMPARED
        )
    )


def _options(program: str, words: list[str]) -> Iterator[tuple[str, str]]:
    valued, flags = _VALUED.get(program, {}), _FLAGS.get(program, {})
    left = [*dropwhile(lambda word: not word.startswith("-"), words), ""]
    while len(left) > 1:
        word = left.pop(0)
        if word.startswith("--"):
            name, equals, given = word[2:].partition("=")
            if not equals and name in valued.values() and not left[0].startswith("-"):
                given = left.pop(0)
            yield name, given
            continue
        while (word := word.lstrip("-")) and word[0] in flags:
            yield flags[word[0]], ""
            word = word[1:]
        if word:
            follows = not word[1:] and not left[0].startswith("-")
            yield valued.get(word[0], word[0]), left.pop(0) if follows else word[1:]
