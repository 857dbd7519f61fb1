# SPDX-License-Identifier: GPL-2.0-or-later
"""What several verbs share: options, the values made from them, and output."""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

from lowlat.base import files
from lowlat.base.arguments import flag, option, seconds, words
from lowlat.base.errors import Refused
from lowlat.base.terminal import Encoded, colour_wanted, filled
from lowlat.draw.layout import arrange
from lowlat.draw.text import draw
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.plan import profile
from lowlat.plan.planner import Options, in_container
from lowlat.probe.container import read_container

#: A longer count adds nothing: watch finds interrupts that come once an hour.
_COUNTED = (0.0, 3600.0, "0s to 1h")
_COUNTED_USUALLY = "10s"


def root() -> Any:
    return option("PATH", "read a captured machine (folder or archive), not this one", "/")


def accept_pending() -> Any:
    return flag("also generate boot entry changes that others made and have not generated yet")


def count_time(text: str) -> Any:
    return option("TIME", f"{text} ({_COUNTED_USUALLY}; 0s: do not count)")


def count_seconds(given: Optional[str]) -> float:
    """The time of count_time() in seconds. Raises Refused if it is no time, or too long."""
    return seconds("--duration", given or _COUNTED_USUALLY, _COUNTED)


def as_json() -> Any:
    return flag("print the stable JSON form")


@dataclass(frozen=True)
class HostArguments:
    """The arguments of every verb that writes to the host."""

    root: str = option(
        "PATH", "act on the system whose tree lies at PATH; runs its programs, so trust it", "/"
    )
    dry_run: bool = flag("print what would be done, and do nothing")

    def open(self, *, takes_back: bool = False) -> Root:
        """The tree to write to. Raises Refused if it is an archive, or, unless the verb takes
        changes back, a container's."""
        root = open_root(self.root, trusted=not self.dry_run)
        if not Path(self.root).is_dir() or not root.exists("/etc"):
            why = f"--root {self.root} is not the tree of a system"
            raise Refused(why, hint="'lowlat-gen plan' and 'render' read a captured machine")
        if not takes_back:
            refuse_container(root)
        return root


@dataclass(frozen=True)
class PlanChoice:
    """All options that determine a plan."""

    profile: Optional[str] = option(
        "P",
        f"profile to plan with; without options of a plan: the applied one, else {profile.DEFAULT}",
    )
    wanted: Options = Options()
    kernel: Optional[str] = option("RELEASE", "an installed kernel; default: the running one")

    @property
    def asks(self) -> bool:
        """Whether it asks for a new plan: a kernel alone chooses one of the applied ones."""
        return self.profile is not None or self.wanted != Options()


def refuse_container(root: Root) -> None:
    """Raises Refused if the root is that of a container."""
    name = read_container(root)
    if name:
        raise in_container(name)


def command(verb: str, choice: PlanChoice) -> str:
    """The command line of a verb for the same plan, to be quoted in a sentence."""
    return shlex.join(("lowlat-gen", *verb.split(), *words(choice)))


def consistent(wanted: Options) -> Options:
    """The same options. Raises Refused if two of them contradict each other."""
    cpus = wanted.request
    asked = {
        "--housekeeping-cores": cpus.housekeeping_cores,
        "--housekeeping-per": cpus.housekeeping_per,
        "--isolate-cores": cpus.isolate_cores,
        "--keep-efficiency-cores": cpus.keep_efficiency_cores,
    }
    counted = [name for name, value in asked.items() if value]
    if counted and (cpus.isolate or cpus.housekeeping):
        raise Refused(f"{counted[0]}: a list names the CPUs already", hint="leave one of them out")
    if cpus.housekeeping_cores and cpus.isolate_cores:
        why = "--housekeeping-cores and --isolate-cores: each says how many cores are isolated"
        raise Refused(why, hint="give one of the two")
    return wanted


def refuse_plan_options(choice: PlanChoice, why: str) -> None:
    """Raises Refused if an option for a fresh plan was given, although no plan is made."""
    if choice != PlanChoice():
        raise Refused(f"{why}: the options of a fresh plan have no effect", hint="leave them out")


def show(as_json: bool, document: Callable[[], object], lines: Iterable[str]) -> None:
    """Print the JSON form for --json, else the lines."""
    if as_json:
        print(json.dumps(document(), indent=2))
    else:
        for line in lines:
            print(line)


def bullets(texts: Iterable[str]) -> Iterator[str]:
    """Sentences as the lines of a list."""
    for text in texts:
        yield from filled(text, "  - ", "    ")


def svg_option() -> Any:
    return option("FILE", "also write the drawing as SVG")


def drawing(machine: Machine, isolated: Optional[CpuSet] = None, indent: str = "") -> Iterator[str]:
    """The drawing of a machine, with the roles of its CPUs if isolated ones are given."""
    for line in draw(arrange(machine, isolated), colour=colour_wanted(sys.stdout)):
        yield Encoded(f"{indent}{line}")


def write_svg(out: Optional[str], machine: Machine, isolated: Optional[CpuSet] = None) -> None:
    """Write the file of ``--svg``. Raises Refused if it cannot be written."""
    if out is None:
        return
    from lowlat.draw.svg import svg  # rarely needed

    files.write("--svg", out, svg(arrange(machine, isolated, roomy=True)).encode())


#: What follows the path in the row of a file, by the way of its change.
_BEHIND = {"generate": " again", "keep": ", which was edited since"}


def foreseen(ways: Mapping[str, str]) -> Iterator[str]:
    """The rows of a dry run: the files that would change, and in which way."""
    return (f"would {way} {path}{_BEHIND.get(way, '')}" for path, way in sorted(ways.items()))


@dataclass(frozen=True)
class ChangeArguments(HostArguments):
    json: bool = as_json()


@dataclass(frozen=True)
class EntryArguments(ChangeArguments):
    kernel: Optional[str] = option("RELEASE", "kernel of the entry; default: the running one")


def show_change(
    as_json: bool,
    changed: bool,
    said: Iterable[str],
    before: str = "",
    after: str = "",
    host: Optional[str] = None,
) -> None:
    """Print the messages, or the contract lowlat.change/1:

    {"schema", "changed": bool, "before": str, "after": str, "said": [str], "host": str if given}

    ``changed`` tells whether the verb changed something, or with --dry-run would; ``before`` and
    ``after`` are the boot line or the run-time values that the verb changes.
    """

    def document() -> dict[str, object]:
        told = {"changed": changed, "before": before, "after": after, "said": list(said)}
        named = {} if host is None else {"host": host}
        return {"schema": "lowlat.change/1", **told, **named}

    show(as_json, document, said)
