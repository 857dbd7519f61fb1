# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's page in a browser: readable in light and dark mode, on a phone, on paper and by
keyboard, without network requests. LOWLAT_SCREENSHOTS=DIR keeps the screenshots."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import pytest
import sample_runs

from lowlat import cli
from lowlat.claim.comparison import compare
from lowlat.figures.measured_arm import Arm
from lowlat.measure.run_file import read_run
from lowlat.model.finding import Finding, Standing
from lowlat.present.drawn_arm import Group
from lowlat.present.html import render_groups
from support import needs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = needs.module("playwright.sync_api", "the extra test, on x86_64 and aarch64")
axe = needs.module("axe_playwright_python.sync_playwright", "the extra test")

PLACES = (Path("/usr/bin/chromium"), Path("/usr/bin/chromium-browser"))
TOOLS = Path(__file__).parents[1] / "data" / "tools"
CHROMIUM = next((path for path in PLACES if path.exists()), None)

pytestmark = needs.that(CHROMIUM is not None, "needs chromium: packaging/install-dependencies page")

LARGEST = 3 << 20

#: Twice as many elements as the page of 20 runs has.
MOST_ELEMENTS = 10_000

#: Pages of one comparison, of seventeen arms and of several comparisons, and the page of a run.
PAGES = ("report", "arms", "groups")

VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 375, "height": 800}, "device_scale_factor": 2},
}

#: The combinations of page and view: one style sheet draws all pages.
LOOKS = [
    *(("report", name) for name in VIEWS),
    *(("arms", "phone"), ("groups", "dark"), ("alone", "phone")),
]


def page(folder: Path, boots: int, seconds: float) -> tuple[Path, list[Path]]:
    """The page of two arms with so many runs each, and the runs."""
    words = sample_runs.arms(folder, boots=boots, seconds=seconds)
    verified = sample_runs.verified(
        folder / "verify.json", isolcpus="effective", irqaffinity="overridden", mce="unverifiable"
    )
    out = folder / "report.html"
    assert cli.main(["report", *words, "--verify", verified, "--html", str(out)]) == 0
    return out, [Path(word) for word in words if word.endswith(".json")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page(tmp_path_factory.mktemp("report"), 5, 5.0)[0]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 20 runs with more than 10 million gaps in all."""
    out, paths = page(tmp_path_factory.mktemp("large"), 10, 600.0)
    documents = [json.loads(path.read_text()) for path in paths]
    assert len(documents) == 20
    assert sum(c["events"] for d in documents for c in d["cpus"]) > 10_000_000
    return out


@pytest.fixture(scope="module")
def pages(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    words = sample_runs.arms(folder, boots=6, seconds=5.0)
    more = sample_runs.left_out(folder, 15, boots=6, seconds=5.0)
    assert cli.main(["report", *words, *more, "--html", str(folder / "arms.html")]) == 0
    (folder / "groups.html").write_text(render_groups("Two kernels", list(groups(folder))))
    assert cli.main(["report", words[0], "--html", str(folder / "alone.html")]) == 0
    files = (str(TOOLS / f"cyclictest-2.4-{form}") for form in ("sum.txt", "json.json"))
    words = ["report", next(files), "--against", next(files)]
    assert cli.main([*words, "--html", str(folder / "files.html")]) == 0
    fleet(folder)
    own = {path.stem: path for path in folder.glob("*.html")}
    return {"report": report, **own}


def fleet(folder: Path) -> None:
    """The page of three hosts with two boots before and after."""
    words: dict[str, list[str]] = {"before": [], "after": []}
    for host in ("node1", "node2.rack-with-a-long-name.example", "node3"):
        changes = {"host": {**sample_runs.HOST, "name": host}}
        for first, arm in enumerate(words):
            sources = sample_runs.TUNED if first else sample_runs.STOCK
            own = {"first": first, "seconds": 2.0, "changes": changes}
            words[arm] += sample_runs.write(folder, f"{arm}-{host}", 2, sources, **own)
    page = ["--html", str(folder / "fleet.html")]
    assert cli.main(["fleet", "report", *words["before"], "--against", *words["after"], *page]) == 0


def groups(folder: Path) -> Iterator[Group]:
    rows = [("isolcpus", "effective"), ("nohz_full", "not-applied"), ("mce", "unverifiable")]
    effect = [
        Finding(name, "boot", "2-3", None, Standing(state), None, "in 1 of 2 boots")
        for name, state in rows
    ]
    for title in ("6.12.9", "6.1.0"):
        arms = {"stock": sample_runs.STOCK, "tuned": sample_runs.TUNED, "part": sample_runs.STOCK}
        options: dict[str, Any] = {"seconds": 5.0, "changes": {"emulated": True}}
        files = {n: sample_runs.write(folder, n + title, 2, s, **options) for n, s in arms.items()}
        read = {n: tuple(read_run(Path(path)) for path in own) for n, own in files.items()}
        effects = {"tuned": effect, "part": effect[:1]}
        known = [Arm(name, runs, effects.get(name)) for name, runs in read.items()]
        yield Group(title, compare(*known))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # The browser's sandbox does not run as root.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=str(CHROMIUM), args=options)
        yield chromium
        chromium.close()


class Viewed:
    """An open page, with the browser's messages and requests since its start."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    def violations(self) -> list[str]:
        found = axe.Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.fixture
def view(browser: Browser, report: Path) -> Iterator[Callable[..., Viewed]]:
    contexts = []

    def open_page(name: str, path: Optional[Path] = None) -> Viewed:
        context = browser.new_context(**VIEWS[name])
        contexts.append(context)
        # A busy machine takes its time.
        context.set_default_timeout(300_000)
        viewed = Viewed(context.new_page())
        viewed.page.goto((path or report).as_uri())
        return viewed

    yield open_page
    for context in contexts:
        context.close()


def keep(viewed: Viewed, name: str) -> None:
    folder = os.environ.get("LOWLAT_SCREENSHOTS")
    if folder:
        viewed.page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_it_is_small_and_loads_at_once(
    view: Callable[..., Viewed], large: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    viewed = view("light", large)
    size = large.stat().st_size
    elements = viewed.run("document.getElementsByTagName('*').length")
    loaded = viewed.run("performance.getEntriesByType('navigation')[0].loadEventEnd")
    with capsys.disabled():
        told = f"{size / 1024:.0f} KiB, {elements} elements, loaded in {loaded:.0f} ms"
        print(f"\npage of 20 runs with 10 million gaps: {told}")
    # Only the page's own figures are checked, because the load time depends on this machine and its
    # load.
    assert size < LARGEST
    assert elements < MOST_ELEMENTS
    assert viewed.run("document.scripts.length") == 0


@pytest.mark.parametrize(("kind", "name"), LOOKS)
def test_it_is_accessible_quiet_and_alone(
    view: Callable[..., Viewed], pages: Mapping[str, Path], kind: str, name: str
) -> None:
    viewed = view(name, pages[kind])
    # Folded parts are accessible to all readers too.
    viewed.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    keep(viewed, f"{kind}-{name}")
    assert viewed.violations() == []
    assert viewed.said == []
    assert [url for url in viewed.asked if not url.startswith("data:")] == [pages[kind].as_uri()]


#: Texts that lie over each other, by the boxes of the lines of each text that is seen.
MEETING = """(() => {
    const boxes = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
        const owner = node.parentElement, range = document.createRange();
        if (!node.data.trim() || !owner.checkVisibility() || owner.closest('.skip, title'))
            continue;
        range.selectNodeContents(node);
        const frame = owner.closest('.scroll')?.getBoundingClientRect();
        for (const {left, right, top, bottom} of range.getClientRects())
            if (!frame || (left < frame.right && right > frame.left))
                boxes.push({node, left, right, top: top + 4, bottom: bottom - 4});
    }
    boxes.sort((a, b) => a.top - b.top);
    const meet = (a, b) => a.node !== b.node && a.left + 2 < b.right && b.left + 2 < a.right;
    return boxes.flatMap((a, n) => {
        const found = [];
        for (let b, m = n + 1; (b = boxes[m]) && b.top < a.bottom; m++)
            if (meet(a, b)) found.push([a.node.data, b.node.data]);
        return found;
    });
})()"""


@pytest.mark.parametrize("kind", ["report", "alone", "files"])
def test_no_texts_lie_over_each_other_at_any_width(
    view: Callable[..., Viewed], pages: Mapping[str, Path], kind: str
) -> None:
    viewed = view("light", pages[kind])
    numbers = "document.querySelectorAll('.numbers strong')"
    assert viewed.run(f"{numbers}.length") > 1
    viewed.run(f"{numbers}.forEach(e => e.textContent = '9,870,107')")
    for width in (320, 360, 390, 500, 800, 1024, 1280, 1600, 1920):
        viewed.page.set_viewport_size({"width": width, "height": 900})
        assert viewed.run(MEETING) == [], width
        assert viewed.run("document.documentElement.scrollWidth") <= width
    # It finds them where there are some.
    viewed.run("document.querySelector('.numbers').firstElementChild.style.width = '3rem'")
    viewed.run("document.querySelector('.numbers').style.gap = '0'")
    assert viewed.run(MEETING) != []


#: Words and numbers in cells that go on in a second line; the longest names may.
BROKEN = """(() => {
    const broken = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
        const owner = node.parentElement, range = document.createRange();
        if (!owner.closest('th, td') || !owner.checkVisibility())
            continue;
        for (const word of node.data.matchAll(/[^\\s\\-\\/→|?,=]{1,20}/g)) {
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const lines = new Set([...range.getClientRects()].map(one => Math.round(one.top)));
            if (lines.size > 1) broken.push(word[0]);
        }
    }
    return broken;
})()"""


#: The first words of tables wider than their place.
CUT = """[...document.querySelectorAll('.scroll')]
    .filter(e => e.checkVisibility() && e.firstElementChild.offsetWidth > e.clientWidth + 1)
    .map(e => e.textContent.trim().slice(0, 60))"""


@pytest.mark.parametrize(("width", "media"), [(390, "screen"), (1280, "screen"), (794, "print")])
def test_no_number_and_no_word_of_a_cell_is_broken(
    view: Callable[..., Viewed], pages: Mapping[str, Path], width: int, media: Any
) -> None:
    for kind in ("report", "alone", "groups", "files", "fleet"):
        viewed = view("light", pages[kind])
        viewed.page.set_viewport_size({"width": width, "height": 1123})
        viewed.page.emulate_media(media=media)
        assert viewed.run(BROKEN) == [], kind
        # Paper does not scroll.
        assert media == "screen" or viewed.run(CUT) == [], kind
    # It finds them where there are some.
    viewed.run(
        """(() => {
            const cell = [...document.querySelectorAll('td')].find(e => e.checkVisibility());
            cell.style = 'display: block; width: 2em; white-space: normal; overflow-wrap: anywhere';
            cell.textContent = '123456789';
        })()"""
    )
    assert viewed.run(BROKEN) != []


#: Cells of figures with more than four lines.
SQUEEZED = """[...document.querySelectorAll('table:not(.words) td')].filter(one => {
    if (!one.checkVisibility()) return false;
    const range = document.createRange();
    range.selectNodeContents(one);
    const tops = [...range.getClientRects()].map(line => line.top).sort((a, b) => a - b);
    return tops.filter((top, n) => !n || top > tops[n - 1] + 6).length > 4;
}).map(one => one.textContent)"""


@pytest.mark.parametrize("kind", ["arms", "fleet", "files"])
def test_figures_are_not_squeezed_on_a_phone(
    view: Callable[..., Viewed], pages: Mapping[str, Path], kind: str
) -> None:
    viewed = view("phone", pages[kind])
    viewed.page.set_viewport_size({"width": 360, "height": 800})
    assert viewed.run(SQUEEZED) == []
    # The page's edge is one line.
    edges = "[...document.querySelectorAll('h1, footer')].map(e => e.getBoundingClientRect().left)"
    inner = "parseFloat(getComputedStyle(document.querySelector('footer')).paddingLeft)"
    heading, footer = viewed.run(edges)
    assert heading == footer + viewed.run(inner)


def test_the_checks_find_what_is_wrong(view: Callable[..., Viewed], report: Path) -> None:
    broken = report.with_name("broken.html")
    text = report.read_text()
    image = '<img src="https://lowlat.invalid/x.png"><script>alert(1)</script>'
    broken.write_text(text.replace('<main id="content">', f'<main id="content">{image}'))
    viewed = view("light", broken)
    assert any(words.startswith("image-alt") for words in viewed.violations())
    assert any("Content Security Policy" in words for words in viewed.said)


@pytest.mark.parametrize(("kind", "name"), LOOKS)
def test_nothing_is_wider_than_the_window(
    view: Callable[..., Viewed], pages: Mapping[str, Path], kind: str, name: str
) -> None:
    viewed = view(name, pages[kind])
    assert viewed.run("document.documentElement.scrollWidth <= window.innerWidth")
    # Content that does not fit scrolls separately, within reach of the keyboard.
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert viewed.run(f"{wide}.every(e => e.tabIndex === 0)")


@pytest.mark.parametrize("kind", PAGES)
def test_drawings_are_readable_on_a_phone(
    view: Callable[..., Viewed], pages: Mapping[str, Path], kind: str
) -> None:
    size = """[...document.querySelectorAll('svg.chart text')].map(
        e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"""
    assert min(view("phone", pages[kind]).run(size)) >= 9


@pytest.mark.parametrize("name", ["light", "phone"])
def test_names_and_findings_do_not_cover_each_other(
    view: Callable[..., Viewed], tmp_path: Path, name: str
) -> None:
    words = sample_runs.arms(tmp_path, boots=6, seconds=2.0)
    for arm in ("short", "lowlat-without-workqueue.writeback.cpumask", "W" * 64):
        words += ["--arm", arm, *sample_runs.write(tmp_path, arm, 6, sample_runs.STOCK, first=1)]
    assert cli.main(["report", *words, "--html", str(tmp_path / "long.html")]) == 0
    covered = """(() => {
        const boxes = [...document.querySelectorAll('svg.chart .over')].map(
            e => ({text: e.textContent, box: e.getBoundingClientRect()}));
        const meet = (a, b) => a.left < b.right && b.left < a.right
            && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2;
        return boxes.flatMap((a, n) => boxes.slice(n + 1)
            .filter(b => meet(a.box, b.box)).map(b => [a.text, b.text]));
    })()"""
    viewed = view(name, tmp_path / "long.html")
    assert viewed.run("document.querySelectorAll('svg.chart .over').length") >= 8
    assert viewed.run(covered) == []


def test_dark_is_dark_and_paper_is_white(view: Callable[..., Viewed]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = view("dark")
    assert view("light").run(ground) == "rgb(255, 255, 255)"
    assert max(map(int, dark.run(ground)[4:-1].split(","))) < 64
    dark.page.emulate_media(media="print")
    assert dark.run(ground) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("kind", PAGES)
def test_it_prints_without_what_paper_cannot_do(
    view: Callable[..., Viewed], pages: Mapping[str, Path], kind: str
) -> None:
    viewed = view("light", pages[kind])
    viewed.page.emulate_media(media="print")
    viewed.page.set_viewport_size({"width": 794, "height": 1123})
    keep(viewed, f"{kind}-print")
    shown = "[...document.querySelectorAll('{}')].filter(e => e.checkVisibility())"
    assert viewed.run(f"{shown.format('nav, .data, .skip')}.length") == 0
    assert viewed.run(f"{shown.format('figure')}.length") >= 10
    assert viewed.run("document.documentElement.scrollWidth <= window.innerWidth")
    assert viewed.page.pdf(format="A4").startswith(b"%PDF")


def test_the_keyboard_reaches_everything(view: Callable[..., Viewed]) -> None:
    viewed = view("light")
    viewed.page.keyboard.press("Tab")
    assert viewed.run("document.activeElement.textContent") == "Skip to the report"
    assert viewed.run("document.activeElement.getBoundingClientRect().left") >= 0
    for _ in range(2):  # past the data of the first drawing
        viewed.page.keyboard.press("Tab")
    viewed.page.keyboard.press("Enter")
    assert viewed.run("location.hash") == "#figures"
    reached = set()
    for _ in range(200):
        viewed.page.keyboard.press("Tab")
        reached.add(viewed.run("document.activeElement.outerHTML.slice(0, 120)"))
    every = "[...document.querySelectorAll('summary')]"
    folded = viewed.run(f"{every}.map(e => e.outerHTML.slice(0, 120))")
    assert set(folded) <= reached


def test_the_data_of_a_drawing_can_be_saved(view: Callable[..., Viewed], tmp_path: Path) -> None:
    viewed = view("light")
    viewed.page.locator("summary", has_text="Data of “CPU 3”").focus()
    viewed.page.keyboard.press("Enter")
    with viewed.page.expect_download() as download:
        viewed.page.get_by_role("link", name="histogram-cpu3.csv").click()
    saved = tmp_path / "saved.csv"
    download.value.save_as(saved)
    assert download.value.suggested_filename == "histogram-cpu3.csv"
    rows = list(csv.reader(saved.open(newline="")))
    assert rows[0] == ["from, ns", "to, ns", "stock, gaps an hour", "tuned, gaps an hour"]
    assert len(rows) > 20
    assert viewed.said == []
