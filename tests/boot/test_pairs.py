# SPDX-License-Identifier: GPL-2.0-or-later
"""Two programs change the boot at the same time, one of them a kernel's package: the result equals
one of the two serial orders, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from test_bls import FEDORA, ID, fedora, snippet, try_entry

from support import procs, waits
from support.hosttree import NEEDS, OLDER, RELEASE, Host, apply_and_try, entries_of
from support.powercut import NEEDS_CC, build

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.security]

__all__ = ["fedora"]

#: The number of tries of each pair with dice; `make proofs NAME=pairs` raises it.
TIMES = int(os.environ.get("LOWLAT_PAIRS", "2"))

NEW = "6.13.1-new"

_FULL = pytest.mark.proof
_MORE = (
    *(("apply --accept-pending", count) for count in (1, 2)),
    *(("promote", count) for count in (1, 2)),
)

#: Runs the commands of /tmp/then after 10_linux, in the generation at which the counter in
#: /tmp/count reaches its end.
_MEANWHILE = """#!/bin/sh
[ -e /tmp/count ] || exit 0
read -r count </tmp/count
if [ "$count" -gt 1 ]; then
	echo $((count - 1)) >/tmp/count
else
	rm /tmp/count
	sh /tmp/then >&2
fi
"""

_KERNEL = f"""
cp /boot/config-{RELEASE} /boot/config-{NEW}
echo image >/boot/vmlinuz-{NEW}
exec grub-mkconfig -o /boot/grub/grub.cfg
"""


def with_script(host: Host, text: str) -> None:
    """Add another owner's script to /etc/grub.d; it runs before lowlat's."""
    script = host.path / "etc/grub.d/41_site"
    script.write_text(text)
    script.chmod(0o755)
    host.update_grub()


@pytest.mark.parametrize(
    ("verb", "count"),
    [
        *(("rollback", 1), ("apply", 1)),
        *(pytest.param(verb, count, marks=_FULL) for verb, count in _MORE),
    ],
)
def test_a_kernel_that_comes_while_grub_cfg_is_generated_is_not_lost(
    host: Host, verb: str, count: int
) -> None:
    with_script(host, _MEANWHILE)
    entry = apply_and_try(host)
    host.write("tmp/then", _KERNEL)
    host.write("tmp/count", f"{count}\n")
    host.done(*verb.split())
    assert not (host.path / "tmp/count").exists()
    assert f"gnulinux-{NEW}-advanced" in host.config
    after = host.config
    host.update_grub()
    assert host.config == after
    if verb == "rollback":
        assert "lowlat" not in host.config
    else:
        assert set(entries_of(host)) == {NEW, RELEASE, OLDER}
    if verb == "promote":
        assert host.status()["default"]["entry"] == entry


def test_a_generator_that_is_at_work_is_waited_for(host: Host) -> None:
    """The generator started with lowlat's entries, and would restore them."""
    with_script(host, '#!/bin/sh\n[ -z "$GO" ] || read -r _ <"$GO"\n')
    apply_and_try(host)
    host.done("promote")
    # The last script waits: lowlat's has run by then.
    (host.path / "etc/grub.d/41_site").rename(host.path / "etc/grub.d/99_site")
    go = host.path / "tmp/go"
    os.mkfifo(go)
    words = ("env", "GO=/tmp/go", "grub-mkconfig", "-o", "/boot/grub/grub.cfg")
    other = host.namespace.beside("chroot", host.path, *words)
    with waits.reader(go):
        assert procs.writes(host.path / "boot/grub/grub.cfg.new")
        rollback = ROLLBACK(host)
        waits.at(rollback.pid, host.path / "var/lib/lowlat/lock")
        assert (other.poll(), rollback.poll()) == (None, None)
    assert (status_of(rollback), status_of(other)) == (0, 0)
    assert "lowlat" not in host.config
    after = host.config
    host.update_grub()
    assert host.config == after


# ------------------------------------------------------------------- pairs


class PairStage:
    """A host that is reset to one state again and again."""

    def __init__(self, host: Host, kept: Path) -> None:
        self.host = host
        self._kept = kept
        for name in _KEPT:
            shutil.copytree(host.path / name, kept / name, symlinks=True)

    def again(self) -> None:
        for name in _KEPT:
            shutil.rmtree(self.host.path / name)
            shutil.copytree(self._kept / name, self.host.path / name, symlinks=True)

    def end(self) -> dict[str, tuple[Any, ...]]:
        """The files now, or after a rollback; only the existence of the journal counts."""
        now = self.host.snapshot()
        for name in ("lock", "journal.json"):
            now.pop(f"var/lib/lowlat/{name}", None)
        assert self.host.lowlat("rollback").status == 0
        return {**now, **{f"{name}, then back": it for name, it in self.host.snapshot().items()}}


_KEPT = ("boot", "etc", "var", "proc")

Act = Callable[[Host], "subprocess.Popen[str]"]


def verb(*words: str) -> Act:
    def act(host: Host) -> subprocess.Popen[str]:
        first, rest = words[0], words[1:]
        given = (first, *rest, "--root", host.path)
        return host.namespace.beside(sys.executable, "-m", "lowlat", *given)

    return act


def kernel_with_grub(host: Host) -> subprocess.Popen[str]:
    """The package of a kernel: it unpacks, then updates GRUB."""
    return host.namespace.beside("chroot", host.path, "sh", "-c", _KERNEL)


def kernel_with_entry_files(host: Host) -> subprocess.Popen[str]:
    text = snippet(NEW, "root=UUID=1 ro").replace("\n", "\\n")
    script = (
        f"cp /boot/config-{RELEASE} /boot/config-{NEW}; echo image >/boot/vmlinuz-{NEW}; "
        f"printf '{text}' >/{FEDORA}/{ID}-{NEW}.conf; "
        "plugin=/etc/kernel/install.d/95-lowlat.install; "
        f"[ ! -e $plugin ] || exec $plugin add {NEW} /x"
    )
    return host.namespace.beside("chroot", host.path, "sh", "-c", script)


APPLY, OTHER = verb("apply"), verb("apply", "--isolate", "3")
TRIAL, PROMOTE, ROLLBACK = verb("trial"), verb("promote"), verb("rollback")
START, RECORD = verb("boot", "start"), verb("boot", "record")

_GRUB = {
    "rollback, kernel": (ROLLBACK, kernel_with_grub),
    "kernel, rollback": (kernel_with_grub, ROLLBACK),
    "kernel, apply": (kernel_with_grub, OTHER),
    "promote, kernel": (PROMOTE, kernel_with_grub),
    "apply, rollback": (OTHER, ROLLBACK),
    "trial, apply": (TRIAL, OTHER),
    "promote, apply": (PROMOTE, OTHER),
    "start, rollback": (START, ROLLBACK),
    "record, start": (RECORD, START),
}
_FILES = {
    "kernel, apply": (kernel_with_entry_files, OTHER),
    "kernel, rollback": (kernel_with_entry_files, ROLLBACK),
    "kernel, promote": (kernel_with_entry_files, PROMOTE),
}


def status_of(child: subprocess.Popen[str]) -> int:
    out, err = child.communicate(timeout=waits.GUARD_S)
    assert child.returncode in (0, 1, 2) and "Traceback" not in err, (out, err)
    return child.returncode


class Orders:
    """The ends of the serial orders of two acts, one run each."""

    def __init__(self, stage: PairStage, acts: tuple[Act, Act]) -> None:
        self._stage = stage
        self._acts = acts
        self._ends: dict[tuple[int, ...], Any] = {}

    def check(self, statuses: tuple[int, int], where: object) -> None:
        """The stage is now as after one of the orders; if one verb was refused, perhaps as after
        the other verb alone."""
        found = self._stage.end()
        done = [index for index in (0, 1) if statuses[index] != 2]
        orders = [(0, 1), (1, 0), *([tuple(done)] if len(done) < 2 else [])]
        differing = {}
        for order in orders:
            end = self._serial(order)
            names = {*end, *found}
            differing[order] = sorted(name for name in names if end.get(name) != found.get(name))
            if not differing[order]:
                return
        raise AssertionError((where, statuses, differing))

    def _serial(self, order: tuple[int, ...]) -> Any:
        if order not in self._ends:
            self._stage.again()
            for number in order:
                status_of(self._acts[number](self._stage.host))
            self._ends[order] = self._stage.end()
        return self._ends[order]


def check_with_dice(stage: PairStage, acts: tuple[Act, Act], tell: str) -> None:
    orders, dice = Orders(stage, acts), random.Random(tell)
    for number in range(TIMES):
        stage.again()
        first = acts[0](stage.host)
        waits.pause(dice.uniform(0, 1.2))
        second = acts[1](stage.host)
        orders.check((status_of(first), status_of(second)), (tell, number))


#: A verb with the library of cut.c, which counts its calls and stops it in one of them.
_STOPPED = """
import json, os, sys
from lowlat import cli
os.environ.update(json.loads(sys.argv.pop(1)))
sys.exit(cli.main(sys.argv[1:]))
"""


class Stopping:
    """Starts a verb that stops in the middle of its writing calls."""

    def __init__(self, folder: Path, host: Host) -> None:
        self._library = build(folder)
        self._count = folder / "count"
        self._host = host

    def start(self, at: int, *words: str) -> subprocess.Popen[str]:
        self._count.unlink(missing_ok=True)
        settings = {
            "LOWLAT_CUT_AT": str(at),
            "LOWLAT_CUT_STOP": "1",
            "LOWLAT_CUT_COUNT": str(self._count),
            "LOWLAT_CUT_DEV": str(self._host.path.stat().st_dev),
        }
        env = ("env", f"LD_PRELOAD={self._library}", "PYTHONDONTWRITEBYTECODE=1")
        python = (sys.executable, "-c", _STOPPED, json.dumps(settings))
        return self._host.namespace.beside(*env, *python, *words, "--root", self._host.path)

    def calls(self) -> int:
        """The number of calls of the last verb."""
        return int.from_bytes(self._count.read_bytes(), sys.byteorder)


def check_in_the_middle(stage: PairStage, folder: Path, first: str, second: Act) -> None:
    """The second act comes when the first one, which has the lock, has done half of its work: it
    ends, or waits for the lock."""
    host, lock, words = stage.host, stage.host.path / "var/lib/lowlat/lock", first.split()
    stopping = Stopping(folder, host)
    status_of(stopping.start(-1, *words))
    at = stopping.calls() // 2
    stage.again()
    one = stopping.start(at, *words)
    try:
        waits.until(lambda: procs.state(one.pid) == "T", f"it does not stop in call {at}")
        assert procs.has_open(one.pid, lock)
        other = second(host)
        waits.at(other.pid, lock, or_ended=True)
        one.send_signal(signal.SIGCONT)
        statuses = (status_of(one), status_of(other))
    finally:
        one.kill()
    assert statuses[0] == 0
    Orders(stage, (verb(*words), second)).check(statuses, (first, at))


@pytest.mark.slow
@NEEDS_CC
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rollback", kernel_with_grub),
        pytest.param("promote", kernel_with_grub, marks=_FULL),
        pytest.param("apply --isolate 3", ROLLBACK, marks=_FULL),
        pytest.param("rollback", OTHER, marks=_FULL),
        ("trial", OTHER),
        pytest.param("promote", ROLLBACK, marks=_FULL),
    ],
)
def test_another_act_with_grub_comes_while_a_verb_works(
    host: Host, tmp_path: Path, first: str, second: Act
) -> None:
    apply_and_try(host)
    check_in_the_middle(PairStage(host, tmp_path / "kept"), tmp_path, first, second)


@pytest.mark.slow
@NEEDS_CC
@pytest.mark.parametrize(
    "first",
    ["rollback", *(pytest.param(it, marks=_FULL) for it in ("promote", "apply --isolate 3"))],
)
def test_a_kernel_with_an_entry_file_comes_while_a_verb_works(
    fedora: Host, tmp_path: Path, first: str
) -> None:
    try_entry(fedora, FEDORA)
    check_in_the_middle(
        PairStage(fedora, tmp_path / "kept"), tmp_path, first, kernel_with_entry_files
    )


@pytest.mark.proof
@pytest.mark.parametrize("pair", _GRUB)
def test_pairs_with_grub_end_as_in_one_order(host: Host, tmp_path: Path, pair: str) -> None:
    apply_and_try(host)
    check_with_dice(PairStage(host, tmp_path / "kept"), _GRUB[pair], pair)


@pytest.mark.proof
@pytest.mark.parametrize("pair", _FILES)
def test_pairs_with_entry_files_end_as_in_one_order(
    fedora: Host, tmp_path: Path, pair: str
) -> None:
    try_entry(fedora, FEDORA)
    check_with_dice(PairStage(fedora, tmp_path / "kept"), _FILES[pair], pair)
