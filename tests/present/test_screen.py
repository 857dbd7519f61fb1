# SPDX-License-Identifier: GPL-2.0-or-later
"""The report on a terminal: with and without rich, wide and narrow, and on an ASCII-only
terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sample_runs

from support.cli import GEN
from support.waits import GUARD_S

pytestmark = pytest.mark.slow

BLOCKS = "▁▂▃▄▅▆▇█"

#: A stand-in for a machine without rich: the import of rich fails.
WITHOUT_RICH = """
import sys
sys.modules["rich"] = None
from lowlat.cli import main
sys.exit(main())
"""


def call(*words: str, program: tuple[str, ...] = GEN, **environment: str) -> tuple[int, str]:
    """The verb in a separate process, with a pipe for its output."""
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [*program, "report", *words],
        capture_output=True,
        env={**env, "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
        timeout=GUARD_S,
    )
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def watched(*words: str, rows: int, columns: int) -> str:
    """The text on a terminal of this size, without its colours."""
    control, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": str(rows)}
    env.pop("NO_COLOR", None)
    child = subprocess.Popen(
        [*GEN, "report", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.STDOUT,
        env={**env, "PYTHONIOENCODING": "utf-8"},
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            part = os.read(control, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        output += part
    os.close(control)
    assert child.wait(timeout=GUARD_S) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", output.decode().replace("\r\n", "\n"))


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    return sample_runs.arms(tmp_path, boots=2, seconds=10.0)


def histogram_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(block in line for block in BLOCKS)]


def test_plain_text_has_the_tables_and_the_histograms(runs: list[str]) -> None:
    status, out = call(*runs)
    assert status == 0
    assert out.startswith("Noise on the isolated CPUs: 1,3")
    lines = histogram_lines(out)
    assert len(lines) == 4 * 2
    assert [line.split()[0] for line in lines] == ["CPU", "tuned"] * 4
    # The tuned side's rows are lower, at least in the bins around the tick's length.
    assert "█" in lines[0] and "█" not in lines[1]
    scale = next(line for line in out.splitlines() if "|100ns" in line)
    assert (
        lines[0].index("stock")
        < scale.index("|100ns")
        <= min(lines[0].index(block) for block in BLOCKS if block in lines[0])
    )


def test_a_machine_without_rich_has_the_same_text(runs: list[str]) -> None:
    plain = call(*runs)[1]
    forced = call(*runs, program=(sys.executable, "-c", WITHOUT_RICH), FORCE_COLOR="1")[1]
    assert forced.replace("\x1b[1m", "").replace("\x1b[0m", "") == plain
    assert call(*runs, FORCE_COLOR="1")[1] != forced


def test_a_terminal_that_knows_ascii_only_gets_ascii(runs: list[str]) -> None:
    out = call(*runs, PYTHONIOENCODING="ascii")[1]
    assert out.isascii() and "?" not in out
    assert any(re.match(r"CPU 2 +stock +[ .:=+*%#-]+ +\d", line) for line in out.splitlines())


def test_one_screen_holds_the_story(runs: list[str]) -> None:
    for rows, columns in ((40, 100), (50, 160)):
        text = watched(*runs, rows=rows, columns=columns)
        lines = text.splitlines()
        assert len(lines) <= rows, f"{len(lines)} lines on {rows}"
        assert max(map(len, lines)) <= columns
        assert lines[0].startswith("Noise on the isolated CPUs: 1,3")
        assert len(histogram_lines(text)) == 8
        assert any(re.match("Next: (sudo )?lowlat-gen ", line) for line in lines[1:8])


def test_names_of_others_are_no_markup_of_rich(tmp_path: Path) -> None:
    name = "47:[bold red]nvme[/]"
    loud = [("irq", "x", name, 300.0, 3000.0), *sample_runs.STOCK]
    before = sample_runs.write(tmp_path, "stock", 1, loud)
    after = sample_runs.write(tmp_path, "tuned", 1, sample_runs.TUNED, first=1)
    out = call(*before, "--against", *after, FORCE_COLOR="1", NO_COLOR="", COLUMNS="120")[1]
    assert "[bold red]nvme[/]" in out


def test_under_emulation_no_histogram_is_drawn(tmp_path: Path) -> None:
    words = sample_runs.arms(tmp_path, boots=1, changes={"emulated": True})
    assert histogram_lines(call(*words)[1]) == []


def test_arms_at_a_glance_in_characters(tmp_path: Path) -> None:
    words = sample_runs.arms(tmp_path, boots=9, seconds=2.0)
    more = sample_runs.left_out(tmp_path, 6, boots=9, seconds=2.0)
    plain, drawn = call(*words, *more)[1], watched(*words, *more, rows=60, columns=120)
    for out in (plain, drawn):
        lines = out.splitlines()
        (scale,) = [line for line in lines if re.match(r" +\|10 ", line)]
        drawing = len("without-0")  # where the drawings begin
        first = next(line for line in lines if re.match(r"stock +[.]*o", line))
        arms = [line for line in lines if re.search(r"[\d.]+ times less +reduced$", line)]
        assert [line.split()[0] for line in arms] == ["tuned", *(f"without-{n}" for n in range(6))]
        marks = [line.index("o", drawing) for line in arms]
        assert first.index("o", drawing) > max(marks) >= min(marks) > scale.index("|10")
        assert marks[1:] == sorted(marks[1:]) and marks[1] < marks[-1]
        assert all(re.search(r"[\[o.][-o.]*[\]o.]", line[drawing:]) for line in arms)
    # The first arm, and those of the others that differ most from it.
    assert len(histogram_lines(plain)) == 4 * 6


def test_arms_with_long_names_have_a_line_each_on_a_narrow_screen(tmp_path: Path) -> None:
    words = sample_runs.arms(tmp_path, boots=9, seconds=2.0)
    more = sample_runs.left_out(tmp_path, 6, boots=9, seconds=2.0)
    long = [re.sub(r"^without-", "lowlat-without-a.setting_of_a_long_name-", word) for word in more]
    out = watched(*words, *long, rows=60, columns=80)
    lines = [line for line in out.splitlines() if re.search(r"[\d.]+ times less +reduced$", line)]
    assert len(lines) == 7 and all(len(line) <= 80 for line in lines)
    told = [line.split()[0] for line in lines]
    assert all(name.endswith(f"long_name-{n}") for n, name in enumerate(told[1:]))
    rows = [line.split()[0] for line in out.splitlines() if " -> " in line]
    assert all(name.endswith(f"long_name-{n}") for n, name in enumerate(rows[-6:]))


def test_two_arms_need_no_glance(runs: list[str]) -> None:
    assert "interval of the change" not in call(*runs)[1]


def test_many_cpus_are_cut_and_counted(tmp_path: Path) -> None:
    words = sample_runs.arms(tmp_path, boots=1, seconds=1.0, cpus=range(2, 20))
    out = call(*words)[1]
    assert len(histogram_lines(out)) == 8 * 2
    assert "10 more CPUs: --html FILE draws them" in out
    (after,) = tmp_path.glob("tuned-*.json")
    noise = {cpu["cpu"]: cpu["noise_ppm"] for cpu in json.loads(after.read_text())["cpus"]}
    worst = sorted(sorted(noise, key=noise.__getitem__)[-8:])
    assert [int(line.split()[1]) for line in histogram_lines(out)[::2]] == worst
