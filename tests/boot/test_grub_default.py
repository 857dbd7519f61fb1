# SPDX-License-Identifier: GPL-2.0-or-later
"""What GRUB boots by default: before and after apply the same entry, for every way to name it."""

from __future__ import annotations

from pathlib import Path

from support.grub_script import boot
from support.hosttree import NEEDS, OLDER, RELEASE, STOCK, Host, refusal

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_EDIT = ("grub-editenv", "/boot/grub/grubenv")
_MENU = "Advanced options for Debian GNU/Linux"

#: Values of saved_entry that mean the same with lowlat's entries as without.
_GOOD = (
    "0",
    "1",
    "1>2",
    "1>9",
    "0x1>0x2",
    "01>3",
    "",
    STOCK,
    "gnulinux-advanced-0a1b-2c3d",
    f"gnulinux-advanced-0a1b-2c3d>gnulinux-{OLDER}-advanced-0a1b-2c3d",
    "gnulinux-advanced-0a1b-2c3d>gone",
    "Debian GNU/Linux",
    f"{_MENU}>Debian GNU/Linux, with Linux {OLDER}",
    f"Debian GNU/Linux, with Linux {OLDER}",
    "a>>b>1",
    "gone",
    "-1",
)

#: Values that count beyond the menu, where lowlat's entries will stand.
_BEYOND = ("2", "7", "0x2", "2 kernels", "2>1")


def _set(host: Host, value: str) -> None:
    words = ("set", f"saved_entry={value}") if value else ("unset", "saved_entry")
    assert host.chroot(*_EDIT, *words).status == 0


def test_every_form_of_the_saved_entry(host: Host, tmp_path: Path) -> None:
    text = host.read("etc/default/grub").replace("GRUB_DEFAULT=0", "GRUB_DEFAULT=saved")
    host.write("etc/default/grub", text)
    host.update_grub()
    before = host.config
    for value in (*_GOOD, *_BEYOND):
        _set(host, value)
        by_grub = boot(before, {"saved_entry": value}, tmp_path).path
        assert host.status()["default"]["entry"] == by_grub[-1], value
    for value in _BEYOND:
        _set(host, value)
        line = refusal(host, "apply")
        assert f"saved_entry={value} counts to where" in line
    assert line == refusal(host, "apply", "--dry-run")
    _, _, hint = line.rstrip().rpartition("by its id: ")
    assert host.chroot("sh", "-c", hint[:-1]).status == 0
    assert host.environment()["saved_entry"] == STOCK
    host.done("apply")
    for value in _GOOD:
        kept = {"saved_entry": value}
        assert boot(host.config, kept, tmp_path).path == boot(before, kept, tmp_path).path, value


def test_a_default_that_is_not_known_or_counts_too_far_is_refused(host: Host) -> None:
    text = host.read("etc/default/grub")
    host.write("etc/default/grub", text.replace("GRUB_DEFAULT=0", "GRUB_DEFAULT='${mine}'"))
    own = "#!/bin/sh\necho 'if [ \"${mine}\" = 1 ]; then'\necho '  set default=2'\necho fi\n"
    host.write("etc/grub.d/08_mine", own)
    (host.path / "etc/grub.d/08_mine").chmod(0o755)
    host.update_grub()
    assert host.status()["default"] is None
    line = refusal(host, "apply")
    assert "GRUB_DEFAULT=${mine}: what that stands for is not known" in line
    assert "in /etc/default/grub, then /usr/sbin/grub-mkconfig -o /boot/grub/grub.cfg)" in line
    host.write("etc/default/grub", text.replace("GRUB_DEFAULT=0", f"GRUB_DEFAULT='{STOCK}'"))
    host.update_grub()
    assert host.status()["default"] == {"entry": STOCK, "kernel": RELEASE, "ours": False}
    assert "GRUB_DEFAULT=2 counts to where" in refusal(host, "apply")
