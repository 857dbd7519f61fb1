# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a program on chosen CPUs: the choice, the warnings about it, and the start."""

import ctypes
import errno
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2
from typing import Callable, NoReturn, Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.user import User
from lowlat.catalogue.scheduling import FAIR_SERVER, throttles
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.launch import UNBALANCED, Launch
from lowlat.probe.kernel import read_running

#: How often to look for new threads of the program, in seconds.
_POLL_S = 0.05

_HANDED_ON = (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2)


class CannotRun(LowlatError):
    """The program was not started. As in a shell, status 127 means not found, 126 anything else."""

    def __init__(self, program: str, error: OSError) -> None:
        super().__init__(f"cannot run {program}: {error.strerror}")
        self.status = 127 if error.errno == errno.ENOENT else 126


def warnings(place: Launch, root: Root) -> tuple[str, ...]:
    """Warnings of effects on a program there that its user may not expect."""
    isolated = root.read_cpus(f"{CPU}/isolated") or CpuSet()
    warnings = list(filter(None, [not_isolated(place, root)]))
    if len(place.cpus & isolated) > 1 and not place.one_per_thread:
        warnings.append(
            f"{UNBALANCED}; --one-per-thread spreads them, or the program pins them itself"
        )
    if place.one_per_thread:
        warnings.append(f"with more than {len(place.cpus)} threads, some share a CPU")
    if place.priority:
        warnings.append(_realtime_warning(place, root))
    return tuple(warnings)


def not_isolated(place: Launch, root: Root) -> str:
    """A warning of CPUs that this boot does not isolate; "" if it isolates all of them."""
    isolated = root.read_cpus(f"{CPU}/isolated") or CpuSet()
    if place.group:
        isolated |= root.read_cpus(f"{place.group}/cpuset.cpus.effective") or CpuSet()
    shared = place.cpus - isolated
    return f"CPU {shared}: not isolated in this boot, other tasks run there too" if shared else ""


def _realtime_warning(place: Launch, root: Root) -> str:
    return (
        f"{place.policy}: a thread that never sleeps keeps the kernel's own threads (ksoftirqd, "
        f"rcuc, kworker) from its CPU; {_rescue(place, root)}; for a program that spins take "
        "--policy other"
    )


def _rescue(place: Launch, root: Root) -> str:
    """What rescues ordinary tasks that such a thread starves: throttling, or from 6.12 on the fair
    server (kernel/sched/deadline.c)."""
    saved = "the kernel interrupts it for some percent of the time so that they run"
    if throttles(read_running(root)):
        off = root.read_int("/proc/sys/kernel/sched_rt_runtime_us") == -1
        return (
            "sched_rt_runtime_us=-1, so nothing saves them: the system can hang" if off else saved
        )
    budgets = [root.read_int(f"{FAIR_SERVER}/cpu{cpu}/runtime") for cpu in place.cpus]
    if 0 in budgets:
        return "fair_server is off there, so nothing saves them: the system can hang"
    return saved if all(budgets) else "only fair_server saves them, which root alone can look at"


def exec_on_cpus(command: Sequence[str], place: Launch) -> NoReturn:
    """Replace this process with the program, on its CPUs. Raises Refused if the CPUs are not
    available, CannotRun if the program cannot run."""
    _enter(place, place.cpus)
    try:
        process.exec_program(command)
    except OSError as error:
        raise CannotRun(command[0], error) from error


def run_and_keep(
    command: Sequence[str],
    place: Launch,
    before: Callable[[int], None] = lambda pid: None,
    *,
    user: Optional[User] = None,
    handed: Optional[Mapping[int, int]] = None,
) -> int:
    """Run the program, forward signals to it, and where each thread shall have a CPU of its own,
    put each on the one with the fewest. Returns its exit status, or 128 + N if signal N ended it.
    ``before`` is called with its PID while it is held; for ``user`` and ``handed`` see
    process.hold(). Raises as exec_on_cpus()."""
    leave = _way_back(place)
    blocked = {*_HANDED_ON, signal.SIGCHLD, signal.SIGALRM}
    # From here on, signals stay pending for _watch().
    signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    _enter(place, CpuSet.of(place.order[:1]) or place.cpus)
    held = process.hold(command, user=user, handed=handed)
    leave()
    try:
        before(held.pid)
    except BaseException:
        held.drop()
        raise
    try:
        held.release()
    except OSError as error:
        raise CannotRun(command[0], error) from error
    status = _watch(held.pid, place, blocked)
    _unblock(blocked)
    return status


def _way_back(place: Launch) -> Callable[[], None]:
    """A function that undoes _enter() for this process and keeps it off the program's CPUs."""
    cpus = os.sched_getaffinity(0)
    policy = (os.sched_getscheduler(0), os.sched_getparam(0))
    (group,) = re.findall(r"^0::(/.*)$", Path("/proc/self/cgroup").read_text(), re.M) or ("/",)

    def leave() -> None:
        os.sched_setscheduler(0, *policy)
        with suppress(OSError):
            if place.group:
                _join(f"/sys/fs/cgroup{group}")
            os.sched_setaffinity(0, cpus - place.cpus.ids or cpus)

    return leave


def _enter(place: Launch, cpus: CpuSet) -> None:
    """Give this process the program's group, CPUs and priority."""
    try:
        if place.group:
            _join(place.group)
        os.sched_setaffinity(0, cpus.ids)
        if os.sched_getaffinity(0) != cpus.ids:
            raise OSError(errno.EINVAL, "some of them are not allowed")
    except OSError as error:
        hint = "see 'Cpus_allowed_list' in /proc/self/status"
        raise Refused(f"CPU {cpus}: {error.strerror}", hint=hint) from error
    try:
        if place.priority:
            kind = os.SCHED_RR if place.policy.startswith("rr") else os.SCHED_FIFO
            os.sched_setscheduler(0, kind, os.sched_param(place.priority))
    except OSError as error:
        why = f"--policy {place.policy}: {error.strerror}"
        raise Refused(why, hint="run as root, or raise 'ulimit -r'") from error
    if place.task_isolation:
        _quiesce()


#: include/uapi/linux/prctl.h of those patches: PR_ISOL_*, their I_CFG_* and ISOL_F_QUIESCE.
_FEAT_GET, _CFG_SET, _ACTIVATE_SET = 63, 65, 67
_FEATURE, _INHERIT = 1, 2
_QUIESCE = 1


def _quiesce() -> None:
    """Let the kernel do deferred work whenever a system call of the program or its children
    returns: PR_ISOL_* and ISOL_F_QUIESCE of the task isolation patches, v5 to v13. Other kernels
    use these numbers for other calls, so nothing more is called if the features are missing."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *(ctypes.c_void_p,) * 4]
    # The patches' text passes the inheritance as fourth argument, their code as third.
    mask, inherit, control = ((ctypes.c_uint64 * 8)(*bits) for bits in ((), (3,), (0, 1)))
    offered = prctl(_FEAT_GET, 0, mask, 0, 0) == 0 and mask[0] & _QUIESCE
    mask[0] = _QUIESCE
    calls = (
        (_CFG_SET, _INHERIT, inherit, inherit, 0),
        (_CFG_SET, _FEATURE, _QUIESCE, 1, control),
        (_ACTIVATE_SET, mask, 0, 0, 0),
    )
    if not offered or any(prctl(*call) for call in calls):
        why = os.strerror(ctypes.get_errno()) if offered else "this kernel does not offer it"
        raise Refused(f"--task-isolation: {why}", hint="leave it out")


def _join(group: str) -> None:
    Path(group, "cgroup.procs").write_text(str(os.getpid()))


def _watch(child: int, place: Launch, signals: set[signal.Signals]) -> int:
    threads: dict[int, int] = {}
    if place.one_per_thread:
        # Not sigtimedwait(): stopped for longer than its timeout, it returns uninitialized memory.
        signal.setitimer(signal.ITIMER_REAL, _POLL_S, _POLL_S)
    while True:
        if place.one_per_thread:
            threads = _spread(child, place.order, threads)
        came = signal.sigwaitinfo(signals)
        # The kernel sends a terminal's signal to the program too.
        if came.si_signo != signal.SIGCHLD and came.si_code <= 0:
            with suppress(ProcessLookupError):
                os.kill(child, came.si_signo)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _unblock(signals: set[signal.Signals]) -> None:
    """Without those that came for the program."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    while signal.sigpending() & signals:
        signal.sigwait(signals)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def _spread(child: int, order: Sequence[int], threads: dict[int, int]) -> dict[int, int]:
    """Put each new thread on the first CPU of ``order`` with the fewest threads; ``threads`` maps
    known threads to their CPUs."""
    alive = set()
    with suppress(OSError):
        alive = {int(thread.name) for thread in Path(f"/proc/{child}/task").iterdir()}
    kept = {thread: cpu for thread, cpu in threads.items() if thread in alive}
    for thread in sorted(alive - set(kept)):
        kept[thread] = min(order, key=list(kept.values()).count)
        with suppress(OSError):  # the thread may have ended
            os.sched_setaffinity(thread, {kept[thread]})
    return kept
