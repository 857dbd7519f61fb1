# SPDX-License-Identifier: GPL-2.0-or-later
"""``explain`` from outside: a tunable, an unknown name, a profile, and the whole reference."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import pytest

from lowlat import cli
from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Tunable
from lowlat.catalogue.names import ALIASES, ELSEWHERE, NEVER
from lowlat.explain.entries import overview
from lowlat.plan import profile
from support.cli import lowlat

WIDTH, HEIGHT = 80, 24


def said(*words: str) -> str:
    with redirect_stdout(io.StringIO()) as out:
        assert cli.main(["explain", *words]) == 0
    return out.getvalue()


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_an_explanation_fits_a_screen(entry: Tunable) -> None:
    lines = said(entry.name).splitlines()
    # A path is never broken, so that users can copy it.
    long = [line for line in lines if len(line) > WIDTH and len(line.split()) > 1]
    assert len(lines) <= HEIGHT and not long
    assert entry.name == lines[0]
    labels = re.findall(r"^  (\S.{9})", "\n".join(lines[1:]), re.MULTILINE)
    shown = {label.strip() for label in labels}
    assert {"What", "Where", "Cost", "Needs", "Set by", "Seen", "Source", "Enable"} <= shown


@pytest.mark.parametrize("width", ["20", "40", "43", "60", "80", "200"])
def test_the_list_fits_any_width(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    wide = [line for line in said().splitlines() if len(line) > max(int(width), 40)]
    assert [line for line in wide if len(line.split()) > 1] == []


def test_what_it_needs_and_who_sets_it_is_said() -> None:
    text = said("rcutree.nohz_full_patience_delay")
    assert "CONFIG_RCU_NOCB_CPU" in text and "Linux 6.12" in text and "root" in text
    assert "lowlat-nfv, lowlat-poll" in text
    assert "no profile" in said("kernel.sched_rt_runtime_us")
    assert re.search(r"Not with +idle, cpuidle.off", said("intel_idle.max_cstate"))
    assert re.search(r"Includes +machinecheck.check_interval", said("mce"))


@pytest.mark.parametrize("name", [*NEVER, "mce=off", "isolcpus=nohz,2"])
def test_what_is_never_set_says_why(name: str) -> None:
    if name == "isolcpus=nohz,2":  # a value of an entry is explained with it
        assert said(name).startswith("isolcpus\n")
    else:
        assert said(name).startswith(f"{name} is never set: ")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_others_set_says_how(name: str) -> None:
    assert said(name).startswith(f"{name} is not set by lowlat: ")
    assert "is not set by lowlat" in lowlat("plan", "--enable", name).refused()


@pytest.mark.parametrize("name", ALIASES)
def test_another_name_leads_to_the_entry(name: str) -> None:
    assert said(name).startswith(f"{name} is {ALIASES[name]} here.\n\n{ALIASES[name]}\n")
    assert f"here it is {ALIASES[name]}" in lowlat("plan", "--enable", name).refused()


def test_irqbalance_is_left_to_itself_and_that_is_said() -> None:
    assert "derives from isolcpus and nohz_full" in " ".join(said("irqbalance").split())


@pytest.mark.parametrize("name", profile.packaged_names())
def test_a_profile_says_whom_it_is_for_what_it_costs_and_sets(name: str) -> None:
    text = said(name)
    wanted = profile.load_packaged(name)
    assert text.startswith(f"{name}: {wanted.summary}\n")
    flat = re.sub(r"\s+", " ", text)
    assert wanted.audience[1:] in flat and wanted.costs[1:] in flat
    for setting, value in wanted.settings.items():
        shown = setting if value == "on" else f"{setting}={value}"
        assert (f" {shown}," in f"{flat}," or f" {shown} " in flat) is (value != "off"), setting
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("kind", ["desktop", "rt"])
def test_a_profile_is_found_by_the_kind_of_work_in_its_name(kind: str) -> None:
    assert said(kind).startswith(f"lowlat-{kind}: ")


def test_without_a_name_all_are_listed() -> None:
    out = said()
    for name in (*(entry.name for entry in CATALOGUE), *NEVER, *ELSEWHERE):
        assert f"  {name} " in out
    for name in profile.packaged_names():
        assert f"  {name} " in out
    assert max(map(len, out.splitlines())) <= WIDTH


def test_profiles_of_ones_own_are_listed_too() -> None:
    assert "Profiles of your own:\n  mine  " in overview(["mine"])


def test_all_prints_every_entry() -> None:
    titles = re.findall(r"(?:\A|\n\n)(\S+)\n  What", said("--all"))
    assert titles == [entry.name for entry in CATALOGUE]


def test_the_reference_has_every_entry_once() -> None:
    out = said("--all", "--markdown")
    assert re.findall(r"^### `(.*)`$", out, re.MULTILINE) == [entry.name for entry in CATALOGUE]
    for name in (*NEVER, *ELSEWHERE, *ALIASES, *profile.packaged_names()):
        assert f"| `{name}` |" in out
    rows = [line for line in out.splitlines() if line.startswith("|")]
    for row in rows:
        # The content of a cell must not end the cell.
        assert len(re.findall(r"(?<!\\)\|", row)) in (3, 4), row
