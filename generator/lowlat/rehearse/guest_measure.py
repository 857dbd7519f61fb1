# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside a measured boot: applies, verifies and measures, and leaves JSON for the host.

Started as ``python -m lowlat.rehearse.guest_measure FOLDER``; the host shares FOLDER.
"""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import say
from lowlat.base.typed_json import read_value, write_value
from lowlat.catalogue import lookup
from lowlat.host.kmsg import MALFORMED_PARAMETER, UNKNOWN_PARAMETERS, read_messages
from lowlat.host.root import Root
from lowlat.measure.runner import measure
from lowlat.model.cmdline import without_virtme
from lowlat.model.cpuset import CpuSet
from lowlat.probe import host_facts
from lowlat.rehearse import exchange, guest_tuned
from lowlat.rehearse.exchange import Facts, GuestTask
from lowlat.runtime import partition

#: In seconds; Python alone takes seconds to start on an emulated CPU.
_VERB_S = 240.0


class Guest:
    """The work of one boot, step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.task: GuestTask = read_value(folder / exchange.TASK, GuestTask)
        self.root = Root()
        self.problems: list[str] = []
        self.seconds: dict[str, float] = {"boot": time.clock_gettime(time.CLOCK_BOOTTIME)}
        self.runtime_by = ""

    def work(self) -> None:
        refused = ""
        try:
            self._stations()
        except LowlatError as error:
            refused = str(error)
        write_value(self.folder / exchange.FACTS, self._facts(refused))

    def _stations(self) -> None:
        arm = self.task.arm
        if arm.changes:
            with self._timed("runtime", "applying the run-time settings"):
                self._apply()
        if arm.verified:
            with self._timed("verify", "verifying"):
                self._verify()
        with self._timed("measure", f"measuring CPUs {self.task.measure.cpus}"):
            self._measure()

    def _apply(self) -> None:
        log, arm = self.folder / exchange.TUNED_LOG, self.task.arm
        if arm.now:
            done = "apply --now", self._isolate()
        elif arm.plan:
            done = guest_tuned.apply(self.root, self.folder / exchange.PLAN_FILES, log)
        else:
            done = guest_tuned.apply_own(self.root, arm.tuned, self.task.isolated, log)
        self.runtime_by, problems = done
        self.problems += problems

    def _isolate(self) -> list[str]:
        words = ["--profile", self.task.arm.now, "--isolate", str(self.task.isolated)]
        argv = [sys.executable, "-m", "lowlat", "apply", "--now", *words]
        ended = process.run(argv, timeout=_VERB_S)
        return [f"apply --now: {ended.last_words}"] if ended.status else []

    def _verify(self) -> None:
        argv = [sys.executable, "-m", "lowlat", "verify", "--json", "--duration", "3s"]
        ended = process.run(argv, timeout=_VERB_S)
        if ended.timed_out:
            raise LowlatError("lowlat-gen verify did not end in the guest")
        # Status 1 means findings, which the host wants to see.
        if ended.status not in (0, 1):
            raise Refused(ended.stderr.strip().removeprefix("lowlat-gen: ") or "verify failed")
        (self.folder / exchange.VERIFY).write_text(ended.stdout)

    def _measure(self) -> None:
        # In memory: traffic of the shared tree would count as noise.
        os.environ["TMPDIR"] = memory = "/dev/shm"  # noqa: S108
        os.chdir(memory)
        options = self.task.measure
        out = self.folder / str(options.out)
        _, group = partition.joined(options.cpus, self.root)
        wanted = replace(options, out=out, host=host_facts(self.root), group=group)
        for one in wanted.set_ups():
            measure(one, quiet=True, harness=self.task.harness)

    @contextmanager
    def _timed(self, name: str, title: str) -> Iterator[None]:
        say(f"{title} …")
        begin = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - begin

    def _facts(self, refused: str) -> Facts:
        text, plan = read_messages(self.root).text, self.task.arm.plan
        parameters = [item.name for item in plan.parameters] if plan else []
        (self.folder / exchange.MESSAGES).write_text(f"{text}\n")
        return Facts(
            cmdline=self.root.read("/proc/cmdline") or "",
            isolated=self._cpus("/sys/devices/system/cpu/isolated"),
            nohz_full=self._cpus("/sys/devices/system/cpu/nohz_full"),
            complaints=tuple(complaints(text, parameters)),
            runtime_by=self.runtime_by,
            problems=tuple(self.problems),
            seconds={name: round(value, 1) for name, value in self.seconds.items()},
            refused=refused,
        )

    def _cpus(self, path: str) -> CpuSet:
        return self.root.read_cpus(path) or CpuSet()


def complaints(messages: str, parameters: Iterable[str]) -> Iterator[str]:
    """Each message by which the kernel rejected or changed a parameter.

    ``parameters`` are catalogue names of planned parameters; only messages that contradict one of
    them count. An emulated clock may be called unstable in any boot.
    """
    signs = [lookup(name).sign.contradiction for name in parameters]
    against = [MALFORMED_PARAMETER, *(re.compile(sign) for sign in signs if sign)]
    for line in messages.splitlines():
        unknown = UNKNOWN_PARAMETERS.search(line)
        if unknown:
            words = without_virtme(unknown[1])
            if words:
                yield f"unknown to the kernel: {words}"
        elif any(sign.search(line) for sign in against):
            yield line


if __name__ == "__main__":
    Guest(Path(sys.argv[1])).work()
