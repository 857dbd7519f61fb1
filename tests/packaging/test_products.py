# SPDX-License-Identifier: GPL-2.0-or-later
"""Each committed product equals the product of today's sources."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lowlat.catalogue import CATALOGUE
from lowlat.plan import profile
from support import needs
from support.waits import GUARD_S

pytestmark = pytest.mark.place

PRODUCE = runpy.run_path("packaging/produce")
PRODUCTS: dict[Path, str] = PRODUCE["products"]()
REFERENCE = Path("packaging/reference")
MANUAL = Path("packaging/man/lowlat-tunables.7")
PICTURE = Path("packaging/doc/measured.svg")


def test_none_is_stale() -> None:
    stale = [
        str(path)
        for path, content in PRODUCTS.items()
        if not path.is_file() or path.read_text("utf-8") != content
    ]
    assert stale == [], "make products"


def test_none_is_left_over() -> None:
    assert PRODUCE["left_over"]() == [], "make products"


def test_there_is_one_for_everything() -> None:
    names = {path.resolve().relative_to(Path.cwd()).as_posix() for path in PRODUCTS}
    expected = {f"{REFERENCE}/{entry.name}.md" for entry in CATALOGUE}
    for name in profile.packaged_names():
        expected |= {f"profiles/{name}/tuned.conf", f"profiles/{name}/script.sh"}
    expected |= {f"{REFERENCE}/index.md", str(MANUAL), str(PICTURE)}
    assert names == expected


def test_the_picture_has_the_figures_of_the_first_table_to_scale() -> None:
    drawing = ElementTree.fromstring(PRODUCTS[PICTURE.resolve()])  # noqa: S314  # our own
    name = "{http://www.w3.org/2000/svg}"
    texts = [each.text for each in drawing.iter(f"{name}text")]
    assert texts[1:-1:2] == ["stock", "TuneD's cpu-partitioning", "lowlat", "lowlat-poll"]
    assert texts[2:-1:2] == ["8,958", "113", "0.79", "0.99"]
    wide = [float(each.attrib["width"]) for each in drawing.iter(f"{name}rect")]
    assert wide[1] / wide[0] == pytest.approx(113.4 / 8958, rel=0.01)


def test_every_page_is_linked() -> None:
    text = (REFERENCE / "index.md").read_text("utf-8")
    for entry in CATALOGUE:
        assert f"]({entry.name}.md)" in text


@pytest.mark.parametrize(
    "command",
    [
        ("groff", "-t", "-man", "-Tutf8", "-ww", "-z"),
        ("mandoc", "-T", "lint", "-W", "style"),
    ],
    ids=lambda command: command[0],
)
def test_the_manual_is_read_without_a_complaint(command: tuple[str, ...]) -> None:
    if not shutil.which(command[0]):
        needs.absent(f"{command[0]} is not installed")
    done = subprocess.run(
        [*command, MANUAL], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_manual_has_every_tunable() -> None:
    text = MANUAL.read_text("utf-8").replace("\\-", "-")
    for entry in CATALOGUE:
        assert f"\n{entry.name}|" in text
