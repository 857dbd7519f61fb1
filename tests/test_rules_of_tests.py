# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that keep the outcome of a test independent of load, time and network; part of
``make lint``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent

#: These run in a guest, where tests/support is not at hand.
_IN_GUESTS = ("vm/guest/",)
#: These measure this machine, or disturb it on purpose, or tell how long something took.
_FIGURES = ("instrument/", "bench.py")
#: These fetch before the tests begin, or are proofs.
_FETCHES = ("support/debs.py", "support/roots.py", "support/guest/", "packaging/test_roots.py")

_CLOCKS = ("monotonic", "perf_counter", "getrusage", "VmRSS")
_PROGRAMS_OF_THE_NETWORK = {"apt-get", "pip", "curl", "wget"}

Found = Iterator[ast.AST]


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def _outside(rule: Callable[[ast.Module], Found], *allowed: str) -> list[str]:
    """The places that break a rule, in files outside the allowed ones."""
    places = []
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS))
        if not name.startswith(allowed):
            places += [f"tests/{name}:{getattr(node, 'lineno', 0)}" for node in rule(_parsed(path))]
    return places


def _calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The calls of functions and methods with these names."""
    for node in _nodes(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "attr", getattr(called, "id", ""))
            if name in names:
                yield node


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _text(node: ast.AST) -> str:
    """The string constants below a node, joined."""
    below = (each.value for each in _nodes(node) if isinstance(each, ast.Constant))
    return "".join(value for value in below if isinstance(value, str))


def test_only_support_sleeps() -> None:
    def sleeps(tree: ast.Module) -> Found:
        return _calls(tree, "sleep")

    assert _outside(sleeps, "support/waits.py", *_IN_GUESTS, *_FIGURES) == []


def test_a_time_limit_is_the_guard() -> None:
    """A limit written as a number is right on one machine."""

    def limits(tree: ast.Module) -> Found:
        for node in _nodes(tree):
            if isinstance(node, ast.keyword) and node.arg == "timeout" and _is_number(node.value):
                yield node.value
        for call in _calls(tree, "wait"):
            if any(map(_is_number, call.args)):
                yield call

    assert _outside(limits, *_IN_GUESTS, *_FIGURES) == []


def test_no_assertion_looks_at_a_clock() -> None:
    def timed(tree: ast.Module) -> Found:
        for node in _nodes(tree):
            if isinstance(node, ast.Assert):
                text = ast.dump(node.test)
                if any(clock in text for clock in _CLOCKS) or "'ru_" in text:
                    yield node

    assert _outside(timed, "support/waits.py", *_FIGURES) == []


def test_a_process_may_end_while_it_is_looked_at() -> None:
    """tests/support/procs.py expects that."""

    def races(tree: ast.Module) -> Found:
        for call in _calls(tree, "glob", "rglob", "exists"):
            if isinstance(call.func, ast.Attribute):
                place = _text(call.func.value)
                below = ("/proc/",) if call.func.attr == "exists" else ("/proc", "/sys/fs/cgroup")
                if place.startswith(below):
                    yield call

    assert _outside(races, "support/procs.py", *_IN_GUESTS) == []


def test_what_a_running_program_reads_is_replaced_at_once() -> None:
    def empties(tree: ast.Module) -> Found:
        for node in _nodes(tree):
            if isinstance(node, ast.FunctionDef) and "running" in {
                argument.arg for argument in node.args.args
            }:
                yield from _calls(node, "write_text")

    assert _outside(empties) == []


def test_only_needs_skips() -> None:
    def skips(tree: ast.Module) -> Found:
        return _calls(tree, "skip", "skipif", "importorskip")

    assert _outside(skips, "support/needs.py") == []


def test_only_what_fetches_uses_the_network() -> None:
    def programs(tree: ast.Module) -> Found:
        for node in _nodes(tree):
            if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
                first = node.elts[0]
                if isinstance(first, ast.Constant) and first.value in _PROGRAMS_OF_THE_NETWORK:
                    yield node

    assert _outside(programs, *_FETCHES) == []


def test_ports_belong_to_a_network_of_the_test() -> None:
    def ports(tree: ast.Module) -> Found:
        return _calls(tree, "bind")

    # A socket file is no port.
    assert _outside(ports, "support/now_tree.py") == []


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in _nodes(_parsed(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(TESTS)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
