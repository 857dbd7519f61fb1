# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of oslat, cyclictest, rtla and stress-ng in the place of runs."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused
from lowlat.measure.run_file import read_run
from support.runs import ReportBench, endpoint

TOOLS = Path(__file__).parents[1] / "data" / "tools"

#: By recorded file: the tool, the greatest maximum in us, and how far the range of its histogram
#: is from 0 (0: none).
RECORDED = {
    "oslat-2.4-text.txt": ("oslat 2.40", 66275, 31),
    "oslat-2.6-json.json": ("oslat 2.60", 144906, 30),
    "oslat-2.10-width.txt": ("oslat 2.10", 191294.934, 19.5),
    "oslat-2.10-width-json.json": ("oslat 2.10", 168001.247, 19.5),
    "cyclictest-2.4-text.txt": ("cyclictest", 5107, 100),
    "cyclictest-2.4-json.json": ("cyclictest 2.40", 40979, 100),
    "cyclictest-2.4-quiet.txt": ("cyclictest", 7811, 0),
    "cyclictest-2.4-quiet-ns.txt": ("cyclictest", 6205.474, 0),
    "cyclictest-2.4-sum.txt": ("cyclictest", 7476, 40),
    "cyclictest-2.4-file.hist": ("cyclictest", 4549, 40),
    "cyclictest-2.4-live.txt": ("cyclictest", 112, 0),
    "rtla-6.5-timerlat-from-docs.txt": ("rtla timerlat", 59, 37),
    "rtla-6.5-timerlat-top-from-docs.txt": ("rtla timerlat", 42, 0),
    "rtla-6.12-osnoise-from-docs.txt": ("rtla osnoise", 320, 40),
    "rtla-6.5-osnoise-top-from-docs.txt": ("rtla osnoise", 57, 0),
    "rtla-6.12-hwnoise-from-docs.txt": ("rtla hwnoise", 5, 0),
}


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def described(bench: ReportBench, *files: object) -> dict[str, Any]:
    _, out = bench.call(*map(str, files), "--json")
    result: dict[str, Any] = json.loads(out)
    return result


def figures(result: dict[str, Any]) -> dict[tuple[str, object], float]:
    return {(one["name"], one["cpu"]): one["value"] for one in result["figures"]}


@pytest.mark.parametrize("name", RECORDED)
def test_each_form_gives_its_figures(bench: ReportBench, name: str) -> None:
    tool, most, end = RECORDED[name]
    result = described(bench, TOOLS / name)
    short = tool.split()[1 if tool.startswith("rtla") else 0]
    assert result["tool"] == tool
    assert figures(result)[f"{short}_max_us", "all"] == pytest.approx(most)
    above = {one["value"] for one in result["figures"] if one["more_than"]}
    assert above <= {end}
    status, out = bench.call(str(TOOLS / name))
    assert (status, f"maximum {most:,.0f}"[:10] in out) == (0, True)


def test_a_minimum_and_an_average_are_those_printed(bench: ReportBench) -> None:
    known = figures(described(bench, TOOLS / "cyclictest-2.4-quiet.txt"))
    assert (known["cyclictest_min_us", 0], known["cyclictest_avg_us", 1]) == (25, 146)
    tracer = figures(described(bench, TOOLS / "rtla-6.5-timerlat-top-from-docs.txt"))
    assert (tracer["timerlat_avg_us@thread", 23], tracer["timerlat_max_us@irq", 23]) == (11, 29)


def test_rtlas_table_of_noise_gives_lowlats_own_figures(bench: ReportBench) -> None:
    known = figures(described(bench, TOOLS / "rtla-6.5-osnoise-top-from-docs.txt"))
    assert known["noise_ppm", 0] == pytest.approx(1e6 * 304896 / 53100000)
    assert known["interrupts_per_s", 0] == pytest.approx(53111 / 53.1)
    assert known["switches_per_s", 0] == pytest.approx(13 / 53.1)
    assert known["hardware_per_s", 0] == pytest.approx(549 / 53.1)
    text = (TOOLS / "rtla-6.5-osnoise-top-from-docs.txt").read_text().replace("53100000", "0")
    with pytest.raises(Refused, match="osnoise's top is damaged"):
        bench.call(bench.write("top.txt", text))


def in_us(text: str) -> str:
    """cyclictest's lines in ns as it prints the same run in us."""

    def cells(match: re.Match[str]) -> str:
        low, now, mean, high = (int(number) // 1000 for number in match.groups())
        return f"Min:{low:7d} Act:{now:5d} Avg:{mean:5d} Max:{high:8d}"

    return re.sub(r"Min: *(\d+) Act: *(\d+) Avg: *(\d+) Max: *(\d+)", cells, text)


@pytest.mark.parametrize("release", ["2.4", "2.6", "2.10"])
def test_one_run_in_us_and_in_ns_is_one_result(bench: ReportBench, release: str) -> None:
    text = (TOOLS / f"cyclictest-{release}-quiet-ns.txt").read_text()
    ours = figures(described(bench, bench.write("ns.txt", text)))
    theirs = figures(described(bench, bench.write("us.txt", in_us(text))))
    assert ours == pytest.approx(theirs, abs=1)
    assert ours != theirs


def test_a_histogram_in_ns_is_one_in_us(bench: ReportBench) -> None:
    document = json.loads((TOOLS / "cyclictest-2.4-ns-json.json").read_text())
    ours = described(bench, bench.write("ns.json", document))
    for one in document["thread"].values():
        counts: dict[str, int] = {}
        for edge, count in one["histogram"].items():
            counts[str(int(edge) // 1000)] = counts.get(str(int(edge) // 1000), 0) + count
        one.update({name: one[name] / 1000 for name in ("min", "avg", "max")}, histogram=counts)
    document.update(resolution_in_ns=0)
    document["cmdline:"] = document["cmdline:"].replace("90000", "90").replace("--nsecs ", "")
    theirs = described(bench, bench.write("us.json", document))
    assert figures(ours) == pytest.approx(figures(theirs), abs=1)


def test_what_lies_above_the_histogram_is_more_than_its_end(bench: ReportBench) -> None:
    """A range that is cut makes a percentile "more than", never smaller."""
    document = json.loads((TOOLS / "cyclictest-2.10-json.json").read_text())
    whole = described(bench, bench.write("whole.json", document))["figures"]
    for one in document["thread"].values():
        one["histogram"] = {edge: n for edge, n in one["histogram"].items() if int(edge) < 70}
    document["cmdline:"] = document["cmdline:"].replace("=100", "=70")
    cut = described(bench, bench.write("cut.json", document))["figures"]
    for long, short in zip(whole, cut):
        assert (long["name"], long["cpu"]) == (short["name"], short["cpu"])
        assert short["value"] == (70 if short["more_than"] else long["value"])
    assert sum(one["more_than"] for one in cut) > sum(one["more_than"] for one in whole)
    _, out = bench.call("--json", *map(str, [bench.folder / "whole.json"]))
    status, out = bench.call(str(bench.folder / "cut.json"))
    assert (status, ">70.0" in out) == (0, True)


def lines(most: int, priority: int = 80, interval: int = 1000) -> str:
    return "".join(
        f"T: {n} ({n + 7:5d}) P:{priority} I:{interval} C:  60000 Min:      3 Act:    5 Avg:    6 "
        f"Max:{most + n:8d}\n"
        for n in (0, 1)
    )


def folders(bench: ReportBench, pairs: int, **after: int) -> list[str]:
    for arm, most, changes in (("stock", 100, {}), ("tuned", 50, after)):
        (bench.folder / arm).mkdir()
        for n in range(pairs):
            bench.write(f"{arm}/run{n}.txt", lines(most + n, **changes))
        bench.write(f"{arm}/README", "how it was made")
    return [str(bench.folder / "stock"), "--against", str(bench.folder / "tuned")]


def test_folders_are_described_and_say_why_no_more(bench: ReportBench) -> None:
    _, out = bench.call(*folders(bench, 6), "--json")
    result = json.loads(out)
    assert result["verdict"] == "descriptive-only"
    assert "names no boot (--pairs-by-name" in result["why"]
    assert endpoint(result, "cyclictest_max_us", 1)["before"] == 106
    assert endpoint(result, "cyclictest_boot_max_us")["before"] == pytest.approx(103.5, abs=0.1)
    assert not [flag for flag in result["flags"] if "differ" in flag]


def test_names_declare_pairs_and_the_boots_are_tested(bench: ReportBench) -> None:
    _, out = bench.call(*folders(bench, 6), "--pairs-by-name", "--json")
    result = json.loads(out)
    assert result["verdict"] == "reduced"
    assert endpoint(result, "cyclictest_boot_max_us")["primary"]
    assert any("not pre-registered" in flag for flag in result["flags"])


def test_a_name_without_its_partner_is_refused(bench: ReportBench) -> None:
    words = folders(bench, 6)
    (bench.folder / "tuned/run3.txt").unlink()
    with pytest.raises(Refused, match="--pairs-by-name: after has no file run3"):
        bench.call(*words, "--pairs-by-name")


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"priority": 0}, "the options of the tool differ: before priority 80, after priority 0"),
        ({"interval": 200}, "the intervals of the tool differ: before 1000 us, after 200 us"),
    ],
)
def test_what_differs_is_told_and_not_tested(
    bench: ReportBench, after: dict[str, int], told: str
) -> None:
    _, out = bench.call(*folders(bench, 6, **after), "--pairs-by-name", "--json")
    result = json.loads(out)
    assert result["verdict"] == "descriptive-only"
    assert any(told in flag for flag in result["flags"])


def test_what_a_file_does_not_tell_does_not_differ(bench: ReportBench) -> None:
    words = (str(TOOLS / f"cyclictest-2.4-{form}") for form in ("sum.txt", "json.json"))
    _, out = bench.call(next(words), "--against", next(words), "--json")
    result = json.loads(out)
    assert result["why"].startswith("1 file each; a file of cyclictest names no boot")
    told = [flag for flag in result["flags"] if "not told" in flag or "differ" in flag]
    assert told and all(" are not told by all files: before not told, after " in f for f in told)
    assert not [flag for flag in result["flags"] if "kernel" in flag or "p99.99" in flag]


def test_how_options_are_written_makes_no_difference(bench: ReportBench) -> None:
    document = json.loads((TOOLS / "cyclictest-2.4-json.json").read_text())
    document["cmdline:"] = "/usr/bin/cyclictest -qD2 -a 0,1 -t2 -i1000 -h 400 --json=other.json"
    before = str(TOOLS / "cyclictest-2.4-json.json")
    _, out = bench.call(before, "--against", bench.write("a.json", document), "--json")
    assert not [flag for flag in json.loads(out)["flags"] if "tool differ" in flag]
    document["cmdline:"] += " -mp80"
    _, out = bench.call(before, "--against", bench.write("a.json", document), "--json")
    told = "affinity=0,1 mlockall priority=80 threads=2"
    assert any(told in flag for flag in json.loads(out)["flags"])


def test_a_maximum_of_a_longer_time_is_not_called_longer(bench: ReportBench) -> None:
    """In the row of its boots as in that of its CPUs."""
    text = (TOOLS / "oslat-2.4-text.txt").read_text()
    longer = text.replace("2.002 2.001 (sec)", "2.202 2.201 (sec)")
    assert longer != text
    files = bench.write("a.txt", text), "--against", bench.write("b.txt", longer)
    rows = [row for row in bench.call(*files)[1].splitlines() if " maximum of " in row]
    assert [row.endswith(" -") for row in rows[1:3]] == [True, True]


def test_different_tools_are_not_compared(bench: ReportBench) -> None:
    words = str(TOOLS / "oslat-2.4-text.txt"), "--against", str(TOOLS / "cyclictest-2.4-quiet.txt")
    status, out = bench.call(*words, "--json")
    assert (status, json.loads(out)["verdict"]) == (1, "refused")
    assert "different tools (before: oslat, after: cyclictest)" in json.loads(out)["why"]


#: A file of each title that the tools print.
TITLES = (
    "oslat-2.4-text.txt",
    "cyclictest-2.4-quiet.txt",
    "rtla-6.5-timerlat-from-docs.txt",
    "rtla-6.5-timerlat-top-from-docs.txt",
    "rtla-6.12-osnoise-from-docs.txt",
    "rtla-6.5-osnoise-top-from-docs.txt",
    "rtla-6.12-hwnoise-from-docs.txt",
    "stress-ng-0.22.01-brief.txt",
)

#: Texts of one tool, of which the second was started with an option more that changes what is
#: measured: the file, what stands in it, and what stands there with that option.
OPTIONS = (
    ("oslat-2.4-text.txt", "Core:", "Global bias set to 1 (us)\n        Core:"),
    ("oslat-2.4-text.txt", "oslat V", "running cmd: oslat -q -D 1m -f 80\noslat V"),
    ("rtla-6.5-osnoise-top-from-docs.txt", " ", "# rtla osnoise top -r 900000 -q\n "),
    ("rtla-6.5-osnoise-top-from-docs.txt", "Operating System", "Hardware-related"),
    ("rtla-6.12-hwnoise-from-docs.txt", " ", "# rtla hwnoise -T 1\n "),
    ("rtla-6.5-timerlat-from-docs.txt", "# RTLA", "$ rtla timerlat hist -u\n# RTLA"),
    ("stress-ng-0.22.01-brief.txt", "1 matrix", "4 matrix"),
)


def verdict(bench: ReportBench, before: str, after: str) -> str:
    """That of six files of either text, whose names declare pairs. No two boots are alike."""
    arms = []
    for name, text in (("before", before), ("after", after)):
        folder = bench.folder / name
        folder.mkdir(exist_ok=True)
        for number in range(6):
            (folder / f"r{number}.txt").write_text(text)
        arms.append(str(folder))
    _, out = bench.call(arms[0], "--against", arms[1], "--pairs-by-name", "--json")
    return str(json.loads(out)["verdict"])


def test_no_change_is_claimed_between_files_of_two_titles(bench: ReportBench) -> None:
    texts = [(TOOLS / name).read_text() for name in TITLES]
    told = {
        (one, other): verdict(bench, before, after)
        for (one, before), (other, after) in itertools.combinations(zip(TITLES, texts), 2)
    }
    assert set(told.values()) <= {"refused", "descriptive-only"}, told
    noise = told["rtla-6.5-osnoise-top-from-docs.txt", "rtla-6.12-hwnoise-from-docs.txt"]
    assert noise == "refused"


@pytest.mark.parametrize(("name", "plain", "told"), OPTIONS)
def test_no_change_is_claimed_between_files_of_two_options(
    bench: ReportBench, name: str, plain: str, told: str
) -> None:
    text = (TOOLS / name).read_text()
    assert verdict(bench, text, text) not in ("refused", "descriptive-only"), "alike: it is tested"
    other = text.replace(plain, told, 1)
    assert other != text
    assert verdict(bench, text, other) in ("refused", "descriptive-only")


def test_the_text_beside_a_json_of_one_name_is_the_same_run(bench: ReportBench) -> None:
    for name in ("stress-ng-0.15.06-matrix.yaml", "stress-ng-0.15.06-matrix.txt"):
        bench.write(name, (TOOLS / name).read_text())
    result = described(bench, bench.folder)
    assert (result["runs"], result["tool"]) == (1, "stress-ng 0.15.06 gcc 12.2.0")
    assert figures(result)["bogo_ops_per_s@matrix", "all"] == pytest.approx(907.912, abs=0.001)


def test_what_some_files_do_not_tell_leaves_no_gap_on_the_page(bench: ReportBench) -> None:
    """A text of cyclictest names no host and no kernel, its JSON does."""
    page = bench.folder / "page.html"
    told = json.loads((TOOLS / "cyclictest-2.4-json.json").read_text())["sysinfo"]["nodename"]
    for names in (("text.txt", "json.json"), ("json.json", "text.txt")):
        files = [str(TOOLS / f"cyclictest-2.4-{name}") for name in names]
        bench.call(*files, "--html", str(page))
        shown = page.read_text()
        assert told in shown and "| " not in shown.partition("<main")[2].partition(told)[0][-20:]
        assert f"{told} |" not in shown


def test_a_text_that_went_through_a_terminal_or_a_post_is_read(bench: ReportBench) -> None:
    text = (TOOLS / "oslat-2.4-text.txt").read_text()
    pasted = "".join(f"    {line}\r\n" for line in f"\x1b[1m{text}".splitlines())
    ours = figures(described(bench, bench.write("plain.txt", text)))
    assert figures(described(bench, bench.write("pasted.txt", pasted))) == ours


def test_a_file_that_is_cut_or_garbled_is_read_or_refused(tmp_path: Path) -> None:
    for file in sorted(TOOLS.glob("*.*")):
        text = file.read_text()
        for place in range(0, len(text), max(len(text) // 5, 1)):
            for other in (text[:place], text[:place] + text[place + 9 :], f"{text[:place]}1e400"):
                path = tmp_path / f"a{file.suffix}"
                path.write_text(other)
                with suppress(Refused):
                    read_run(path)
