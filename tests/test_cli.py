# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line from outside: verbs, help, version, wrong input."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lowlat import __version__
from lowlat.cli import parser_of
from lowlat.verbs import VERBS, options
from support.cli import GEN, SHELL_GEN
from support.cli import lowlat as in_this_process
from support.cli import lowlat_process as lowlat
from support.waits import GUARD_S

pytestmark = pytest.mark.slow

#: F_SETPIPE_SZ (include/uapi/linux/fcntl.h).
_SET_PIPE_SIZE = 1031


def test_version_is_printed() -> None:
    assert lowlat("--version").out == f"lowlat-gen {__version__}\n"


def test_help_names_every_verb() -> None:
    answer = lowlat("--help")
    assert answer.status == 0
    assert all(f"\n  {verb} " in answer.out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_refuses_unknown_options(verb: str) -> None:
    assert in_this_process(verb, "--help").status == 0
    refusal = in_this_process(verb, "--no-such-option").refused()
    assert "--no-such-option" in refusal or verb in (
        # the parser reports their missing required argument first
        "boot",
        "cpus",
        "fleet",
        "profile",
        "render",
        "report",
        "runtime",
        "measure",
    )


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_an_option_refers_to_no_other_verb(verb: str) -> None:
    assert not [one.help for one in parser_of(verb)._actions if (one.help or "").startswith("as ")]


def test_help_of_a_verb_is_that_verbs() -> None:
    assert lowlat("help", "plan").out == lowlat("plan", "--help").out


def test_without_a_verb_it_says_where_the_machine_stands_and_what_comes_next() -> None:
    answer = lowlat()
    assert answer.status == 0
    assert "isolated" in answer.out
    (step,) = re.findall(r"Next\n  (?:sudo )?lowlat-gen (\w+)", answer.out)
    assert step in VERBS


MACHINE = Path(__file__).parent / "machines/qemu-x86-2s4c-2n-devices.txt"


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("help",),
        ("doctor",),
        ("status",),
        ("probe", "--root", MACHINE),
        ("plan", "--root", MACHINE),
        ("plan", "--root", MACHINE, "--brief"),
        ("plan", "--root", MACHINE, "--all"),
        ("plan", "--root", MACHINE, "--diff"),
        ("lint", "--root", MACHINE, "isolcpus=1-3 nohz=off idle=poll rcu_nocb_poll"),
        ("explain",),
        ("explain", "lowlat-poll"),
        ("explain", "isolcpus"),
    ],
    ids=lambda words: " ".join(map(str, words[:1])) or "nothing",
)
def test_text_takes_the_columns_that_there_are(words: tuple[object, ...], width: int) -> None:
    out = in_this_process(*words, env={"COLUMNS": str(width)}).out
    # A boot line is never broken, so that users can copy it.
    lines = [line for line in out.splitlines() if not line.lstrip().startswith("isolcpus=")]
    assert max(map(len, lines)) <= width, max(lines, key=len)
    if width == 200:
        assert max(map(len, lines)) > 80 or len(lines) < 40


@pytest.mark.parametrize("width", [60, 160])
def test_a_list_takes_the_columns_that_there_are(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lengths = [len(line) for line in options.bullets(["words " * 80])]
    assert width - 10 < max(lengths) <= width


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_a_terminal_gets_the_colour_that_it_can_show(
    environment: dict[str, str], coloured: bool
) -> None:
    keyboard, screen = pty.openpty()
    words = [*GEN, "plan", "--brief", "--root", str(MACHINE)]
    own = {name: text for name, text in os.environ.items() if "COLOR" not in name}
    try:
        subprocess.run(
            words, stdout=screen, env={**own, **environment}, timeout=GUARD_S, check=True
        )
        assert (b"\033[" in os.read(keyboard, 1 << 16)) is coloured
    finally:
        os.close(keyboard)
        os.close(screen)


def test_a_reader_that_goes_away_ends_it_as_a_signal_does() -> None:
    """Not with 0: a check that failed would pass."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, _SET_PIPE_SIZE, 4096)  # less than is said
    argv = [*GEN, "explain", "--all"]
    program = subprocess.Popen(argv, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    assert program.stderr is not None and program.stderr.read() == ""
    assert program.wait(GUARD_S) == 141


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("--version", ""), ("--help", "1"), ("probe", ""), ("probe", "1"), ("plan --help", "")],
)
def test_output_that_cannot_be_written_is_one_line(words: str, unbuffered: str) -> None:
    assert into_full(words, unbuffered) == (
        1,
        "lowlat-gen: standard output: No space left on device\n",
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_behind_output_that_cannot_be_written_is_one_line(
    tmp_path: Path, unbuffered: str
) -> None:
    for name in ("before", "after"):
        shutil.copy(Path(__file__).parent / "data/runs/harness.json", tmp_path / name)
    words = f"report {tmp_path}/before --against {tmp_path}/after --require noise_ppm>=99"
    status, err = into_full(f"{words} --markdown", unbuffered)
    assert (status, err.count("\n")) == (1, 1)
    assert ("standard output" if unbuffered else "not met") in err


def within(kib: int, *words: str) -> subprocess.CompletedProcess[str]:
    """lowlat-gen with so much memory."""
    limited = ("sh", "-c", 'ulimit -v "$0" && exec "$@"', str(kib), *GEN, *words)
    return subprocess.run(limited, capture_output=True, text=True, timeout=GUARD_S, check=False)


def test_too_little_memory_is_one_line() -> None:
    """From the least with which Python itself starts, up to enough."""
    limits = iter(range(10_000, 400_000, 2_000))
    least = next(kib for kib in limits if within(kib, "--version").returncode == 0)
    told = set()
    for kib in range(least, 400_000, 1_000):
        done = within(kib, "plan", "--root", "/nowhere", "--json")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        told.add(done.stderr.split(": ")[1])
        if "no such folder" in done.stderr:
            break
    assert len(told) <= 3


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libblas.so.3: failed to map segment"),
        SystemError("error return without exception set"),
        SyntaxError("expected ':'"),
        OSError(errno.ENOMEM, "Cannot allocate memory", "/usr/lib/python3"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_an_import_raises_for_lack_of_memory_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> None:
        raise error

    monkeypatch.setattr("importlib.import_module", load)
    assert in_this_process("plan").refused()


def test_errors_that_cannot_be_written_keep_their_status() -> None:
    assert into_full("plan --profile no-such", err=subprocess.STDOUT) == (2, "")
    assert into_full("probe", err=subprocess.STDOUT) == (1, "")


def into_full(words: str, unbuffered: str = "", err: int = subprocess.PIPE) -> tuple[int, str]:
    """Status and standard error if the disk for the output is full."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*GEN, *words.split()], stdout=full, stderr=err, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered}, timeout=GUARD_S, check=False,
        )  # fmt: skip
    return done.returncode, done.stderr or ""


def test_a_closed_output_is_no_error() -> None:
    shell = f"exec {SHELL_GEN} probe >&-"
    done = subprocess.run(["/bin/sh", "-c", shell], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stderr == ""


def test_an_ascii_terminal_is_no_error() -> None:
    answer = lowlat("explain", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert answer.status == 0


def test_what_a_terminal_would_obey_does_not_reach_it() -> None:
    assert "\033" not in lowlat("plan", "--isolate", "\033[31m1").refused()
    assert len(lowlat("plan", "--enable", "x" * 9000).refused()) < 700


@pytest.mark.parametrize("verb", ["apply", "trial", "promote", "rollback"])
def test_what_changes_a_system_tells_a_capture_which_verbs_read_it(verb: str) -> None:
    told = lowlat(verb, "--dry-run", "--root", MACHINE).refused()
    assert f"{MACHINE} is not the tree of a system ('lowlat-gen plan' and" in told
