# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of GRUB's entries: words with quotes, others' entries for the same kernel, and lines
that somebody changes afterwards."""

from __future__ import annotations

import re
from typing import Callable

import pytest

from support import grub_script
from support.hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    Host,
    entries_of,
    plan_of,
    refusal,
)

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_SETTINGS = r"""GRUB_CMDLINE_LINUX_DEFAULT="quiet memmap=4G\\\$4G \
  acpi_osi=\"!Windows 2012\" acpi_osi= \
  dyndbg='file drivers/usb/core/hub.c +p' isolcpus=3 -- single"
"""

#: A person's copy of a stock entry, under its id, and entries of a rescue and of another system.
_OWN = r"""#!/bin/sh
cat <<'END'
menuentry 'my "studio"' $menuentry_id_option 'gnulinux-{release}-advanced-0a1b-2c3d' {{
	linux /boot/vmlinuz-{release} root=/dev/mine ro single nohz_full=2
	initrd /boot/initrd.img-{release}
}}
menuentry 'Fedora (on /dev/sdb3)' $menuentry_id_option 'osprober-gnulinux-simple-77aa' {{
	linux /boot/vmlinuz-{older} root=/dev/sdb3 ro isolcpus=7
}}
END
"""


def _raw_lines(config: str) -> dict[str, str]:
    """By entry id, what follows the image on its linux line; of entries with one id the last."""
    found: dict[str, str] = {}
    ident = ""
    for row in config.splitlines():
        if row.strip().startswith("menuentry "):
            ident = row.rsplit("'", 2)[1]
        elif row.strip().startswith("linux\t"):
            found[ident] = row.split(None, 2)[2]
    return found


@pytest.fixture
def hard(host: Host) -> Host:
    """A host whose stock line has every kind of quotes."""
    host.write("etc/default/grub.d/50-hard.cfg", _SETTINGS)
    host.update_grub()
    return host


def test_a_line_with_quotes_is_tried_and_a_change_of_it_is_told(hard: Host) -> None:
    hard.done("apply")
    raw = _raw_lines(hard.config)
    entry = entries_of(hard)[RELEASE]
    stock = grub_script.passed(raw[f"gnulinux-{RELEASE}-advanced-0a1b-2c3d"])
    assert "memmap=4G$4G" in stock and '"dyndbg=file drivers/usb/core/hub.c +p"' in stock
    plan = " ".join(plan_of(hard, RELEASE))
    expected = stock.replace(" isolcpus=3 -- single", f" {plan} -- single")
    assert grub_script.passed(raw[entry]) == expected
    hard.done("trial")
    line = grub_script.passed(raw[f"{entry}-trial"])
    hard.boot_line(f"/boot/vmlinuz-{RELEASE} {line.replace('+p', '+pf')}", "boot-1")
    assert "'dyndbg=file drivers/usb/core/hub.c +p' differs" in hard.done("boot", "record")
    (note,) = [note for note in hard.status()["notes"] if "does not count" in note]
    assert "hub.c +p' differs" in note
    hard.done("trial")
    hard.boot_line(f"/boot/vmlinuz-{RELEASE} {line}", "boot-2")
    hard.chroot("grub-editenv", "/boot/grub/grubenv", "unset", "next_entry")
    assert "came up" in hard.done("boot", "record")
    hard.done("promote")
    assert hard.status()["state"] == "promoted"

    # Every word of every entry, and one more.
    good = hard.config
    before, mark, ours = good.partition("### BEGIN /etc/grub.d/99_lowlat ###")
    idents = re.findall(r"'(lowlat-[^']*)'", ours)
    assert len(idents) == 5
    longest = max(len(line.split()) for line in _raw_lines(mark + ours).values())
    for at in range(longest + 1):
        hard.write("boot/grub/grub.cfg", before + mark + re.sub("\tlinux\t.*", _edit(at), ours))
        status = hard.status()
        told = {note.partition(":")[0] for note in status["notes"] if "somebody changed it" in note}
        changed = [
            ident for ident in idents if _raw_lines(hard.config)[ident] != _raw_lines(good)[ident]
        ]
        assert told == set(changed) and changed
        if entry in changed:
            assert status["state"] == "applied"
            assert not any(kernel["tried"] for kernel in status["kernels"])
    said = hard.done("status")
    assert f"{entry} (tuned, changed since lowlat wrote it, Linux {RELEASE})" in said
    for verb in ("trial", "promote"):
        assert "('lowlat-gen apply' writes it again)" in refusal(hard, verb)
    assert "unchanged" not in hard.done("apply")
    assert hard.config == good and hard.status()["state"] == "promoted"

    # The initramfs of each entry, and a file of lowlat's.
    missing = before + mark + ours.replace("\tinitrd\t/boot/", "\tinitrd\t/boot/no-")
    hard.write("boot/grub/grub.cfg", missing)
    assert len([note for note in hard.status()["notes"] if "somebody changed it" in note]) == 5
    assert "unchanged" not in hard.done("apply") and hard.config == good
    (hard.path / "etc/grub.d/99_lowlat").unlink()
    assert "/etc/grub.d/99_lowlat is gone: 'lowlat-gen apply' writes it again" in str(hard.status())
    assert "unchanged" not in hard.done("apply") and hard.config == good
    assert "unchanged" in hard.done("apply")


def test_entries_of_others_for_the_same_kernel_change_nothing(host: Host) -> None:
    first = host.done("apply", "--dry-run")
    for script in ("09_own", "42_own"):
        host.write(f"etc/grub.d/{script}", _OWN.format(release=RELEASE, older=OLDER))
        (host.path / f"etc/grub.d/{script}").chmod(0o755)
    host.update_grub()
    assert host.done("apply", "--dry-run") == first and "note" not in first
    assert "note" not in host.done("apply")
    for release in (RELEASE, OLDER):
        tuned = _raw_lines(host.config)[entries_of(host)[release]].split()
        assert "root=/dev/vda1" in tuned and tuned[-1] == plan_of(host, release)[-1]


def _edit(at: int) -> Callable[[re.Match[str]], str]:
    """Another word in place of one of a linux line, or at its end."""

    def edited(row: re.Match[str]) -> str:
        words = row[0].split(" ")
        words[at + 1 : at + 2] = [f"other{at}"] if at + 1 < len(words) else []
        return " ".join(words if words != row[0].split(" ") else [*words, "added"])

    return edited
