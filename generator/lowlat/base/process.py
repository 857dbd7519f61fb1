# SPDX-License-Identifier: GPL-2.0-or-later
"""Start other programs: argument vectors only, always with a time limit, never a shell. What root
starts here, others must not be able to change; the program that the user named is the user's
choice. Also the package that brings a program, by its name in this distribution."""

import fcntl
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn, Optional, Union

from lowlat.base import bounds, resources, trust
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.user import User

#: A program that start() started, and the target that discards its output.
Child = subprocess.Popen[bytes]
NOWHERE = subprocess.DEVNULL

#: Signals that Python ignores; a program started from here would inherit that.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit status (negative: killed by that signal) and its output."""

    status: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def last_words(self) -> str:
        """The program's reason for its failure: its last line on stderr, or its exit status."""
        return last_line(self.stderr) or f"exit status {self.status}"


def find(program: str) -> Optional[str]:
    """The program's path. Also searches /usr/sbin and /sbin, which a user's PATH often lacks. For
    root, programs that others can change come last."""
    return _find(program, f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin")


def _find(program: str, path: str) -> Optional[str]:
    if os.sep in program:
        return shutil.which(program)
    places = (shutil.which(program, path=folder) for folder in path.split(":"))
    found = list(filter(None, places))
    return next(filter(trust.held, found), found[0] if found else None)


def judge_program(program: str, env: Optional[Mapping[str, str]] = None) -> str:
    """The path of a program that will start, by its path or by its name for PATH. Raises Refused,
    for root, if others can change it."""
    path = program
    if os.sep not in program:
        places = (os.environ if env is None else env).get("PATH", os.defpath)
        path = _find(program, places) or program
    if not _is_ours(path):
        trust.check_program(path, why="and root would run it")
    return path


def _is_ours(path: str) -> bool:
    """Whether the program is the interpreter that runs this, or is in the same folder as a lowlat
    that others can change: its user chose to run that."""
    beside = (Path(each).absolute().parent for each in (sys.argv[0], sys.executable))
    ours = any(folder in Path(path).absolute().parents for folder in (*beside, _PACKAGE))
    return path == sys.executable or (ours and not trust.held(str(_PACKAGE)))


_PACKAGE = Path(__file__).absolute().parents[1]


class NotInstalled(Refused):
    """A program is not installed; ``hint`` says how to get one that no package brings."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(f"{what} is not installed", hint=hint or package_hint(what) or None)
        self.what = what


def need(program: str, *, hint: str = "") -> str:
    """The program's path. Raises Refused if it is not installed."""
    path = find(program)
    if path is None:
        raise NotInstalled(program, hint=hint)
    return path


def start(
    argv: Sequence[str],
    *,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    stdin: int = subprocess.DEVNULL,
    stdout: Union[int, IO[bytes]] = subprocess.PIPE,
    stderr: Union[int, IO[bytes]] = subprocess.PIPE,
    handed: Sequence[int] = (),
    user: Optional[User] = None,
    named: bool = False,
) -> Child:
    """Start a program as the leader of its own process group; end_group() ends it. It gets the
    descriptors ``handed``, and runs as ``user`` if root starts it for one. Raises LowlatError if
    the program cannot be started, Refused if root would start what others can change; ``named``:
    the user named this program, and it may be any."""
    rights: dict[str, Any] = {}
    path = argv[0] if user or named else judge_program(argv[0], env)
    if user:
        groups = os.getgrouplist(user.name, user.gid)
        rights = {"user": user.uid, "group": user.gid, "extra_groups": groups}
        env = {**(os.environ if env is None else env), **user.environment}
    try:
        return subprocess.Popen(
            list(argv),
            executable=path,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=cwd,
            pass_fds=handed,
            start_new_session=True,
            **rights,
        )
    except OSError as error:
        raise LowlatError(f"cannot run {argv[0]}: {error.strerror}") from error


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    keep: int = bounds.OUTPUT,
    user: Optional[User] = None,
    stdin: int = NOWHERE,
) -> Finished:
    """Run a program to its end, as start() does; after ``timeout`` seconds end it and its process
    group. Of each output the last ``keep`` bytes are kept. Raises LowlatError if it cannot be
    started."""
    until = time.monotonic() + timeout
    child = start(argv, env=env, cwd=cwd, user=user, stdin=stdin)
    with child:  # closes the pipes
        outputs = _Outputs(child, keep)
        try:
            in_time = outputs.read(until) and wait(child, _left(until)) is not None
        finally:
            end_group(child)
        if not in_time:
            outputs.read(time.monotonic() + _LAST_WORDS_S)
        return Finished(child.returncode, *outputs.texts(), not in_time)


#: How long to read what an ended program has said; another one may hold its output open.
_LAST_WORDS_S = 1.0


class _Outputs:
    """The last bytes of both outputs of a program, read while it runs."""

    def __init__(self, child: Child, keep: int) -> None:
        self._keep = keep
        self._held: dict[Any, bytearray] = {
            stream: bytearray() for stream in (child.stdout, child.stderr)
        }
        self._open = set(self._held)

    def read(self, until: float) -> bool:
        """Read until both are closed; False if they are not at that time (monotonic)."""
        while self._open:
            left = _left(until)
            if left == 0:
                return False
            for stream in select.select(list(self._open), [], [], left)[0]:
                data = os.read(stream.fileno(), 1 << 16)
                held = self._held[stream]
                held += data
                if not data:
                    self._open.remove(stream)
                elif len(held) > 2 * self._keep:
                    del held[: -self._keep]
        return True

    def texts(self) -> tuple[str, str]:
        out, err = (text(bytes(held[-self._keep :])) for held in self._held.values())
        return out, err


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())


def keep_off(cpus: Iterable[int]) -> None:
    """Remove CPUs from this process's affinity if that is possible."""
    own = os.sched_getaffinity(0).difference(cpus)
    with suppress(OSError):
        os.sched_setaffinity(0, own or set(range(os.cpu_count() or 1)).difference(cpus))


@contextmanager
def aside(cpus: Iterable[int]) -> Iterator[None]:
    """Keep this process and what it starts off the CPUs during the block, if possible."""
    own = os.sched_getaffinity(0)
    keep_off(cpus)
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, own)


def wait(child: Child, seconds: float) -> Optional[int]:
    """The exit status of a program, or None if it runs longer than ``seconds``. Sleeps in the
    kernel; Popen.wait() would wake up to poll and disturb a measurement."""
    if child.poll() is None:
        try:
            ends = os.pidfd_open(child.pid)
        except OSError:  # before Linux 5.3
            with suppress(subprocess.TimeoutExpired):
                return child.wait(seconds)
            return None
        poll = select.poll()
        poll.register(ends, select.POLLIN)
        poll.poll(seconds * 1000)
        os.close(ends)
    return child.poll()


def read(child: Child, seconds: float) -> bytes:
    """The next output of a program, after at most ``seconds``; b"" also if its output is closed."""
    assert child.stdout is not None  # noqa: S101 (it was asked for)
    ready, _, _ = select.select([child.stdout], [], [], seconds)
    return os.read(child.stdout.fileno(), 1 << 16) if ready else b""


def exec_program(argv: Sequence[str]) -> NoReturn:
    """Replace this process with a program that the user named. Raises OSError if that fails."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    os.execvp(argv[0], list(argv))  # noqa: S606


def exec_judged(argv: Sequence[str]) -> NoReturn:
    """Replace this process with a program that the user did not name. Raises Refused as start()
    does."""
    exec_program([judge_program(argv[0]), *argv[1:]])


@dataclass(frozen=True)
class Held:
    """A program in the foreground of this terminal that has its process, but does not run yet. If
    this process ends before release(), the program never runs."""

    pid: int
    _go: int
    _failed: int

    def release(self) -> None:
        """Run it. Raises OSError if it cannot be run; its process has then ended."""
        os.write(self._go, b"1")
        os.close(self._go)
        number = os.read(self._failed, 16)
        os.close(self._failed)
        if number:
            os.waitpid(self.pid, 0)
            raise OSError(int(number), os.strerror(int(number)))

    def drop(self) -> None:
        """End it unrun."""
        os.close(self._go)
        os.close(self._failed)
        os.waitpid(self.pid, 0)


def hold(
    argv: Sequence[str],
    *,
    user: Optional[User] = None,
    handed: Optional[Mapping[int, int]] = None,
) -> Held:
    """Hold a program that the user named, with this process's CPUs and priority, no signal blocked.
    It will run as ``user`` if root starts it for one, and ``handed`` maps its descriptors to those
    of this process."""
    go, failed = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go[1])
        _run_held(argv, user, handed or {}, go[0], failed[1])
    os.close(go[0])
    os.close(failed[1])
    return Held(pid, go[1], failed[0])


def _run_held(
    argv: Sequence[str], user: Optional[User], handed: Mapping[int, int], go: int, failed: int
) -> NoReturn:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if os.read(go, 1):
            while failed in handed:
                failed = fcntl.fcntl(failed, fcntl.F_DUPFD_CLOEXEC, 0)
            for theirs, ours in handed.items():
                os.dup2(ours, theirs)
                os.set_inheritable(theirs, True)  # where both are the same, dup2() does nothing
            if user:
                user.become()
            exec_program(argv)
    except OSError as error:
        os.write(failed, str(error.errno).encode())
    finally:
        os._exit(127)


def text(output: bytes) -> str:
    """A program's output as text; bytes that are not UTF-8 become a replacement character."""
    return output.decode("utf-8", "replace")


def last_line(said: str) -> str:
    """The last line that is not blank, or ""."""
    return (said.strip().splitlines() or [""])[-1].strip()


def end_group(child: Child, grace: float = 3.0) -> None:
    """End a program that start() started, with its process group: SIGTERM first, then SIGKILL. A
    child that was already reaped is left alone, for its PID may belong to another process."""
    if child.returncode is not None:
        return
    # The leader is reaped last: until then no other group can get this number. The second signal is
    # sent even when the first ended the leader: its children may still run.
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(child.pid, number)
        deadline = time.monotonic() + grace
        while _members(child.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
    child.wait()


def _members(group: int) -> list[str]:
    """The living processes of a process group (proc_pid_stat(5), fields 3 and 5)."""
    names = []
    for folder in folders():
        with suppress(OSError):
            text = (folder / "stat").read_text(errors="replace")
            fields = text.rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                names.append(folder.name)
    return names


def folders() -> list[Path]:
    """The folder below /proc of each process. Reading one fails if its process has ended since.
    Path.glob would then fail as a whole, for it does not expect ESRCH."""
    return [path for path in Path("/proc").iterdir() if path.name.isdecimal()]


_POLL_S = 0.2


class StopRequested(Exception):
    """The user or the caller asked to stop."""


def follow(
    argv: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    limit: float,
    stop: threading.Event,
) -> Optional[int]:
    """Run a command; its output and errors go to ``log``, up to the limit in bounds. Returns the
    exit status, or None if the time was up and the process group was ended. Raises StopRequested if
    ``stop`` was set, LowlatError if the command cannot be started."""
    # A pipe, not the file itself: QEMU would reopen the file and overwrite its content.
    with log.open("wb", buffering=0) as kept:
        kept.write(f"{shlex.join(argv)}\n".encode())
        child = start(argv, env=environment, stderr=subprocess.STDOUT)
        try:
            ended = _pump(child, kept, time.monotonic() + limit, stop)
        finally:
            # QEMU may outlive the program that started it, and a hung one survives SIGTERM.
            end_group(child)
    return child.returncode if ended else None


def _pump(child: Child, kept: BinaryIO, deadline: float, stop: threading.Event) -> bool:
    """Whether the program ended in time. It is not reaped yet: its group keeps its number."""
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while time.monotonic() < deadline:
        if stop.is_set():
            raise StopRequested
        # In this order: what the program writes last is read before its end is believed.
        ended = os.waitid(os.P_PID, child.pid, options) is not None
        data = read(child, 0 if ended else _POLL_S)
        if data:
            kept.write(data[: max(0, bounds.GUEST_LOG - kept.tell())])
        elif ended:
            return True
        else:
            time.sleep(_POLL_S)  # a closed output makes read() return at once
    return False


#: By program: its package in Debian and Ubuntu, and in Fedora and RHEL.
PACKAGES = {
    program: tuple(names.split(", "))
    for program, names in resources.texts("base/packages.ini")["packages"].items()
}


def package_hint(program: str) -> str:
    """How to get a program on this distribution; "" if no package is known."""
    if program not in PACKAGES:
        return ""
    debian, fedora = PACKAGES[program]
    if shutil.which("apt-get") or debian == fedora:
        return f"install the package {debian}"
    if shutil.which("dnf") or shutil.which("yum"):
        return f"install the package {fedora}"
    return f"install the package {debian} (Debian) or {fedora} (Fedora)"
