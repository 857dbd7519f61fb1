# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat beside TuneD: the real daemon runs in the host tree and treats the tree as its machine.
The daemon has no D-Bus there; systemctl is a script that starts and ends the daemon and logs its
arguments."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import needs
from support.cli import Answer
from support.hosttree import (
    NEEDS,
    RELEASE,
    REPOSITORY,
    STOCK,
    Host,
    Namespace,
    apply_and_try,
    linux_lines,
    make,
    refusal,
)

pytest_plugins = ["support.hosttree"]

_MAIN = Path("/etc/tuned/tuned-main.conf")

pytestmark = [
    *NEEDS,
    needs.that(Path("/usr/sbin/tuned").exists() and _MAIN.exists(), "TuneD is not installed"),
]

PARTS = ("isolcpus=managed_irq,domain,1-3", "nohz_full=1-3", "skew_tick=1")
MASK = "sys/devices/virtual/workqueue/cpumask"
IRQS = "proc/irq/default_smp_affinity"

#: TuneD asks systemctl whether the machine shuts down; lowlat-gen restarts TuneD through it.
_SYSTEMCTL = """#!/bin/sh
case $1 in
is-system-running) echo running ;;
list-jobs) ;;
restart | start | stop)
	there=$(cd /etc/tuned && echo *)
	echo "$1 $2, selected $(cat /etc/tuned/active_profile), $there" >>/asked
	if [ "$1" != start ]; then
		pid=$(cat /run/tuned/tuned.pid)
		kill "$pid"
		while kill -0 "$pid"; do sleep 0.1; done 2>/dev/null
	fi
	[ "$1" != stop ] || exit 0
	: >/tmp/said
	/usr/sbin/tuned --no-dbus >>/tmp/said 2>&1 &
	count=0
	until grep -q 'static tuning.*applied' /tmp/said; do
		sleep 0.1
		count=$((count + 1))
		[ $count -lt 600 ] || exit 1
	done
	;;
esac
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    folder = tmp_path_factory.mktemp("tuned")
    started = Namespace(folder / "usr").start()
    write = 'cat >"$1" && chmod 755 "$1"'
    path = folder / "usr/usr/local/sbin/systemctl"
    assert started.program("sh", "-c", write, "sh", path, stdin=_SYSTEMCTL).status == 0
    yield started
    started.stop()


@pytest.fixture
def host(tmp_path: Path, beside: Namespace) -> Host:
    """A host whose administrator selected a profile that does nothing."""
    made = make(
        tmp_path / "host",
        beside,
        {
            "etc/tuned/active_profile": "mine\n",
            "etc/tuned/profile_mode": "manual\n",
            "etc/tuned/post_loaded_profile": "",
            "etc/tuned/mine/tuned.conf": "[main]\nsummary=mine\n",
            "proc/99999/comm": "tuned\n",
            MASK: "f\n",
            IRQS: "f\n",
        },
    )
    shutil.copy(_MAIN, made.path / "etc/tuned")
    for name in ("run", "var/log/tuned"):
        (made.path / name).mkdir(parents=True, exist_ok=True)
    return made


def live(host: Host, *script: str) -> Answer:
    """Run these commands as on the machine itself, in a new PID namespace; the processes that they
    leave end with it."""
    command = ("unshare", "-p", "-f", "--kill-child", "chroot", host.path, "sh", "-ec")
    return host.namespace.program(*command, "\n".join(script))


def asked(host: Host) -> list[str]:
    return host.read("asked").splitlines()


def select(host: Host) -> None:
    """The files that tuned-adm writes."""
    host.write("etc/tuned/active_profile", "lowlat-local\n")
    host.write("etc/tuned/profile_mode", "manual\n")


def tuned_params(host: Host) -> str:
    found = re.findall(r'^set tuned_params="(.*)"$', host.config, re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


def test_the_profile_that_a_package_brought_is_not_written_again(host: Host) -> None:
    """For TuneD before 2.23, a package has a link where TuneD searches."""
    folder = host.path / "usr/lib/tuned"
    host.mount("-t", "tmpfs", "none", folder)
    script = 'cd "$1"; mkdir profiles balanced; cp -r "$2" profiles; ln -s profiles/lowlat .'
    host.namespace.must("sh", "-ec", script, "sh", folder, REPOSITORY / "profiles/lowlat")
    host.done("apply")
    written = [path.name for path in (host.path / "etc/tuned").glob("lowlat*")]
    assert written == ["lowlat-local"]


# ------------------------------------------------------------ entries of ours


def test_rollback_in_a_tuned_boot_has_tuned_undo_the_run_time_half(host: Host) -> None:
    before = host.snapshot()
    apply_and_try(host)
    answer = live(
        host,
        "systemctl start tuned.service",
        f"cat /{MASK} /{IRQS}",
        "lowlat-gen rollback",
        f"cat /{MASK} /{IRQS}",
        "systemctl stop tuned.service",
    )
    assert (answer.status, answer.err) == (0, "")
    applied, back = answer.out.split("the boot is as it was before lowlat\n")
    assert applied.split() == ["1", "1"]
    assert back.splitlines() == ["f", "f"]
    start, restart, stop = asked(host)
    assert start.startswith("start tuned.service, selected lowlat-local, ")
    # The administrator's profile is selected, and lowlat's still exists for TuneD to stop.
    assert restart.startswith("restart tuned.service, selected mine, ")
    assert "lowlat-local" in restart and "lowlat-local" not in stop
    assert host.snapshot() == before


def test_rollback_that_was_cut_before_the_restart_does_it_again(host: Host) -> None:
    apply_and_try(host)
    answer = live(
        host,
        "systemctl start tuned.service",
        # The cut comes just after the administrator's profile was selected again.
        "mv /usr/local/sbin/systemctl /usr/local/sbin/systemctl.kept",
        "printf '#!/bin/sh\\nkill -9 $PPID\\n' >/usr/local/sbin/systemctl",
        "chmod 755 /usr/local/sbin/systemctl",
        "lowlat-gen rollback || echo cut",
        "mv /usr/local/sbin/systemctl.kept /usr/local/sbin/systemctl",
        "cat /etc/tuned/active_profile",
        "lowlat-gen rollback",
        f"cat /{MASK}",
        "systemctl stop tuned.service",
    )
    assert answer.status == 0, answer
    assert answer.out == "cut\nmine\nthe boot is as it was before lowlat\nf\n"
    assert [row.split(",")[0] for row in asked(host)][1] == "restart tuned.service"


def test_a_tuned_that_is_not_restarted_stops_no_rollback(host: Host) -> None:
    before = host.snapshot()
    apply_and_try(host)
    answer = live(
        host,
        "mv /usr/local/sbin/systemctl /usr/local/sbin/systemctl.kept",
        "printf '#!/bin/sh\\necho no bus >&2\\nexit 1\\n' >/usr/local/sbin/systemctl",
        "chmod 755 /usr/local/sbin/systemctl",
        "lowlat-gen rollback || echo $?",
        "mv /usr/local/sbin/systemctl.kept /usr/local/sbin/systemctl",
    )
    assert answer.out == "1\n"
    assert answer.err.count("\n") == 1 and "still has lowlat's profile: no bus" in answer.err
    assert host.snapshot() == before


# ----------------------------------------------- the line by TuneD's own plugin


def test_tuned_puts_the_line_on_and_takes_it_away(host: Host) -> None:
    host.done("apply", "--boot", "tuned")
    assert any("tuned-adm profile lowlat-local" in note for note in host.status()["notes"])
    select(host)
    answer = live(host, "systemctl start tuned.service", "lowlat-gen status", "lowlat-gen rollback")
    assert (answer.status, answer.err) == (0, "")
    assert "note" not in answer.out, "the line is read back from what TuneD wrote"
    assert "$tuned_params" in answer.out, "what stays of TuneD's is told"
    assert tuned_params(host) == "" and "lowlat" not in host.config
    assert 'TUNED_BOOT_CMDLINE=""' in host.read("etc/tuned/bootcmdline")
    assert host.read("etc/tuned/active_profile") == "mine\n"


def test_tuned_is_needed_for_the_run_time_settings_of_its_line(host: Host) -> None:
    told = refusal(host, "apply", "--boot", "tuned", "--runtime", "none")
    assert "needs TuneD for the run-time settings too" in told


def put_on(host: Host, line: str) -> None:
    """Imitate the boot configuration that TuneD leaves, with this line."""
    text = host.read("etc/tuned/bootcmdline").replace('CMDLINE=""', f'CMDLINE="{line}"')
    host.write("etc/tuned/bootcmdline", text)
    more = 'GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} \\$tuned_params"\n'
    host.write("etc/default/grub", host.read("etc/default/grub") + more)
    host.update_grub()


def its_line(host: Host) -> str:
    profile = host.read("etc/tuned/lowlat-local/tuned.conf")
    [line] = re.findall(r"^cmdline_lowlat=\+(.*)$", profile, re.MULTILINE)
    assert all(part in line.split() for part in PARTS)
    return str(line)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("", ""), ""),
        (("nohz_full=1-3", "nohz_full=1-2"), "nohz_full=1-3 is not on its line"),
        (("skew_tick=1", "skew_tick=1 skew-tick=0"), "skew_tick is on its line twice"),
        (("lowlat.plan=", "x=" + "y" * 2000 + " lowlat.plan="), "bytes long"),
        (("lowlat.plan=", "plan="), "has not put the line onto the default entry"),
    ],
)
def test_the_line_is_read_back(host: Host, change: tuple[str, str], fault: str) -> None:
    host.done("apply", "--boot", "tuned")
    select(host)
    put_on(host, its_line(host).replace(*change))
    notes = host.status()["notes"]
    assert bool(notes) is bool(fault)
    assert all(fault in note for note in notes)


def test_rollback_takes_the_line_away_where_tuned_does_not_run(host: Host) -> None:
    host.done("apply", "--boot", "tuned")
    select(host)
    kept = host.read("etc/tuned/bootcmdline")
    put_on(host, its_line(host))
    assert "nohz_full=1-3" in tuned_params(host)
    (host.path / "proc/99999/comm").unlink()
    host.done("rollback")
    assert host.read("etc/tuned/bootcmdline") == kept
    assert tuned_params(host) == "" and "lowlat" not in host.config
    assert linux_lines(host.config)[STOCK][-1] == "$tuned_params"
    host.done("rollback")


def test_a_line_by_somebody_else_is_told(host: Host) -> None:
    """This does not block the removal of the package: the remaining steps are done, and the state
    is removed."""
    text = host.read("etc/default/grub")
    host.write("etc/default/grub", text.replace('="quiet"', '="quiet lowlat.plan=mine"'))
    host.update_grub()
    before = host.snapshot()
    host.done("apply")
    for said in ("the rest is as it was\n", "nothing is applied\n"):
        answer = host.lowlat("rollback")
        assert answer.status == 1 and answer.out.startswith(
            f"{said}remove from GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub: lowlat.plan=mine\n"
        )
        assert answer.err.count("\n") == 1 and "has the words of plan mine" in answer.err
        assert host.snapshot() == before


@pytest.mark.parametrize(("first", "second"), [("own", "tuned"), ("tuned", "own")])
def test_the_two_ways_are_not_mixed(host: Host, first: str, second: str) -> None:
    host.done("apply", "--boot", first)
    before = host.snapshot()
    assert "'lowlat-gen rollback' first" in host.lowlat("apply", "--boot", second).refused()
    if first == "tuned":
        for words in (("tune",), ("tune", "--dry-run"), ("trial",), ("promote",)):
            line = host.lowlat(*words).refused()
            assert "--boot tuned" in line or "TuneD's bootloader plugin" in line
    assert host.snapshot() == before
    host.done("rollback")
    host.done("apply", "--boot", second)


def test_a_line_that_would_be_cut_is_refused_before(host: Host) -> None:
    text = host.read("etc/default/grub").replace('="quiet"', f'="quiet {"x" * 1900}"')
    host.write("etc/default/grub", text)
    host.update_grub()
    assert "bytes long" in host.lowlat("apply", "--boot", "tuned").refused()


def test_each_kernel_is_planned_for_that_has_the_line(host: Host) -> None:
    """TuneD's plugin has one line for all kernels: the line of the requested kernel."""
    host.done("apply", "--boot", "tuned", "--kernel", RELEASE)
    assert [path.name for path in (host.path / "var/lib/lowlat/plans").iterdir()] == [
        f"{RELEASE}.json"
    ]
