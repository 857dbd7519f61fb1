# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that is after its host: as root in there it tries what its share and the host's tree let
it do."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from lowlat.rehearse import exchange, vm
from lowlat.rehearse.vm_size import VmSize
from support import needs
from support.guest import emulator
from support.guest.kernels import KERNELS, SMOKE, packaged_or_skip

pytestmark = [pytest.mark.vm, pytest.mark.security]

#: In CPU seconds.
_LIMIT_S = 400.0

_TRIED = """\
cd {share} || exit 1
id -u >uid
cat {secret} /etc/gshadow {elsewhere}/key >read 2>refused
cp /bin/true shell && chown 0:0 shell && chmod 4755 shell
ln -s {secret} link
mknod device b 8 0
mkfifo pipe
echo mine >{secret}
echo "done" >run.json
sync
"""


@needs.root("a user's QEMU is the user: this is about root's")
def test_a_hostile_guest_reads_and_plants_nothing(tmp_path: Path) -> None:
    kernel = packaged_or_skip(KERNELS[SMOKE])
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    folder = tmp_path / "out"
    folder.mkdir()
    with exchange.shared(folder, ("run.json",)) as share:
        task = _TRIED.format(share=share, secret=secret, elsewhere=Path.home())
        command = ("sh", "-c", task)
        boot = vm.GuestBoot(kernel, "tsc=nowatchdog", VmSize(4), False, share, command, _LIMIT_S)
        emulator.run_on_host_files(boot)
        assert (share / "uid").read_text() == "0\n"
        assert (share / "read").read_text() == ""
        for path in share.rglob("*"):
            found = path.lstat()
            assert stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode), path
            assert found.st_uid != 0 and not found.st_mode & 0o7077, path
        assert not (share / "shell").stat().st_mode & stat.S_ISUID
    assert sorted(path.name for path in folder.iterdir()) == ["run.json", "serial.log"]
    assert secret.read_text() == "secret\n"
