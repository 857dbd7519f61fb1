# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables of other programs in GRUB's environment block: a trial boots once and stock after it,
by the generated script itself, or it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import debs, initrdfail
from support.debs import Unpacked
from support.grub_emu import GrubEmu
from support.grub_script import Boot, boot
from support.hosttree import NEEDS, RELEASE, STOCK, Host, entries_of

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

#: 08_fallback_counting of Fedora.
_COUNTING = r"""#!/bin/sh
cat <<'END'
if [ -n "${boot_counter}" -a "${boot_success}" = "0" ]; then
  if [ "${boot_counter}" = "0" -o "${boot_counter}" = "-1" ]; then
    set default=1
    set boot_counter=-1
  else
    decrement boot_counter
  fi
  save_env boot_counter
fi
if [ "${menu_show_once}" ]; then
  unset menu_show_once
  save_env menu_show_once
  set timeout=60
fi
END
"""


@pytest.fixture
def cloud(host: Host) -> Host:
    """A host with the scripts of Ubuntu's cloud images, and one of Fedora's."""
    host.write("etc/grub.d/00_header", initrdfail.header(host.read("etc/grub.d/00_header")))
    (host.path / "etc/grub.d/10_linux").rename(host.path / "etc/stock_10_linux")
    for name, text in (("10_linux", initrdfail.LINUX), ("08_fallback_counting", _COUNTING)):
        host.write(f"etc/grub.d/{name}", text)
        (host.path / f"etc/grub.d/{name}").chmod(0o755)
    host.update_grub()
    return host


def _boots(host: Host, kept: dict[str, str], folder: Path, times: int) -> list[Boot]:
    """So many boots, each with the block that the one before left."""
    found: list[Boot] = []
    for _ in range(times):
        found.append(boot(host.config, found[-1].left if found else kept, folder))
    return found


_STORED = (
    ("saved_entry", "1>0"),
    ("initrdfail", "1"),
    ("initrdfail", "2"),
    ("prev_entry", "lowlat>{entry}-trial"),
    ("prev_saved_entry", "lowlat>{entry}"),
    ("recordfail", "1"),
    ("boot_once", "true"),
    ("boot_counter", "0"),
    ("boot_indeterminate", "1"),
    ("menu_show_once", "1"),
)


@pytest.mark.proof
@pytest.mark.parametrize("packages", [debs.GRUB_2_12, debs.GRUB_2_14], ids=["2.12", "2.14"])
def test_the_script_boots_what_grub_itself_boots(
    cloud: Host, tmp_path: Path, packages: Unpacked
) -> None:
    """So the shell, which runs the script in the test below, is right about GRUB."""
    grub = GrubEmu(packages, tmp_path)
    cloud.done("apply")
    entry = entries_of(cloud)[RELEASE]
    for name, value in _STORED:
        for next_entry in ("", f"lowlat>{entry}-trial"):
            edit = ("grub-editenv", "/boot/grub/grubenv")
            cloud.chroot(*edit, "create")
            cloud.chroot(*edit, "set", f"{name}={value.format(entry=entry)}")
            if next_entry:
                cloud.chroot(*edit, "set", f"next_entry={next_entry}")
            block = (cloud.path / "boot/grub/grubenv").read_bytes()
            expected = [each.path for each in _boots(cloud, cloud.environment(), tmp_path, 4)]
            booted = grub.boots(cloud.config, block, 4)
            titles = {path: _titles(cloud.config, path) for path in expected}
            assert booted == [titles[path] for path in expected], (name, next_entry)


def _titles(config: str, path: tuple[str, ...]) -> tuple[str, ...]:
    """The texts in the menu of the submenus and of the entry that these ids lead to."""
    rows = [row for row in config.splitlines() if row.endswith("{")]
    own = [next(row for row in rows if row.split()[-2].strip("'") == ident) for ident in path]
    return tuple(row.split("'")[1] for row in own)


def test_a_trial_boots_once_whatever_others_store(cloud: Host, tmp_path: Path) -> None:
    before = cloud.config
    first = boot(cloud.config, {}, tmp_path)
    assert first.path == (STOCK,) and not first.initrd and first.line.endswith(" panic=-1")
    second = boot(cloud.config, first.left, tmp_path)
    assert second.initrd and "panic" not in second.line
    cloud.done("apply")
    entry = entries_of(cloud)[RELEASE]
    refused = set()
    for name, stored in _STORED:
        value = stored.format(entry=entry)
        edit = ("grub-editenv", "/boot/grub/grubenv")
        cloud.chroot(*edit, "create")
        cloud.chroot(*edit, "set", f"{name}={value}")
        answer = cloud.lowlat("trial")
        if answer.status == 2:
            refused.add(name)
            assert f"{name}={value}" in answer.err
            assert cloud.chroot("sh", "-c", _hint(answer.err)).status == 0
            cloud.done("trial")
        tried, *after = _boots(cloud, cloud.environment(), tmp_path, 4)
        assert tried.path == ("lowlat", f"{entry}-trial"), name
        assert tried.initrd and "panic=30" in tried.line
        assert [each.path[0] for each in after] == [STOCK] * 3 or name == "prev_saved_entry"
    assert refused == {"initrdfail", "prev_entry", "prev_saved_entry", "boot_counter"}
    cloud.boot_line(f"/boot/vmlinuz-{RELEASE} {tried.line}", "boot-1")
    assert "came up" in cloud.done("boot", "record")
    cloud.done("promote")
    promoted = boot(cloud.config, {"initrdfail": "1"}, tmp_path)
    assert promoted.path == ("lowlat", entry) and promoted.initrd
    cloud.boot_line(f"/boot/vmlinuz-{RELEASE} {promoted.line}", "boot-2")
    assert not [note for note in cloud.status()["notes"] if "the running line" in note]
    cloud.done("rollback")
    assert cloud.config == before


@pytest.mark.parametrize("condition", ["", 'if [ -n "$mine" ]; then\n', "if true; then\n"])
def test_a_script_that_sets_the_default_later_has_no_trial(
    condition: str, host: Host, tmp_path: Path
) -> None:
    rows = f"{condition}set default=0\n{'fi' if condition else ''}\n"
    host.write("etc/grub.d/42_site", f"#!/bin/sh\nexec tail -n +3 $0\n{rows}")
    (host.path / "etc/grub.d/42_site").chmod(0o755)
    host.update_grub()
    host.done("apply")
    entry = f"lowlat>{entries_of(host)[RELEASE]}-trial"
    if "mine" not in condition:  # so GRUB would not boot it
        assert boot(host.config, {"next_entry": entry}, tmp_path).path == (STOCK,)
    assert "42_site sets the default after" in host.lowlat("trial").refused()
    (host.path / "etc/grub.d/42_site").rename(host.path / "etc/42_site")
    host.update_grub()
    host.done("trial")
    assert "the trial is set, but" not in host.done("status")
    (host.path / "etc/42_site").rename(host.path / "etc/grub.d/42_site")
    host.update_grub()
    said = " ".join(host.done("status").split())
    assert "the trial is set, but" in said and "42_site sets the default after" in said


def _hint(line: str) -> str:
    """The command in brackets at the end of a refusal."""
    return line.rstrip().rpartition(" (")[2][:-1]
