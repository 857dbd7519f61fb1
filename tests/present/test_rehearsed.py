# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a rehearsal: verify's findings in every boot of an arm, the arm of each finding, and
the booted plan. Stand-ins replace the guests."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pages import Page

from lowlat.model.finding import Finding, Standing
from lowlat.present.settings_table import mark, ordered
from lowlat.rehearse.comparisons import marked
from support.rehearsal import RehearsalBench

pytestmark = pytest.mark.slow

#: verify's findings on the tick: by the kernel's message, and on one CPU; missing in some boots.
SPOILING = """\
import json
status = stand_in_guest.main(sys.argv)
verify = stand_in_guest.shared(sys.argv) / "verify.json"
if verify.exists():
    lost = verify.parents[1].name in {spoiled!r}
    states = ("effective", "not-applied" if lost else "effective")
    rows = [
        {{
            "name": "nohz_full", "state": state, "planned": "2-3", "where": "boot",
            "effective": "", "by": None, "evidence": f"evidence {{n}}",
        }}
        for n, state in enumerate(states)
    ]
    verify.write_text(json.dumps({{"schema": "lowlat.verify/1", "settings": rows}}))
sys.exit(status)
"""

WITHOUT = "lowlat-without-isolcpus"


@dataclass(frozen=True)
class Rehearsed:
    printed: str
    page: Page
    plan: str


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """Two boots an arm; in the first of two arms, the tick was not stopped."""
    bench = RehearsalBench(tmp_path_factory.mktemp("rehearsed"))
    spoiling = SPOILING.format(spoiled=("lowlat-1", f"{WITHOUT}-1"))
    program = bench.runner.read_text().partition("sys.exit(")[0]
    bench.runner.write_text(program + spoiling)
    less = [word for name in ("rcu_nocbs", "irqaffinity") for word in ("--disable", name)]
    _, printed, _ = bench.matrix("--isolate", "2-3", "--ablate", "--boots", "2", *less)
    arms = json.loads((bench.out / "6.12.1" / "arms.json").read_text())
    (plan,) = (arm["plan"]["id"] for arm in arms if arm["name"] == "lowlat")
    return Rehearsed(printed, Page((bench.out / "report.html").read_text()), plan)


def test_what_one_boot_of_an_arm_lacked_is_told_wherever_it_was(rehearsed: Rehearsed) -> None:
    lost = "nohz_full: not-applied: planned 2-3, in effect nothing (in 1 of 2 boots: evidence 1)"
    assert f"Not in effect: {lost}" in " ".join(rehearsed.printed.split())
    for told in (rehearsed.printed, rehearsed.page.text):
        assert told.count(lost) == 2
        assert f"{WITHOUT}: {lost}" in told
    # The other row of that setting held in all boots.
    assert "1 not-applied, 1 effective." in rehearsed.page.text
    assert "in 1 of 2 boots: evidence 0" not in rehearsed.page.text


def test_what_is_in_effect_is_told_of_every_arm_by_its_name(rehearsed: Rehearsed) -> None:
    assert "lowlat: 1 not-applied, 1 effective" in rehearsed.page.text  # the whole profile
    assert f"{WITHOUT}: 1 not-applied, 1 effective" in rehearsed.page.text
    assert "lowlat-without-skew_tick: 2 effective" in rehearsed.page.text
    assert "Not checked" not in rehearsed.page.text


def test_the_plan_that_was_booted_tells_the_reasons_of_every_comparison(
    rehearsed: Rehearsed,
) -> None:
    assert rehearsed.page.text.count(f"From plan {rehearsed.plan}, profile lowlat") == 2
    assert "No plan" not in rehearsed.page.text and "--plan" not in rehearsed.page.text


def test_what_the_rehearsal_gives_every_boot_is_its_own() -> None:
    states = {"tsc": "not-planned", "mce": "not-planned", "isolcpus": "effective"}
    values = {"tsc": "nowatchdog", "mce": "off", "isolcpus": "2-3"}
    rows = [
        Finding(name, "boot", "", values[name], Standing(state), None, "")
        for name, state in states.items()
    ]
    found = ordered(marked(rows, ["tsc=nowatchdog"]))
    told = [(row.name, mark(row)) for row in found]
    assert told == [("mce", "?"), ("isolcpus", "✓"), ("tsc", "–")]
