# SPDX-License-Identifier: GPL-2.0-or-later
"""The collection passes the tools that judge collections: Ansible's own readers, ansible-lint,
ansible-test and Galaxy's importer."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import lowlat
from lowlat.explain.guides import find
from lowlat.plan.cpu_request import CpuRequest
from support.ansible_hosts import COLLECTION, Ansible, ansible_or_skip

pytestmark = pytest.mark.ansible

full = pytest.mark.proof
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
ROLE = COLLECTION / "roles/lowlat"
#: Options of a plan beside the choice of its CPUs.
OTHERS = ("profile", "enable", "disable", "as_host")
ARCHIVE = f"lowlat-lowlat-{lowlat.__version__}.tar.gz"


def answer(ansible: Ansible, *words: object, cwd: Path | None = None) -> str:
    """The output of a program of this Ansible, which must exit with 0."""
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **ansible.env()},
        cwd=cwd or ansible.path,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def content(ansible: Ansible, path: Path) -> Any:
    """The content of a YAML file, parsed by Ansible's own parser."""
    script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))"
    done = subprocess.run(
        [ansible.venv / "bin/python", "-c", script],
        input=path.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["newest", pytest.param("oldest", marks=full)])
def ansible(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ansible]:
    yield ansible_or_skip(request.param, tmp_path_factory.mktemp("controller"))


@pytest.fixture
def gates(tmp_path: Path) -> Ansible:
    """An Ansible with a copy of the collection in the place that the judging tools expect."""
    found = ansible_or_skip("gates", tmp_path)
    found.path.unlink()
    shutil.copytree(COLLECTION, found.path, ignore=shutil.ignore_patterns("__pycache__"))
    return found


def test_each_module_has_its_page(ansible: Ansible) -> None:
    names = [f"lowlat.lowlat.{name}" for name in MODULES]
    pages = json.loads(answer(ansible, "ansible-doc", "--json", *names))
    for name in names:
        page = pages[name]
        assert page["doc"]["description"] and page["examples"] and page["return"], name
        assert "program" in page["doc"]["options"], name


@pytest.mark.parametrize("book", sorted(COLLECTION.glob("playbooks/*.yml")), ids=lambda p: p.stem)
def test_each_playbook_can_be_read(ansible: Ansible, book: Path) -> None:
    named = f"lowlat.lowlat.{book.stem}"
    said = answer(ansible, "ansible-playbook", "--syntax-check", "-i", "localhost,", named)
    assert str(book.name) in said


def test_the_guide_s_commands_are_taken_and_its_variables_are_read(ansible: Ansible) -> None:
    guide = find("ansible")
    assert guide is not None
    commands = re.findall(r"(?m)^  (ansible-playbook .*)$", guide.text)
    assert len(commands) == 3
    for command in commands:
        answer(ansible, *command.replace("-i hosts", "-i localhost,").split(), "--syntax-check")
    books = "".join(book.read_text() for book in COLLECTION.glob("playbooks/*.yml"))
    assert [name for name in re.findall(r"lowlat_\w+", guide.text) if name not in books] == []
    assert f"ansible-galaxy collection install {ARCHIVE}\n" in guide.text


def test_a_variable_of_the_role_has_its_heading_and_its_default(ansible: Ansible) -> None:
    specs = content(ansible, ROLE / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    text = (ROLE / "README.md").read_text()
    assert re.findall(r"(?m)^### (\w+)$", text) == list(specs)
    defaults = content(ansible, ROLE / "defaults/main.yml")
    assert defaults == {name: spec["default"] for name, spec in specs.items() if "default" in spec}
    kinds = re.findall(r"(?m)^Type: `(\w+)`$", text)
    assert kinds == [spec["type"] for spec in specs.values()]


@pytest.mark.security
def test_no_file_has_a_name_that_everybody_knows() -> None:
    """In a folder that others can write, a link of that name would be there before."""
    texts = {path: path.read_text() for path in COLLECTION.rglob("*.*ml")}
    assert len(texts) > 5
    shared = re.compile(r"/tmp\b|/dev/shm")
    assert [str(path) for path, text in texts.items() if shared.search(text)] == []


@pytest.mark.security
def test_a_zero_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """lowlat-gen refuses it; without it the plan would be another."""
    monkeypatch.syspath_prepend(COLLECTION / "plugins/module_utils")
    words = importlib.import_module("lowlat_gen").words
    given = {"housekeeping_cores": 0, "as_host": False, "isolate": None, "enable": ["a", "b"]}
    assert words(given, given) == ["--housekeeping-cores", "0", "--enable", "a", "--enable", "b"]


def test_every_option_of_a_plan_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """But the kernel: entries are for all that a host has."""
    monkeypatch.syspath_prepend(COLLECTION / "plugins/module_utils")
    names = sorted(importlib.import_module("lowlat_gen").PLAN_OPTIONS.keys() - {"kernel"})
    assert names == sorted({one.name for one in fields(CpuRequest)} | {*OTHERS})
    for path in (ROLE / "tasks/main.yml", COLLECTION / "playbooks/rolling_trial.yml"):
        text = path.read_text()
        passed = re.findall(r'(?m)^ {6}(\w+): "{{ lowlat_\1 \| default\(omit\) }}"$', text)
        assert sorted(passed) == names, path


def test_the_archive_has_all_of_it(ansible: Ansible, tmp_path: Path) -> None:
    answer(ansible, "ansible-galaxy", "collection", "build", "--output-path", tmp_path)
    archive = tmp_path / ARCHIVE
    listed = subprocess.run(
        ["tar", "tzf", archive], capture_output=True, text=True, check=True
    ).stdout.split()
    wanted = {str(path.relative_to(COLLECTION)) for path in COLLECTION.rglob("*.*ml")}
    wanted |= {f"plugins/modules/{name}.py" for name in MODULES}
    wanted -= {"galaxy.yml"}
    assert wanted <= set(listed)
    assert not [name for name in listed if "__pycache__" in name]


@full
def test_ansible_lint_is_content(gates: Ansible) -> None:
    answer(gates, "ansible-lint", "--profile", "production", "--offline", "--nocolor")


@full
def test_ansible_test_is_content(gates: Ansible) -> None:
    """The network source of ansible-test for pip may be unreachable: ensurepip provides the same
    pip."""
    cache = gates.folder / ".ansible/test/cache"
    cache.mkdir(parents=True)
    for version in ("24_2", "25_1", "25_2"):
        script = "import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n"
        (cache / f"get_pip_{version}.py").write_text(script)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    answer(gates, "ansible-test", "sanity", "--local", "--requirements", "--python", version)


@full
def test_the_importer_of_galaxy_takes_it(gates: Ansible) -> None:
    answer(gates, "ansible-galaxy", "collection", "build", "--output-path", gates.folder)
    (archive,) = gates.folder.glob("*.tar.gz")
    done = subprocess.run(
        [gates.venv / "bin/python", "-m", "galaxy_importer.main", archive],
        env={**os.environ, **gates.env()},
        cwd=gates.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Importer processing completed successfully" in said, said
    assert not re.search(r"(?m)^(ERROR|WARNING)", said), said
