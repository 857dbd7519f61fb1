# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that lowlat names as the next step is not refused. Each one that is printed in quotes
or under "Next" is typed, with --dry-run where its verb has that; and a verb that ``doctor`` calls
ready works. The gate tries boot set-ups that are made without GRUB's generator; all are a proof."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import field_trees
from support.cli import Answer
from support.field_trees import FieldHost
from support.hosttree import NEEDS, Namespace
from support.next_steps import SHORTEST, named, typed

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_GATE = (
    *("alpine-extlinux", "arch-xbootldr", "debian-shared-esp", "fedora41-bls"),
    *("gentoo-kernel-install", "jetson-extlinux-rt", "photon-rt", "pop-kernelstub"),
    *("raspios-one-card", "rhel8-bios-zstream", "ubuntu-piboot-try"),
)
_TREES = [
    pytest.param(name, marks=[] if name in _GATE else [pytest.mark.proof])
    for name in field_trees.NAMES
]

#: What is asked in each state of a host.
_READING = ("plan --brief", "status", "doctor --all", "apply --dry-run")


@pytest.fixture(params=_TREES)
def host(request: pytest.FixtureRequest, tmp_path: Path, namespace: Namespace) -> FieldHost:
    return field_trees.build(field_trees.read(request.param), tmp_path / "host", namespace)


def refused(host: FieldHost) -> Iterator[tuple[str, str, str]]:
    """What names a command on this host, the command, and its refusal."""
    tried = set()
    for asked in _READING:
        for command in named(host.lowlat(*asked.split())):
            if command not in tried:
                tried.add(command)
                yield from _typed(host, asked, typed(command))
    assert tried, "no command was named"
    for row in host.lowlat("doctor", "--json").json()["verbs"]:
        if row["ready"] and row["verb"] in SHORTEST:
            words = [row["verb"], *SHORTEST[row["verb"]].split()]
            yield from _typed(host, "doctor", words)


def _typed(host: FieldHost, asked: str, words: list[str]) -> Iterator[tuple[str, str, str]]:
    answer = host.lowlat(*words) if words else Answer(0, "", "")
    # kexec is for the live system alone.
    if answer.status == 2 and "leave --root out" not in answer.err:
        yield asked, " ".join(words), answer.err


def test_no_command_that_is_named_is_refused(host: FieldHost) -> None:
    found = [*refused(host)]
    if host.lowlat("apply", *host.case.get("apply").split()).status == 0:
        found += refused(host)
    assert found == []


@pytest.mark.parametrize("name", ["photon-rt", "rhel8-bios-zstream"])
def test_what_lowlat_gen_alone_offers_is_not_refused(
    name: str, tmp_path: Path, namespace: Namespace
) -> None:
    host = field_trees.build(field_trees.read(name), tmp_path / "host", namespace)
    host.go_live()
    for verb in ("", "apply"):
        if verb:
            host.done(verb)
        alone = host.namespace.ask(argv=[], env={}, root=str(host.path))
        assert alone.status == 0 and named(alone), alone
        assert [found for each in named(alone) for found in _typed(host, "", typed(each))] == []
