# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot entries that are files: those of GRUB on a tree like Fedora's, and those of systemd-boot on
a tree like Debian's. Both trees follow the distributions' documentation; no such system was
available. bootctl is a stand-in; GRUB's environment block is kept by GRUB's own grub-editenv."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from lowlat.base.process import find
from support import debs, grub_script, needs
from support.hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    REPOSITORY,
    Host,
    Namespace,
    bare,
    entries_of,
    make,
    once,
    refusal,
    set_variable,
)
from support.unified_images import image
from support.waits import GUARD_S

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

ID = "6fd2e6bb2a8b4b6b9a35d2f0a9f9a0b1"

_GRUB_CFG = """set have_grubenv=true
load_env -f ${config_directory}/grubenv
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="${saved_entry}"
fi
set tuned_params="nohz=on skew_tick=0"
set tuned_initrd=""
insmod blscfg
blscfg
"""


def snippet(release: str, options: str, extra: str = "") -> str:
    return (
        f"title Distribution ({release})\nversion {release}\nlinux /vmlinuz-{release}\n"
        f"initrd /initrd.img-{release} $tuned_initrd\noptions {options}\n{extra}"
    )


@pytest.fixture
def fedora(tmp_path: Path, namespace: Namespace) -> Host:
    return make_fedora(tmp_path / "host", namespace)


def make_fedora(path: Path, namespace: Namespace) -> Host:
    folder = "boot/loader/entries"
    options = "root=UUID=1 ro rhgb quiet $tuned_params"
    users = "grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class fedora\n"
    rescue = f"0-rescue-{ID}"
    files = {
        "boot/grub2/grub.cfg": _GRUB_CFG,
        "etc/default/grub": "GRUB_ENABLE_BLSCFG=true\nGRUB_DEFAULT=saved\n",
        f"{folder}/{ID}-{RELEASE}.conf": snippet(RELEASE, options, users),
        f"{folder}/{ID}-{OLDER}.conf": snippet(OLDER, "$kernelopts $tuned_params", users),
        f"{folder}/{ID}-0-rescue.conf": snippet(rescue, options, users),
        f"boot/vmlinuz-{rescue}": "image\n",
    }
    host = bare(path, namespace, files)
    editenv = ("grub2-editenv", "/boot/grub2/grubenv")
    assert host.chroot(*editenv, "create").status == 0
    assert host.chroot(*editenv, "set", "kernelopts=root=UUID=1 ro rhgb quiet").status == 0
    return host


@pytest.fixture
def debian(tmp_path: Path, namespace: Namespace) -> Host:
    return make_debian(tmp_path / "host", namespace)


def make_debian(path: Path, namespace: Namespace) -> Host:
    folder = "boot/efi/loader/entries"
    files = {
        "boot/efi/loader/loader.conf": "timeout 3\ndefault debian-*\n",
        "sys/firmware/efi/efivars/SecureBoot-x": "\x06",
        f"{folder}/debian-{RELEASE}.conf": snippet(RELEASE, "root=UUID=1 ro", "sort-key debian\n"),
        f"{folder}/debian-{OLDER}+3.conf": snippet(OLDER, "root=UUID=1 ro", "sort-key debian\n"),
    }
    host = bare(path, namespace, files)
    set_variable(host, "LoaderInfo", "systemd-boot 257.9-1")
    return host


def parse(host: Host, folder: str) -> dict[str, Mapping[str, list[str]]]:
    """Entry files by name, parsed by the Boot Loader Specification without lowlat's code."""
    found: dict[str, Mapping[str, list[str]]] = {}
    for path in sorted((host.path / folder).glob("*.conf")):
        keys: dict[str, list[str]] = {}
        for row in path.read_text().splitlines():
            if row.strip() and not row.startswith("#"):
                key, _, value = row.partition(" ")
                keys.setdefault(key, []).append(value)
        found[path.name] = keys
    return found


def environment(host: Host) -> dict[str, str]:
    listed = host.chroot("grub2-editenv", "/boot/grub2/grubenv", "list")
    return dict(row.split("=", 1) for row in listed.out.splitlines())


FEDORA = "boot/loader/entries"
DEBIAN = "boot/efi/loader/entries"


def boot_entry(host: Host, folder: str, entry: str, boot_id: str) -> None:
    keys = parse(host, folder)[f"{entry}.conf"]
    host.boot_line(f"{keys['linux'][0]} {keys['options'][0]}", boot_id)


@once
def try_entry(host: Host, folder: str) -> str:
    """Apply, boot the trial and record it; returns the id of the tried entry."""
    host.done("apply")
    host.done("trial")
    trial = str(host.status()["next"]["entry"])
    boot_entry(host, folder, trial, "boot-1")
    host.done("boot", "record")
    return trial.replace("-trial", "")


# -------------------------------------------------------- GRUB's entry files


def test_an_entry_that_is_gone_is_told_and_written_again(fedora: Host) -> None:
    try_entry(fedora, FEDORA)
    fedora.done("promote")
    whole, notes = fedora.snapshot(), fedora.status()["notes"]
    entry = entries_of(fedora)[OLDER].rpartition("-")[0]
    for pattern in (f"*{RELEASE}-*-trial.conf", f"*~{entry.partition('~')[2]}-*.conf"):
        for path in (fedora.path / FEDORA).glob(pattern):
            path.unlink()
        told = set(fedora.status()["notes"]) - set(notes)
        assert len(told) == 1 and told.pop().endswith("is gone: 'lowlat-gen apply' writes it again")
        fedora.done("apply")
        assert fedora.snapshot() == whole


def test_any_edit_of_an_entry_is_told(fedora: Host) -> None:
    try_entry(fedora, FEDORA)
    fedora.done("promote")
    entry = fedora.path / FEDORA / f"{entries_of(fedora)[RELEASE]}.conf"
    text = entry.read_text()
    for old, new in (
        ("grub_arg --unrestricted\n", ""),
        ("linux ", "linuz "),
        ("title ", "title x"),
    ):
        entry.write_text(text.replace(old, new))
        assert fedora.status()["state"] != "promoted", old
        entry.write_text(text)
    assert fedora.status()["state"] == "promoted"


def test_ours_lie_beside_the_stock_ones_without_a_variable(fedora: Host) -> None:
    before = {name: (fedora.path / FEDORA / name).read_bytes() for name in parse(fedora, FEDORA)}
    assert "skew_tick=0" in fedora.done("apply")
    after = parse(fedora, FEDORA)
    for name, content in before.items():
        assert (fedora.path / FEDORA / name).read_bytes() == content
    ours = {name: keys for name, keys in after.items() if "lowlat" in name}
    assert len(ours) == 4 and all(name.startswith(f"{ID}~lowlat-") for name in ours)
    for keys in ours.values():
        [options] = keys["options"]
        words = options.split()
        assert words[:4] == ["root=UUID=1", "ro", "rhgb", "quiet"] and "nohz=on" in words
        assert [word for word in words if word.startswith("skew_tick")] == ["skew_tick=1"]
        assert "$" not in options + " ".join(keys["initrd"])
        assert keys["version"][0] in (RELEASE, OLDER) and keys["grub_class"] == ["fedora"]


def newest_first(names: list[str]) -> list[str]:
    """GRUB sorts entries like package names: by name, version and release."""

    def compare(one: str, other: str) -> int:
        for parts in zip(one.rsplit("-", 2), other.rsplit("-", 2)):
            call = "rpm.vercmp({})".format(", ".join(f"'{part}'" for part in parts))
            asked = ["rpm", "--eval", f"%{{lua: print({call})}}"]
            said = subprocess.run(
                asked, capture_output=True, text=True, check=True, timeout=GUARD_S
            )
            if int(said.stdout):
                return int(said.stdout)
        return 0

    return sorted(names, key=functools.cmp_to_key(compare), reverse=True)


@needs.program("rpm", "packaging/install-dependencies package")
def test_ours_come_last_in_grubs_menu(fedora: Host) -> None:
    """Tuned entries also follow the rescue entry, so the number of every other entry stays the
    same."""
    for release in ("6.11.4-301.fc41.x86_64", "6.12.4-200.fc41.x86_64"):
        more = fedora.read(f"boot/config-{RELEASE}")
        fedora.write(f"boot/config-{release}", more)
        fedora.write(f"boot/vmlinuz-{release}", "image\n")
        fedora.write(f"{FEDORA}/{ID}-{release}.conf", snippet(release, "root=UUID=1 ro"))
    before = newest_first([name[: -len(".conf")] for name in parse(fedora, FEDORA)])
    fedora.done("apply")
    after = newest_first([name[: -len(".conf")] for name in parse(fedora, FEDORA)])
    assert after[: len(before)] == before
    assert len(after) == len(before) + 8 and all("lowlat" in name for name in after[len(before) :])


def test_the_default_is_pinned_by_its_id_and_unpinned(fedora: Host) -> None:
    before = fedora.snapshot()
    default = fedora.status()["default"]
    # GRUB splits a name at its last two hyphens, of which a Debian release has more.
    assert default["entry"] == f"{ID}-{OLDER}"
    fedora.done_as_foreseen("apply")
    assert environment(fedora)["saved_entry"] == f"{ID}-{OLDER}"
    assert fedora.status()["default"] == default
    fedora.done_as_foreseen("rollback")
    assert fedora.snapshot() == before


def test_an_environment_block_that_was_not_there_goes_again(fedora: Host) -> None:
    (fedora.path / "boot/grub2/grubenv").unlink()
    path = fedora.path / FEDORA
    for each in path.glob("*.conf"):  # RHEL 8 keeps words of the line in the block
        each.write_text(each.read_text().replace("$kernelopts", "root=UUID=1 ro"))
    before = fedora.snapshot()
    fedora.done_as_foreseen("apply")
    assert (fedora.path / "boot/grub2/grubenv").exists()
    fedora.done_as_foreseen("rollback")
    assert fedora.snapshot() == before


def test_a_trial_then_promote_then_back(fedora: Host) -> None:
    fedora.chroot("grub2-editenv", "/boot/grub2/grubenv", "set", f"saved_entry={ID}-{OLDER}")
    before = fedora.snapshot()
    fedora.done("apply")
    assert fedora.status()["default"]["entry"] == f"{ID}-{OLDER}"
    fedora.done("trial")
    entry = entries_of(fedora)[RELEASE]
    assert environment(fedora)["next_entry"] == f"{entry}-trial"
    boot_entry(fedora, FEDORA, f"{entry}-trial", "boot-1")
    fedora.chroot("grub2-editenv", "/boot/grub2/grubenv", "unset", "next_entry")
    fedora.done("boot", "start")
    fedora.done("boot", "record")
    fedora.done("promote")
    assert environment(fedora)["saved_entry"] == entry
    assert fedora.status()["state"] == "promoted"
    fedora.done_as_foreseen("rollback")
    assert fedora.snapshot() == before


@pytest.mark.parametrize(("kind", "folder"), [("fedora", FEDORA), ("debian", DEBIAN)])
def test_a_line_with_quotes_is_tried_and_a_change_of_it_is_told(
    request: pytest.FixtureRequest, kind: str, folder: str
) -> None:
    host: Host = request.getfixturevalue(kind)
    path = next((host.path / folder).glob(f"*-{RELEASE}.conf"))
    quoted = "dyndbg='file hub.c +p'" if kind == "fedora" else 'dyndbg="file hub.c +p"'
    path.write_text(path.read_text().replace("UUID=1 ro", f"UUID=1 ro {quoted}"))
    host.done("apply")
    host.done("trial")
    entry = entries_of(host)[RELEASE]
    line = parse(host, folder)[f"{entry}-trial.conf"]["options"][0]
    line = grub_script.passed(line) if kind == "fedora" else line
    host.boot_line(f"/vmlinuz-{RELEASE} {line}", "boot-1")
    assert "came up" in host.done("boot", "record")
    host.done("promote")
    good = {each: each.read_text() for each in (host.path / folder).glob("*lowlat-*.conf")}
    longest = max(len(keys["options"][0].split()) for keys in parse(host, folder).values())
    for at in range(1, longest + 1):
        for each, text in good.items():
            rows = text.splitlines(keepends=True)
            words = rows[-1].split()
            words[at : at + 1] = ["other=1"]
            each.write_text("".join((*rows[:-1], " ".join(words) + "\n")))
        status = host.status()
        told = {note.partition(":")[0] for note in status["notes"] if "somebody changed it" in note}
        assert told == {each.stem for each in good}
        assert not any(kernel["tried"] for kernel in status["kernels"])
        assert status["state"] != "promoted"
    host.done("apply")
    assert good == {each: each.read_text() for each in good}
    assert host.status()["state"] == "promoted"


def test_a_trial_replaces_no_entry_that_somebody_armed(fedora: Host) -> None:
    edit = ("grub2-editenv", "/boot/grub2/grubenv")
    fedora.chroot(*edit, "set", f"next_entry={ID}-{OLDER}")
    fedora.done("apply")
    why = refusal(fedora, "trial")
    assert f"{ID}-{OLDER} is set to boot next, once, and not by lowlat" in why
    assert "cancel it: grub-editenv /boot/grub2/grubenv unset next_entry)" in why
    fedora.chroot(*edit, "unset", "next_entry")
    fedora.done("trial")
    fedora.done("trial")


def test_promote_is_refused_without_room_for_the_default(fedora: Host) -> None:
    """In the dry run too, and nothing is recorded."""
    fedora.done("apply")
    fedora.done("trial")
    entry = entries_of(fedora)[RELEASE]
    boot_entry(fedora, FEDORA, f"{entry}-trial", "boot-1")
    fedora.done("boot", "record")
    edit = ("grub2-editenv", "/boot/grub2/grubenv")
    fedora.chroot(*edit, "unset", "next_entry")
    used = len(fedora.read("boot/grub2/grubenv").rstrip("#"))
    old, new = f"saved_entry={environment(fedora)['saved_entry']}\n", f"saved_entry={entry}\n"
    room = 1024 - used + len(old) - len(new) - len("filler=\n")
    for length, fits in ((room + 1, False), (room, True)):
        assert fedora.chroot(*edit, "set", f"filler={'x' * length}").status == 0
        if not fits:
            why = refusal(fedora, "promote")
            assert f"it has no room for saved_entry={entry} (" in why
            assert fedora.lowlat("promote", "--dry-run").refused() == why
    fedora.done_as_foreseen("promote")


def test_what_somebody_made_the_default_since_stays(fedora: Host) -> None:
    fedora.done("apply")
    fedora.chroot("grub2-editenv", "/boot/grub2/grubenv", "set", f"saved_entry={ID}-{RELEASE}")
    fedora.done("rollback")
    assert environment(fedora)["saved_entry"] == f"{ID}-{RELEASE}"


def test_applying_anew_takes_the_promotion_back_with_the_line(fedora: Host) -> None:
    fedora.done("apply")
    fedora.done("trial")
    entry = entries_of(fedora)[RELEASE]
    boot_entry(fedora, FEDORA, f"{entry}-trial", "boot-1")
    fedora.done("boot", "record")
    fedora.done("promote")
    fedora.done("apply")
    assert fedora.status()["default"]["entry"] == entry
    fedora.done_as_foreseen("apply", "--isolate", "3")
    assert fedora.status()["default"] == {
        "entry": f"{ID}-{RELEASE}",
        "kernel": RELEASE,
        "ours": False,
    }
    assert not (fedora.path / FEDORA / f"{entry}.conf").exists()


def test_kernels_come_and_go_through_the_plugin(fedora: Host) -> None:
    fedora.done("apply")
    default = fedora.status()["default"]
    plugin = "/etc/kernel/install.d/95-lowlat.install"
    release = "6.13.1-new"
    fedora.write(f"boot/vmlinuz-{release}", "image\n")
    fedora.write(f"boot/config-{release}", fedora.read(f"boot/config-{RELEASE}"))
    fedora.write(f"{FEDORA}/{ID}-{release}.conf", snippet(release, "root=UUID=1 ro"))
    answer = fedora.chroot(plugin, "add", release, "/x", "/boot/vmlinuz")
    assert (answer.status, answer.err) == (0, "")
    assert set(entries_of(fedora)) == {release, RELEASE, OLDER}
    assert fedora.status()["default"] == default
    (fedora.path / FEDORA / f"{ID}-{OLDER}.conf").unlink()
    assert fedora.chroot(plugin, "remove", OLDER, "/x").status == 0
    assert set(entries_of(fedora)) == {release, RELEASE}
    assert fedora.chroot(plugin, "inspect").status == 0


def test_where_the_first_entry_is_the_default_it_stays_so(fedora: Host) -> None:
    fedora.done("apply")
    release = "9.1-1"  # the first in GRUB's order
    fedora.write(f"boot/vmlinuz-{release}", "image\n")
    fedora.write(f"boot/config-{release}", fedora.read(f"boot/config-{RELEASE}"))
    fedora.write(f"{FEDORA}/9-{release}.conf", snippet(release, "root=UUID=1 ro"))
    plugin = "/etc/kernel/install.d/95-lowlat.install"
    assert fedora.chroot(plugin, "add", release, "/x", "/boot/vmlinuz").status == 0
    assert fedora.status()["default"]["entry"] == f"9-{release}"
    (fedora.path / FEDORA / f"9-{release}.conf").rename(fedora.path / FEDORA / "99-again.conf")
    assert fedora.chroot(plugin, "add", release, "/x", "/boot/vmlinuz").status == 0
    assert fedora.status()["default"]["entry"] == "99-again"
    fedora.done("rollback")
    assert "saved_entry" not in environment(fedora)
    # What somebody saved is kept.
    saved = f"{ID}-{OLDER}"
    fedora.chroot("grub2-editenv", "/boot/grub2/grubenv", "set", f"saved_entry={saved}")
    fedora.done("apply")
    assert fedora.chroot(plugin, "add", release, "/x", "/boot/vmlinuz").status == 0
    assert fedora.status()["default"]["entry"] == saved


def test_the_fallback_of_a_promoted_entry_stays_when_a_kernel_comes(fedora: Host) -> None:
    """It is the same kernel's stock entry, also where no default was set before."""
    tried = try_entry(fedora, FEDORA)
    release = fedora.status()["kernels"][0]["kernel"]
    fedora.done("promote")
    stock = f"{ID}-{release}"
    path = fedora.path / FEDORA / f"{stock}.conf"
    path.write_text(re.sub(r"(?m)^options.*", r"\g<0> quiet", path.read_text()))
    said = fedora.lowlat("boot", "kernel")  # the line changed: the promoted entry goes
    assert said.status == 0 and "was promoted and is gone" in said.err
    assert not (fedora.path / FEDORA / f"{tried}.conf").exists()
    assert fedora.status()["default"]["entry"] == stock
    fedora.write("boot/vmlinuz-9.1-1", "image\n")
    fedora.write("boot/config-9.1-1", fedora.read(f"boot/config-{RELEASE}"))
    fedora.write(f"{FEDORA}/9-9.1-1.conf", snippet("9.1-1", "root=UUID=1 ro"))
    fedora.done("boot", "kernel")
    assert fedora.status()["default"]["entry"] == stock


def new_kernel(host: Host, folder: str, token: str) -> str:
    """Install a kernel as a package does; returns the kernel-install call that follows."""
    release = "6.13.1-new"
    host.write(f"boot/vmlinuz-{release}", "image\n")
    host.write(f"boot/config-{release}", host.read(f"boot/config-{RELEASE}"))
    more = "sort-key debian\n" if folder == DEBIAN else ""
    host.write(f"{folder}/{token}-{release}.conf", snippet(release, "root=UUID=1 ro", more))
    plugin = ("/etc/kernel/install.d/95-lowlat.install", "add", release, "/x", "/boot/vmlinuz")
    assert host.chroot(*plugin).status == 0
    return release


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("kind", ["fedora", "debian"])
def test_an_untried_kernel_is_default_only_where_kernels_are_followed(
    request: pytest.FixtureRequest, kind: str, follow: bool
) -> None:
    host = request.getfixturevalue(kind)
    folder, token = (FEDORA, ID) if kind == "fedora" else (DEBIAN, "debian")
    before = host.status()["default"]
    tried = try_entry(host, folder)
    host.done("promote", *(["--follow-kernels"] if follow else []))
    release = new_kernel(host, folder, token)
    expected = entries_of(host)[release] if follow else tried
    assert host.status()["default"]["entry"] == expected
    host.done("rollback")
    assert host.status()["default"]["ours"] is False
    assert host.status()["default"]["entry"] in (before["entry"], f"{token}-{release}")


def test_a_plugin_of_the_package_is_used_as_it_is(
    fedora: Host,
) -> None:
    """The packaged plugin exists before any apply, and does nothing until then."""
    template = REPOSITORY / "templates/kernel-install/95-lowlat.install"
    plugin = fedora.path / "usr/lib/kernel/install.d/95-lowlat.install"
    before = fedora.snapshot()
    fedora.namespace.must("install", "-D", "-m", "755", template, plugin)
    try:
        called = fedora.chroot("/usr/lib/kernel/install.d/95-lowlat.install", "add", RELEASE, "/x")
        assert (called.status, called.out, called.err) == (0, "", "")
        assert fedora.snapshot() == before
        fedora.done("apply")
        assert not (fedora.path / "etc/kernel").exists()
        (fedora.path / FEDORA / f"{ID}-{OLDER}.conf").unlink()
        called = fedora.chroot("/usr/lib/kernel/install.d/95-lowlat.install", "remove", OLDER, "/x")
        assert (called.status, called.err) == (0, "")
        assert set(entries_of(fedora)) == {RELEASE}
    finally:
        fedora.namespace.must("rm", plugin)


def test_the_plugin_without_a_decision_does_nothing(fedora: Host) -> None:
    fedora.done("apply")
    fedora.done("rollback")
    before = fedora.snapshot()
    fedora.done("boot", "kernel")
    assert fedora.snapshot() == before


WINDOWS = "Windows Boot Manager (on /dev/nvme0n1p1)"
_WINDOWS = f"menuentry '{WINDOWS}' --id osprober-efi-1A2B {{\n\tchainloader /bootmgfw.efi\n}}\n"


@pytest.mark.parametrize(
    ("value", "first", "kept"),
    [
        (WINDOWS, False, WINDOWS),
        ("osprober-efi-1A2B", False, "osprober-efi-1A2B"),
        ("3", False, "osprober-efi-1A2B"),
        ("0", True, "osprober-efi-1A2B"),
    ],
)
def test_another_system_stays_the_default(value: str, first: bool, kept: str, fedora: Host) -> None:
    """A number counts lowlat's entries too, so the entry's id takes its place."""
    parts = (_WINDOWS, _GRUB_CFG) if first else (_GRUB_CFG, _WINDOWS)
    fedora.write("boot/grub2/grub.cfg", "".join(parts))
    fedora.chroot("grub2-editenv", "/boot/grub2/grubenv", "set", f"saved_entry={value}")
    before = fedora.snapshot()
    assert f"default   {kept}" in fedora.done("status")
    assert f"the default stays {kept}" in fedora.done_as_foreseen("apply")
    assert environment(fedora)["saved_entry"] == kept
    assert f"default   {kept}" in fedora.done("status")
    fedora.done_as_foreseen("rollback")
    assert fedora.snapshot() == before


def test_an_entry_that_systemd_boot_makes_itself_stays_the_default(debian: Host) -> None:
    debian.write("boot/efi/loader/loader.conf", "default auto-windows\n")
    assert "default   auto-windows (another system's" in debian.done("status")
    assert "the default stays auto-windows" in debian.done_as_foreseen("apply")
    assert "the one after it is auto-windows again" in debian.done("trial")


def test_a_custom_cfg_that_sets_the_default_is_refused(fedora: Host) -> None:
    custom = "if [ -f ${config_directory}/custom.cfg ]; then source custom.cfg; fi\n"
    fedora.write("boot/grub2/grub.cfg", f"{_GRUB_CFG}{custom}")
    fedora.write("boot/grub2/custom.cfg", "menuentry 'a' {\n\tset default=b\n}\n")
    fedora.done("apply")
    fedora.write("boot/grub2/custom.cfg", "set default='a'\n")
    for verb in ("apply", "trial"):
        why = fedora.lowlat(verb).refused()
        assert why.startswith("/boot/grub2/custom.cfg sets the default after grub.cfg did")
    fedora.done("rollback")


@pytest.mark.parametrize(
    "rows",
    [
        "set extra=one\nset extra=two\n",
        "probe --set=extra -u $root\n",
        "source $prefix/mine.cfg\n",
        ". ${config_directory}/mine.cfg\n",
        "load_env -f (hd0,gpt1)/my.env\n",
    ],
)
def test_a_word_that_is_not_known_is_never_left_out(rows: str, fedora: Host) -> None:
    config = fedora.read("boot/grub2/grub.cfg")
    fedora.write("boot/grub2/grub.cfg", f"{config}{rows}")
    for path in (fedora.path / FEDORA).glob("*.conf"):
        path.write_text(re.sub(r"(?m)^options.*", r"\g<0> $extra", path.read_text()))
    before = fedora.snapshot()
    refused = [fedora.lowlat("apply", *words).refused() for words in (("--dry-run",), ())]
    assert refused[0] == refused[1] and "what $extra stands for is not known" in refused[1]
    assert fedora.snapshot() == before
    # What the distributions' own scripts read.
    known = 'load_env -f "${env_block}"\nload_env -f ${config_directory}/grubenv\n'
    known += "if [ -f $prefix/custom.cfg ]; then\n  source $prefix/custom.cfg;\nfi\n"
    fedora.write("boot/grub2/grub.cfg", f"{config}{known}set extra=quiet\n")
    for path in (fedora.path / FEDORA).glob("*.conf"):
        path.write_text(path.read_text().replace(" $extra", " $extra $nowhere"))
    fedora.done("apply")
    assert "nowhere" not in fedora.read(
        f"{FEDORA}/{next(n for n in parse(fedora, FEDORA) if 'low' in n)}"
    )
    lines = [keys["options"][0] for name, keys in parse(fedora, FEDORA).items() if "low" in name]
    assert lines and all("quiet" in line.split() for line in lines)


def test_a_configuration_that_boots_no_saved_entry_is_refused(fedora: Host) -> None:
    fedora.write("boot/grub2/grub.cfg", _GRUB_CFG.replace("${saved_entry}", "0"))
    before = fedora.snapshot()
    assert "GRUB_DEFAULT=saved" in fedora.lowlat("apply").refused()
    assert fedora.snapshot() == before


def test_an_entry_that_cannot_be_written_leaves_none(fedora: Host) -> None:
    folder = fedora.path / FEDORA
    fedora.namespace.must("cp", "-a", folder, "/dev/shm/lowlat-entries")
    fedora.mount("-t", "tmpfs", "-o", "size=24k,mode=755", "none", folder)
    fedora.namespace.must("cp", "-a", "/dev/shm/lowlat-entries/.", folder)
    fedora.namespace.must("rm", "-r", "/dev/shm/lowlat-entries")
    before = fedora.inner()
    assert "No space left" in fedora.lowlat("apply").refused()
    assert fedora.inner() == before


# ------------------------------------------------------------- systemd-boot


def test_a_trial_replaces_no_boot_into_the_setup(debian: Host) -> None:
    set_variable(debian, "LoaderEntryOneShot", "auto-reboot-to-firmware-setup")
    debian.done("apply")
    why = refusal(debian, "trial")
    assert "auto-reboot-to-firmware-setup is set to boot next, once" in why
    assert debian.lowlat("trial", "--dry-run").refused() == why
    assert "cancel it: bootctl set-oneshot '')" in why
    debian.chroot("bootctl", "set-oneshot", "")
    debian.done("trial")
    debian.done("trial")


def test_systemd_boot_from_apply_to_rollback(debian: Host) -> None:
    before = debian.snapshot()
    default = debian.status()["default"]
    assert default["entry"] == f"debian-{RELEASE}"
    debian.done_as_foreseen("apply")
    ours = {name: keys for name, keys in parse(debian, DEBIAN).items() if "lowlat" in name}
    assert len(ours) == 4 and {keys["sort-key"][0] for keys in ours.values()} == {"zz-lowlat"}
    assert debian.status()["default"] == default
    debian.done("trial")
    entry = entries_of(debian)[RELEASE]
    assert debian.status()["next"]["entry"] == f"{entry}-trial"
    boot_entry(debian, DEBIAN, f"{entry}-trial", "boot-1")
    for variable in (debian.path / "sys/firmware/efi/efivars").glob("LoaderEntryOneShot-*"):
        variable.unlink()
    debian.done("boot", "record")
    assert debian.status()["next"] is None
    debian.done("promote")
    assert debian.status()["default"] == {"entry": entry, "kernel": RELEASE, "ours": True}
    debian.done_as_foreseen("rollback")
    assert debian.snapshot() == before
    assert debian.status()["default"] == default
    assert not list((debian.path / "sys/firmware/efi/efivars").glob("LoaderEntry*"))


def make_images(path: Path, namespace: Namespace) -> Host:
    """systemd-boot with a unified image for each kernel, of which the first is on its third try."""
    folder = "boot/efi/EFI/Linux"
    files = {
        "boot/efi/loader/loader.conf": "timeout 3\n",
        "sys/firmware/efi/efivars/SecureBoot-x": "\x06",
    }
    host = bare(path, namespace, files)
    (host.path / folder).mkdir(parents=True)
    (host.path / folder / f"debian-{RELEASE}+3.efi").write_bytes(image(RELEASE))
    (host.path / folder / f"debian-{OLDER}.efi").write_bytes(image(OLDER))
    (host.path / DEBIAN).mkdir()
    set_variable(host, "LoaderInfo", "systemd-boot 257.13-1")
    host.boot_line(f"/vmlinuz-{RELEASE} root=UUID=1 ro", "boot-0")
    return host


def test_unified_images_from_apply_to_rollback(tmp_path: Path, namespace: Namespace) -> None:
    host = make_images(tmp_path / "host", namespace)
    before = host.snapshot()
    default = host.status()["default"]
    assert default["entry"] == f"debian-{RELEASE}.efi"
    host.done("apply")
    ours = parse(host, DEBIAN)
    assert len(ours) == 4
    for keys in ours.values():
        assert keys["efi"][0].startswith("/EFI/Linux/debian-") and "linux" not in keys
        assert "root=UUID=1" in keys["options"][0].split()
    assert host.status()["default"] == default
    host.done("trial")
    entry = entries_of(host)[RELEASE]
    assert host.status()["next"]["entry"] == f"{entry}-trial"
    options = ours[f"{entry}-trial.conf"]["options"][0]
    host.boot_line(f"/vmlinuz-{RELEASE} {options}", "boot-1")
    for variable in (host.path / "sys/firmware/efi/efivars").glob("LoaderEntryOneShot-*"):
        variable.unlink()
    host.done("boot", "record")
    host.done("promote")
    assert host.status()["default"] == {"entry": entry, "kernel": RELEASE, "ours": True}
    host.done("rollback")
    assert host.snapshot() == before
    assert host.status()["default"] == default


def test_a_kernel_whose_image_goes_loses_its_entry(tmp_path: Path, namespace: Namespace) -> None:
    host = make_images(tmp_path / "host", namespace)
    host.done("apply")
    (host.path / f"boot/efi/EFI/Linux/debian-{OLDER}.efi").unlink()
    host.done("boot", "kernel")
    assert {RELEASE in name for name in parse(host, DEBIAN)} == {True}


def test_entries_lie_on_the_partition_of_the_one_that_booted(
    tmp_path: Path, namespace: Namespace
) -> None:
    """systemd-boot reads two partitions; another loader's files on a third file system it does
    not."""
    host = make_images(tmp_path / "host", namespace)
    (host.path / DEBIAN).rmdir()
    host.write(
        "etc/fstab", "UUID=1 / ext4 rw 0 1\nUUID=2 /boot vfat rw 0 2\nUUID=3 /boot/efi vfat\n"
    )
    fallback = snippet(RELEASE, "root=UUID=1 ro single")
    host.write(f"{FEDORA}/a-fallback.conf", fallback)
    set_variable(host, "LoaderEntrySelected", f"debian-{RELEASE}.efi")
    before, default = host.snapshot(), host.status()["default"]
    assert default["entry"] == f"debian-{RELEASE}.efi"
    host.done_as_foreseen("apply")
    assert len(parse(host, DEBIAN)) == 4 and list(parse(host, FEDORA)) == ["a-fallback.conf"]
    assert host.status()["default"] == default
    # Another entry boots: lowlat's are found where they lie.
    set_variable(host, "LoaderEntrySelected", "a-fallback.conf")
    set_variable(host, "LoaderEntryDefault", "a-fallback.conf")
    assert host.status()["default"]["entry"] == "a-fallback"
    host.done("rollback")
    assert host.snapshot() == before
    host.write("etc/fstab", "UUID=2 /boot ext4 rw 0 2\nUUID=3 /boot/efi vfat rw 0 2\n")
    set_variable(host, "LoaderEntrySelected", f"debian-{RELEASE}.efi")
    assert host.status()["default"]["entry"] == f"debian-{RELEASE}.efi"
    # A driver of systemd-boot's reads another file system; and what is no row counts for nothing.
    host.write("etc/fstab", "# /boot was on sda2\n#x /boot/efi ext4\nUUID=2 /boot ext4 rw 0 2\nx\n")
    assert host.status()["default"]["entry"] == f"debian-{RELEASE}.efi"
    set_variable(host, "LoaderEntrySelected", "a-fallback.conf")
    host.done("apply")
    assert len(parse(host, FEDORA)) == 3


def test_entries_of_another_system_on_a_second_esp_are_left_alone(debian: Host) -> None:
    debian.write("efi/loader/entries/old.conf", snippet("5.10.0-9-amd64", "root=/dev/sda9"))
    debian.write("efi/loader/loader.conf", "timeout 3\n")
    debian.done_as_foreseen("apply")
    assert len(parse(debian, DEBIAN)) == 6 and list(parse(debian, "efi/loader/entries")) == [
        "old.conf"
    ]


def test_unified_images_under_secure_boot_are_left_to_the_person(
    tmp_path: Path, namespace: Namespace
) -> None:
    host = make_images(tmp_path / "host", namespace)
    variables = host.path / "sys/firmware/efi/efivars"
    secure = variables / "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    secure.write_bytes(b"\6\0\0\0\1")
    before = host.snapshot()
    said = host.done("apply")
    assert "Secure Boot is on: a unified kernel image takes no line but its own" in said
    new = "/etc/kernel/cmdline, a new file that begins with the running line: isolcpus="
    assert new in said and f"\nthen: kernel-install add {RELEASE} /boot/vmlinuz-{RELEASE}\n" in said
    host.done("rollback")
    assert host.snapshot() == before
    secure.write_bytes(b"\6\0\0\0\0")
    host.done("apply")
    secure.write_bytes(b"\6\0\0\0\1")
    host.done("rollback")
    assert host.snapshot() == before


def test_bootctl_reads_our_entries_behind_the_stock_ones(debian: Host, tmp_path: Path) -> None:
    program = find("bootctl") or str(debs.SYSTEMD_BOOT.tree() / "usr/bin/bootctl")
    debian.done("apply")
    esp, copy = debian.path / "boot/efi", tmp_path / "copy"
    debian.namespace.must("cp", "-a", esp, copy)
    debian.mount("-t", "tmpfs", "none", esp)  # bootctl needs the root of a file system
    debian.namespace.must("cp", "-a", f"{copy}/.", esp)
    listed = debian.namespace.must(
        *("env", "SYSTEMD_RELAX_ESP_CHECKS=1", program, f"--esp-path={esp}"), "--no-pager", "list"
    )
    ids = re.findall(r"^ *id: (\S+)\.conf$", listed, re.MULTILINE)
    assert ids[:2] == [f"debian-{RELEASE}", f"debian-{OLDER}"]
    ours = entries_of(debian)
    assert set(ids[2:]) == {*ours.values(), *(f"{entry}-trial" for entry in ours.values())}
    assert re.search(r"title: .*\(default\)", listed.splitlines()[1])
    options = re.findall(r"^ *options: (.*)$", listed, re.MULTILINE)
    assert sum("nohz_full=1-3" in line.split() for line in options) == 4


def test_a_pattern_in_loader_conf_never_means_ours(debian: Host) -> None:
    debian.write("boot/efi/loader/loader.conf", "default *lowlat*\n")
    before = debian.snapshot()
    assert "would not stay" in debian.lowlat("apply").refused()
    assert debian.snapshot() == before


def test_a_pattern_that_would_mean_ours_is_named_before_a_file_is_written(debian: Host) -> None:
    debian.write("boot/efi/loader/loader.conf", "default linux-*\n")
    for name, release in (("linux", RELEASE), ("linux-lts", OLDER)):
        debian.write(f"{DEBIAN}/{name}.conf", snippet(release, "root=UUID=1 ro"))
    for path in (debian.path / DEBIAN).glob("debian-*"):
        path.unlink()
    default = debian.status()["default"]["entry"]
    refused = [debian.lowlat(*words).refused() for words in (("apply", "--dry-run"), ("apply",))]
    assert refused[0] == refused[1]
    hint = refused[0].rpartition("(")[2].rstrip(")\n")
    assert debian.chroot("sh", "-c", hint).status == 0
    debian.done_as_foreseen("apply")
    assert debian.status()["default"]["entry"] == default


@pytest.mark.parametrize("where", ["variable", "loader.conf"])
def test_what_is_preferred_outranks_the_default(debian: Host, where: str) -> None:
    """Since systemd 260."""
    set_variable(debian, "LoaderInfo", "systemd-boot 260.1-1")
    set_variable(debian, "LoaderEntryDefault", f"debian-{RELEASE}.conf")
    if where == "variable":
        set_variable(debian, "LoaderEntryPreferred", f"debian-{OLDER}.conf")
    else:
        debian.write("boot/efi/loader/loader.conf", f"preferred debian-{OLDER}.conf\n")
    variables = debian.path / "sys/firmware/efi/efivars"
    before = {path.name: path.read_bytes()[4:] for path in variables.glob("LoaderEntry*")}
    assert debian.status()["default"]["kernel"] == OLDER
    entry = try_entry(debian, DEBIAN)
    debian.done("promote")
    assert debian.status()["default"]["entry"] == entry
    set_variable(debian, "LoaderInfo", "systemd-boot 259.3-1")  # knows no such setting
    assert debian.status()["default"]["entry"] == f"debian-{RELEASE}"
    set_variable(debian, "LoaderInfo", "systemd-boot 260.1-1")
    named = next(variables.glob("LoaderEntryPreferred-*")).read_bytes()[4:]
    assert entry in named.decode("utf-16-le")
    debian.done("rollback")
    after = {path.name: path.read_bytes()[4:] for path in variables.glob("LoaderEntry*")}
    assert {name: value.rstrip(b"\0") for name, value in after.items()} == {
        name: value.rstrip(b"\0") for name, value in before.items()
    }


def test_no_setting_names_an_entry_that_a_rollback_removed(debian: Host) -> None:
    set_variable(debian, "LoaderInfo", "systemd-boot 260.1-1")
    try_entry(debian, DEBIAN)
    debian.done("promote")
    set_variable(debian, "LoaderEntryPreferred", f"debian-{OLDER}.conf")
    debian.done("rollback")
    variables = debian.path / "sys/firmware/efi/efivars"
    names = {path.name.partition("-")[0] for path in variables.glob("LoaderEntry*")}
    assert names == {"LoaderEntryPreferred"}


@pytest.mark.parametrize("where", ["variable", "loader.conf"])
def test_the_default_that_the_menu_saved_is_known_and_put_back(debian: Host, where: str) -> None:
    if where == "variable":
        set_variable(debian, "LoaderEntryDefault", "@saved")
    else:
        debian.write("boot/efi/loader/loader.conf", "default @saved\n")
    set_variable(debian, "LoaderEntryLastBooted", f"debian-{OLDER}.conf")
    before, variables = debian.snapshot(), debian.path / "sys/firmware/efi/efivars"
    kept = {path.name: path.read_bytes() for path in variables.iterdir()}
    assert debian.status()["default"]["kernel"] == OLDER
    debian.done("apply")
    debian.done("trial")
    entry = entries_of(debian)[RELEASE]
    boot_entry(debian, DEBIAN, f"{entry}-trial", "boot-1")
    debian.done("boot", "record")
    debian.done("promote")
    assert debian.status()["default"]["entry"] == entry
    debian.done("rollback")
    assert debian.snapshot() == before
    now = {path.name: path.read_bytes()[4:] for path in variables.iterdir()}
    assert {name: held[4:] for name, held in kept.items()} == now


def test_probe_and_status_agree_on_the_loader_beside_a_grub_that_is_left_over(
    tmp_path: Path, namespace: Namespace
) -> None:
    host = make(tmp_path / "host", namespace)
    entry = f"boot/efi/loader/entries/debian-{RELEASE}.conf"
    host.write(entry, snippet(RELEASE, "root=UUID=1 ro"))
    (host.path / "sys/firmware/efi/efivars").mkdir(parents=True)
    assert loaders(host) == ("grub", "GRUB")
    set_variable(host, "LoaderInfo", "systemd-boot 257.9-1")
    assert loaders(host) == ("systemd-boot", "systemd-boot")
    set_variable(host, "LoaderInfo", "GRUB 2.12")
    assert loaders(host) == ("grub", "GRUB")


@pytest.mark.parametrize("default", ["", "GRUB_ENABLE_BLSCFG=true\n"])
@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        (_GRUB_CFG, ("grub-bls", "GRUB with entry files")),
        (_GRUB_CFG.replace("blscfg", "true"), ("grub", "GRUB")),
    ],
)
def test_probe_and_status_agree_on_whether_grub_reads_entry_files(
    fedora: Host, default: str, config: str, kinds: tuple[str, str]
) -> None:
    fedora.write("etc/default/grub", default)
    fedora.write("boot/grub2/grub.cfg", config)
    assert loaders(fedora) == kinds


def loaders(host: Host) -> tuple[object, object]:
    """The boot loader as probe and as status see it."""
    machine = json.loads(host.done("probe", "--json"))
    return machine["boot_loader"], host.status()["loader"]


def test_boots_are_counted_where_that_is_enabled(debian: Host) -> None:
    debian.write("etc/kernel/tries", "3\n")
    debian.done("apply")
    names = [name for name in parse(debian, DEBIAN) if "lowlat" in name]
    assert names and all(name.endswith("+3.conf") for name in names)
    path = debian.path / DEBIAN / names[0]
    blessed = path.with_name(names[0].replace("+3.conf", ".conf"))
    path.rename(blessed)
    debian.done("apply")
    assert blessed.exists() and not path.exists()
    debian.done("rollback")
    assert not [name for name in parse(debian, DEBIAN) if "lowlat" in name]


def test_a_trial_needs_the_firmwares_variables(debian: Host) -> None:
    debian.done("apply")
    for variable in (debian.path / "sys/firmware/efi/efivars").iterdir():
        variable.unlink()
    assert "not recognised" in debian.lowlat("trial").refused()


# ---------------------------------------------- GRUB's tools by another name


def test_grub2_tools_and_folders_as_on_opensuse(tmp_path: Path, namespace: Namespace) -> None:
    host = make(tmp_path / "host", namespace)
    (host.path / "boot/grub").rename(host.path / "boot/grub2")
    (host.path / "boot/grub").mkdir()  # Debian's script goes there
    before = host.snapshot()
    host.done("apply")
    assert "lowlat.plan=" in host.read("boot/grub2/grub.cfg")
    assert not list((host.path / "boot/grub").iterdir())
    host.done("trial")
    assert "next_entry=lowlat>" in host.read("boot/grub2/grubenv")
    host.done("rollback")
    assert host.snapshot() == before
