# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's page: its content, its omissions, and no text of others becomes markup."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import pytest
import sample_runs
from pages import HOSTILE, Desk, Page

from lowlat import cli
from lowlat.catalogue.remedies import Remedies
from lowlat.draw.text import names
from lowlat.host.archive import open_root
from lowlat.model.plan import Plan
from lowlat.plan.planner import Options, make_plan
from lowlat.plan.profile import load_packaged
from lowlat.present.offer import on_any_machine
from lowlat.probe import facts, probe
from lowlat.verbs import refusals

pytestmark = pytest.mark.slow

MACHINES = Path(__file__).parents[1] / "machines"


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of a stock and a tuned arm of five boots each."""
    folder = tmp_path_factory.mktemp("usual")
    out = folder / "report.html"
    with mock.patch.object(refusals, "offered_here", on_any_machine):
        assert cli.main(["report", *sample_runs.arms(folder), "--html", str(out)]) == 0
    return Page(out.read_text("utf-8"))


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def found(printed: str) -> str:
    """The finding above the next step, on one line."""
    return " ".join(printed.partition("\nNext: ")[0].split())


# The content


def test_the_finding_comes_first_and_every_section_is_in_the_contents(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    _, printed, _ = desk.call(*words)
    page = desk.page(*words)
    assert [tag for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)][0] == "h1"
    finding, _, basis = found(printed).removesuffix(").").rpartition(" (")
    basis = basis.removeprefix("descriptive only: ")  # the badge says so
    assert page.text.index(finding) < page.text.index(basis) < page.text.index("better: less")
    assert "Described, not tested" in page.text and "descriptive only: " not in page.text
    targets = [str(a["href"])[1:] for a in page.all("a") if str(a["href"]).startswith("#")]
    known = {attributes.get("id") for _, attributes in page.elements}
    assert set(targets) <= known
    assert targets == [
        *("content", "figures", "causes", "histograms", "time", "periods", "machine", "costs"),
        *("parameters", "method", "next"),
    ]


def test_every_drawing_has_words_and_its_data(usual: Page) -> None:
    figures = [tag for tag, _ in usual.elements].count("figure")
    # One figure of both arms, two of causes and sources, four of CPUs, two over the time of a run,
    # two over the runs, four of the pace, and the machine, which is not SVG.
    assert figures == 1 + 2 + 4 + 2 + 2 + 4 + 1
    drawings = [a for a in usual.all("svg") if a.get("role") == "img"]
    assert len(drawings) == figures - 1
    assert all(a.get("aria-label") or a.get("aria-labelledby") for a in drawings)
    assert all(a.get("aria-hidden") for a in usual.all("svg") if a.get("role") != "img")
    files = [str(a["download"]) for a in usual.all("a") if "download" in a]
    assert len(files) == figures + 1
    assert all(usual.csv(name) for name in files)


def test_ids_are_unique(usual: Page) -> None:
    ids = [a["id"] for _, a in usual.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_a_histogram_loses_no_gap(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=2)
    rows = desk.page(*words).csv("histogram-cpu3.csv")
    for label in ("stock", "tuned"):
        documents = [json.loads(p.read_text()) for p in desk.folder.glob(f"{label}-*.json")]
        (one, two) = (next(c for c in d["cpus"] if c["cpu"] == 3) for d in documents)
        hours = (one["runtime_ns"] + two["runtime_ns"]) / 3600e9
        drawn = sum(float(row[f"{label}, gaps an hour"]) for row in rows)
        assert drawn * hours == pytest.approx(one["events"] + two["events"], rel=1e-3)
    assert all(float(row["from, ns"]) < float(row["to, ns"]) for row in rows)


def test_causes_are_the_same_on_the_page_as_in_the_document(desk: Desk) -> None:
    def drawn(words: list[str], name: str) -> dict[str, float]:
        rows = desk.page(*words).csv("noise-by-cause.csv")
        return {row["source"]: float(row[f"{name}, ppm of the time"]) for row in rows}

    def told(words: list[str], part: str, value: str) -> dict[str, Any]:
        figures = json.loads(desk.call(*words, "--json")[1])[part]
        kinds = ((f["name"].partition("@"), f) for f in figures if f["cpu"] == "all")
        parts = ((row, f[value]) for (kind, _, row), f in kinds if kind == "cause_ppm" and row)
        return {row: pytest.approx(one, rel=1e-5) for row, one in parts}

    # Boots differ, and a boot has several runs.
    words = sample_runs.arms(desk.folder, boots=6, runs_a_boot=4)
    assert drawn(words, "stock") == told(words, "endpoints", "before")
    assert drawn(words, "tuned") == told(words, "endpoints", "after")
    alone = words[: words.index("--against")]
    assert drawn(alone, "stock") == told(alone, "figures", "value")

    # Of an arm whose causes the other arm lacks, the page shows what a report of it alone shows.
    unknown: Any = {"cpu": {"causes": False}, "changes": {"attribution": None}}
    tuned = sample_runs.write(desk.folder, "untraced", 6, sample_runs.TUNED, first=1, **unknown)
    assert drawn([*alone, "--against", *tuned], "stock") == told(alone, "figures", "value")


def test_causes_add_up_to_the_noise(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    rows = desk.page(*words).csv("noise-by-cause.csv")
    for label in ("stock", "tuned"):
        cpus = [
            cpu
            for path in desk.folder.glob(f"{label}-*.json")
            for cpu in json.loads(path.read_text())["cpus"]
        ]
        # What was not traced is a part too.
        lost = sum(
            max(sum(cause["time_ns"] for cause in cpu["causes"]), cpu["noise_ns"]) for cpu in cpus
        )
        drawn = sum(float(row[f"{label}, ppm of the time"]) for row in rows)
        assert drawn == pytest.approx(1e6 * lost / sum(cpu["runtime_ns"] for cpu in cpus), rel=1e-4)
    assert rows[0]["source"] == "irq: local_timer"


def test_combs_are_named_with_what_makes_them(usual: Page) -> None:
    told = r"a tick at HZ=250, irq: local_timer\s*250\.0\s*0\s"
    assert re.search(told, usual.text)


def test_the_next_step_names_what_removes_the_largest_cause(desk: Desk) -> None:
    loud = [(*sample_runs.TUNED[0][:3], 200.0, 3000.0)]
    before = sample_runs.write(desk.folder, "stock", 1, sample_runs.STOCK)
    after = sample_runs.write(desk.folder, "tuned", 1, loud, first=1)
    page = desk.page(*before, "--against", *after)
    assert "Most of the noise comes from irq: local_timer" in page.text
    assert "lowlat-gen explain nohz_full" in page.text
    # A run tells what its host let it name: a setting that is in effect already is no remedy there.
    held = Remedies(frozenset({"nohz_full"}))
    after = sample_runs.write(desk.folder, "held", 1, loud, first=1, cpu={"remedies": held})
    page = desk.page(*before, "--against", *after)
    assert "lowlat-gen explain nohz_full" not in page.text
    assert "irq: local_timer: no setting removes it there" in page.text
    # Before the change it was one, which the table of causes says.
    assert "nohz_full" in page.text


def test_what_is_not_in_effect_stands_above_the_figures(desk: Desk) -> None:
    verified = sample_runs.verified(
        desk.folder / "verify.json", isolcpus="effective", kernel__timer_migration="undone"
    )
    page = desk.page(*sample_runs.arms(desk.folder, boots=1), "--verify", verified)
    assert page.text.index("kernel.timer_migration: undone") < page.text.index("better: less")
    assert "1 undone, 1 effective." in page.text
    assert page.text.index("✗ undone") < page.text.index("✓ effective")
    assert "Settings were not verified" not in page.text


def test_what_was_not_verified_is_told_with_the_command(usual: Page) -> None:
    assert "Settings were not verified; pass --verify FILE." in usual.text
    assert "lowlat-gen verify --json > verify.json" in usual.text


def test_cpus_are_told_as_lists_never_as_masks(desk: Desk) -> None:
    path = Path(sample_runs.verified(desk.folder / "verify.json", irq__smp_affinity="effective"))
    document = json.loads(path.read_text())
    document["settings"][0].update(planned="c3", effective="c3")
    path.write_text(json.dumps(document))
    page = desk.page(*sample_runs.arms(desk.folder, boots=1), "--verify", str(path))
    assert page.text.count("0-1,6-7") == 2 and not re.search(r"\bc3\b", page.text)


def test_the_first_screen_tells_where_the_numbers_are_from(desk: Desk) -> None:
    host = {**sample_runs.HOST, "name": "tuna", "hz": 250}
    page = desk.page(*sample_runs.arms(desk.folder, boots=1, changes={"host": host}))
    opening = page.text[: page.text.index("In figures")]
    facts = ("tuna", "Intel(R) Xeon(R) Gold 6354", "Linux 6.12.9-amd64, HZ=250", "2 runs of 60 s")
    assert all(fact in opening for fact in facts)


def plan_file(folder: Path) -> tuple[Plan, str]:
    machine = probe(open_root(str(MACHINES / "qemu-x86-1s8c2t-offline.txt")))
    plan = make_plan(machine, machine.kernel, load_packaged("lowlat"), Options())
    path = folder / "plan.json"
    path.write_text(json.dumps(plan.to_json()))
    return plan, str(path)


def test_the_page_of_one_arm_has_the_reasons_of_a_plan(desk: Desk) -> None:
    plan, path = plan_file(desk.folder)
    runs = sample_runs.write(desk.folder, "tuned", 1, sample_runs.TUNED)
    assert f"From plan {plan.id}" in desk.page(*runs, "--plan", path).text


def test_every_setting_of_a_plan_has_its_reason(desk: Desk) -> None:
    plan, path = plan_file(desk.folder)
    page = desk.page(*sample_runs.arms(desk.folder, boots=1), "--plan", path)
    assert f"From plan {plan.id}" in page.text
    assert plan.parameters
    told = {
        **{one.name: one.why for one in plan.parameters},
        **{one.name: one.why for one in plan.runtime},
        **{one.name: one.why for one in plan.skipped},
    }
    assert not [name for name, why in told.items() if " ".join(why.split()) not in page.text]


def test_without_a_plan_the_catalogue_tells_the_reasons(usual: Page) -> None:
    assert "nohz_full=2-3,6-7" in usual.text
    assert "stops the scheduler tick while a CPU runs a single task" in usual.text
    assert "No plan of these runs is known ('report' takes one with --plan FILE)" in usual.text


def test_costs_are_measured_or_left_out(desk: Desk) -> None:
    page = desk.page(*sample_runs.arms(desk.folder, boots=1))
    assert page.text.count("stress-ng fault") == 1
    assert "Frequency governor: stock schedutil, tuned performance." in page.text
    bare = sample_runs.arms(desk.folder, boots=1, changes={"loads": []})
    for path in desk.folder.glob("*.json"):
        document = json.loads(path.read_text())
        for cpu in document["cpus"]:
            cpu["power"] = None
        path.write_text(json.dumps(document))
    page = desk.page(*bare)
    assert "throughput of the loads" not in page.text and "Frequency governor" not in page.text
    assert "What it costs" in page.text  # by the catalogue


def test_an_idle_state_that_no_cpu_entered_has_no_column(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    for path in desk.folder.glob("*.json"):
        document = json.loads(path.read_text())
        for cpu in document["cpus"]:
            cpu["power"]["idle_us"] = {"POLL": 0, "C1": 1000 if cpu["cpu"] == 2 else 0}
        path.write_text(json.dumps(document))
    text = desk.page(*words).text
    assert "in POLL, % of the time" not in text
    assert "in C1, % of the time" in text and re.search(r"stock\s*98\.0\s*0\.00042\s*0\s", text)


def test_a_rare_interruption_by_the_firmware_is_not_rounded_away(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=3)
    path = desk.folder / "tuned-01.json"
    document = json.loads(path.read_text())
    for cpu in document["cpus"]:
        cpu["power"]["smi"] = 1
    path.write_text(json.dumps(document))
    assert re.search(r"stock\s*98\.0\S*0\s+tuned\s*121\.0\S*0\.0056\s", desk.page(*words).text)


def test_where_nothing_changed_twice_the_boots_are_advised(desk: Desk) -> None:
    before = sample_runs.write(desk.folder, "stock", 11, sample_runs.STOCK, seconds=1.0)
    same = sample_runs.write(desk.folder, "same", 11, sample_runs.STOCK, first=1, seconds=1.0)
    page = desk.page(*before, "--against", *same)
    assert "did not measurably change" in page.text
    assert re.search(r"lowlat-gen tune --boots 22\s", page.text)


def tiles(page: Page) -> set[str]:
    return {str(attributes["title"]) for attributes in page.all("span") if "title" in attributes}


def test_the_machine_is_drawn_core_by_core(usual: Page) -> None:
    assert {"Core of CPU 2 6, isolated", "Core of CPU 0 4, housekeeping"} <= tiles(usual)
    roles = {row["CPU"]: row["role"] for row in usual.csv("roles.csv")}
    assert roles["3"] == "isolated" and roles["1"] == "housekeeping"


def test_what_measure_keeps_of_a_machine_is_enough_to_draw_it(desk: Desk) -> None:
    machine = probe(open_root(str(MACHINES / "qemu-x86-2s2d2c2t-4n.txt")))
    words = sample_runs.arms(desk.folder, boots=1, changes={"host": facts(machine)})
    page = desk.page(*words)
    assert "Package 1" in page.text and "NUMA node 3" in page.text
    for core in machine.cores:
        assert any(tile.startswith(f"Core of CPU {names(core.cpus)}, ") for tile in tiles(page))


def test_runs_that_tell_no_layout_are_drawn_as_bare_cpus(desk: Desk) -> None:
    host = {**sample_runs.HOST}
    del host["layout"]
    page = desk.page(*sample_runs.arms(desk.folder, boots=1, changes={"host": host}))
    assert "each is drawn as a core of its own" in page.text
    assert "Core of CPU 2, isolated" in tiles(page)


# The omissions


def test_under_emulation_no_duration_is_drawn(desk: Desk) -> None:
    page = desk.page(*sample_runs.arms(desk.folder, boots=1, changes={"emulated": True}))
    files = {str(a["download"]) for a in page.all("a") if "download" in a}
    assert files == {
        *("arms.csv", "figures.csv", "interrupts-by-source.csv", "interrupts-over-time.csv"),
        "roles.csv",
    }
    for told in ("Noise by cause", "Histograms of latency", "throughput", "Frequency governor"):
        assert told not in page.text
    meaningful = "Interrupts are counted, not timed, and stay meaningful."
    assert page.text.index(meaningful) < page.text.index("better: less")


def test_what_the_runs_do_not_hold_is_said_with_how_to_have_it(desk: Desk) -> None:
    page = desk.page(*sample_runs.arms(desk.folder, boots=1, cpu={"causes": False}))
    assert "The runs name no causes of single gaps" in page.text
    assert "lowlat-gen measure --label NAME --causes" in page.text
    assert "Periodic sources" not in page.text
    assert "Interrupts by source" in page.text


def test_causes_that_nobody_recorded_are_not_drawn_as_none(desk: Desk) -> None:
    quiet: Any = {"cpu": {"causes": False}, "changes": {"attribution": None}}
    before = sample_runs.write(desk.folder, "stock", 1, sample_runs.STOCK, **quiet)
    after = sample_runs.write(desk.folder, "tuned", 1, sample_runs.TUNED, first=1)
    page = desk.page(*before, "--against", *after)
    assert "No causes were recorded in the runs of stock, so they have no bar." in page.text
    assert "stock: 0 ppm" not in page.text and "Noise by cause" in page.text


def test_runs_that_do_not_compare_make_a_page_that_says_so(desk: Desk) -> None:
    before = sample_runs.write(desk.folder, "stock", 1, sample_runs.STOCK, cpus=(2,))
    after = sample_runs.write(desk.folder, "tuned", 1, sample_runs.TUNED, cpus=(3,), first=1)
    page = desk.page(*before, "--against", *after, status=1)
    assert "Not comparable: no CPU was measured in every run" in page.text
    assert "Measure both sides alike" in page.text


def test_only_the_noisiest_of_many_cpus_are_drawn(desk: Desk) -> None:
    cpus = range(2, 40)
    host = {**sample_runs.HOST, "online": "0-63", "layout": None}
    options: dict[str, Any] = {"cpus": cpus, "seconds": 2.0, "changes": {"host": host}}
    page = desk.page(*sample_runs.arms(desk.folder, boots=1, **options))
    drawn = [str(a["download"]) for a in page.all("a") if "histogram" in str(a.get("download"))]
    assert len(drawn) == 12 and "histogram-cpu39.csv" in drawn
    assert "The 12 noisiest CPUs; 26 more are in the runs." in page.text


def test_a_page_stays_small_on_hundreds_of_cpus(desk: Desk) -> None:
    host = {**sample_runs.HOST, "online": "0-511", "layout": None}
    options: dict[str, Any] = {"cpus": range(2, 402), "changes": {"host": host}, "seconds": 0.2}
    page = desk.page(*sample_runs.arms(desk.folder, boots=1, **options))
    assert (desk.folder / "report.html").stat().st_size < 1 << 20
    assert "The figures of 336 quieter CPUs are not shown" in page.text
    assert len({row["cpu"] for row in page.csv("figures.csv")}) == 64 + 1


# The page is one safe file


def test_it_asks_nobody_and_runs_nothing(usual: Page) -> None:
    for tag, attributes in usual.elements:
        assert tag not in ("script", "img", "iframe", "object", "form")
        for name, value in attributes.items():
            assert not name.startswith("on") and name != "style", (tag, name)
            if name in ("href", "src"):
                assert str(value).startswith(("#", "data:")), value
    (policy,) = [a["content"] for a in usual.all("meta") if "http-equiv" in a]
    digest = base64.b64encode(hashlib.sha256(usual.styles[0].encode()).digest()).decode()
    assert policy is not None and policy.startswith("default-src 'none'")
    assert f"style-src 'sha256-{digest}'" in policy
    assert not re.search(r"url\(|@import", usual.styles[0])


def hostile(document: dict[str, Any]) -> dict[str, Any]:
    """Every text of a run that the machine, its kernel or its user may choose."""
    texts = ("label", "boot_id", "kernel", "cmdline", "policy", "started")
    document.update({key: f"{document[key]} {HOSTILE}" for key in texts})
    document["problems"] = [HOSTILE]
    document["clock"]["source"] = HOSTILE
    document["host"].update(processor=HOSTILE, arch=HOSTILE)
    document["loads"][0].update(version=HOSTILE, command=[HOSTILE], tool="stress-ng")
    for cpu in document["cpus"]:
        cpu["interrupts_per_s"][f"47:{HOSTILE}"] = 3.0
        cpu["softirqs_per_s"][HOSTILE] = 3.0
        for cause in cpu["causes"]:
            cause["cause"] += HOSTILE
        for comb in cpu["periods"]:
            comb.update(name=HOSTILE, cause=HOSTILE)
        cpu["power"].update(governor=HOSTILE, idle_us={HOSTILE: 1.0})
    return document


def test_nothing_that_others_wrote_becomes_markup(desk: Desk) -> None:
    clean = desk.page(*sample_runs.arms(desk.folder, boots=2))
    words = sample_runs.arms(desk.folder, boots=2)
    for path in desk.folder.glob("*.json"):
        path.write_text(json.dumps(hostile(json.loads(path.read_text()))))
    settings = sample_runs.verified(desk.folder / "verify.txt", **{f"a{HOSTILE}": "undone"})
    page = desk.page(*words, "--verify", settings)
    tags = {tag for tag, _ in page.elements}
    assert tags - {tag for tag, _ in clean.elements} <= {"strong"}
    assert not {name for _, a in page.elements for name in a} - {
        *(name for _, a in clean.elements for name in a)
    }
    assert page.text.count("<script>alert(1)</script>") > 20
    assert "\x1b" not in (desk.folder / "report.html").read_text()


def test_a_spreadsheet_takes_no_name_for_a_formula(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    for path in desk.folder.glob("*.json"):
        document = json.loads(path.read_text())
        for cpu in document["cpus"]:
            cpu["causes"][0].update({"class": "=cmd", "cause": "|' /C calc'!A0"})
        path.write_text(json.dumps(document))
    out = desk.folder / "report.html"
    desk.call(*words, "--html", str(out))
    links = re.findall(r"base64,([A-Za-z0-9+/=]+)", out.read_text())
    cells = [
        cell
        for link in links
        for row in csv.reader(io.StringIO(base64.b64decode(link).decode()))
        for cell in row
    ]
    assert any("=cmd" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith("=")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layout", [{"cpus": "none"}]),
        ("layout", [{"package": 0}]),
        ("layout", "0-3"),
        ("online", "7-0"),
    ],
)
def test_a_damaged_run_is_refused_in_one_line(desk: Desk, key: str, value: object) -> None:
    host = {**sample_runs.HOST, key: value}
    words = sample_runs.arms(desk.folder, boots=1, changes={"host": host})
    status, out, err = desk.call(*words, "--html", str(desk.folder / "page.html"))
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1 and "measure again" in err
    assert not (desk.folder / "page.html").exists()


# The files


def test_the_table_has_every_figure_of_the_json(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, seconds=5.0)
    out = desk.folder / "figures.csv"
    report = json.loads(desk.call(*words, "--json", "--csv", str(out))[1])
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(rows) == len(report["endpoints"])
    for row, endpoint in zip(rows, report["endpoints"]):
        assert (row["name"], row["cpu"]) == (endpoint["name"], str(endpoint["cpu"]))
        assert float(row["before"]) == endpoint["before"]
        assert row["p"] == ("" if endpoint["p"] is None else str(endpoint["p"]))
        low, high = endpoint["ci95"] or ("", "")
        assert (row["ci95_low"], row["ci95_high"]) == (str(low), str(high))
        assert row["primary"] == str(endpoint["primary"]).lower()


def test_programs_read_what_is_printed_undisturbed(desk: Desk) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    page = str(desk.folder / "page.html")
    assert json.loads(desk.call(*words, "--json", "--html", page)[1])
    assert f"Page: {page}" in desk.call(*words, "--html", page)[1].splitlines()


# Showing it


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of an ordinary user, and a desktop opener that logs its arguments."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/opened\nexit ${{FAILING:-0}}\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{opener.parent}:/usr/bin:/bin")
    monkeypatch.setattr("lowlat.verbs.report_output.state_folder", lambda: tmp_path / "state")
    return tmp_path / "state"


def test_without_a_display_it_is_told_where_the_page_is(desk: Desk, state: Path) -> None:
    words = sample_runs.arms(desk.folder, boots=1)
    out = desk.call(*words, "--open")[1]
    assert out.splitlines()[-1] == f"No browser to open it in: the page is {state}/report.html"
    assert Page((state / "report.html").read_text()).text
    assert not (desk.folder / "opened").exists()


def test_the_desktop_is_asked_to_open_it(
    desk: Desk, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    words = sample_runs.arms(desk.folder, boots=1)
    named = desk.folder / "a page.html"
    out = desk.call(*words, "--open", "--html", str(named))[1]
    assert out.splitlines()[-1] == f"Opened {named}"
    assert (desk.folder / "opened").read_text() == f"{named.as_uri()}\n"
    monkeypatch.setenv("FAILING", "3")
    out = desk.call(*words, "--open")[1]
    assert out.splitlines()[-1] == f"xdg-open ended with status 3: the page is {state}/report.html"


def test_a_link_in_the_state_folders_place_is_not_followed(desk: Desk, state: Path) -> None:
    elsewhere = desk.folder / "elsewhere"
    elsewhere.mkdir()
    state.symlink_to(elsewhere)
    status, _, err = desk.call(*sample_runs.arms(desk.folder, boots=1), "--open")
    assert status == 2 and "is a symbolic link" in err
    assert not list(elsewhere.iterdir())


# A report of one arm


def test_runs_that_are_compared_with_nothing_have_a_page(desk: Desk) -> None:
    runs = sample_runs.write(desk.folder, "stock", 2, sample_runs.STOCK)
    _, printed, _ = desk.call(*runs)
    page = desk.page(*runs)
    finding, _, state = found(printed).removesuffix(").").rpartition(" (")
    assert finding.startswith("stock on CPUs 2-3,6-7") and "complete" in state
    assert page.text.index(finding) < page.text.index(state) < page.text.index("In figures")
    rows = {row["arm"]: row for row in page.csv("arms.csv")}
    described = json.loads(desk.call(*runs, "--json")[1])["figures"]
    ppm = {f["cpu"]: f["value"] for f in described if f["name"] == "pooled_noise_ppm"}
    told = {cpu: float(rows[f"CPU {cpu}"]["ppm of the time"]) for cpu in (2, 3, 6, 7)}
    assert told == {cpu: ppm[cpu] for cpu in told}
    drawn = {r["source"]: float(r["stock, a second"]) for r in page.csv("interrupts-by-source.csv")}
    counted = {f["name"]: f["value"] for f in described if f["cpu"] == "all"}
    assert drawn["LOC (local timer)"] == pytest.approx(counted["interrupts_per_s@LOC"], rel=1e-4)
    assert "Noise by cause" in page.text
    assert "Most of the noise comes from irq: local_timer" in page.text
    for foreign in (
        "The test tries",
        "What is in effect",
        "Every parameter",
        "The verdict is about",
    ):
        assert foreign not in page.text


def test_one_run_under_emulation_has_a_page_without_durations(desk: Desk) -> None:
    (run,) = sample_runs.write(
        desk.folder, "guest", 1, sample_runs.STOCK, changes={"emulated": True, "valid": False}
    )
    page = desk.page(run)
    assert "NOT VALID" in page.text
    assert "longest gap" not in page.text and "Noise" not in page.text


def test_each_drawing_can_be_an_image_of_its_own(desk: Desk) -> None:
    folder = desk.folder / "images"
    words = sample_runs.arms(desk.folder, boots=2, seconds=2.0)
    status, out, _ = desk.call(*words, "--svg", str(folder))
    images = {
        path.name: ElementTree.parse(path)  # noqa: S314  # our own file
        for path in folder.iterdir()
    }
    assert status == 0 and f"Images: {len(images)} in {folder}" in out
    assert {"arms.svg", "histogram-cpu2.svg", "noise-by-cause.svg", "noise_ppm-by-run.svg"} <= {
        *images
    }
    told = " ".join(images["histogram-cpu2.svg"].getroot().itertext())
    assert "stock" in told and "tuned" in told and "length of the gap" in told
    assert "irq: local_timer" in " ".join(images["noise-by-cause.svg"].getroot().itertext())
    assert desk.call(*words, "--svg", "")[0] == 2
