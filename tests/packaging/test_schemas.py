# SPDX-License-Identifier: GPL-2.0-or-later
"""packaging/doc/schemas.md documents every JSON form, with the keys that the program really
writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from support import now_tree
from support.cli import GEN, lowlat
from support.runs import document

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "packaging/doc/schemas.md").read_text("utf-8")
MACHINE = ROOT / "tests/machines/qemu-x86-2s4c-2n-devices.txt"
FORM = r"lowlat\.[a-z-]+/[1-9]"


def sections() -> dict[str, str]:
    """The text of each form that has its own section."""
    parts = PAGE.split("\n## ")[1:]
    return {part.split("\n")[0]: part for part in parts if re.match(FORM, part)}


def keys(form: str) -> dict[str, bool]:
    """The keys of a form by path, and whether each is required."""
    found = {"schema": True}
    for row in re.findall(r"(?m)^\| (`.*)$", sections()[form]):
        cells = row.split(" | ")
        always = not re.search("where (known|asked for)", cells[1])
        found.update((key, always) for key in cells[0].split("`")[1::2])
    return found


def children(known: dict[str, bool], path: str) -> dict[str, bool]:
    """The keys below a path, and whether each is required."""
    top = f"{path}." if path else ""
    names = (
        re.match(r"p99\.9_ns|\*|[^.\[]+", key[len(top) :]) for key in known if key.startswith(top)
    )
    return {
        name[0]: all(known.get(f"{top}{name[0]}{more}", True) for more in ("", "[]", ".*"))
        for name in names
        if name
    }


def differs(known: dict[str, bool], value: Any, path: str = "") -> Iterator[str]:
    """The keys of a value that the page lacks, and those of the page that the value lacks."""
    if isinstance(value, list):
        for item in value:
            yield from differs(known, item, f"{path}[]")
    below = children(known, path) if isinstance(value, dict) else {}
    if not below or "*" in below:
        return
    yield from (f"{path}.{name}: not on the page" for name in value.keys() - below.keys())
    needed = {name for name, always in below.items() if always}
    yield from (f"{path}.{name}: not written" for name in needed - value.keys())
    for name, inner in value.items():
        yield from differs(known, inner, f"{path}.{name}".lstrip("."))


def check(text: str) -> None:
    value = json.loads(text)
    assert list(value)[0] == "schema"
    assert sorted(set(differs(keys(value["schema"]), value))) == []


def test_every_form_in_the_program_is_on_the_page_and_no_other() -> None:
    sources = (*ROOT.glob("generator/lowlat/**/*.py"), *ROOT.glob("measure/*/*.c"))
    texts = (path.read_text("utf-8") for path in sources if "tests" not in path.parts)
    written = {form for text in texts for form in re.findall(f'"({FORM})["\\\\]', text)}
    inner = set(re.findall(rf"(?m)^\| `({FORM})` \|", PAGE))
    assert written == {*sections(), *inner} and not inner & {*sections()}


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--root", MACHINE, "--isolate", "feed=1-3,engine=6-7"),
        ("plan", "--root", MACHINE, "--diff"),
        ("plan", "--root", "tree", "--now"),
        ("probe", "--root", MACHINE),
        ("fleet", "plan", MACHINE),
        ("lint", "--root", MACHINE, "isolcpus=1-3 idle=poll foo=1"),
        ("verify", "--root", "tree", "--plan", "plan.json", "--duration", "0s"),
        ("doctor",),
        ("status",),
    ],
    ids=lambda words: words[0],
)
def test_what_a_verb_writes_has_the_keys_of_the_page(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "tree" in words:
        now_tree.write(Path("tree"))
        Path("plan.json").write_text(lowlat("plan", "--root", "tree", "--json").out)
    check(lowlat(*words, "--json").out)


def test_what_report_writes_has_the_keys_of_the_page(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{arm}.json") for arm in ("a", "b", "c")]
    for name in names:
        Path(name).write_text(json.dumps(document(Path(name).stem, 10, host={"name": "one"})))
    one, other, third = names
    check(lowlat("report", one, "--json").out)
    check(lowlat("report", one, "--against", other, "--json").out)
    several = ("--arm", "b", other, "--arm", "c", third)
    check(lowlat("report", one, *several, "--json").out)
    check(lowlat("fleet", "report", one, "--against", other, "--json").out)


def test_what_measure_writes_has_the_keys_of_the_page(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    words = ("--label", "x", "--cpus", "0", "--duration", "200ms", "--warmup", "0s", "--no-oslat")
    more = ["--work", "usleep", "--wakeup", *(["--throughput=1"] if which("stress-ng") else ())]
    check(lowlat("measure", *words, *more, "--out", out, "--json").out)
    check(out.read_text())


def test_what_follow_writes_has_the_keys_of_the_page() -> None:
    harness = ROOT / "measure/build/lowlat-measure"
    words = ("--cpus", "0", "--duration", "1500ms", "--warmup", "0s", "--no-oslat", "--follow")
    said = subprocess.run([harness, *words], stdout=subprocess.PIPE, check=False, text=True).stdout
    check(said.splitlines()[0])


def test_what_an_audit_writes_has_the_keys_of_the_page(tmp_path: Path) -> None:
    """With or without perf, and whatever rights."""
    out = tmp_path / "audit.json"
    words = ("--audit", "--limit", "page-faults=0", "--out", out, "--", "true")
    cpu = str(max(os.sched_getaffinity(0)))
    done = subprocess.run([*GEN, "run", "--cpus", cpu, *words], capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    check(out.read_text())
