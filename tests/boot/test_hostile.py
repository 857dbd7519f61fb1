# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile input must not change a host: each input gives a refusal of one line."""

from __future__ import annotations

import fcntl
import json
import os
import re
from pathlib import Path

import pytest

from support.cli import lowlat
from support.hosttree import NEEDS, RELEASE, Host, Namespace, linux_lines, make
from support.ordinary_user import NOBODY, OrdinaryUser

pytest_plugins = ["support.hosttree", "support.ordinary_user"]
pytestmark = NEEDS


def refusal(host: Host, verb: str, *words: object) -> str:
    before = host.inner()
    line = host.lowlat(verb, *words).refused()
    assert host.inner() == before
    return line


HOSTILE = [
    "1 init=/bin/sh",
    '1"',
    "1'",
    "$(reboot)",
    "`reboot`",
    "1\ninit=/bin/sh",
    "1;reboot",
    "1}",
    "\\1",
    "é",
    "1" * 3000,
]


@pytest.mark.parametrize("name", ["skew_tick", "rcu_nocbs", "preempt"])
def test_a_hostile_value_never_reaches_a_line(host: Host, name: str) -> None:
    for value in HOSTILE:
        refusal(host, "apply", "--enable", f"{name}={value}")


def test_nor_from_a_users_profile(host: Host) -> None:
    for value in HOSTILE:
        text = f"[main]\nparent = lowlat\nsummary = mine\n[settings]\nskew_tick = {value}\n"
        host.write("etc/lowlat/profiles/mine/lowlat.conf", text)
        said = refusal(host, "apply", "--profile", "mine")
        # In this file a second line is another setting, with an unknown name.
        assert "\n" not in value or "init" in said


@pytest.mark.security
@pytest.mark.parametrize("key", ["summary", "for", "costs"])
def test_a_profiles_words_make_no_configuration(host: Host, key: str) -> None:
    more = "mine\n  [sysctl]\n  kernel.core_pattern=|/home/dev/evil.sh"
    text = f"[main]\nparent = lowlat\n{key} = {more}\n"
    host.write("etc/lowlat/profiles/mine/lowlat.conf", text)
    assert f"profile mine: {key} holds" in refusal(host, "apply", "--profile", "mine")


@pytest.mark.security
@pytest.mark.parametrize("summary", ["runs ${f:exec:/home/dev/evil.sh}", "mine #1"])
def test_what_tuned_would_not_keep_is_refused(host: Host, summary: str) -> None:
    text = f"[main]\nparent = lowlat\nsummary = {summary}\n"
    host.write("etc/lowlat/profiles/mine/lowlat.conf", text)
    assert "TuneD's configuration" in refusal(host, "apply", "--profile", "mine")


@pytest.mark.security
def test_all_that_is_written_names_one_program(host: Host) -> None:
    """This program may be an unpackaged one: otherwise the run-time half would not start."""
    own = "/usr/local/bin/lowlat-gen"
    assert host.chroot("cp", "/usr/bin/lowlat-gen", own).status == 0
    try:
        host.done("apply")
        host.done("tune", "--status")
    finally:
        host.chroot("rm", own)
    named = {
        name: set(re.findall(r"/[\w./-]*/lowlat-gen\b", held[2].decode()))
        for name, held in host.snapshot().items()
        if name.startswith("etc/") and isinstance(held[2], bytes)
    }
    naming = {name for name, found in named.items() if found}
    assert {
        "etc/lowlat/boot.conf",
        "etc/systemd/system/lowlat-boot.service",
        "etc/systemd/system/lowlat-trial.service",
        "etc/tuned/lowlat/tuned.conf",
        "etc/tuned/lowlat/script.sh",
        "etc/tuned/lowlat-local/script.sh",
    } <= naming
    assert set().union(*named.values()) == {own}


@pytest.mark.security
@pytest.mark.parametrize(
    "weak", ["usr/bin/python3", "dev/lowlat/.venv/bin", "dev/lowlat/generator"]
)
def test_no_hook_runs_a_program_that_a_user_can_replace(host: Host, weak: str) -> None:
    """The case of a user's clone in which root made the virtual environment."""
    packages = "opt/dev/lowlat/.venv/lib/python3.11/site-packages"
    finder = "MAPPING = {'lowlat': '/opt/dev/lowlat/generator/lowlat'}\n"
    host.write(f"{packages}/__editable___lowlat_finder.py", finder)
    host.write("opt/dev/lowlat/generator/lowlat/__init__.py", "")
    host.write("opt/usr/bin/python3", "")
    host.write("opt/dev/lowlat/.venv/bin/lowlat-gen", "#!/opt/dev/lowlat/.venv/bin/python\n")
    (host.path / "opt/dev/lowlat/.venv/bin/python").symlink_to("/opt/usr/bin/python3")
    own = "/usr/local/bin/lowlat-gen"
    host.chroot("ln", "-s", "/opt/dev/lowlat/.venv/bin/lowlat-gen", own)
    try:
        os.chown(host.path / "opt" / weak, 1000, 1000)
        said = refusal(host, "apply")
    finally:
        host.chroot("rm", own)
    assert f"others than root can write /opt/{weak}, and root's boot scripts would run it" in said


@pytest.mark.parametrize(
    "value",
    [HOSTILE[5], *(pytest.param(value, marks=pytest.mark.proof) for value in HOSTILE[:5])],
)
def test_nor_from_a_stored_plan_or_decision(host: Host, value: str) -> None:
    host.done("apply")
    for name in (f"plans/{RELEASE}.json", "decision.json"):
        path = host.path / "var/lib/lowlat" / name
        kept = path.read_text()
        path.write_text(kept.replace("1-3", json.dumps(f"1-3{value}")[1:-1]))
        said = host.update_grub()
        assert "no tuned entry" in said or "damaged" in said
        assert f"1-3{value}" not in host.config.partition("99_lowlat")[2]
        path.write_text(kept)


@pytest.mark.parametrize("stock", ["dyndbg=\\\"file x +p\\\" a='b c' b=\\\\b", "x" * 1500])
def test_what_is_odd_on_the_stock_line_stays_as_it_is(host: Host, stock: str) -> None:
    text = host.read("etc/default/grub").replace('="quiet"', f'="quiet {stock}"')
    host.write("etc/default/grub", text)
    host.update_grub()
    before = _linux_rows(host.config)
    host.done("apply")
    stock_part, _, ours = host.config.partition("/99_lowlat")
    assert _linux_rows(stock_part) == before
    odd = before[0].partition("quiet ")[2]
    assert all(odd in row for row in _linux_rows(ours))


def test_what_grub_does_not_parse_on_the_stock_line_is_refused(host: Host) -> None:
    text = host.read("etc/default/grub").replace('="quiet"', '="quiet a=\\$(b)"')
    host.write("etc/default/grub", text)
    assert host.chroot("grub-mkconfig", "-o", "/boot/grub/grub.cfg").status != 0
    assert "-mkconfig -o /boot/grub/grub.cfg' first" in refusal(host, "apply")


def test_a_stock_line_that_grub_ends_early_is_refused(host: Host) -> None:
    """To GRUB a semicolon ends the command: what stands behind it never reaches the kernel."""
    host.write(
        "etc/default/grub", host.read("etc/default/grub").replace('quiet"', 'quiet root=x;y"')
    )
    host.update_grub()
    assert "is not on its line" in refusal(host, "apply")


def _linux_rows(config: str) -> list[str]:
    return [row for row in config.splitlines() if "\tlinux\t" in row]


def test_a_line_that_the_kernel_would_cut_is_refused(host: Host) -> None:
    text = host.read("etc/default/grub").replace('="quiet"', f'="quiet {"x" * 1900}"')
    host.write("etc/default/grub", text)
    host.update_grub()
    assert "bytes long" in refusal(host, "apply")


@pytest.mark.parametrize("place", ["etc/lowlat", "etc/lowlat/profiles/mine/lowlat.conf"])
def test_configuration_that_others_can_write_is_refused(host: Host, place: str) -> None:
    text = "[main]\nparent = lowlat\nsummary = mine\n"
    host.write("etc/lowlat/profiles/mine/lowlat.conf", text)
    (host.path / place).chmod(0o775)
    assert "others than root can write" in refusal(host, "apply", "--profile", "mine")


def test_state_that_others_can_write_is_refused(host: Host) -> None:
    host.done("apply")
    host.done("trial")
    for name in ("", "plans", "decision.json", "plan.json", "trials.json"):
        path = host.path / "var/lib/lowlat" / name
        mode = path.stat().st_mode
        path.chmod(0o777)
        refused = refusal(host, "apply")
        assert "others than root can write" in refused or f"{name} was edited" in refused, name
        path.chmod(mode)


def test_a_loop_that_others_can_write_is_refused(host: Host) -> None:
    host.write("var/lib/lowlat/tune.json", "{}")
    (host.path / "var/lib/lowlat/tune.json").chmod(0o666)
    assert "can write it" in refusal(host, "tune", "--status")


@pytest.mark.parametrize(
    "name",
    [
        "var/lib/lowlat",
        "var/lib/lowlat/plans",
        "etc/lowlat",
        "etc/lowlat/boot.conf",
        "etc/grub.d/99_lowlat",
        "var/lib/lowlat/journal.json",
        "var/lib/lowlat/lock",
        "boot/grub/grub.cfg.lowlat~",
    ],
)
def test_no_planted_link_is_followed(host: Host, name: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    if "." in name.rpartition("/")[2] or name.endswith(("lock", "99_lowlat")):
        target.write_text("precious\n")
    else:
        target.mkdir()
    link = host.path / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    before = host.config
    answer = host.lowlat("apply")
    if target.is_dir():
        assert list(target.iterdir()) == []
    else:
        assert target.read_text() == "precious\n"
    if answer.status != 0:
        answer.refused()
        assert host.config == before
    elif name.startswith("etc/"):
        host.done("rollback")
        assert link.is_symlink() and link.readlink() == target


def test_two_runs_at_once(host: Host) -> None:
    host.done("apply")
    host.done("trial")
    with (host.path / "var/lib/lowlat/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for verb in ("apply", "rollback", "trial"):
            assert "another lowlat-gen" in refusal(host, verb)
    host.done("rollback")


@pytest.mark.parametrize(("place", "size"), [("var/lib", "8k"), ("boot/grub", "16k")])
def test_a_full_disk(host: Host, tmp_path: Path, place: str, size: str) -> None:
    path, copy = host.path / place, tmp_path / "copy"
    host.namespace.must("cp", "-a", path, copy)
    host.mount("-t", "tmpfs", "-o", f"size={size},mode=755", "none", path)
    host.namespace.must("cp", "-a", f"{copy}/.", path)
    assert "No space left" in refusal(host, "apply")


def test_a_read_only_boot(host: Host) -> None:
    host.mount("--bind", host.path / "boot", host.path / "boot")
    host.mount("-o", "remount,ro,bind", host.path / "boot")
    assert "read-only" in refusal(host, "apply")


def test_a_read_only_state_folder(host: Host) -> None:
    host.mount("--bind", host.path / "var", host.path / "var")
    host.mount("-o", "remount,ro,bind", host.path / "var")
    line = refusal(host, "apply")
    assert "is mounted read-only" in line and refusal(host, "apply", "--dry-run") == line


@pytest.mark.parametrize("place", ["boot", "boot/efi"])
def test_a_boot_file_system_that_is_not_mounted(host: Host, place: str) -> None:
    host.write("etc/fstab", f"UUID=1 /{place} vfat defaults 0 2\n")
    if place == "boot":
        (host.path / "boot").rename(host.path / "away")
    (host.path / place).mkdir()
    assert f"/{place} is listed in /etc/fstab but not mounted" in refusal(host, "apply")


def test_a_generator_that_fails(host: Host) -> None:
    broken = host.path / "etc/grub.d/42_broken"
    broken.write_text("#!/bin/sh\necho it broke >&2\nexit 3\n")
    broken.chmod(0o755)
    assert "it broke" in refusal(host, "apply")


def test_a_generator_that_fails_at_rollback_can_be_mended(host: Host) -> None:
    before = host.config
    host.done("apply")
    broken = host.path / "etc/grub.d/42_broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    answer = host.lowlat("rollback")
    assert answer.status == 1 and "run 'lowlat-gen rollback' again" in answer.err
    broken.unlink()
    host.done("rollback")
    assert host.config == before


def test_a_configuration_that_grub_does_not_understand_is_not_installed(host: Host) -> None:
    broken = host.path / "etc/grub.d/42_broken"
    broken.write_text("#!/bin/sh\necho 'if then {'\n")
    broken.chmod(0o755)
    assert "grub-script-check" in refusal(host, "apply", "--accept-pending")


@pytest.mark.parametrize("verb", ["apply", "trial", "promote", "rollback"])
def test_a_captured_machine_is_not_a_host_to_write(tmp_path: Path, verb: str) -> None:
    captured = sorted((Path(__file__).parents[1] / "machines").glob("qemu-x86*.txt"))[0]
    lowlat(verb, "--root", captured).refused()
    (tmp_path / "empty").mkdir()
    lowlat(verb, "--root", tmp_path / "empty").refused()
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.place
def test_an_ordinary_user_is_refused(namespace: Namespace, ordinary_user: OrdinaryUser) -> None:
    host = make(ordinary_user.folder / "host", namespace)
    before = host.inner()
    answer = host.namespace.program(
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        *(ordinary_user.gen, "apply", "--root", host.path),
    )
    assert "run as root" in answer.refused()
    assert host.inner() == before


def test_rollback_works_where_something_else_boots_by_now(host: Host) -> None:
    before = host.config
    host.done("apply")
    host.write("boot/efi/EFI/Linux/linux.efi", "")
    host.write("proc/cmdline", "root=/dev/vda1 ro\n")
    assert "unified kernel images" in host.lowlat("trial").refused()
    host.done("rollback")
    assert host.config == before and not (host.path / "etc/grub.d/99_lowlat").exists()


def test_rollback_undoes_the_boot_where_the_running_system_cannot_be_taken_back(host: Host) -> None:
    before = host.read("boot/grub/grub.cfg")
    host.done("apply")
    host.write("run/lowlat/runtime.json", "{")
    answer = host.lowlat("rollback")
    assert answer.status == 1 and "/run/lowlat/runtime.json is damaged" in answer.err
    assert host.read("boot/grub/grub.cfg") == before


def test_rollback_works_where_the_boot_loader_is_gone(host: Host) -> None:
    before = {name for name in host.snapshot() if not name.startswith("boot/grub/")}
    host.done("apply")
    for path in (host.path / "boot/grub").iterdir():
        path.unlink()
    host.done("rollback")
    assert set(host.snapshot()) == before
    assert host.done("rollback") == "nothing is applied\n"


def test_the_lines_of_the_menu_are_read_by_shell_rules(host: Host) -> None:
    """/etc/default/grub and its drop-ins count in the order in which a shell reads them."""
    host.write("etc/default/grub.d/10-a.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="one"\n')
    host.write(
        "etc/default/grub.d/20-b.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT+=" two"\n'.replace("+", "")
    )
    host.update_grub()
    host.done("apply")
    tuned = next(words for ident, words in linux_lines(host.config).items() if "lowlat" in ident)
    assert "two" in tuned and "one" not in tuned and "quiet" not in tuned
