# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads, work kinds and second opinions of lowlat-measure, and what becomes of a run when the
programs beside it misbehave: its JSON is there, with ``complete`` false and the reason."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "measure"
QUICK = ("--duration", "300ms", "--warmup", "0s")
KINDS = ["usleep", "clock_nanosleep", "memory", "registers", "kill", "clock_gettime"]

needs_stress = pytest.mark.skipif(not shutil.which("stress-ng"), reason="no stress-ng")
needs_cyclictest = pytest.mark.skipif(not shutil.which("cyclictest"), reason="no cyclictest")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="not root")
pytestmark = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU")

VERSION = """#!/bin/sh
case $1 in
--version) echo "stress-ng, version 0.15.06 (gcc 12)"; exit 0 ;;
--help) echo "{options}"; exit 0 ;;
esac
"""
OPTIONS = "--timer --timerfd --itimer --matrix --sock --udp --oom-avoid"
METRICS = """cat >load-0.yaml <<END
metrics:
    - stressor: {name}
      bogo-ops: 10
      bogo-ops-per-second-real-time: {rate}
      instances:
          - instance: 0
            bogo-ops-per-second-real-time: 99999
END
"""
WAITS = "trap 'exit 0' INT\nwhile :; do sleep 0.02; done\n"


@dataclass(frozen=True)
class Result:
    """How a run ended, and the result it wrote."""

    status: int
    out: str
    err: str
    run: dict[str, Any]

    def said(self, words: str) -> bool:
        return any(words in problem for problem in self.run["problems"])


@dataclass
class Bench:
    """lowlat-measure with programs that a test plays, and folders of its own."""

    folder: Path
    program: str
    env: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Path:
        return self.folder / "run.json"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def play(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}")
        path.chmod(0o755)

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "TMPDIR": str(self.scratch), **self.env}
        return subprocess.Popen(
            [self.program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=env, **more,
        )  # fmt: skip

    def call(self, *words: str, **more: Any) -> Result:
        process = self.start(*words, "--json", str(self.json), **more)
        out, err = process.communicate(timeout=100)
        run = json.loads(self.json.read_text()) if self.json.exists() else {}
        return Result(process.returncode, out, err, run)


@pytest.fixture(scope="session")
def program() -> str:
    given = os.environ.get("LOWLAT_MEASURE")
    built = SOURCE / "build" / "lowlat-measure"
    if not given and not built.exists():
        subprocess.run(["make", "-C", str(SOURCE)], check=True, capture_output=True, timeout=120)
    return given or str(built)


@pytest.fixture
def bench(tmp_path: Path, program: str) -> Bench:
    for name in ("bin", "scratch"):
        (tmp_path / name).mkdir()
    return Bench(tmp_path, program)


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(int(child))]
    return found


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def option(command: list[str], name: str) -> Optional[str]:
    return command[command.index(name) + 1] if name in command else None


# Scenarios


@needs_stress
@pytest.mark.parametrize("scenario", ["ipi", "files", "network"])
def test_scenarios_run_to_the_end(bench: Bench, scenario: str) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--load", scenario)
    (load,) = done.run["loads"]
    assert done.run["complete"], done.run["problems"]
    assert (load["scenario"], load["exit"]) == (scenario, 0)
    assert "stressor:" in load["output"]
    assert list(bench.scratch.iterdir()) == []


@needs_stress
def test_files_are_bounded_and_on_the_disk_named(bench: Bench) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--load", "files")
    command = done.run["loads"][0]["command"]
    assert 0 < int(option(command, "--hdd-bytes") or 0) <= 256 << 20
    in_memory = subprocess.run(
        ["stat", "-f", "-c", "%T", str(bench.scratch)], capture_output=True, text=True, check=True
    ).stdout.strip() in ("tmpfs", "ramfs")
    assert done.said("lie in memory") == in_memory


@needs_stress
def test_an_idle_load_is_none(bench: Bench) -> None:
    assert bench.call(*QUICK, "--no-oslat", "--load", "idle").run["loads"] == []


@needs_stress
def test_the_load_may_run_everywhere(bench: Bench) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--load", "timers", "--load-cpus", "all")
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    assert [load["cpus"] for load in done.run["loads"]] == [online]
    assert done.said("is measured and carries the load")


@needs_stress
@needs_root
@pytest.mark.root
def test_oom_stays_in_its_own_memory_group(bench: Bench) -> None:
    begin = Path("/proc/vmstat").read_text()
    done = bench.call("--duration", "1s", "--warmup", "0s", "--no-oslat", "--load", "oom")
    if done.status == 2:
        pytest.skip(done.err.strip())
    (load,) = done.run["loads"]
    group = load["memory_group"]
    assert done.run["complete"], done.run["problems"]
    assert group["cgroup_version"] in (1, 2)
    assert group["oom_kills"] > 0
    asked = int(option(load["command"], "--vm-bytes") or 0)
    assert asked > group["limit_bytes"]
    assert "--oom-avoid" not in load["command"]
    kills = [int(line.split()[1]) for text in (begin, Path("/proc/vmstat").read_text())
             for line in text.splitlines() if line.startswith("oom_kill ")]  # fmt: skip
    assert kills[1] - kills[0] >= group["oom_kills"]
    assert not list(Path("/sys/fs/cgroup").rglob("lowlat-measure.*"))


@needs_root
@pytest.mark.root
def test_oom_without_a_memory_group_is_refused(bench: Bench) -> None:
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv (util-linux)")
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = subprocess.run(
        [*user, bench.program, *QUICK, "--no-oslat", "--load", "oom", "--json"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "cgroup" in done.stderr
    assert "use --load vm" in done.stderr


@needs_stress
@needs_root
@pytest.mark.root
def test_a_killed_harness_takes_its_memory_group_along(bench: Bench) -> None:
    process = bench.start("--duration", "30s", "--warmup", "0s", "--no-oslat", "--load", "vm")
    assert wait_until(lambda: len(children(process.pid)) >= 4)
    group = list(Path("/sys/fs/cgroup").rglob(f"lowlat-measure.{process.pid}"))
    left = children(process.pid)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(map(alive, left)))
    assert wait_until(lambda: not any(path.exists() for path in group))
    assert wait_until(lambda: list(bench.scratch.iterdir()) == [])


@pytest.mark.skipif(not shutil.which("taskset"), reason="no taskset (util-linux)")
def test_a_load_cannot_move_onto_a_measured_cpu(bench: Bench) -> None:
    """As tlb-shootdown of stress-ng 0.19 tries to."""
    script = "taskset -p -c 1 $$\n" + METRICS.format(name="timer", rate=1.0) + WAITS
    bench.play("stress-ng", VERSION.format(options=OPTIONS) + script)
    words = (*QUICK, "--no-oslat", "--cpus", "1", "--load", "timers")
    assert "failed to set" in bench.call(*words).run["loads"][0]["log"]
    everywhere = bench.call(*words, "--load-cpus", "all").run["loads"][0]["log"]
    assert "new affinity list: 1" in everywhere


def test_ports_in_use_are_left_alone(bench: Bench) -> None:
    script = VERSION + METRICS.format(name="sock", rate=1.0) + WAITS
    bench.play("stress-ng", script.format(options=OPTIONS))
    words = (*QUICK, "--no-oslat", "--load", "network")
    first = int(option(bench.call(*words).run["loads"][0]["command"], "--sock-port") or 0)
    with socket.create_server(("127.0.0.1", first)):
        command = bench.call(*words).run["loads"][0]["command"]
    ports = [int(option(command, name) or 0) for name in ("--sock-port", "--udp-port")]
    assert first < ports[0] < ports[0] + 8 <= ports[1] < 32768


# Versions of stress-ng


def test_options_that_a_version_lacks_are_not_given(bench: Bench) -> None:
    script = VERSION + METRICS.format(name="sock", rate=1.0) + WAITS
    bench.play("stress-ng", script.format(options=OPTIONS))
    command = bench.call(*QUICK, "--no-oslat", "--load", "network").run["loads"][0]["command"]
    assert "--oom-avoid" in command
    assert "--udp" in command
    bench.play("stress-ng", script.format(options="--sock --udp-flood --oom-avoid-bytes"))
    done = bench.call(*QUICK, "--no-oslat", "--load", "network")
    command = done.run["loads"][0]["command"]
    assert "--oom-avoid" not in command
    assert "--udp" not in command
    assert done.said("stress-ng (0.15.06) has no --udp")


@needs_stress
def test_the_same_seed_makes_the_same_command(bench: Bench) -> None:
    words = (*QUICK, "--no-oslat", "--load", "vm", "--seed", "5")
    commands = [bench.call(*words).run["loads"][0]["command"] for _ in range(2)]
    assert commands[0] == commands[1]
    assert commands[0][:3] == ["stress-ng", "--seed", "5"]


# Work kinds and throughput


def test_work_kinds_have_a_distribution_and_variance(bench: Bench) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--work", "all")
    assert done.status == 0, done.run["problems"]
    assert list(dict.fromkeys(entry["kind"] for entry in done.run["work"])) == KINDS
    for entry in done.run["work"]:
        counts = entry["histogram"]["counts"]
        assert sum(count for _, _, count in counts) == entry["samples"] > 10
        keys = ("min_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns")
        values = [entry[key] for key in keys]
        # Percentiles are the middles of their buckets.
        assert all(low <= high * 1.001 for low, high in zip(values, values[1:])), entry["kind"]
        middle = [((low + high - 1) / 2, count) for low, high, count in counts]
        mean = sum(value * count for value, count in middle) / entry["samples"]
        spread = sum(count * (value - mean) ** 2 for value, count in middle)
        assert entry["mean_ns"] == pytest.approx(mean, rel=0.01, abs=1)
        assert entry["variance_ns2"] == pytest.approx(
            spread / (entry["samples"] - 1), rel=0.05, abs=2
        )


def test_sleeping_kinds_say_what_they_asked_for(bench: Bench) -> None:
    work = bench.call(*QUICK, "--no-oslat", "--work", "usleep,registers").run["work"]
    asked = {entry["kind"]: entry["requested_ns"] for entry in work}
    assert asked == {"usleep": 100000, "registers": 0}
    assert all(entry["min_ns"] >= entry["requested_ns"] for entry in work)


def test_work_runs_on_all_cpus_at_once_or_on_one_after_another(bench: Bench) -> None:
    words = (*QUICK, "--no-oslat", "--cpus", "0-1", "--work", "memory")
    together = bench.call(*words).run["work"]
    assert [(entry["cpus"], entry["beside"]) for entry in together] == [("0", "0-1"), ("1", "0-1")]
    alone = bench.call(*words, "--work-alone").run["work"]
    assert [(entry["cpus"], entry["beside"]) for entry in alone] == [("0", "0"), ("1", "1")]


def test_work_under_emulation_is_marked(bench: Bench) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--emulated", "--work", "kill")
    assert done.run["work"][0]["emulated"] is True
    assert done.said("--work measures durations only")
    assert "work kill" not in done.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--work", "sleep"], "'sleep' is none of them; use all, or some of usleep"),
        (["--work", "kill,,usleep"], "'' is none of them"),
        (["--second-opinion", "hwlat"], "'hwlat' is none of them; use all, or some of oslat"),
        (["--throughput", "0"], "from 1 to 1000"),
        (["--throughput=x"], "from 1 to 1000"),
    ],
)
def test_names_and_numbers_are_checked(bench: Bench, words: list[str], text: str) -> None:
    done = bench.call(*QUICK, *words)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert text in done.err


def test_throughput_is_the_mean_of_its_runs(bench: Bench) -> None:
    """The figure is the stressor's, not one of its instances that follow with the same keys."""
    script = VERSION + "echo >>$HOME/runs; rate=$(($(wc -l <$HOME/runs) * 100))\n"
    script += METRICS.format(name="matrix", rate="$rate")
    bench.env["HOME"] = str(bench.folder)
    bench.play("stress-ng", script.format(options=OPTIONS))
    done = bench.call(*QUICK, "--no-oslat", "--throughput", "3")
    (entry,) = done.run["work"]
    assert done.status == 0, done.run["problems"]
    values = [run["value"] for run in entry["runs"]]
    assert values == [100, 200, 300]
    assert (entry["kind"], entry["unit"], entry["samples"]) == ("throughput", "bogo-ops/s", 3)
    assert entry["mean"] == statistics.mean(values)
    assert entry["variance"] == pytest.approx(statistics.variance(values))
    command = entry["command"]
    assert command[-6:] == ["--matrix", "1", "--matrix-method", "prod", "--matrix-size", "128"]
    assert option(command, "--timeout") == "2s"
    assert entry["version"] == "0.15.06"


@needs_stress
def test_throughput_of_the_real_stress_ng(bench: Bench) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--load", "timers", "--throughput", "1")
    (entry,) = done.run["work"]
    assert done.run["complete"], done.run["problems"]
    assert entry["mean"] > 0
    assert "throughput of CPU" in done.out
    assert len(done.run["loads"]) == 1


# Second opinions


@needs_cyclictest
@needs_root
@pytest.mark.root
def test_cyclictest_is_a_second_opinion(bench: Bench) -> None:
    from lowlat.report import cyclictest

    done = bench.call(*QUICK, "--no-oslat", "--second-opinion", "cyclictest")
    (opinion,) = done.run["second_opinions"]
    assert done.status == 0, done.run["problems"]
    assert (opinion["tool"], opinion["exit"]) == ("cyclictest", 0)
    found = cyclictest.parse(opinion["json"] or opinion["output"])
    assert found is not None
    assert len(found.threads) == len(done.run["cpus"])


@pytest.mark.parametrize("tool", ["cyclictest", "osnoise", "timerlat"])
def test_a_second_opinion_that_is_missing_makes_the_run_partial(bench: Bench, tool: str) -> None:
    bench.env["PATH"] = str(bench.folder)
    done = bench.call(*QUICK, "--no-oslat", "--second-opinion", tool)
    assert (done.status, done.run["complete"], done.run["valid"]) == (1, False, True)
    assert done.said(f"{tool} is not installed")


def test_rtla_is_told_cpus_time_and_policy(bench: Bench) -> None:
    bench.play("rtla", 'case $1 in --help) echo "rtla version 6.1.0" >&2;; *) echo "$@";; esac')
    done = bench.call(*QUICK, "--no-oslat", "--cpus", "1", "--second-opinion", "osnoise,timerlat")
    assert [o["tool"] for o in done.run["second_opinions"]] == ["osnoise", "timerlat"]
    assert {o["version"] for o in done.run["second_opinions"]} == {"6.1.0"}
    said = "osnoise hist --cpus 1 --duration 1s --priority=o:0 --threshold=1\n"
    assert done.run["second_opinions"][0]["output"] == said


def test_a_kernel_without_the_tracer_is_said(bench: Bench) -> None:
    bench.play("rtla", 'echo "Tracer osnoise not found!" >&2; exit 1')
    done = bench.call(*QUICK, "--no-oslat", "--second-opinion", "osnoise")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("Tracer osnoise not found!); it needs root and a kernel with CONFIG_OSNOISE")


# Faults of other programs: (what oslat does, status, what is said)

HELP = 'case $1 in --help) echo "oslat V 2.40 --json"; exit 0;; esac\n'
OSLAT_FAULTS = {
    "aborts": ("kill -ABRT $$", "oslat was killed by signal 6"),
    "dies": ("kill -KILL $$", "oslat was killed by signal 9"),
    "fails": ("echo 'ERROR: errno=1 (no)'; exit 3", "oslat failed with status 3 (errno=1 (no))"),
    "says nothing": ("exit 0", "oslat ended without a result"),
    "hangs": ("trap '' INT TERM; while :; do sleep 0.1; done", "oslat did not end in time"),
    "never stops talking": ("exec yes lots", "oslat was killed by signal 25: it wrote too much"),
    "talks too much": ("yes lots | head -c 6000000", "oslat wrote more than 4 MiB"),
    "leaves a child": ("(trap '' INT TERM; exec setsid sleep 300) & exit 0", "without a result"),
}


@pytest.mark.parametrize("fault", OSLAT_FAULTS)
def test_an_oslat_at_fault_costs_no_run(bench: Bench, fault: str) -> None:
    script, words = OSLAT_FAULTS[fault]
    bench.play("oslat", HELP + script + "\n")
    done = bench.call(*QUICK, "--oslat")
    assert (done.status, done.run["complete"], done.run["valid"]) == (1, False, True)
    assert done.said(words), done.run["problems"]
    assert done.run["cpus"][0]["runtime_ns"] >= 0.299e9  # rounded to whole ticks
    assert list(bench.scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "ended before the run did (status 3)"),
        ("kill -SEGV $$", "ended before the run did (status 139)"),
        ("exec yes", "ended before the run did (status 153)"),
        ("trap 'exit 0' INT; while :; do sleep 0.02; done", "without metrics"),
        (METRICS.format(name="timer", rate=1) + "trap 'yes | head -c 5000000; exit 0' INT\n"
         "while :; do sleep 0.02; done", "stress-ng wrote more than 4 MiB"),
    ],
)  # fmt: skip
def test_a_stress_ng_at_fault_costs_no_run(bench: Bench, script: str, words: str) -> None:
    bench.play("stress-ng", VERSION.format(options=OPTIONS) + script + "\n")
    done = bench.call("--duration", "1s", "--warmup", "0s", "--no-oslat", "--load", "timers")
    assert (done.status, done.run["complete"], done.run["valid"]) == (1, False, True)
    assert done.said(words), done.run["problems"]
    assert list(bench.scratch.iterdir()) == []


def test_a_stress_ng_that_says_nothing_costs_no_run(bench: Bench) -> None:
    bench.play("stress-ng", "exit 0\n")
    done = bench.call(*QUICK, "--no-oslat", "--load", "timers", "--throughput", "2")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("--load timers: stress-ng could not be started")
    assert done.said("--throughput: stress-ng gave no figure")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@needs_root
@pytest.mark.root
def test_a_load_that_fills_the_disk_costs_no_run(bench: Bench, small: Path) -> None:
    bench.env["TMPDIR"] = str(small)
    script = "yes >filler 2>/dev/null; " + METRICS.format(name="timer", rate=1) + WAITS
    bench.play("stress-ng", VERSION.format(options=OPTIONS) + script)
    bench.play("oslat", HELP + "echo 'Core: 1' 2>/dev/null; exit 0\n")
    done = bench.call("--duration", "1s", "--warmup", "0s", "--oslat", "--load", "timers")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("oslat ended without a result"), done.run["problems"]
    assert done.run["cpus"][0]["runtime_ns"] >= 1e9
    assert list(small.iterdir()) == []


@needs_root
@pytest.mark.root
def test_files_without_room_are_refused(bench: Bench, small: Path) -> None:
    bench.env["TMPDIR"] = str(small)
    done = bench.call(*QUICK, "--no-oslat", "--load", "files")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "too little room" in done.err


@needs_root
@pytest.mark.root
def test_a_result_without_room_goes_to_standard_output(bench: Bench, small: Path) -> None:
    target = small / "run.json"
    process = bench.start(
        "--duration", "1s", "--warmup", "0s", "--no-oslat", "--work", "all", "--json", str(target)
    )
    (small / "filler").write_bytes(b"")
    with pytest.raises(OSError, match="No space"), (small / "filler").open("wb") as file:
        for _ in range(1000):
            file.write(b"x" * 4096)
            file.flush()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert not target.exists()
    assert "can't be written" in err.splitlines()[0]
    assert json.loads(out)["schema"] == "lowlat.run/1"


def test_events_that_cannot_be_written_are_told_in_the_result(bench: Bench) -> None:
    done = bench.call(*QUICK, "--no-oslat", "--events", "/dev/full")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("--events: can't be written")


# SIGINT in every phase: (the options, which program is played, "": stress-ng, and what it does)

MARK = "touch $HOME/mark\n"
DEAF = "trap 'touch $HOME/mark' INT; trap '' TERM; while :; do sleep 0.05; done\n"
SLEEPS = MARK + "exec sleep 60\n"
LONG = ("--duration", "60s", "--warmup", "0s", "--no-oslat")
PHASES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "asking stress-ng": ((*LONG, "--load", "timers"), "stress-ng", MARK + "sleep 1; exit 1\n"),
    "warm-up": (("--warmup", "60s", "--no-oslat", "--load", "timers"), "", MARK + WAITS),
    "measuring": ((*LONG, "--load", "timers"), "", MARK + WAITS),
    "work": (("--duration", "1s", "--warmup", "0s", "--no-oslat", "--work", "all"), "", ""),
    "oslat": ((*QUICK, "--oslat"), "oslat", HELP + SLEEPS),
    "deaf oslat": ((*QUICK, "--oslat"), "oslat", HELP + MARK + DEAF),
    "cyclictest": ((*QUICK, "--no-oslat", "--second-opinion", "cyclictest"), "cyclictest",
                   HELP + SLEEPS),
    "ending a deaf load": ((*QUICK, "--no-oslat", "--load", "timers"), "", DEAF),
    "throughput": ((*QUICK, "--no-oslat", "--throughput"), "", SLEEPS),
}  # fmt: skip


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_any_phase_leaves_a_result(bench: Bench, phase: str) -> None:
    words, name, script = PHASES[phase]
    bench.env["HOME"] = str(bench.folder)
    if script:
        head = "" if name else VERSION.format(options=OPTIONS)
        bench.play(name or "stress-ng", head + script)
    process = bench.start(*words, "--json", str(bench.json))
    if script:
        assert wait_until((bench.folder / "mark").exists)
    else:
        time.sleep(2)
    left = children(process.pid)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    run = json.loads(bench.json.read_text())
    assert run["complete"] is False
    assert any("interrupted" in problem for problem in run["problems"])
    assert not any(map(alive, left))
    assert list(bench.scratch.iterdir()) == []
