# SPDX-License-Identifier: GPL-2.0-or-later
"""After a promoted entry is removed, the same kernel's stock entry boots, and the hook reports
this. The older of two kernels is promoted here, because boot loaders fall back to the newer one."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from test_bls import DEBIAN, FEDORA, ID, boot_entry, debian, fedora

from support.cli import Answer
from support.hosttree import NEEDS, OLDER, RELEASE, Host, entries_of, linux_lines, once

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.security]

__all__ = ["debian", "fedora"]

DECISION = "var/lib/lowlat/decision.json"
_ADVANCED = "gnulinux-advanced-0a1b-2c3d"
PINNED = f"{_ADVANCED}>gnulinux-{OLDER}-advanced-0a1b-2c3d"


def pin(host: Host, default: str) -> None:
    text = host.read("etc/default/grub").replace("GRUB_DEFAULT=0", f"GRUB_DEFAULT='{default}'")
    host.write("etc/default/grub", text)
    host.update_grub()


def default_of(host: Host) -> Any:
    """The default entry, read after the intact decision was restored."""
    host.write(DECISION, host.read("tmp/decision.json"))
    return host.status()["default"]


@once
def promote_older(host: Host, folder: str = "") -> str:
    host.done("apply")
    entry = entries_of(host)[OLDER]
    host.done("trial", "--kernel", OLDER)
    if folder:
        boot_entry(host, folder, f"{entry}-trial", "boot-1")
    else:
        host.boot(f"{entry}-trial", "boot-1")
    host.done("boot", "record")
    host.done("promote", "--kernel", OLDER)
    assert host.status()["default"] == {"entry": entry, "kernel": OLDER, "ours": True}
    host.write("tmp/decision.json", host.read(DECISION))
    return entry


def change_the_line(host: Host) -> None:
    host.write("etc/default/grub.d/50-site.cfg", 'GRUB_CMDLINE_LINUX="net.ifnames=0 other"\n')


def refuse_the_plan(host: Host) -> None:
    host.write(DECISION, "{")
    (host.path / f"var/lib/lowlat/plans/{OLDER}.json").unlink()


def refuse_all_plans(host: Host) -> None:
    refuse_the_plan(host)
    (host.path / f"var/lib/lowlat/plans/{RELEASE}.json").unlink()


def lose_lowlat_gen(host: Host) -> None:
    host.write("etc/lowlat/boot.conf", "LOWLAT_GEN='/usr/bin/gone'\n")


def break_lowlat_gen(host: Host) -> None:
    host.write("etc/lowlat/boot.conf", "LOWLAT_GEN='/bin/false'\n")


def lose_the_settings(host: Host) -> None:
    (host.path / "etc/lowlat/boot.conf").unlink()


CHANGES = [
    change_the_line,
    refuse_the_plan,
    refuse_all_plans,
    lose_lowlat_gen,
    break_lowlat_gen,
    lose_the_settings,
]

#: What the hook says is missing.
_TOLD: dict[Callable[[Host], None], str] = {
    lose_lowlat_gen: "lowlat: /usr/bin/gone is not there",
    lose_the_settings: "lowlat: /etc/lowlat/boot.conf does not name lowlat-gen",
}


@pytest.mark.parametrize("default", [PINNED, pytest.param("0", marks=pytest.mark.proof)])
@pytest.mark.parametrize("change", CHANGES)
def test_grub_falls_back_to_the_same_kernels_stock_entry(
    host: Host, change: Callable[[Host], None], default: str
) -> None:
    pin(host, default)
    promote_older(host)
    change(host)
    said = host.update_grub()
    lines = linux_lines(host.config)
    assert default_of(host) == {"entry": "lowlat-stock", "kernel": OLDER, "ours": False}
    assert lines["lowlat-stock"] == lines[f"gnulinux-{OLDER}-advanced-0a1b-2c3d"]
    assert _TOLD.get(change, "") in said
    assert any("promoted" in row for row in said.splitlines() if row.startswith("lowlat: ")), said
    assert host.chroot("grub-script-check", "/boot/grub/grub.cfg").status == 0


@pytest.mark.parametrize(("default", "release"), [(PINNED, RELEASE), ("0", RELEASE)])
def test_grub_without_the_promoted_kernel_boots_what_it_did_before(
    host: Host, default: str, release: str
) -> None:
    pin(host, default)
    promote_older(host)
    (host.path / f"boot/vmlinuz-{OLDER}").unlink()
    said = host.update_grub()
    assert f"Linux {OLDER} is gone: the default is what it was before promote" in said
    found = host.status()["default"]
    assert (found["kernel"], found["ours"]) == (release, False)
    assert f'set default="{default}"' in host.config


def test_grub_without_our_script_boots_what_it_did_before(host: Host) -> None:
    pin(host, PINNED)
    promote_older(host)
    (host.path / "etc/grub.d/99_lowlat").chmod(0o644)
    assert "99_lowlat" in host.update_grub()
    assert host.status()["default"]["kernel"] == OLDER and f'"{PINNED}"' in host.config


def test_grub_with_followed_kernels_falls_back_to_the_newest_stock_entry(host: Host) -> None:
    promote_older(host)
    host.done("promote", "--kernel", OLDER, "--follow-kernels")
    assert host.status()["default"]["kernel"] == RELEASE
    lose_lowlat_gen(host)
    assert "promoted" in host.update_grub()
    assert host.status()["default"] == {"entry": "lowlat-stock", "kernel": RELEASE, "ours": False}


def test_grub_keeps_a_promoted_entry_whose_plan_is_stored(host: Host) -> None:
    """The decision applies to later kernels only."""
    entry = promote_older(host)
    host.write(DECISION, "{")
    assert "decision.json is damaged" in host.update_grub()
    assert default_of(host)["entry"] == entry


def test_what_is_gone_comes_back_with_its_line(host: Host) -> None:
    entry = promote_older(host)
    change_the_line(host)
    host.update_grub()
    assert not host.status()["default"]["ours"]
    (host.path / "etc/default/grub.d/50-site.cfg").unlink()
    assert "lowlat" not in host.update_grub()
    assert host.status()["default"]["entry"] == entry


# ------------------------------------------------------------- entry files


def plugin(host: Host, *words: str) -> Answer:
    answer = host.chroot("/etc/kernel/install.d/95-lowlat.install", *words)
    assert answer.status == 0
    return answer


def edit_the_stock_entry(host: Host, folder: str, token: str) -> str:
    """Edit the stock entry as grubby or a person does."""
    path = f"{folder}/{token}-{OLDER}.conf"
    path = path if (host.path / path).exists() else path.replace(".conf", "+3.conf")
    host.write(path, host.read(path).replace("options ", "options other "))
    return plugin(host, "add", RELEASE, "/x").err


def lose_its_plan(host: Host, folder: str, token: str) -> str:
    refuse_the_plan(host)
    return plugin(host, "add", RELEASE, "/x").err


def remove_our_entry(host: Host, folder: str, token: str) -> str:
    name = entries_of(host)[OLDER]
    (host.path / f"{folder}/{name}.conf").unlink()
    (host.path / f"var/lib/lowlat/plans/{OLDER}.json").unlink()
    host.write(DECISION, "{")
    return plugin(host, "remove", "6.0-other", "/x").err


def apply_another(host: Host, folder: str, token: str) -> str:
    return host.done("apply", "--isolate", "3")


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("kind", ["fedora", "debian"])
@pytest.mark.parametrize(
    "change", [edit_the_stock_entry, lose_its_plan, remove_our_entry, apply_another]
)
def test_entry_files_fall_back_to_the_same_kernels_stock_entry(
    request: pytest.FixtureRequest,
    kind: str,
    change: Callable[[Host, str, str], str],
    pinned: bool,
) -> None:
    host: Host = request.getfixturevalue(kind)
    folder, token = (FEDORA, ID) if kind == "fedora" else (DEBIAN, "debian")
    if pinned and kind == "fedora":
        host.chroot("grub2-editenv", "/boot/grub2/grubenv", "set", f"saved_entry={ID}-{OLDER}")
    elif pinned:
        host.write("boot/efi/loader/loader.conf", f"default debian-{OLDER}.conf\n")
    before = host.status()["default"]
    entry = promote_older(host, folder)
    said = change(host, folder, token)
    assert f"{entry} was promoted and is gone" in said
    assert default_of(host) == {
        "entry": f"{token}-{OLDER}",
        "kernel": OLDER,
        "ours": False,
    }
    host.done("rollback")
    assert host.status()["default"] == before


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("kind", ["fedora", "debian"])
def test_entry_files_without_the_promoted_kernel_boot_what_they_did_before(
    request: pytest.FixtureRequest, kind: str, damaged: bool
) -> None:
    """An unreadable decision is no exception: no entry may stay if its kernel is gone."""
    host: Host = request.getfixturevalue(kind)
    folder, token = (FEDORA, ID) if kind == "fedora" else (DEBIAN, "debian")
    entry = promote_older(host, folder)
    if damaged:
        host.write(DECISION, "{")
    for path in (host.path / folder).glob(f"{token}-{OLDER}*.conf"):
        path.unlink()
    (host.path / f"boot/vmlinuz-{OLDER}").unlink()
    said = plugin(host, "remove", OLDER, "/x").err
    assert f"{entry} was promoted and is gone: {token}-{RELEASE} is the default" in said
    assert default_of(host)["entry"] == f"{token}-{RELEASE}"
    assert OLDER not in " ".join(path.name for path in (host.path / folder).iterdir())
