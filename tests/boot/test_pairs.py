# SPDX-License-Identifier: GPL-2.0-or-later
"""Two programs change the boot at the same time, one of them a kernel's package: the result equals
one of the two serial orders, and nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import pytest
from hosttree import NEEDS, OLDER, RELEASE, Host, apply_and_try, entries_of
from test_bls import FEDORA, ID, fedora, snippet, try_entry

pytest_plugins = ["hosttree"]
pytestmark = [*NEEDS, pytest.mark.security]

__all__ = ["fedora"]

#: The number of tries of each pair; `make test-pairs-full` raises it.
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
    with_script(host, '#!/bin/sh\nsleep "${SLOW:-0}"\n')
    apply_and_try(host)
    host.done("promote")
    words = ("env", "SLOW=6", "grub-mkconfig", "-o", "/boot/grub/grub.cfg")
    # The last script sleeps: lowlat's has run by then.
    (host.path / "etc/grub.d/41_site").rename(host.path / "etc/grub.d/99_site")
    other = host.namespace.beside("chroot", host.path, *words)
    time.sleep(1.5)
    assert other.poll() is None
    host.done("rollback")
    assert other.poll() == 0
    assert "lowlat" not in host.config
    after = host.config
    host.update_grub()
    assert host.config == after


# ------------------------------------------------------------------- pairs


class Stage:
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


def _cases(pairs: Mapping[str, tuple[Act, Act]], *always: str) -> list[Any]:
    rest = (name for name in pairs if name not in always)
    return [*always, *(pytest.param(name, marks=_FULL) for name in rest)]


def status_of(child: subprocess.Popen[str]) -> int:
    out, err = child.communicate(timeout=300)
    assert child.returncode in (0, 1, 2) and "Traceback" not in err, (out, err)
    return child.returncode


def check_pair(stage: Stage, acts: tuple[Act, Act], tell: str) -> None:
    """Each try must end like one of the two orders; if one verb was refused, like the other verb
    alone."""
    ends: dict[tuple[int, ...], Any] = {}

    def serial(*order: int) -> Any:
        if order not in ends:
            stage.again()
            for number in order:
                status_of(acts[number](stage.host))
            ends[order] = stage.end()
        return ends[order]

    dice = random.Random(tell)
    for number in range(TIMES):
        stage.again()
        first = acts[0](stage.host)
        time.sleep(dice.uniform(0, 1.2))
        second = acts[1](stage.host)
        statuses = (status_of(first), status_of(second))
        found = stage.end()
        done = [index for index in (0, 1) if statuses[index] != 2]
        orders = [(0, 1), (1, 0), *([tuple(done)] if len(done) < 2 else [])]
        wanted = {order: serial(*order) for order in orders}
        differing = {
            order: sorted(name for name in {*end, *found} if end.get(name) != found.get(name))
            for order, end in wanted.items()
        }
        assert [] in differing.values(), (tell, number, statuses, differing)


@pytest.mark.slow
@pytest.mark.parametrize("pair", _cases(_GRUB, "rollback, kernel"))
def test_pairs_with_grub_end_as_in_one_order(host: Host, tmp_path: Path, pair: str) -> None:
    apply_and_try(host)
    check_pair(Stage(host, tmp_path / "kept"), _GRUB[pair], pair)


@pytest.mark.slow
@pytest.mark.parametrize("pair", _cases(_FILES, "kernel, rollback"))
def test_pairs_with_entry_files_end_as_in_one_order(
    fedora: Host, tmp_path: Path, pair: str
) -> None:
    try_entry(fedora, FEDORA)
    check_pair(Stage(fedora, tmp_path / "kept"), _FILES[pair], pair)
