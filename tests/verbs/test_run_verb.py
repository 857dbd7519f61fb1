# SPDX-License-Identifier: GPL-2.0-or-later
"""``run`` on this machine's own CPUs, its warnings, and the pages about other ways."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lowlat.model.cpuset import CpuSet
from support import machines, needs, procs, synthetic, waits
from support.cli import GEN, lowlat
from support.harness import ISOLATING_KERNEL, needs_notification
from support.ordinary_user import AS_NOBODY, OrdinaryUser
from support.waits import GUARD_S

pytest_plugins = ["support.ordinary_user"]
pytestmark = pytest.mark.slow

ALLOWED = sorted(os.sched_getaffinity(0))
LAST = str(ALLOWED[-1])
MACHINE = Path(__file__).parents[1] / "machines/qemu-x86-2s4c-2n-devices.txt"

two_cpus = needs.two_cpus()
as_root = needs.root("real-time policy")

#: Ends once its threads have the expected CPUs, or without them after a while.
THREADS = """
import os, sys, threading, time
count, cpus = int(sys.argv[1]), int(sys.argv[2])
leave = threading.Event()
for _ in range(count - 1):
    threading.Thread(target=leave.wait, daemon=True).start()
for _ in range(400):
    held = [os.sched_getaffinity(int(name)) for name in os.listdir("/proc/self/task")]
    if all(len(one) == 1 for one in held) and len(set.union(*held)) == cpus:
        break
    time.sleep(0.05)
leave.set()
for cpu in sorted(set.union(*held)):
    print(cpu, sum(cpu in one for one in held))
"""


def run(*words: object, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GEN, "run", *map(str, words)],
        input=given,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
    )


def tree(tmp_path: Path, *, isolated: str = "2-3", **files: str) -> Path:
    given = {
        f"{machines.CPU}/online": "0-3\n",
        f"{machines.CPU}/isolated": f"{isolated}\n",
        **files,
    }
    return machines.write_tree(tmp_path / "host", given)


# ------------------------------------------------------------------ it runs


def test_the_program_runs_there_and_has_its_output_for_itself() -> None:
    done = run("--cpus", LAST, "--", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Cpus_allowed_list:\t{LAST}\n"


@pytest.mark.parametrize("more", [(), ("--one-per-thread",)])
@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("cat; exit 3", 3), ("kill -TERM $$", 143)],
)
def test_its_exit_status_is_the_programs(more: tuple[str, ...], script: str, status: int) -> None:
    done = run("--cpus", LAST, *more, "--", "sh", "-c", script, given="a line\n")
    # Without a keeper the program replaces this process, so the signal ends the program.
    killed = not more and done.returncode == -signal.SIGTERM
    assert status == (143 if killed else done.returncode)
    assert done.stdout == ("a line\n" if "cat" in script else "")
    assert done.stderr == ""


@pytest.mark.parametrize("more", [(), ("--one-per-thread",)])
def test_a_closed_pipe_ends_the_program(more: tuple[str, ...]) -> None:
    """Python ignores SIGPIPE; the started program must not inherit this."""
    status = "grep SigIgn /proc/self/status"
    done = run("--cpus", LAST, *more, "--", "sh", "-c", status)
    assert int(done.stdout.split()[1], 16) >> (signal.SIGPIPE - 1) & 1 == 0


@pytest.mark.parametrize("more", [(), ("--one-per-thread",)])
@pytest.mark.parametrize(("program", "status"), [("/no/such", 127), ("/etc/passwd", 126)])
def test_what_cannot_run(more: tuple[str, ...], program: str, status: int) -> None:
    done = run("--cpus", LAST, *more, "--", program)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"lowlat-gen: cannot run {program}: ")
    assert done.stderr.count("\n") == 1


def test_the_programs_own_options_are_its_own() -> None:
    done = run("--cpus", LAST, "--", "echo", "--cpus", "--", "-n")
    assert done.stdout == "--cpus -- -n\n"
    assert run("--cpus", LAST, "echo", "--policy", "x").stdout == "--policy x\n"


@two_cpus
@pytest.mark.parametrize(
    ("threads", "found"), [(1, [1]), (2, [1, 1]), (3, [2, 1])], ids=["one", "two", "three"]
)
def test_each_thread_gets_a_cpu_of_its_own(threads: int, found: list[int]) -> None:
    cpus = CpuSet.of(ALLOWED[:2])
    program = (sys.executable, "-c", THREADS, threads, len(found))
    done = run("--cpus", cpus, "--one-per-thread", "--", *program)
    assert (done.returncode, done.stderr) == (0, "")
    assert [int(line.split()[1]) for line in done.stdout.splitlines()] == found


@two_cpus
def test_the_keeper_stays_away_and_hands_signals_on(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'exit 5' TERM; echo >{ready}; while :; do sleep 0.05; done"
    keeper = subprocess.Popen(
        [*GEN, "run", "--cpus", LAST, "--one-per-thread", "--", "sh", "-c", script]
    )
    try:
        # The keeper leaves the CPU once the program has started; on a busy CPU this takes a moment.
        waits.until(lambda: ready.exists() and int(LAST) not in os.sched_getaffinity(keeper.pid))
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(GUARD_S) == 5
    finally:
        keeper.terminate()
        keeper.wait(GUARD_S)


def read_until(terminal: int, word: bytes) -> bytes:
    """The text on the terminal, up to this word."""
    shown = b""
    while word not in shown:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"no {word!r} within a minute after {shown!r}"
        try:
            shown += os.read(terminal, 1024)
        except OSError:
            pytest.fail(f"it ended without {word!r}, with {shown!r}")
    return shown


def test_a_terminals_signal_comes_once() -> None:
    """Ctrl-C reaches both the keeper and the program: the keeper must not send the signal again."""
    script = (
        "import signal, time\n"
        "came, told = [], []\n"
        "signal.signal(signal.SIGINT, lambda *_: came.append(1))\n"
        "signal.signal(signal.SIGUSR1, lambda *_: told.append(1))\n"
        "print('ready', flush=True)\n"
        "while not came: time.sleep(0.01)\n"
        "print('first', flush=True)\n"
        "while not told: time.sleep(0.01)\n"
        "print(f'came {len(came)} times', flush=True)\n"
        # The terminal drops unread output when its last program ends.
        "input()\n"
    )
    words = (*GEN, "run", "--cpus", LAST, "--one-per-thread", "--", sys.executable, "-c", script)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(words[0], words)  # noqa: S606
    try:
        read_until(terminal, b"ready")
        # The keeper is stopped while the program gets its signal, so that two signals cannot merge.
        os.kill(child, signal.SIGSTOP)
        os.write(terminal, b"\x03")
        read_until(terminal, b"first")
        # SIGUSR1 is forwarded after the keeper has handled the terminal's signal: the lower number
        # comes first.
        os.kill(child, signal.SIGUSR1)
        os.kill(child, signal.SIGCONT)
        assert b"came 1 times" in read_until(terminal, b"times")
        os.write(terminal, b"\n")
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_keeper_survives_being_stopped() -> None:
    """Ctrl-Z and fg, each with a pause longer than any wait of the keeper: neither has an effect on
    it."""
    script = (
        "import signal, time\n"
        "came = []\n"
        "for number in set(signal.valid_signals()) - {9, 17, 18, 19}:\n"
        "    signal.signal(number, lambda number, _: came.append(number))\n"
        "print('ready', flush=True)\n"
        "while signal.SIGUSR1 not in came: time.sleep(0.01)\n"
        "print(came)\n"
    )
    words = (*GEN, "run", "--cpus", LAST, "--one-per-thread", "--", sys.executable, "-c", script)
    keeper = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert keeper.stdout
    try:
        assert keeper.stdout.readline() == "ready\n"
        for _ in range(5):
            keeper.send_signal(signal.SIGSTOP)
            waits.stopped(keeper.pid, 0.2)
            keeper.send_signal(signal.SIGCONT)
            waits.until(lambda: procs.state(keeper.pid) != "T")
        keeper.send_signal(signal.SIGUSR1)
        out, _ = keeper.communicate(timeout=GUARD_S)
        assert out == f"[{int(signal.SIGUSR1)}]\n"
        assert keeper.returncode == 0
    finally:
        keeper.kill()
        keeper.wait(GUARD_S)


@as_root
@pytest.mark.root
@pytest.mark.parametrize("more", [(), ("--one-per-thread",)])
@pytest.mark.parametrize(("policy", "kind"), [("fifo:3", os.SCHED_FIFO), ("rr:3", os.SCHED_RR)])
def test_the_policy_is_the_programs(more: tuple[str, ...], policy: str, kind: int) -> None:
    done = run("--cpus", LAST, "--policy", policy, *more, "--", "cat", "/proc/self/stat")
    fields = done.stdout.rpartition(")")[2].split()
    assert (fields[37], fields[38]) == ("3", str(kind))


@as_root
@pytest.mark.place
@pytest.mark.root
def test_a_policy_that_is_not_allowed_is_refused(ordinary_user: OrdinaryUser) -> None:
    done = subprocess.run(
        [ordinary_user.gen, "run", "--cpus", LAST, "--policy", "fifo:3", "--", "true"],
        capture_output=True, text=True, timeout=GUARD_S, check=False, **AS_NOBODY,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("lowlat-gen: --policy fifo:3: ")


# --------------------------------------------------------- what it refuses


# ------------------------------------------------------- what it tells before


def test_auto_is_what_cpus_prints() -> None:
    listed = lowlat("cpus", "isolated", "--root", MACHINE).out.strip()
    told = lowlat("run", "--dry-run", "--root", MACHINE, "--", "engine", "-v").out
    assert told.startswith(f"engine would run on CPU {listed} (all threads), policy other\n")
    assert f"warning: CPU {listed}: not isolated in this boot" in told


def told(root: Path, *words: str) -> str:
    answer = lowlat("run", "--dry-run", "--root", root, "--cpus", "2-3", *words, "--", "engine")
    assert (answer.status, answer.err) == (0, "")
    return answer.out


def test_threads_pile_up_on_isolated_cpus_only(tmp_path: Path) -> None:
    assert "threads pile up" in told(tree(tmp_path))
    assert "threads pile up" not in told(tree(tmp_path), "--one-per-thread")
    assert "threads pile up" not in told(tree(tmp_path, isolated=""))


def test_threads_get_whole_cores_first(tmp_path: Path) -> None:
    root = synthetic.write(synthetic.NAMED["hybrid-6p8e"].model(), tmp_path)
    words = ("run", "--dry-run", "--root", root, "--one-per-thread")
    assert "in the order 2,4,6,8,10,3,5,7,9,11)" in lowlat(*words, "--", "engine").out
    listed = lowlat(*words, "--cpus", "0-4,12", "--", "engine").out
    assert "in the order 0,2,4,12,1,3)" in listed


GROUPS = "CONFIG_RT_GROUP_SCHED=y\n"


@pytest.mark.parametrize(
    ("release", "config", "limit", "server", "words"),
    [
        ("6.1.0", "", "950000", None, "for some percent of the time"),
        ("6.1.0", "", "-1", None, "sched_rt_runtime_us=-1, so nothing saves them"),
        # From 6.12 on, nothing is throttled without groups: the fair server decides if it is on.
        ("6.12.60", "", "950000", ("50000000", "0"), "fair_server is off there, so nothing saves"),
        ("6.12.60", "", "-1", ("50000000", "50000000"), "for some percent of the time"),
        ("6.12.60", "", "950000", None, "only fair_server saves them"),
        ("6.12.60", GROUPS, "950000", ("0", "0"), "for some percent of the time"),
    ],
)
def test_a_spinning_real_time_task_is_warned_of(
    tmp_path: Path,
    release: str,
    config: str,
    limit: str,
    server: tuple[str, str] | None,
    words: str,
) -> None:
    files = {
        "proc/sys/kernel/sched_rt_runtime_us": f"{limit}\n",
        "proc/sys/kernel/osrelease": release,
        f"boot/config-{release}": f"CONFIG_SMP=y\n{config}",
    }
    for cpu, budget in zip((2, 3), server or ()):
        files[f"sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"] = budget
    root = tree(tmp_path, **files)
    assert "ksoftirqd" in told(root, "--policy", "fifo:10")
    assert words in told(root, "--policy", "fifo:10")
    assert "ksoftirqd" not in told(root)


GROUP = "sys/fs/cgroup/lowlat.slice"


@pytest.mark.parametrize(
    ("state", "held", "joins"),
    [("isolated", "2-3", True), ("isolated", "1", False), ("member", "2-3", False)],
)
def test_the_group_that_owns_the_cpus_is_joined(
    tmp_path: Path, state: str, held: str, joins: bool
) -> None:
    files = {f"{GROUP}/cpuset.cpus.partition": state, f"{GROUP}/cpuset.cpus.effective": held}
    root = tree(tmp_path, **files)
    assert (f"join /{GROUP}" in told(root)) is joins
    drop_in = lowlat("run", "--systemd-drop-in", "--root", root, "--cpus", "2-3").out
    assert ("Slice=lowlat.slice\n" in drop_in) is joins


# ----------------------------------------------------------- task isolation

#: The PR_ISOL_* calls and the data at their pointers: inherited by children, configured and active;
#: quiescing of the VM statistics.
ISOLATION = [
    "63 0 pointer 0 0",
    "65 2 pointer pointer 0 3 0",
    "65 1 1 1 pointer 0 1",
    "67 pointer 0 0 0 1 0",
]


def isolated_task(features: int, error: int, *words: str) -> subprocess.CompletedProcess[str]:
    """A stand-in answers for the kernel, because no packaged kernel has the patches."""
    asked = ("--cpus", LAST, "--task-isolation", *words, "--", "sh", "-c", "echo ran; exit 7")
    return subprocess.run(
        [*ISOLATING_KERNEL, str(features), str(error), *GEN, "run", *asked],
        capture_output=True, text=True, timeout=GUARD_S,
    )  # fmt: skip


@needs_notification
@pytest.mark.parametrize("words", [(), ("--one-per-thread",)])
def test_a_kernel_with_task_isolation_is_told(words: tuple[str, ...]) -> None:
    done = isolated_task(1, 0, *words)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines() == [*ISOLATION, "ran"]


@needs_notification
@pytest.mark.parametrize(
    ("features", "error", "asked", "words"),
    [
        (0, 0, 1, "this kernel does not offer it"),
        (2, 0, 1, "this kernel does not offer it"),
        (1, 1, 4, "Operation not permitted"),
    ],
)
def test_a_kernel_that_refuses_task_isolation_runs_nothing(
    features: int, error: int, asked: int, words: str
) -> None:
    done = isolated_task(features, error)
    assert done.stdout.splitlines() == ISOLATION[:asked]
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"--task-isolation: {words}" in done.stderr


def test_without_task_isolation_in_the_kernel_nothing_runs() -> None:
    done = run("--cpus", LAST, "--task-isolation", "--", "echo", "ran")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--task-isolation: this kernel does not offer it" in done.stderr


# ----------------------------------------------------------- the drop-in file


def settings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_drop_in_places_a_service(tmp_path: Path) -> None:
    root = tree(tmp_path)
    plain = lowlat("run", "--systemd-drop-in", "--root", root, "--cpus", "2-3").out
    assert settings(plain) == [
        *("[Service]", "CPUAffinity=", "CPUAffinity=2-3"),
        *("LimitRTPRIO=80", "LimitMEMLOCK=infinity"),
    ]
    words = ("--cpus", "2-3", "--policy", "fifo:7")
    real_time = lowlat("run", "--systemd-drop-in", "--root", root, *words).out
    assert settings(real_time) == [
        *("[Service]", "CPUAffinity=", "CPUAffinity=2-3"),
        *("CPUSchedulingPolicy=fifo", "CPUSchedulingPriority=7"),
        *("LimitRTPRIO=7", "LimitMEMLOCK=infinity"),
    ]


@needs.program("systemd-analyze")
def test_systemd_reads_the_drop_in(tmp_path: Path) -> None:
    unit = tmp_path / "engine.service"
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    text = lowlat("run", "--systemd-drop-in", "--cpus", LAST, "--policy", "fifo:7").out
    folder = tmp_path / "engine.service.d"
    folder.mkdir()

    def complaints() -> list[str]:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit],
            capture_output=True,
            text=True,
            timeout=GUARD_S,
        )
        return [line for line in done.stderr.splitlines() if "engine.service.d" in line]

    (folder / "lowlat.conf").write_text(text)
    assert complaints() == []
    (folder / "lowlat.conf").write_text(text.replace("=fifo", "=fifi"))
    assert complaints()
