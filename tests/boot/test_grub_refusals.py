# SPDX-License-Identifier: GPL-2.0-or-later
"""Refusals on the road of GRUB: each names its cause, and ends once its hint is followed."""

from __future__ import annotations

import pytest

from support.hosttree import NEEDS, STOCK, Host, apply_and_try, refusal

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

_BLOCK = "/boot/grub/grubenv"


def _follow(host: Host, line: str) -> None:
    """Run the command in brackets at the end of a refusal."""
    command = line.rstrip().partition(" (")[2][:-1].partition(", then set")[0]
    answer = host.chroot("sh", "-c", command)
    assert answer.status == 0, (command, answer)


#: What a person or a program did, and the cause that the refusal names.
_DAMAGE = (
    (f"mv {_BLOCK} /boot/kept && ln -s ../kept {_BLOCK}", "is a link to ../kept"),
    (f"rm {_BLOCK} && ln -s ../gone {_BLOCK}", "is a link to ../gone"),
    (f"rm {_BLOCK}", "there is no such file"),
    (f"truncate -s 512 {_BLOCK}", "is no environment block: it has 512 bytes, not 1024"),
    (f"tr G g <{_BLOCK} >/tmp/b; cp /tmp/b {_BLOCK}", "it has another head"),
    ("cd /boot && mv grub/grub.cfg . && ln -s ../grub.cfg grub", "grub.cfg is a link"),
    ("chmod -x /etc/grub.d/10_linux", "10_linux is not executable"),
    (
        "cd /etc/grub.d && mkdir proxifiedScripts && mv 10_linux proxifiedScripts/linux",
        "10_linux was moved away by another program",
    ),
    ("cd /etc/grub.d && mv 10_linux 10_linux.dpkg-old && chmod -x 10_*", "was moved away"),
)


def test_what_grub_or_its_generator_could_not_use(host: Host) -> None:
    host.done("apply")
    for damage, cause in _DAMAGE:
        assert host.chroot("sh", "-c", damage).status == 0
        line = refusal(host, "trial")
        assert cause in line
        _follow(host, line)
        host.done("trial", "--dry-run")
    for answer, name in (("diskfilter mdraid1x", "RAID"), ("lvm", "LVM"), ("luks2", "luks")):
        host.write("etc/probe/abstraction", f"{answer}\n")
        assert f"for it lies on {name} ('lowlat-gen trial --kexec'" in refusal(host, "trial")
    (host.path / "etc/probe/abstraction").unlink()
    full = ("grub-editenv", _BLOCK, "set", f"filler={'x' * 900}")
    assert host.chroot(*full).status == 0
    line = refusal(host, "trial")
    assert f"'grub-editenv {_BLOCK} list' shows what fills it" in line
    assert "filler=x" in host.chroot("grub-editenv", _BLOCK, "list").out
    host.chroot("grub-editenv", _BLOCK, "unset", "filler")
    host.done("trial")


@pytest.mark.proof
def test_a_default_that_others_set(host: Host) -> None:
    """The drop-in that sorts last wins over lowlat's; the generator of GRUB itself and of openSUSE
    reads none. All hosts of the tests share /usr."""
    with (host.path / "etc/grub.d/40_custom").open("a") as custom:
        custom.write("menuentry 'Windows' --id osprober-efi-1234 {\n\tchainloader /EFI/w.efi\n}\n")
    host.write("etc/default/grub.d/zzz-site.cfg", "GRUB_DEFAULT=osprober-efi-1234\n")
    host.update_grub()
    entry = apply_and_try(host)
    assert "the default stays osprober-efi-1234\n" in host.done("apply")
    line = refusal(host, "promote")
    assert "(take GRUB_DEFAULT out of /etc/default/grub.d/zzz-site.cfg)" in line
    host.write("etc/default/grub.d/zzz-site.cfg", "")
    own, text = "/usr/local/sbin/grub-mkconfig", host.read("etc/default/grub")
    script = f"mkdir -p {own[:15]} && sed 's:default/grub.d:default/none:' /usr/sbin/grub-mkconfig"
    assert host.chroot("sh", "-c", f"{script} >{own} && chmod 755 {own}").status == 0
    try:
        line = refusal(host, "promote")
        name = f"GRUB_DEFAULT='lowlat>{entry}'"
        assert f"(set {name} in /etc/default/grub, then promote again)" in line
        host.write("etc/default/grub", text.replace("GRUB_DEFAULT=0", name))
        host.done("promote")
        assert host.status()["default"]["entry"] == entry and host.status()["state"] == "promoted"
    finally:
        host.chroot("rm", own)
    host.write("etc/default/grub", text)
    host.done("promote")
    host.done("rollback")
    assert host.status()["default"]["entry"] == STOCK
