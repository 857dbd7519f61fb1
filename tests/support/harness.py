# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat-measure as tests start it, with scripts that play other programs. (PYTEST_DONT_REWRITE)

``LOWLAT_MEASURE`` names another program than the one in ``measure/build``.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import pytest

from support import needs, procs, waits

SOURCE = Path(__file__).resolve().parents[2] / "measure"
QUICK = ("--duration", "300ms", "--warmup", "0s")
SHORT = (*QUICK, "--no-oslat")

needs_two_cpus = needs.two_cpus()
needs_stress = needs.program("stress-ng")
#: A kernel with task isolation, which no distribution packages; the arguments are its features and
#: an errno.
ISOLATING_KERNEL = (sys.executable, str(Path(__file__).with_name("isolating_kernel.py")))
needs_notification = needs.that(
    platform.machine() in ("x86_64", "aarch64"), "no number of seccomp() is known"
)
needs_root = needs.root()

OPTIONS = "--timer --timerfd --itimer --matrix --sock --udp --oom-avoid"
#: System call numbers on x86_64 and aarch64.
CALLS = {"signalfd4": (289, 74), "perf_event_open": (298, 241), "sched_setattr": (314, 274)}
_HELP = 'case $1 in --help) echo "oslat V 2.40 --json"; exit 0;; esac\n'
#: What a program answers when the harness asks for its version and options.
ANSWERS = {
    "oslat": _HELP,
    "cyclictest": _HELP.replace("oslat", "cyclictest"),
    "stress-ng": f"""case $1 in
--version) echo "stress-ng, version 0.15.06 (gcc 12)"; exit 0 ;;
--help) echo "{OPTIONS}"; exit 0 ;;
esac
""",
}
#: Tells when its answer to SIGINT is set.
READY = "touch $HOME/ready; while :; do sleep 0.02; done\n"
WAITS = f"trap 'exit 0' INT\n{READY}"


def metrics(stressor: str, rate: object = 1, file: str = "load-0.yaml") -> str:
    """The part of a played stress-ng that writes its result."""
    return f"""cat >{file} <<END
metrics:
    - stressor: {stressor}
      bogo-ops: 10
      bogo-ops-per-second-real-time: {rate}
      instances:
          - instance: 0
            bogo-ops-per-second-real-time: 99999
END
"""


@dataclass(frozen=True)
class Result:
    """The exit of a run, and the result that it wrote."""

    status: int
    out: str
    err: str
    run: dict[str, Any]

    def said(self, words: str) -> bool:
        return any(words in problem for problem in self.run["problems"])


Harness = Callable[..., Result]


def ran_for(run: dict[str, Any], seconds: float) -> bool:
    """A run's time is counter ticks by a measured rate, exact to some tenths of a ppm."""
    return all(cpu["runtime_ns"] >= 0.99999e9 * seconds for cpu in run["cpus"])


class Run(subprocess.Popen[str]):
    """A run in progress. ``phases`` tells what it does (``waits.phase``)."""

    def __init__(self, program: str, words: Sequence[str], **more: Any) -> None:
        reader, writer = os.pipe()
        self.phases = os.fdopen(reader)
        try:
            super().__init__(
                [program, "--phases", str(writer), *words], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, pass_fds=[writer], **more,
            )  # fmt: skip
        finally:
            os.close(writer)

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of ``--follow``."""
        assert self.stdout is not None
        yield from map(json.loads, self.stdout)

    def ended(self) -> tuple[int, str, str]:
        """Waits for the end. Returns the status, and what is left of the output and errors."""
        out, err = self.communicate(timeout=waits.GUARD_S)
        return self.returncode, out, err


@dataclass
class Bench:
    """lowlat-measure with programs that a test replaces, and with new folders."""

    folder: Path
    program: str
    env: dict[str, str] = field(default_factory=dict)
    started: list[Run] = field(default_factory=list)

    @property
    def json(self) -> Path:
        return self.folder / "run.json"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def play(self, name: str, script: str) -> None:
        """Put a shell script in the place of a program. It answers as that program does, unless it
        has a first line of its own."""
        path = self.folder / "bin" / name
        head = "" if script.startswith("#!") else f"#!/bin/sh\n{ANSWERS.get(name, '')}"
        path.write_text(f"{head}{script}\n")
        path.chmod(0o755)

    def start(self, *words: str, **more: Any) -> Run:
        """Begins a run, which the end of the test kills."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        own = {"PATH": path, "HOME": str(self.folder), "TMPDIR": str(self.scratch)}
        env = {**os.environ, **own, **self.env}
        self.started.append(Run(self.program, words, env=env, **more))
        return self.started[-1]

    def call(self, *words: str, **more: Any) -> Result:
        return self.result(self.start(*words, "--json", str(self.json), **more))

    def lingering(self, *words: str, **more: Any) -> Run:
        """A run whose cross-check, beside the load, lasts until ``go()``, for 15 s at most."""
        self.play("oslat", "until [ -e $HOME/go ]; do sleep 0.02; done; echo Core: 1")
        run = self.start(*QUICK, "--oslat", "--json", str(self.json), *words, **more)
        waits.phase(run.phases, "oslat")
        return run

    def go(self) -> None:
        (self.folder / "go").touch()

    def loaded(self, *words: str, **more: Any) -> Result:
        """The result of a lingering run whose load has begun: stress-ng runs a stressor, or the
        script in its place is ``READY``."""
        run = self.lingering(*words, **more)
        waits.until(lambda: self._has_begun(run), "the load does not begin")
        self.go()
        return self.result(run)

    def _has_begun(self, run: Run) -> bool:
        names = map(procs.name, procs.children(run.pid))
        stressors = (name for name in names if name.startswith("stress-ng-"))
        return (self.folder / "ready").exists() or any(stressors)

    def let_pass(self, seconds: float) -> None:
        """Another run tells how long it has measured."""
        clock = self.start(*SHORT, "--duration", "60s", "--follow")
        next(line for line in clock.lines() if line["time_s"] >= seconds)
        clock.kill()

    def result(self, run: Run) -> Result:
        """The result of a run that writes it to ``self.json``, when it has ended."""
        status, out, err = run.ended()
        document = json.loads(self.json.read_text()) if self.json.exists() else {}
        return Result(status, out, err, document)

    def end(self) -> None:
        for run in self.started:
            run.phases.close()
            with run:
                run.kill()


@pytest.fixture(scope="session")
def program() -> str:
    if os.geteuid() != 0 and os.nice(0) > 0:
        needs.absent("run under nice, which lowlat-measure needs root to leave")
    given = os.environ.get("LOWLAT_MEASURE")
    built = SOURCE / "build" / "lowlat-measure"
    if not given and not built.exists():
        argv = ["make", "-C", str(SOURCE)]
        subprocess.run(argv, check=True, capture_output=True, timeout=waits.GUARD_S)
    return given or str(built)


@pytest.fixture
def harness(program: str) -> Harness:
    """Runs lowlat-measure once; its result is its output."""

    def run(*args: str, **more: Any) -> Result:
        done = subprocess.run(
            [program, *args], capture_output=True, text=True, timeout=waits.GUARD_S, check=False,
            **more,
        )  # fmt: skip
        result = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        return Result(done.returncode, done.stdout, done.stderr, result)

    return run


@pytest.fixture
def bench(tmp_path: Path, program: str) -> Iterator[Bench]:
    for name in ("bin", "scratch"):
        (tmp_path / name).mkdir()
    made = Bench(tmp_path, program)
    yield made
    made.end()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A new file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        needs.absent(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def cpuset() -> Iterator[tuple[int, Path]]:
    """A CPU, and the process file of a cpuset that allows only this CPU."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    tops = [Path(words[1]) for words in mounts if words[2] in ("cgroup", "cgroup2")
            and (Path(words[1]) / "cgroup.procs").exists()]  # fmt: skip
    old = [top for top in tops if (top / "cpuset.cpus").exists()]
    new = [top for top in tops if "cpuset" in _words(top / "cgroup.controllers")]
    if os.geteuid() or not old + new:
        needs.absent("no cpuset can be made here: not root, or no such cgroup hierarchy")
    (top, *_) = old + new
    control = top / "cgroup.subtree_control"
    enabled = not old and "cpuset" not in _words(control)
    group, cpu = top / f"lowlat-test-{os.getpid()}", online()[-1]
    if enabled:
        control.write_text("+cpuset")
    group.mkdir()
    try:
        (group / "cpuset.cpus").write_text(str(cpu))
        if old:
            (group / "cpuset.mems").write_text((top / "cpuset.mems").read_text())
        yield cpu, group / "cgroup.procs"
    finally:
        group.rmdir()
        if enabled:
            control.write_text("-cpuset")


def _words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def without(call: str, error: int) -> Callable[[], None]:
    """For ``preexec_fn``: makes the system call fail with that errno (seccomp(2))."""
    machines = ("x86_64", "aarch64")
    if platform.machine() not in machines:
        needs.absent(f"no number of {call} on {platform.machine()} is known")
    number = CALLS[call][machines.index(platform.machine())]
    # Load the call's number; for any other call, jump over the refusal to the permission.
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error),
             (0x06, 0, 0, 0x7FFF0000)]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filters = struct.pack("HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None)

    def apply() -> None:
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
        assert libc.prctl(22, 2, filters) == 0 and code  # PR_SET_SECCOMP, its filter mode

    return apply


def online() -> list[int]:
    cpus: list[int] = []
    for part in Path("/sys/devices/system/cpu/online").read_text().strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def option(command: list[str], name: str) -> Optional[str]:
    return command[command.index(name) + 1] if name in command else None
