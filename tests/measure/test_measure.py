# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb measure with a small script in place of the harness."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest

from lowlat import cli
from lowlat.base import files, process, resources
from lowlat.base.errors import LowlatError, Refused, Unmet
from lowlat.measure import child, options, runner
from lowlat.measure.child import private_folder
from lowlat.measure.run_file import read_run
from lowlat.measure.tools.known import KNOWN
from lowlat.verbs import measure
from support import needs, procs, waits
from support.runs import document

REAL = Path(__file__).parents[2] / "measure" / "build" / "lowlat-measure"
needs_harness = needs.file(REAL, "make harness")
RUN = '{"schema": "lowlat.run/1", "complete": true, "problems": ["no oslat"]}'


class MeasureStage:
    """A folder with lowlat-gen and a lowlat-measure that runs a test's script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "bin" / "lowlat-measure"
        self.program.parent.mkdir()
        self.out = folder / "out" / "run.json"
        self.out.parent.mkdir()

    def play(self, script: str) -> None:
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        self.program.chmod(0o755)

    def call(self, *words: str, **facts: object) -> int:
        asked = cli.arguments("measure", ["--label", "stock", "--out", str(self.out), *words])
        return measure.main(asked, {"arch": "x86_64", **facts})

    def argv(self, *words: str, **facts: object) -> list[str]:
        """What a call that succeeds gives to lowlat-measure."""
        self.play(f"echo \"$@\" >{self.folder}/argv; echo '{RUN}'")
        assert self.call(*words, **facts) == 0
        return (self.folder / "argv").read_text().split()

    def kept(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.out.read_text())
        return found

    def nothing_left(self) -> bool:
        return list(self.out.parent.iterdir()) == []


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasureStage:
    found = MeasureStage(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(found.program.with_name("lowlat-gen")), "measure"])
    return found


def test_a_run_is_kept_with_the_hosts_facts_and_its_path_printed_last(
    stage: MeasureStage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.play(f"echo '{RUN}'")
    assert stage.call() == 0
    host = stage.kept()["host"]
    assert isinstance(host, dict)
    busy = host.pop("busy")
    assert host == {"arch": "x86_64"}
    assert {"0"} <= set(busy) and all(0 <= share <= 1 for share in busy.values())
    assert next(iter(stage.kept())) == "schema"
    assert stage.out.stat().st_mode & 0o777 == 0o644
    assert list(stage.out.parent.iterdir()) == [stage.out]
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == str(stage.out)
    assert printed.err == ""


def test_a_run_ends_with_what_it_found_in_four_lines(
    stage: MeasureStage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    played = stage.out.with_name("played")
    played.parent.mkdir(exist_ok=True)
    played.write_text(json.dumps(document("stock", 236.1)))
    stage.play(f"cat {played}")
    assert stage.call() == 0
    *found, where, path = capsys.readouterr().out.splitlines()
    assert 0 < len(found) <= 2 and max(map(len, (*found, where))) <= 80
    assert found[0].startswith("stock on CPUs 2-3, 120 s: noise 100.0 ppm")
    assert (where, path) == ("'lowlat-gen report' shows the tables of:", str(stage.out))


@needs_harness
@pytest.mark.harness
def test_what_the_real_harness_writes_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(REAL.with_name("lowlat-gen"))])
    cpu = max(os.sched_getaffinity(0))
    measured = runner.measure(
        options.MeasureOptions(
            label="real",
            out=tmp_path / "run.json",
            cpus=str(cpu),
            duration="500ms",
            warmup="100ms",
            load="none",
            oslat=False,
            host={"arch": "x86_64"},
        )
    )
    run = read_run(measured.path)
    assert (run.label, str(run.measured), run.duration_s) == ("real", str(cpu), 0.5)
    assert (run.cpu(cpu).interrupts_per_s or {})["total"] >= 0


def test_options_reach_the_harness(stage: MeasureStage) -> None:
    words = (
        "--cpus 2-3 --duration 2m --warmup 1s --threshold 1us --policy fifo:1 --load mixed"
        " --load-cpus=0-1 --no-oslat --seed=7 --events=e.csv --no-causes --work=usleep,kill"
        " --second-opinion=cyclictest --work-alone --throughput --stop-on=9ms --wakeup"
    )
    *argv, phases = stage.argv(*words.split())
    assert phases.startswith("--phases=")
    assert argv == [
        "--label=stock",
        "--cpus=2-3",
        "--duration=2m",
        "--warmup=1s",
        "--threshold=1us",
        "--stop-on=9ms",
        "--policy=fifo:1",
        "--load=mixed",
        "--load-cpus=0-1",
        "--seed=7",
        "--events=e.csv",
        "--second-opinion=cyclictest",
        "--work=usleep,kill",
        "--wakeup=1ms",
        "--throughput=10",
        "--no-oslat",
        "--work-alone",
        "--json=-",
    ]


@needs_harness
def test_a_run_is_checked_for_this_machine_or_for_another(stage: MeasureStage) -> None:
    stage.program.symlink_to(REAL)
    absent, wrong = (options.MeasureOptions(label="a", cpus=cpus) for cpus in ("8000", "x"))
    runner.check(options.MeasureOptions(label="a", cpus=str(max(os.sched_getaffinity(0)))))
    with pytest.raises(Refused, match="CPU 8000 is not online"):
        runner.check(absent)
    runner.check(absent, here=False)
    with pytest.raises(Refused, match="not a CPU list"):
        runner.check(wrong, here=False)


@needs_harness
def test_what_python_knows_of_the_harness_is_what_its_help_says() -> None:
    said = subprocess.run([REAL, "--help"], capture_output=True, text=True, check=True).stdout
    rows = {words[0]: row for row in said.splitlines() if (words := row.split())}
    for option, (_, _, span) in options.TIMES.items():
        assert span in rows[option]
    assert f"(default {options.THROUGHPUT_RUNS})" in rows["--throughput"]
    said = subprocess.run([REAL, "--tools"], capture_output=True, text=True, check=True).stdout
    assert resources.text("measure/tools.json") == said, "run make products"


def test_every_cross_check_has_a_package() -> None:
    for tool in KNOWN.second_opinions:
        assert process.PACKAGES[tool.program][0] == tool.package


def test_the_time_of_a_run_is_that_of_all_its_parts() -> None:
    alone = options.MeasureOptions(label="a", duration="1h", warmup="0s", oslat=False)
    assert alone.seconds() == 3600
    for more, seconds in (
        ({"second_opinion": "all"}, 120),
        ({"second_opinion": "cyclictest,osnoise"}, 60),
        ({"oslat": True}, 30),
        ({"wakeup": "1ms"}, 60),
        ({"work": "all"}, 60),
        ({"work": "kill"}, 10),
        ({"throughput": "3"}, 6),
        ({"throughput": "10x5m"}, 3000),
    ):
        assert replace(alone, **more).seconds() == 3600 + seconds


@pytest.mark.parametrize(
    ("words", "judged_by", "asked"),
    [
        ((), "wakeup_p99.9_ns", "--wakeup=1ms"),
        (("--wakeup=50us",), "wakeup_p99.9_ns", "--wakeup=50us"),
        (("--wakeup", "none"), "wakeup_p99.9_ns", ""),
        ((), "noise_ppm", ""),
    ],
)
def test_wake_ups_are_measured_where_the_profile_is_judged_by_them(
    stage: MeasureStage, words: tuple[str, ...], judged_by: str, asked: str
) -> None:
    given = stage.argv(*words, profile="mine", judged_by=judged_by)
    assert "".join(word for word in given if word.startswith("--wakeup")) == asked
    host = stage.kept()["host"]
    assert isinstance(host, dict) and host["judged_by"] == judged_by


@pytest.mark.parametrize(
    ("cpus", "layout", "given"),
    [
        ("2-3", ["0,2", "1,3", "4,6"], "0-1"),
        ("2", ["0,2", "1,3"], "0"),
        ("1", ["0-3"], "0,2-3"),
        ("2,0", ["0,2", "1,3"], "the measured CPUs have no other SMT siblings"),
        ("2", ["0", "2"], "the measured CPUs have no other SMT siblings"),
        ("2", None, "the measured CPUs have no other SMT siblings"),
        ("2-", ["0,2"], "--cpus 2-: "),
        ("", ["0,2"], "name them with --cpus"),
    ],
)
def test_a_load_may_run_on_the_siblings_of_the_measured_cpus(
    stage: MeasureStage, cpus: str, layout: Optional[list[str]], given: str
) -> None:
    words = ("--load=cpu", "--load-cpus", "siblings", *(("--cpus", cpus) if cpus else ()))
    told = [{"cpus": core} for core in layout] if layout else None
    if not given[0].isdecimal():
        with pytest.raises(Refused) as refused:
            stage.call(*words, layout=told)
        assert given in str(refused.value)
        assert stage.nothing_left()
    else:
        assert f"--load-cpus={given}" in stage.argv(*words, layout=told)


@pytest.mark.harness
@needs_harness
@needs.program("stress-ng")
@needs.two_cpus()
def test_a_busy_sibling_is_found_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two CPUs of this machine are declared siblings. The other arm is the same run beside an idle
    sibling, which no test can guarantee here."""
    monkeypatch.setattr(sys, "argv", [str(REAL.with_name("lowlat-gen")), "measure"])
    other, cpu, *_ = sorted(os.sched_getaffinity(0))
    out, idle = tmp_path / "busy.json", tmp_path / "idle.json"
    words = ["--label=busy", f"--out={out}", f"--cpus={cpu}", "--duration=1s", "--warmup=0s"]
    words += ["--no-oslat", "--no-causes", "--load=cpu", "--load-cpus=siblings"]
    told = {"name": "node", "layout": [{"cpus": f"{other},{cpu}"}]}
    assert measure.main(cli.arguments("measure", words), told) == 0
    run = json.loads(out.read_text())
    (load,) = run["loads"]
    assert (load["scenario"], load["cpus"]) == ("cpu", str(other))
    assert run["host"]["busy"][str(other)] > 0

    def arm(label: str, busy: float, hour: int) -> str:
        host = {**run["host"], "busy": {str(other): busy, str(cpu): 1.0}}
        cpus = [{**one, "noise_ns": one["noise_ns"] + hour} for one in run["cpus"]]
        own = {"label": label, "boot_id": label, "started": f"2026-11-21T{hour:02}:00:00Z"}
        return json.dumps({**run, **own, "host": host, "cpus": cpus})

    out.write_text(arm("busy", 0.9, 1))
    idle.write_text(arm("idle", 0.0, 2))
    capsys.readouterr()
    assert cli.main(["report", str(idle), "--against", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "SMT siblings were busy for 0 % of the time in idle and 90 % of the time in busy" in said


def test_defaults_are_left_to_the_harness(stage: MeasureStage) -> None:
    *argv, _ = stage.argv()
    capture, observer, gaps = argv[3:6]
    assert argv == [
        *("--label=stock", "--duration=10s", "--warmup=5s", capture, observer, gaps, "--json=-")
    ]
    folder = capture.removeprefix("--capture=")
    assert (observer, gaps) == ("--observer=switches", f"--events={folder}/gaps.csv")
    assert not Path(folder).exists()


def test_causes_are_joined_and_their_lack_is_told(stage: MeasureStage) -> None:
    argv = stage.argv("--causes", "--events", str(stage.folder / "e.csv"))
    assert "--observer=auto" in argv and f"--events={stage.folder}/e.csv" in argv
    # The harness left no capture: the run is kept, with a note.
    (note,) = json.loads(stage.out.read_text())["attribution"]["notes"]
    assert "capture.json" in note


def test_a_partial_run_is_kept_and_fails(stage: MeasureStage) -> None:
    stage.play(f"echo '{RUN}'; exit 1")
    with pytest.raises(Unmet, match="run.json: the run is partial or invalid: no oslat"):
        stage.call()
    assert stage.kept()["complete"] is True


def test_a_refusal_is_handed_on_and_leaves_nothing(stage: MeasureStage) -> None:
    stage.play("echo \"lowlat-measure: --cpus '9': not online; name online CPUs\" >&2; exit 2")
    with pytest.raises(Refused) as caught:
        stage.call("--cpus", "9")
    assert str(caught.value) == "--cpus '9': not online; name online CPUs"
    assert stage.nothing_left()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo oops >&2; exit 3", "lowlat-measure ended with status 3 without a result: oops"),
        ("kill -KILL $$", "lowlat-measure was killed by SIGKILL without a result"),
        ("echo '{\"schema\"'", "lowlat-measure ended with status 0 without a result"),
        ("echo '[]'", "lowlat-measure wrote something that is not a run"),
        ("exit 130", "lowlat-measure was interrupted without a result"),
    ],
)
def test_a_failing_harness_is_named_and_leaves_nothing(
    stage: MeasureStage, script: str, words: str
) -> None:
    stage.play(script)
    with pytest.raises(LowlatError) as caught:
        stage.call()
    assert str(caught.value).startswith(words)
    assert caught.value.status == 1
    assert stage.nothing_left()


def test_a_harness_that_cannot_be_started(stage: MeasureStage) -> None:
    stage.play("true")
    stage.program.write_text("#!/nowhere\n")
    with pytest.raises(LowlatError, match="cannot run .*lowlat-measure: No such file"):
        stage.call()
    assert stage.nothing_left()


def test_a_harness_that_hangs_is_ended(stage: MeasureStage) -> None:
    stage.play("sleep 300")
    finished = child.execute([str(stage.program)], lambda: None, lambda: None, limit=0.3)
    assert finished.timed_out and finished.status == -signal.SIGTERM


def test_an_output_is_checked_before_anything_is_measured(stage: MeasureStage) -> None:
    stage.play(f"touch {stage.folder}/started; echo '{RUN}'")
    with pytest.raises(Refused, match="--out .*: is there and is not a plain file"):
        stage.call("--out", str(stage.folder))
    assert not (stage.folder / "started").exists()


def test_a_file_stays_until_it_is_replaced(stage: MeasureStage) -> None:
    stage.play("exit 3")
    stage.out.write_text("old")
    with pytest.raises(LowlatError):
        stage.call()
    assert stage.out.read_text() == "old"
    assert list(stage.out.parent.iterdir()) == [stage.out]


def test_the_harness_is_found_beside_us_in_the_package_or_on_the_path(
    stage: MeasureStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.play("true")
    assert child.find_harness() == str(stage.program)
    monkeypatch.setattr(sys, "argv", ["lowlat-gen"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    monkeypatch.setattr("lowlat.__file__", str(tmp_path / "lowlat" / "__init__.py"))
    monkeypatch.setenv("PATH", str(stage.program.parent))
    assert child.find_harness() == str(stage.program)
    packaged = tmp_path / "lowlat" / "libexec" / "lowlat-measure"
    packaged.parent.mkdir(parents=True)
    packaged.symlink_to(stage.program)
    assert child.find_harness() == str(packaged)


def test_without_a_harness_it_is_refused_with_what_to_do(
    stage: MeasureStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "_beside", lambda: iter(()))
    monkeypatch.setattr(child, "find", lambda _: None)
    with pytest.raises(Refused, match="lowlat-measure is not installed .*make"):
        stage.call()


def test_the_default_file_lies_in_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = runner.default_path("stock")
    assert path.parent == tmp_path / "lowlat" / "runs"
    assert path.parent.is_dir()
    assert path.name.startswith("stock-20")
    assert path.name.endswith("Z.json")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.state_folder() == tmp_path / ".local" / "state" / "lowlat"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert files.state_folder() == Path("/var/lib/lowlat")


def test_a_state_folder_behind_a_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "lowlat").mkdir()
    (tmp_path / "lowlat" / "runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="is a symbolic link"):
        runner.default_path("stock")


PATIENT = """run="$(dirname "$0")/run.json"
trap 'cat "$run"; exit 130' INT
trap 'cat "$run"; exit 143' TERM
echo $$ >"$(dirname "$0")/pid"
while :; do sleep 0.05; done"""

DRIVER = """import sys
sys.argv[0] = {program!r}
from lowlat import cli
from lowlat.verbs import measure
sys.exit(measure.main(cli.arguments("measure", ["--label", "stock", "--out", {out!r}])))
"""

#: The same with a slow join of the causes, which reports its start.
SLOW_JOIN = """import time
from pathlib import Path
from lowlat.measure.causes import attribution

def attach(*_):
    Path({program!r}).with_name("pid").write_text("joining")
    time.sleep(20)

attribution.attach = attach
"""


def _await(path: Path) -> None:
    waits.until(lambda: path.exists() and path.read_text(), f"{path} is empty")


def _interrupted(stage: MeasureStage, number: signal.Signals, driver: str = DRIVER) -> int:
    code = driver.format(program=str(stage.program), out=str(stage.out))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as started:
        _await(stage.program.with_name("pid"))
        started.send_signal(number)
        return started.wait(waits.GUARD_S)


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
)
def test_a_signal_ends_the_run_early_and_keeps_what_there_is(
    stage: MeasureStage, number: signal.Signals, status: int
) -> None:
    stage.program.with_name("run.json").write_text(RUN)
    stage.play(PATIENT)
    assert _interrupted(stage, number) == status
    assert stage.kept()["schema"] == "lowlat.run/1"
    assert "host" in stage.kept()


def test_an_interrupt_while_causes_are_joined_keeps_the_run(stage: MeasureStage) -> None:
    stage.play(f"echo '{RUN}'")
    assert _interrupted(stage, signal.SIGINT, driver=SLOW_JOIN + DRIVER) == 130
    attribution = stage.kept()["attribution"]
    assert isinstance(attribution, dict) and "interrupted" in str(attribution["notes"])


def test_an_interrupt_is_answered_and_a_second_one_ends_a_harness_that_hangs(
    stage: MeasureStage,
) -> None:
    stage.play('trap "" INT TERM; echo $$ >"$(dirname "$0")/pid"; while :; do sleep 0.05; done')
    code = DRIVER.format(program=str(stage.program), out=str(stage.out))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as started:
        _await(stage.program.with_name("pid"))
        started.send_signal(signal.SIGINT)
        assert started.stdout is not None
        answer = f"ending the run: what was measured so far will be in {stage.out}\n"
        assert any(line == answer for line in started.stdout)
        assert started.poll() is None
        started.send_signal(signal.SIGINT)
        assert started.wait(waits.GUARD_S) == 1
    assert stage.nothing_left()
    assert not procs.alive(int(stage.program.with_name("pid").read_text()))


def test_a_signal_that_nohup_ignores_does_not_end_the_run(stage: MeasureStage) -> None:
    bin = stage.program.parent
    stage.play(f"echo $$ >{bin}/pid; until [ -e {bin}/go ]; do sleep 0.02; done; echo '{RUN}'")
    code = DRIVER.format(program=str(stage.program), out=str(stage.out))
    argv = ["nohup", sys.executable, "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        _await(stage.program.with_name("pid"))
        waits.until(lambda: procs.state(started.pid) == "S")
        started.send_signal(signal.SIGHUP)
        waits.until(lambda: procs.state(started.pid) == "S", "the signal was dealt with")
        (bin / "go").touch()
        assert started.wait(waits.GUARD_S) == 0
    assert stage.kept()["schema"] == "lowlat.run/1"


def test_what_a_killed_run_left_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, young, other = (
        tmp_path / name
        for name in (".lowlat-causes-left", ".lowlat-causes-young", "lowlat-causes-mine")
    )
    for folder in (left, young, other):
        folder.mkdir()
        (folder / "trace-cpu1").write_text("text")
    with private_folder() as held:
        for folder in (left, held, other):
            os.utime(folder, (1, 1))
        with private_folder() as second:
            assert {*tmp_path.iterdir()} == {young, other, held, second}
    assert {*tmp_path.iterdir()} == {young, other}


# ------------------------------------------------------------------ no room


@pytest.mark.security
@pytest.mark.root
@pytest.mark.parametrize("full", ["--out", "TMPDIR"])
def test_a_finished_run_is_not_lost_on_a_full_disk(stage: MeasureStage, full: str) -> None:
    room = stage.folder / "room"
    room.mkdir()
    mounted = ["unshare", "-m", "--", "mount", "-t", "tmpfs", "-o", "size=16k", "none", str(room)]
    if os.geteuid() != 0 or subprocess.run(mounted, check=False, capture_output=True).returncode:
        needs.absent("mounts a small file system: needs root")
    # The harness fills the disk during the run.
    fill = f"head -c 1000000 /dev/zero >{room}/filler 2>/dev/null"
    stage.play(f"{fill}; printf '%s' '{RUN[:-1]}, \"x\": \"'; printf %20000s; echo '\"}}'")
    out = room / "run.json" if full == "--out" else stage.out
    mount = f'mount -t tmpfs -o size=16k none {room} && exec "$@"'
    verb = (
        "import sys; from lowlat import cli; from lowlat.verbs import measure;"
        "measure._host = dict; sys.argv[:2] = [sys.argv[1]];"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    argv = ["unshare", "-m", "sh", "-c", mount, "sh", sys.executable, "-c", verb]
    argv += [str(stage.program.with_name("lowlat-gen")), "measure", "--label", "x", "--no-causes"]
    ended = subprocess.run(
        [*argv, "--out", str(out)], capture_output=True, text=True, check=False,
        env={**os.environ, "TMPDIR": str(room) if full == "TMPDIR" else "/tmp"},
    )  # fmt: skip
    if full == "TMPDIR":
        assert (ended.returncode, ended.stderr) == (0, "")
        assert stage.kept()["problems"] == ["no oslat"]
    else:
        assert ended.returncode == 1
        said = f"lowlat-gen: --out {out}: No space left on device: the run is on standard output\n"
        assert ended.stderr == said
        # On a busy host the run's progress comes first.
        assert json.loads(ended.stdout[ended.stdout.index("{") :])["complete"] is True


def test_json_names_the_runs(stage: MeasureStage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.play(f"echo '{RUN}'")
    assert stage.call("--json") == 0
    run = {"path": str(stage.out), "complete": True, "problems": ["no oslat"]}
    expected = {"schema": "lowlat.measured/1", "changed": True, "runs": [run]}
    assert json.loads(capsys.readouterr().out) == expected
    stage.play(f"echo '{RUN}'; exit 1")
    with pytest.raises(Unmet, match="no oslat"):
        stage.call("--json")
    assert json.loads(capsys.readouterr().out)["runs"][0]["complete"] is False


# ---------------------------------------------------------------- campaign

HERE = os.uname().nodename


class CampaignStage:
    """A campaign of two pairs, and this machine, whose line is that of its stock boots."""

    line = Path("/proc/cmdline").read_text().strip()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def __init__(self, stage: MeasureStage, **changes: object) -> None:
        self.stage = stage
        self.document = {
            "schema": "lowlat.campaign/1",
            "written": "2026-11-20T00:00:00Z",
            "endpoint": "noise_ppm",
            "order": ["stock", "tuned", "tuned", "stock"],
            "pairs": 2,
            "hosts": {HERE: {"stock": self.line, "tuned": f"lowlat.plan=0 {self.line}"}},
            "stop": "at-end",
            "kexec": False,
            "discard": True,
            **changes,
        }
        self.file = stage.folder / "campaign.json"
        self.file.write_text(json.dumps(self.document))

    def call(self, *words: str) -> int:
        run = document("x", 1.0, boot_id=self.boot, host={"name": HERE})
        (self.stage.folder / "run").write_text(json.dumps(run))
        self.stage.play(f"cat {self.stage.folder}/run")
        asked = cli.arguments("measure", ["--campaign", str(self.file), *words])
        return measure.main(asked, {"arch": "x86_64"})

    def refused(self, *words: str) -> str:
        with pytest.raises(Refused) as refusal:
            self.call(*words)
        return str(refusal.value)


def test_a_campaign_says_which_boot_comes_next_and_names_its_run(
    stage: MeasureStage, capsys: pytest.CaptureFixture[str]
) -> None:
    played = CampaignStage(stage)
    assert played.call() == 0
    assert "boot 1 of 4, stock: next boot tuned, twice: the first is not measured" in (
        capsys.readouterr().out
    )
    first = json.loads((stage.folder / f"{HERE}-01-stock.json").read_text())
    assert set(first["host"]) == {"name", "arch", "busy"}
    assert (first["campaign"]["number"], len(first["campaign"]["digest"])) == (1, 64)
    assert "measured already, as boot 1 of 4, stock; the next is boot 2 of 4" in played.refused()

    def kept(number: int, **changes: object) -> None:
        place = {**first["campaign"], "number": number}
        run = {**first, "boot_id": f"b{number}", "campaign": place, **changes}
        (stage.folder / f"{number}.json").write_text(json.dumps(run))

    (stage.folder / f"{HERE}-01-stock.json").unlink()
    kept(1)
    assert "the next is boot 2 of 4, tuned; this is a boot of stock" in played.refused()
    kept(2)
    kept(3)
    kept(4, complete=False)
    assert "--label tuned: this is boot 4 of 4, stock" in played.refused("--label", "tuned")
    assert played.call("--json") == 0
    assert (stage.folder / f"{HERE}-04-stock.json").exists()
    assert "all 4 boots of the campaign are measured" in played.refused()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"order": ["stock", "stock", "tuned", "tuned"]}, ".order"),
        ({"order": ["stock", "tuned"]}, ".pairs"),
        ({"order": []}, ".order"),
        ({"hosts": {HERE: {"stock": "quiet"}}}, ".hosts"),
        ({"hosts": {}}, ".hosts"),
        ({"stop": "if it pleases"}, ".stop"),
        ({"schema": "lowlat.run/1"}, "not a lowlat.campaign/1 document"),
        ({"hosts": {HERE: {"stock": "other", "tuned": "lines"}}}, "this is another line"),
        ({"hosts": {"@": {"stock": "", "tuned": ""}}}, f"host is {HERE}, the campaign is of @"),
    ],
)
def test_a_damaged_campaign_or_another_line_is_refused(
    stage: MeasureStage, changes: dict[str, object], words: str
) -> None:
    assert words.removeprefix(".") in CampaignStage(stage, **changes).refused()
    assert list(stage.folder.glob("*-0?-*")) == []
