# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger of proofs: what makes one stale, what is recorded; and that proofs.ini has all of
them."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import proofs
from support import collected
from support.guest import results
from support.ledger import LEDGER, Ledger, Proof

pytest_plugins = ["support.collected"]

ROOT = Path(__file__).resolve().parents[1]

INI = """
[common]
covers = generator/base.py
[none]
README.md = words
[small]
run = tests/test_small.py
covers = generator/small.py tests/test_small.py
part = case
seconds = 60
[long]
run = tests/test_small.py tests/test_more.py -m "not proof"
env = LOWLAT_CUTS=1
covers = generator/long.py tests
part = file
seconds = 7200
"""

#: Each test adds a line to ../ran, so that a second run can be told from none.
SMALL = """
from pathlib import Path
def ran(name):
    with Path("../ran").open("a") as file:
        file.write(name + "\\n")
def test_one():
    ran("one")
def test_two():
    ran("two")
"""


class Repository:
    """A small repository with two proofs."""

    def __init__(self, path: Path) -> None:
        self.path, self._ran = path, path.parent / "ran"

    def make(self) -> None:
        self.path.mkdir()
        self.git("init", "-q")
        files = {f"generator/{name}.py": "" for name in ("base", "small", "long")}
        more = "def test_more(): pass\n"
        setup = "[tool:pytest]\naddopts = -m nothing\nmarkers =\n    proof: long\n"
        self.commit({**files, "README.md": "", "setup.cfg": setup, "tests/proofs.ini": INI,
                     "tests/figures.ini": "[bands]\n",
                     ".gitignore": "__pycache__\n.pytest_cache\n", "tests/test_small.py": SMALL,
                     "tests/test_more.py": more})  # fmt: skip

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-C", str(self.path))
        subprocess.run(["git", *identity, *words], check=True, capture_output=True)

    def commit(self, files: dict[str, str]) -> None:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def command(self, *words: str) -> int:
        return proofs.main(words, self.path)

    def run(self, *words: str) -> int:
        """Run, and commit what was recorded."""
        status = self.command("run", *words)
        self.commit({})
        return status

    def ran(self) -> list[str]:
        names = self._ran.read_text().split() if self._ran.exists() else []
        self._ran.unlink(missing_ok=True)
        return names

    @property
    def lines(self) -> list[dict[str, object]]:
        return Ledger(self.path).lines()

    @property
    def stale(self) -> list[str]:
        return [proof.name for proof in Ledger(self.path).stale()]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr("figures.drifted", lambda root: [])


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    repository.make()
    return repository


@pytest.fixture(scope="module")
def proved_once(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repository = Repository(tmp_path_factory.mktemp("proved") / "repository")
    repository.make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(repository.path.parent / "cache"))
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        assert repository.run() == 0
    assert repository.stale == []
    return repository


@pytest.fixture
def proved(proved_once: Repository, tmp_path: Path) -> Repository:
    """All proofs are current."""
    return Repository(shutil.copytree(proved_once.path, tmp_path / "repository"))


# ------------------------------------------------------------ what is stale


def test_a_pass_is_recorded_with_what_it_covers(proved: Repository) -> None:
    small, long = proved.lines
    ledger = Ledger(proved.path)
    assert small["covers"] == ledger.digest(ledger.proofs["small"].covers)
    assert small["common"] == ledger.digest(["generator/base.py"])
    assert (small["proof"], small["result"], small["cases"]) == ("small", "pass", 2)
    assert (long["proof"], long["result"], long["cases"], long["spoilt"]) == ("long", "pass", 3, 0)


def test_a_stale_proof_is_warned_of_and_refuses_a_release(
    proved: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proved.command("release") == 0
    assert "long: last passed 2" in capsys.readouterr().out
    for text in ("1", "2"):
        proved.commit({"generator/small.py": text})
    assert proved.command("current") == 0
    warned = "small: 2 commits behind (1 min: make proofs NAME=small)"
    assert f"warning: {warned}\n" in capsys.readouterr().out
    assert proved.command("release") == 1
    assert capsys.readouterr().err == f"no release: {warned}\n"


def test_a_proof_that_never_ran_is_stale(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.command("current")
    assert "warning: long: never passed (120 min: make" in capsys.readouterr().out
    assert repository.command("release") == 1


def test_words_a_rebase_and_other_rooms_keep_a_proof_current(proved: Repository) -> None:
    proved.commit({"README.md": "more words", "tests/TABLE.md": "a table", "other.py": ""})
    proved.git("commit", "-q", "--amend", "-m", "rebased")
    assert proved.stale == []


def test_what_is_common_refuses_a_release_alone(proved: Repository) -> None:
    proved.commit({"generator/base.py": "changed"})
    assert proved.stale == []
    assert proved.command("release") == 1
    assert proved.run("small", "long") == 0
    assert proved.command("release") == 0


def test_the_mode_counts(proved: Repository) -> None:
    (proved.path / "generator/small.py").chmod(0o755)
    proved.commit({})
    assert proved.stale == ["small"]


def test_the_last_line_decides(proved: Repository) -> None:
    failed = {**proved.lines[0], "result": "fail"}
    with (proved.path / LEDGER).open("a") as file:
        file.write(json.dumps(failed) + "\n")
    assert proved.stale == ["small"]


@pytest.mark.parametrize("entry", ["generator/gone.py", "generat", "README.md"])
def test_a_digest_of_nothing_is_an_error(
    repository: Repository, entry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit({"tests/proofs.ini": INI.replace("generator/long.py", entry)})
    assert repository.command("current") == 2
    assert f"{entry} is no file of " in capsys.readouterr().err


def test_a_release_has_nothing_uncommitted(
    proved: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    proved.write({"other.py": "new"})
    assert proved.command("release") == 1
    assert capsys.readouterr().err == "no release: other.py is not committed\n"


# --------------------------------------------------------- what is recorded


def test_a_changed_tree_is_not_proved(repository: Repository) -> None:
    repository.write({"generator/new.py": "", "README.md": "words"})
    assert repository.command("run", "small") == 0
    repository.write({"generator/small.py": "changed"})
    assert repository.command("run", "small") == 2
    assert len(repository.lines) == 1


def test_a_tree_that_changes_meanwhile_is_not_proved(repository: Repository) -> None:
    test = SMALL + "    Path('generator/small.py').write_text('changed')\n"
    repository.commit({"tests/test_small.py": test})
    assert repository.command("run", "small") == 2
    assert repository.lines == []


def test_a_skip_is_no_proof(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    test = f"import pytest\n{SMALL}    pytest.skip('not here')\n"
    repository.commit({"tests/test_small.py": test})
    assert repository.run("small") == 1
    assert repository.lines == []
    assert "small: not recorded, as cases were skipped: tests/test_small.py::test_two\n" in (
        capsys.readouterr().out
    )


def test_a_failure_is_recorded_and_what_passed_is_not_done_again(repository: Repository) -> None:
    test = SMALL + "    assert Path('../mended').exists()\n"
    repository.commit({"tests/test_small.py": test})
    assert repository.run("small") == 1
    assert [(line["proof"], line["result"]) for line in repository.lines] == [("small", "fail")]
    assert repository.ran() == ["one", "two"]
    (repository.path.parent / "mended").touch()
    assert repository.run("small") == 0
    assert repository.ran() == ["two"]
    assert [line["result"] for line in repository.lines] == ["fail", "pass"]
    assert repository.lines[1]["cases"] == 2


def test_a_changed_digest_begins_anew(repository: Repository) -> None:
    test = SMALL + "    assert False\n"
    repository.commit({"tests/test_small.py": test})
    assert repository.run("small") == 1
    repository.commit({"tests/test_small.py": SMALL})
    repository.ran()
    assert repository.run("small") == 0
    assert repository.ran() == ["one", "two"]


def test_another_clone_goes_on(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"tests/test_small.py": SMALL + "    assert Path('mended').exists()\n"})
    assert repository.command("run", "small") == 1
    assert repository.ran() == ["one", "two"]
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", repository.path, clone], check=True)
    (clone / "mended").touch()
    assert proofs.main(["run", "small"], clone) == 0
    assert repository.ran() == ["two"]


def test_no_part_begins_after_the_budget(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    # Looks: the end (0 + 3), the proof (1), the first part (2, and twice its time), the second (5).
    assert repository.run("small", "--budget", "0.05") == 1
    assert repository.ran() == ["one"]
    assert repository.lines == []
    monkeypatch.undo()


def test_a_proof_has_its_own_variables_alone(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = """
import os
def test_it():
    mine = {name for name in os.environ if name.startswith("LOWLAT_")}
    assert mine == {"LOWLAT_CUTS", "LOWLAT_SPOILT", "LOWLAT_RESULTS", "LOWLAT_DIGEST",
                    "LOWLAT_COMMIT"}
    with open(os.environ["LOWLAT_SPOILT"], "a") as file:
        file.write('{"outcome": "spoilt", "kernel": "6.12"}\\n{"outcome": "pass"}\\n')
"""
    monkeypatch.setenv("LOWLAT_EXAMPLES", "1")
    repository.commit({"tests/test_more.py": test})
    assert repository.run("long") == 0
    assert (repository.lines[0]["spoilt"], repository.lines[0]["kernels"]) == (1, ["6.12"])


def test_an_unknown_name_is_refused(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repository.command("run", "smal") == 2
    assert "no proof is called smal" in capsys.readouterr().err


# --------------------------------------------------------------- the tables


def test_a_table_has_the_rows_of_this_digest_in_place_of_the_proof_s_old_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "rows"
    monkeypatch.setenv("LOWLAT_RESULTS", str(kept))
    for digest, place in (("old", "1 (a)"), ("new", "10 (b)"), ("new", "2 (c|d)")):
        monkeypatch.setenv("LOWLAT_DIGEST", digest)
        results.add_cut("apply", place, "stock")
    assert results.cuts_done() == {("apply", "10 (b)"), ("apply", "2 (c|d)")}
    page = "# Head\n\n## other\n\nrows\n\n## mine\n\nMade at commit 1.\n\nold\n"
    found = results.replaced(page, "POWER_CUTS.md", "mine", "2", kept.read_text())
    assert found == (
        "# Head\n\n## other\n\nrows\n\n## mine\n\nMade at commit 2.\n\n"
        "| verb | cut in | came up | rolled back |\n|---|---|---|---|\n"
        "| apply | 2 (c\\|d) | stock | yes |\n| apply | 10 (b) | stock | yes |\n"
    )


# -------------------------------------------------------------- proofs.ini


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(ROOT)


def selects(proof: Proof, item: pytest.Item) -> bool:
    where = str(item.path.relative_to(ROOT))
    if not any(where == test or where.startswith(f"{test}/") for test in proof.tests):
        return False
    proved = item.get_closest_marker("proof") is not None
    return {(): True, ("-m", "proof"): proved, ("-m", "not proof"): not proved}[proof.options]


def test_each_test_of_a_guest_or_of_proof_has_one_section(ledger: Ledger) -> None:
    """Unless the environment makes it another test. Looks at what this run has collected: all of it
    in ``make test``."""
    wrong = {}
    for item in collected.ITEMS:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & {"vm", "proof"} and "smoke" not in marks:
            found = [proof for proof in ledger.proofs.values() if selects(proof, item)]
            if not found or len({tuple(proof.env) for proof in found}) < len(found):
                wrong[item.nodeid] = [proof.name for proof in found]
    assert wrong == {}


def test_each_file_below_vm_has_a_section(ledger: Ledger) -> None:
    named = {test for proof in ledger.proofs.values() for test in proof.tests}
    below = {f"tests/vm/{path.name}" for path in (ROOT / "tests/vm").glob("test_*.py")}
    assert below - named == {"tests/vm/test_smoke.py", "tests/vm/test_emulator.py"}


def test_each_file_is_covered_or_named_with_a_reason(ledger: Ledger) -> None:
    every = [ledger.common, *(proof.covers for proof in ledger.proofs.values())]
    covered = {path for covers in every for entry in covers for path in ledger.below(entry)}
    left = set(filter(ledger.counts, ledger.files)) - covered
    for entry in " ".join(ledger.none).split():
        found = {path for path in left if path == entry or path.startswith(f"{entry}/")}
        assert found or entry == LEDGER, f"[none] {entry}: all of it is covered"
        left -= found
    assert left == set()
    assert all(ledger.none.values())


@cache
def imported(path: Path) -> frozenset[Path]:
    """The modules of tests/ that a test or helper imports, and those that these import."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    places = [(folder / f"{name.replace('.', '/')}.py") for name in names
              for folder in (path.parent, ROOT / "tests")]  # fmt: skip
    found = {place for place in places if place.exists()} - {path}
    return frozenset(found.union(*map(imported, found)))


def test_a_proof_covers_its_tests_and_their_helpers(ledger: Ledger) -> None:
    exempt = {*ledger.common, *" ".join(ledger.none).split()}
    for proof in ledger.proofs.values():
        covers = {path for entry in proof.covers for path in ledger.below(entry)}
        tests = {path for test in proof.tests for path in ledger.below(test)}
        helpers = {
            str(helper.relative_to(ROOT)) for path in tests if path.endswith(".py")
            for helper in imported(ROOT / path)
        }  # fmt: skip
        missing = {path for path in tests | helpers if path not in covers} - exempt
        assert missing == set(), proof.name


def test_a_table_has_a_writer_and_a_commit(ledger: Ledger) -> None:
    tables = {table for proof in ledger.proofs.values() for table in proof.tables}
    assert len(tables) == 6
    for table in tables:
        assert "\nMade at commit " in (ROOT / table).read_text("utf-8")


def test_a_target_that_a_proof_needs_exists(ledger: Ledger) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for proof in ledger.proofs.values():
        for target in proof.needs:
            assert f"\n{target}:" in makefile, target


def test_a_line_of_the_ledger_is_whole(ledger: Ledger) -> None:
    for line in ledger.lines():
        assert {"proof", "covers", "common", "commit", "date", "result"} <= line.keys()
