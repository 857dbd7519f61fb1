# SPDX-License-Identifier: GPL-2.0-or-later
"""One emulated boot: limited in time and memory, repeated only if the emulator itself spoilt it.

PASS: it ended by itself. FAIL: an assertion, a panic, a limit or a hang, never repeated. SPOILT: a
bug of the emulator shows, or the guest's clock overtook the host's; the boot begins again at once,
and three of three are a failure. ABSENT: there is no emulator, see needs.py. The file that
LOWLAT_SPOILT names gets a line for each boot.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Optional, TypeVar

from lowlat import cli
from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.rehearse import exchange, vm
from support import needs, procs

T = TypeVar("T")

#: Intel's name, since the kernel trusts no clock of other multiprocessors without more proof.
#: Without cx16: see rehearse/qemu.py.
X86_CPU = "max,vendor=GenuineIntel,-cx16"

#: By Debian's architecture: QEMU's machine and CPU, and the serial console. ARM's machine has an
#: IOMMU, for which it has a device.
_MACHINES = {
    "amd64": ("qemu-system-x86_64", "q35", X86_CPU, "ttyS0"),
    "arm64": ("qemu-system-aarch64", "virt,gic-version=3,iommu=smmuv3", "cortex-a72", "ttyAMA0"),
}

#: With a host thread per CPU.
THREADS = ("-accel", "tcg,thread=multi")

#: How often a spoilt boot begins again.
_AGAIN = 2

_LOOK_S = 2.0

#: A limit is in CPU seconds of the emulator, which are the same on a busy host. This many times
#: that in wall time ends what the host starves.
WALL = 6

#: A guest hangs if its console is silent and its emulator used less than this share of a CPU for so
#: long. A guest that only sleeps takes its timers: the quietest one seen used 0.006.
_STILL_S = 120.0
_STILL = 0.001

#: A right clock begins after the emulator has started, and never overtakes the host's. On a busy
#: host the guest may measure its clock's rate wrong, so that all its time limits end too early.
_FAST = 1.5
_CLOCK = re.compile(r"\[ *(\d+\.\d{6})\] ")


@dataclass(frozen=True)
class EmulatorBug:
    """A text on the console that only QEMU causes, in versions before this one; () in all."""

    text: str
    before: tuple[int, ...] = ()

    def shows(self, console: str, version: tuple[int, ...]) -> bool:
        return self.text in console and (not self.before or version < self.before)


#: Where each CPU has a thread, one may translate code that another is patching (mended by QEMU's
#: deba78709ae8, "Always lock pages before translation"), and on a busy host the timer may be so
#: late that the kernel takes it for missing.
_BUGS = (EmulatorBug("Oops: int3:", (8, 1)), EmulatorBug("IO-APIC + timer doesn't work"))

#: Before this version a guest by -icount hangs now and then; a rehearsal makes up for one.
_HANGS_BEFORE = (8, 1)
_HANG = "a hang of -icount"


@dataclass(frozen=True)
class Hardware:
    """The machine to emulate; ``cpu`` is QEMU's model, "" the architecture's default, ``serial``
    QEMU's backend of the console's line, ``accel`` how QEMU runs its CPUs."""

    arch: str = "amd64"
    cpus: int = 4
    memory_mib: int = 768
    cpu: str = ""
    serial: str = "stdio"
    accel: tuple[str, ...] = THREADS

    @property
    def console(self) -> str:
        return _MACHINES[self.arch][3]

    def argv(self) -> list[str]:
        """QEMU's arguments; skips the test with a reason if the emulator is missing."""
        program, machine, cpu, _ = _MACHINES[self.arch]
        found = process.find(program)
        if found is None:
            needs.absent(f"{program} is not installed")
        # One socket per CPU, as in the captured machines whose plans are booted here.
        return [
            *(found, "-machine", machine, "-cpu", self.cpu or cpu),
            *(*self.accel, "-m", str(self.memory_mib)),
            *("-smp", f"{self.cpus},sockets={self.cpus},cores=1,threads=1"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot"),
            *("-serial", self.serial),
            *(("-device", "virtio-rng-pci") if self.arch == "arm64" else ()),
        ]


@dataclass
class RunningBoot:
    """A boot as seen from outside. ``words`` are in its emulator's arguments; ``spoilt`` is the bug
    that spoilt it, ``failure`` why it has to end, ``cut`` whether its console showed ``cut_at``."""

    log: Path
    limit: float
    words: str
    cut_at: str = ""
    spoilt: str = ""
    failure: str = ""
    cut: bool = False
    hung: bool = False
    begin: float = field(default_factory=time.monotonic)
    _counts: bool = False
    _moved: tuple[float, float, int] = (0.0, 0.0, 0)

    def look(self) -> bool:
        """Whether the boot has to end now."""
        console = self.log.read_text(errors="replace") if self.log.exists() else ""
        pid = _emulator(self.words)
        if pid:
            self._counts = "\0-icount\0" in _text(pid, "cmdline")
            self._judge(len(console), _cpu_s(pid))
        self.cut = self.cut or bool(self.cut_at and self.cut_at in console)
        self.spoilt = self.spoilt or self._bug(console)
        return bool(self.spoilt or self.failure or self.cut)

    def _judge(self, said: int, cpu_s: float) -> None:
        now = time.monotonic()
        at, used, before = self._moved
        if not at or said != before or cpu_s - used >= _STILL * _STILL_S:
            self._moved = (now, cpu_s, said)
        elif now - at >= _STILL_S:
            self.hung = True
            self.failure = f"it hangs: silent and still for {_STILL_S:.0f} s"
        if cpu_s > self.limit:
            self.hung = True
            self.failure = f"it did not end within {self.limit:.0f} CPU seconds"

    def _bug(self, console: str) -> str:
        for bug in _BUGS:
            if bug.shows(console, version()):
                return bug.text
        times = _CLOCK.findall(console)
        # By -icount a guest's time is its instructions', however fast the host is.
        fast = times and float(times[-1]) > _FAST * (time.monotonic() - self.begin)
        return "the guest's clock is fast" if fast and not self._counts else ""


@cache
def version() -> tuple[int, ...]:
    """QEMU's; () if there is none."""
    program = process.find(_MACHINES["amd64"][0]) or process.find(_MACHINES["arm64"][0])
    told = process.run([program, "--version"], timeout=_STILL_S).stdout if program else ""
    found = re.search(r"version (\d+)\.(\d+)", told)
    return (int(found[1]), int(found[2])) if found else ()


def run(
    argv: Sequence[str],
    *,
    limit: float,
    log: Path,
    prepare: Callable[[], None] = lambda: None,
    cut_at: str = "",
) -> str:
    """Boot until the power-off; returns the console's output, which ``log`` stores too. ``prepare``
    runs before each attempt. The power is cut when the console shows ``cut_at``.

    Raises LowlatError if the boot did not end within ``limit`` CPU seconds, or ended with an error.
    """
    # timeout(1) ends the emulator even if this process is killed.
    guard = ["timeout", "--kill-after=10", f"{WALL * limit + 30:.0f}"]
    running: list[RunningBoot] = []

    def attempt() -> RunningBoot:
        prepare()
        running.append(RunningBoot(log, limit, "\0".join(argv[1:]), cut_at))
        return running[-1]

    def boot(stop: threading.Event) -> None:
        with suppress(process.StopRequested):
            status = process.follow([*guard, *argv], os.environ, log, WALL * limit, stop)
            running[-1].look()
            if status != 0 and not running[-1].cut:
                console = log.read_text(errors="replace")
                late = f"it did not end within {WALL * limit:.0f} s"
                raise LowlatError(late if status is None else process.last_line(console))

    repeated(boot, attempt, _kernel(argv))
    return log.read_text(errors="replace")


def run_on_host_files(boot: vm.GuestBoot) -> None:
    """The same with this host's file tree.

    Raises LowlatError if the boot did not end within its limit, in CPU seconds, or ended with an
    error.
    """
    walled = replace(boot, limit=WALL * boot.limit)
    repeated(
        lambda stop: vm.run(walled, stop),
        lambda: RunningBoot(boot.log, boot.limit, f"path={boot.folder},"),
        boot.kernel.release,
    )


def repeated(
    boot: Callable[[threading.Event], T], attempt: Callable[[], RunningBoot], kernel: str
) -> T:
    """What ``boot`` returns, which runs as often as the emulator spoils it; it ends soon after the
    event is set. ``attempt`` prepares each, and tells what to look at.

    Raises LowlatError if it is ended, or spoilt every time; otherwise what ``boot`` raises.
    """
    for _ in range(_AGAIN + 1):
        running = attempt()
        running.log.unlink(missing_ok=True)
        made: Optional[T] = None
        error: Optional[Exception] = None
        try:
            made = _attended(boot, running)
        except Exception as raised:
            error = raised
        outcome = "spoilt" if running.spoilt else "fail" if error or running.failure else "pass"
        _tell(running, outcome, kernel)
        if running.spoilt:
            continue
        if running.failure or isinstance(error, LowlatError):
            why = f"the boot failed: {running.failure or error}"
            raise LowlatError(why, hint=f"the console's text is in {running.log}") from error
        if error:
            raise error
        return made  # type: ignore[return-value]  # without an error there is a result
    why = f"the emulator spoilt {_AGAIN + 1} boots of {_AGAIN + 1}: {running.spoilt}"
    raise LowlatError(why, hint=f"the last console's text is in {running.log}")


def _attended(boot: Callable[[threading.Event], T], running: RunningBoot) -> T:
    stop = threading.Event()

    def look() -> None:
        if running.look():
            stop.set()

    with _looking(look):
        try:
            return boot(stop)
        finally:
            running.look()


@contextmanager
def _looking(look: Callable[[], object]) -> Iterator[None]:
    """Call ``look`` now and then while the block runs."""
    ended = threading.Event()

    def often() -> None:
        while not ended.wait(_LOOK_S):
            look()

    thread = threading.Thread(target=often)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


# ---------------------------------------------------------------- rehearsals


def rehearse(argv: Sequence[str], out: Path, limit: float) -> int:
    """lowlat-gen with these words; returns its exit status. Boots that the emulator spoilt are made
    up for by --resume."""
    hangs = 0
    status = 1
    for again in range(_AGAIN + 1):
        guests: dict[Path, RunningBoot] = {}
        with _looking(partial(_attend, guests, limit)):
            status = cli.main(["rehearse", "--resume", str(out)] if again else list(argv))
        failed = [guest for guest in guests.values() if not _has_ended_well(guest)]
        for guest in failed:
            guest.look()
            if guest.hung and guest._counts and version() < _HANGS_BEFORE:
                guest.spoilt, hangs = _HANG, hangs + 1
        for guest in guests.values():
            bad = "spoilt" if guest.spoilt else "fail"
            _tell(guest, bad if guest in failed else "pass", guest.log.parents[1].name)
        if status == 0 or hangs > 1 or not failed or not all(guest.spoilt for guest in failed):
            break
    return status


def _attend(guests: dict[Path, RunningBoot], limit: float) -> None:
    """Look at all guests of this process, and end those that have to."""
    for pid in _emulators():
        found = re.search(rf"path=([^,\0]+)/{exchange.SHARE},", _text(pid, "cmdline"))
        if found:
            log = Path(found[1]) / vm.LOG
            guest = guests.setdefault(log, RunningBoot(log, limit, found[0]))
            if guest.look():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _has_ended_well(guest: RunningBoot) -> bool:
    """Whether a rehearsal took the boot's results: a boot that fails leaves none."""
    folder = guest.log.parent
    plans = folder.name == "scout"
    return (folder.with_name(exchange.ARMS) if plans else folder / exchange.FACTS).exists()


# ------------------------------------------------------------- the emulator's


def _emulators() -> Iterator[int]:
    """The emulators that this process has started."""
    for pid in procs.children(os.getpid()):
        if _text(pid, "comm").startswith("qemu-system"):
            yield pid


def _emulator(words: str) -> int:
    """The one with these words among its arguments; 0 if there is none."""
    return next((pid for pid in _emulators() if words in _text(pid, "cmdline")), 0)


def _text(pid: int, name: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""


def _cpu_s(pid: int) -> float:
    """The CPU time of a process and all its threads (proc_pid_stat(5), utime and stime)."""
    fields = _text(pid, "stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _kernel(argv: Sequence[str]) -> str:
    """The release of QEMU's kernel; "" if a boot loader starts one."""
    image = argv[argv.index("-kernel") + 1] if "-kernel" in argv else ""
    return Path(image).name.partition("vmlinuz-")[2]


def _tell(boot: RunningBoot, outcome: str, kernel: str) -> None:
    path = os.environ.get("LOWLAT_SPOILT")
    if path:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        row = {
            "boot": test or str(boot.log),
            "outcome": outcome,
            "sign": boot.spoilt or boot.failure,
            "kernel": kernel,
            "seconds": round(time.monotonic() - boot.begin),
        }
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
