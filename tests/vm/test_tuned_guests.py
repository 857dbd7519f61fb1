# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole guests in which TuneD applies and reverts every profile: Debian 13 from a disk image, and
Debian 12's user space, this host's, under its own kernel and the newest one."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.plan import profile
from lowlat.rehearse import ready, vm
from lowlat.rehearse.vm_size import VmSize
from support import needs
from support.guest import emulator, image, installed, results
from support.guest.kernels import KERNELS, Packaged, packaged_or_skip

pytestmark = pytest.mark.vm

PROFILES = tuple(profile.packaged_names())

#: In CPU seconds.
_LIMIT_S = 1500.0

#: Unpacks lowlat as its package does, then applies and reverts, from no profile on.
_TASK = """cd {folder} || exit
{unpack}: >/etc/tuned/active_profile
echo manual >/etc/tuned/profile_mode
exec /usr/bin/python3 cycle.py . {arguments}
"""


@dataclass(frozen=True)
class TunedGuest:
    """Where TuneD runs: in the disk image, or under ``kernel`` in this host's user space.
    ``more`` asks for what happens when TuneD stops and when lowlat-gen fails it."""

    profiles: tuple[str, ...]
    kernel: Packaged | None = None
    more: bool = False

    def cycle(self, folder: Path) -> Any:
        """Boot once; what was found."""
        if self.kernel is None:
            self._boot_disk(folder)
        else:
            self._boot_host(folder, self.kernel)
        return json.loads((folder / "cycle.json").read_text())

    def _boot_disk(self, folder: Path) -> None:
        """TuneD 2.25, started by systemd."""
        disk = image.image_or_skip()
        self._lay_out(folder, "/run/share")
        image.boot(disk, folder, limit=_LIMIT_S)

    def _boot_host(self, folder: Path, wanted: Packaged) -> None:
        """TuneD 2.20 on Debian 12, without systemd."""
        kernel = packaged_or_skip(wanted)
        for program in ("tuned", "dbus-daemon"):
            if process.find(program) is None:
                needs.absent(f"{program} is not installed on this host")
        try:
            ready.check_programs()
        except LowlatError as error:
            needs.absent(str(error))
        self._lay_out(folder, str(folder))
        command = ("sh", str(folder / "task"))
        boot = vm.GuestBoot(kernel, "tsc=nowatchdog", VmSize(4), False, folder, command, _LIMIT_S)
        emulator.run_on_host_files(boot)

    def _lay_out(self, folder: Path, seen_as: str) -> None:
        """What the guest needs, in the folder that it shares."""
        installed.lay_out(folder, "cycle.py")
        arguments = shlex.join((*(["--more"] if self.more else []), *self.profiles))
        seen = shlex.quote(seen_as)
        task = _TASK.format(folder=seen, unpack=installed.UNPACK, arguments=arguments)
        (folder / "task").write_text(task)


def _rest(*booted: str) -> tuple[str, ...]:
    return tuple(name for name in PROFILES if name not in booted)


_DEBIAN13 = ("lowlat", "lowlat-kvm-guest", "lowlat-kvm-host")
_DEBIAN12 = ("lowlat-audio", "lowlat-desktop", "lowlat-nfv")
_NEWEST = ("lowlat-bench", "lowlat-hpc", "lowlat-poll")

#: Every run boots each kind of guest, and each profile in one of them; the long run does the rest.
GUESTS = {
    "debian13": TunedGuest(_DEBIAN13, more=True),
    "debian12": TunedGuest(_DEBIAN12, KERNELS["6.1"]),
    "realtime": TunedGuest(("lowlat-rt",), KERNELS["6.12-rt"]),
    "newest": TunedGuest(_NEWEST, KERNELS["newest"]),
    "debian13, the rest": TunedGuest(_rest(*_DEBIAN13)),
    "debian12, the rest": TunedGuest(_rest(*_DEBIAN12), KERNELS["6.1"], more=True),
    "newest, the rest": TunedGuest(_rest(*_NEWEST), KERNELS["newest"], more=True),
}


def _marked(name: str, *others: str) -> Any:
    return pytest.param(name, *others, marks=[pytest.mark.proof] if "rest" in name else [])


_MORE = [_marked(name) for name, guest in GUESTS.items() if guest.more]
_PARTITION = [_marked(name) for name, guest in GUESTS.items() if "lowlat-hpc" in guest.profiles]
_PAIRS = [_marked(name, each) for name, guest in GUESTS.items() for each in guest.profiles]


#: A guest is booted once, whatever came of it.
_DONE: dict[str, Any] = {}


@pytest.fixture
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one guest found: all of it in one boot."""
    name = request.param
    if name not in _DONE:
        try:
            _DONE[name] = GUESTS[name].cycle(tmp_path_factory.mktemp(name.partition(",")[0]))
        except (LowlatError, OSError, pytest.skip.Exception) as failure:
            _DONE[name] = failure
    if isinstance(_DONE[name], BaseException):
        raise _DONE[name]
    return _DONE[name]


@pytest.mark.parametrize(("found", "name"), _PAIRS, indirect=["found"])
def test_a_profile_is_applied_and_reverted(found: Any, name: str) -> None:
    cycle = found["profiles"][name]
    assert cycle["applied"][0] == 0, cycle["applied"]
    assert cycle["active"] == name
    # Without isolated CPUs there is nothing to set at run time.
    assert (cycle["rows"] == 0) == (name in ("lowlat-audio", "lowlat-desktop"))
    assert cycle["values"] >= cycle["rows"]
    assert cycle["wrong"] == {}
    assert cycle["verified"][0] == 0, cycle["verified"]
    assert cycle["complaints"] == []

    assert cycle["off"][0] == 0, cycle["off"]
    assert cycle["left"] == {}
    assert cycle["again"][0] == 0, cycle["again"]
    assert cycle["left again"] == {}
    assert cycle["complaints off"] == []
    what = f"{len(cycle['changed'])} of {cycle['values']} run-time values changed and put back"
    results.add(found["kernel"], f"{name}, by {found['tuned']}", "all planned", what)


@pytest.mark.parametrize("found", _PARTITION, indirect=True)
def test_the_partition_isolates(found: Any) -> None:
    changed = found["profiles"]["lowlat-hpc"]["changed"]
    held = changed.get("/sys/fs/cgroup/lowlat.slice/cpuset.cpus.partition")
    assert held == [None, "isolated"]


@pytest.mark.parametrize("found", [_marked("realtime")], indirect=True)
def test_real_time_threads_get_their_priority(found: Any) -> None:
    changed = found["profiles"]["lowlat-rt"]["changed"]
    policies = {path: pair for path, pair in changed.items() if path.endswith(":policy")}
    assert policies
    assert all(pair[1].startswith("fifo:") for pair in policies.values())


@pytest.mark.parametrize("found", _MORE, indirect=True)
def test_a_daemon_that_stops_reverts(found: Any) -> None:
    restarted = found["restart"]
    assert restarted["left"] == {}
    assert restarted["wrong"] == {}, "applied again when the daemon starts again"
    assert restarted["left after"] == {}
    assert restarted["complaints"] == []


@pytest.mark.parametrize("how", ["missing", "refusing"])
@pytest.mark.parametrize("found", _MORE, indirect=True)
def test_without_isolated_cpus_nothing_is_written(found: Any, how: str) -> None:
    tried = found["broken"][how]
    assert tried["status"] != 0, tried["said"]
    assert tried["changed"] == {}
    assert tried["changed after"] == {}
    assert not tried["active"]
    assert any("assertion" in line for line in tried["complaints"]), tried["complaints"]
