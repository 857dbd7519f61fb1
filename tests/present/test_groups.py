# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of several comparisons: the findings of each come first, and no comparison shows another's
data."""

from __future__ import annotations

from pathlib import Path

import pytest
import sample_runs
from pages import HOSTILE, Page

from lowlat.claim.comparison import compare
from lowlat.figures.measured_arm import Arm
from lowlat.measure.run_file import read_run
from lowlat.present.drawn_arm import Group
from lowlat.present.html import render_groups


def read(name: str, paths: list[str]) -> Arm:
    return Arm(name, tuple(read_run(Path(path)) for path in paths))


def group(folder: Path, title: str, emulated: bool = True) -> Group:
    """Stock and two tuned arms of one boot each."""
    folder.mkdir()
    options = {"seconds": 5.0, "changes": {"emulated": emulated}}
    arms = [
        read(name, sample_runs.write(folder, name, 1, sources, first=first, **options))
        for name, sources, first in (
            ("stock", sample_runs.STOCK, 0),
            ("tuned", sample_runs.TUNED, 1),
            ("part", sample_runs.TUNED[1:], 3),
        )
    ]
    return Group(title, compare(*arms))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("groups")
    return Page(
        render_groups(
            "A rehearsal",
            [
                group(folder / "one", "6.12.9"),
                group(folder / "two", "6.12.9"),
                group(folder / "three", f"6.1 {HOSTILE}", emulated=False),
            ],
        )
    )


def test_what_each_found_stands_before_all_of_them(page: Page) -> None:
    assert [tag for tag, _ in page.elements if tag in ("h1", "h2", "h3")][:3] == ["h1", "h2", "h3"]
    findings = "Interrupts against stock: tuned descriptive only, part descriptive only."
    noise = findings.replace("Interrupts", "Noise")
    first = page.text.index("In figures")
    assert page.text[:first].count(findings) == 2 + 1  # and once at the head of the first group
    assert page.text[:first].count(noise) == 1
    assert page.text.index("A rehearsal") < page.text.index(findings)
    assert page.text.count("Interrupts are counted, not timed") == 1


def test_every_link_leads_to_its_own_group(page: Page) -> None:
    ids = [str(a["id"]) for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    targets = [str(a["href"])[1:] for a in page.all("a") if str(a["href"]).startswith("#")]
    assert set(targets) <= set(ids)
    assert [f"g{n}-group" for n in (1, 2, 3)] == targets[1:4]
    assert {target.partition("-")[0] for target in targets[1:]} == {"g1", "g2", "g3"}


def test_files_and_places_have_names_of_their_own(page: Page) -> None:
    for n in (1, 2, 3):
        assert {row["arm"] for row in page.csv(f"g{n}-figures.csv")} == {"tuned", "part"}
    assert page.csv("g1-interrupts-over-time.csv")
    labels = [a["aria-label"] for _, a in page.elements if a.get("role") == "region"]
    labels += [
        a["aria-label"] for tag, a in page.elements if tag == "section" and "aria-label" in a
    ]
    # A section and its table may have the same name.
    assert all(labels.count(label) <= 2 for label in labels)
    assert all(str(label)[:2] in ("1.", "2.", "3.") for label in labels)


def test_a_title_is_no_markup(page: Page) -> None:
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img"}
    assert "6.1 \"'><script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text


def test_a_single_comparison_tells_its_finding_once(tmp_path: Path) -> None:
    words = sample_runs.arms(tmp_path, boots=1, seconds=5.0)
    cut = words.index("--against")
    arms = [read("before", words[:cut]), read("after", words[cut + 1 :])]
    one = Group("alone", compare(*arms))
    page = Page(render_groups("One", [one]))
    assert page.text.count("Noise on the isolated CPUs: 1,") == 1
    assert "alone: before against after" in page.text and "One: lowlat report" in page.text
