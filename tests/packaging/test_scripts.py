# SPDX-License-Identifier: GPL-2.0-or-later
"""The shell scripts that lowlat ships: each runs as root, with text that others wrote."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.verify import evidence
from support import shells
from support.machines import write_tree

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.security

_SECTIONS = re.compile(r"(?ms)^%(post|preun|postun)\n(.*?)(?=^%(?:post|preun|postun|files))")


def shipped() -> Iterator[tuple[str, str]]:
    """Every script, by its path or its section of the RPM's specification."""
    yield "evidence", evidence.script()
    for top in ("profiles", "templates", "packaging/debian"):
        for path in sorted((ROOT / top).rglob("*")):
            text = path.read_text("utf-8", "replace") if path.is_file() else ""
            if text.startswith("#!/bin/sh") and "{{" not in text and "/guides/" not in str(path):
                yield str(path.relative_to(ROOT)), text
    spec = (ROOT / "packaging/rpm/lowlat.spec").read_text()
    for name, text in _SECTIONS.findall(spec):
        plain = re.sub(r"(?m)^%systemd_.*$", ":", text).replace("%%", "%")
        yield f"rpm {name}", f"#!/bin/sh\nset -- 0\n{plain}"


SCRIPTS = dict(shipped())

#: The profiles have one script; the evidence script has a test of its own.
RUN = {text: name for name, text in SCRIPTS.items() if name != "evidence"}.values()


def test_all_are_found() -> None:
    assert {"templates/grub/99_lowlat", "templates/kernel/zz-lowlat", "rpm preun"} <= set(SCRIPTS)
    assert sum(name.startswith("profiles/") for name in SCRIPTS) == 10 and len(SCRIPTS) == 21


def test_echo_prints_no_text_of_others() -> None:
    """Where dash is sh, echo reads backslashes; "-n" is an option."""
    found = re.compile(r"\becho\b[^\n;|&]*[$`]")
    assert {name for name, text in SCRIPTS.items() if found.search(text)} == set()


def test_a_word_without_quotes_is_no_pattern() -> None:
    for name, text in SCRIPTS.items():
        strict = text if "set -fu" in text else re.sub("# shellcheck disable=.*", "", text)
        said = subprocess.run(
            [shells.found("shellcheck"), "--include=SC2086,SC2046,SC2048,SC2068,SC2145", "-"],
            input=strict,
            capture_output=True,
            text=True,
            check=False,
        )
        # rpm and dpkg give numbers; the paths are the script's own.
        lines = [line for line in said.stdout.splitlines() if re.search(r"\$(?!1\b|state)", line)]
        assert lines == [], name


#: What others may write wherever a script reads text.
HOSTILE = "$(>ran) `>ran` ; >ran * \\0101 %s 'a' \"b\" -n"


MENU = f"menuentry 'a' --unrestricted 'gnulinux-1-advanced-2' {{\n{HOSTILE}\n}}"


def stand_in(place: Path, said: str = HOSTILE, status: int = 1) -> None:
    """A program that says hostile text; lowlat-gen fails."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\ncat <<'end'\n{said}\nend\nexit {status}\n")
    place.chmod(0o755)


@pytest.mark.parametrize("kind", shells.SHELLS)
@pytest.mark.parametrize("name", sorted(RUN))
def test_text_of_others_is_printed_and_not_evaluated(tmp_path: Path, name: str, kind: str) -> None:
    """Names of folders, programs and kernels, settings, and what programs say."""
    tools = "cat dirname find grep rm rmdir sed"
    shell = shells.make(kind, tmp_path / "tools", tools)
    tree, beside = tmp_path / "tree", tmp_path / "beside"
    beside.mkdir()
    odd = HOSTILE.replace("/", "")
    program = tree / "usr/bin" / odd
    stand_in(program)
    stand_in(tree / "usr/bin/lowlat-gen")
    stand_in(shell.tools / "lowlat-gen")
    quoted = str(program).replace("'", "'\\''")
    stand_in(tree / odd / "10_linux", MENU, 0)
    write_tree(
        tree,
        {
            "etc/lowlat/boot.conf": f"LOWLAT_GEN='{quoted}'\n",
            "etc/tuned/active_profile": f"lowlat {HOSTILE}\n",
            "var/lib/lowlat/runs/run": "",
        },
    )
    script = tree / odd / "script"
    text = re.sub(r"(?<![\w.$}])/(etc|usr|var|run)(?=/)", rf"{tree}/\1", SCRIPTS[name])
    script.write_text(text.replace("#DEBHELPER#", ""))
    env = {
        "GRUB_CMDLINE_LINUX_DEFAULT": HOSTILE,
        "GRUB_DEFAULT": f"lowlat>lowlat-{HOSTILE}\nw ran-1",
    }
    said = b""
    for verb in ("start", "add", "remove", "purge", HOSTILE):
        done = shell.run(script, verb, HOSTILE, cwd=beside, env=env)
        assert b"not found" not in done.stderr, done.stderr
        said += done.stdout + done.stderr
    assert list(beside.iterdir()) == []
    if "post" not in name and "kernel" not in name:
        assert HOSTILE.encode() in said
