# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat/__init__.py contains the version; every file that repeats the version has the same one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lowlat

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CHANGELOG.md", r"(?m)^## ([0-9.]+), 20"),
        ("packaging/debian/changelog", r"\Alowlat \(([0-9.]+)\) "),
        ("packaging/rpm/lowlat.spec", r"(?m)^Version: +([0-9.]+)$"),
        ("packaging/rpm/lowlat.spec", r"(?m)^\* .* - ([0-9.]+)-1$"),
        ("packaging/ansible/galaxy.yml", r"(?m)^version: ([0-9.]+)$"),
        ("packaging/ansible/CHANGELOG.md", r"(?m)^## ([0-9.]+)$"),
        ("packaging/ansible/README.md", r"lowlat-lowlat-([0-9.]+)\.tar"),
        ("packaging/doc/ansible.md", r"lowlat-lowlat-([0-9.]+)\.tar"),
    ],
)
def test_the_version_is_the_same_everywhere(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text("utf-8"))
    assert found and found[1] == lowlat.__version__


def test_nothing_points_to_an_address_that_does_not_exist() -> None:
    files = [ROOT / name for name in ("README.md", "CHANGELOG.md", "setup.cfg", "pyproject.toml")]
    files += [path for path in ROOT.glob("packaging/**/*") if path.is_file()]
    files += [path for path in ROOT.glob("generator/lowlat/**/*.py")]
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        # Debian's tools refuse a package without one.
        assert "lowlat.invalid" not in text or path.parent.name == "debian", path
        assert not re.search(r"https?://[\w.]*(example\.|lowlat|invalid|localhost)", text), path
