# SPDX-License-Identifier: GPL-2.0-or-later
"""What only reads runs nothing of another system's tree; and on this machine a dry run gives the
scripts of others no way to change anything."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from test_bls import make_debian, make_fedora, make_images
from test_raspberry_pi import make_pi

from lowlat.verbs import VERBS
from support.cli import GEN
from support.hosttree import (
    NEEDS,
    OLDER,
    Host,
    Namespace,
    apply_and_try,
    foreseen_changes,
    make,
    refusal,
)
from support.machines import write_tree
from support.powercut import NEEDS_CC

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, NEEDS_CC, pytest.mark.security]

#: How each verb reads a tree.
READING = {
    "apply": ["--dry-run", "--dry-run --accept-pending"],
    "capture": ["/dev/null", "--evidence /dev/null"],
    "cpus": ["isolated"],
    "doctor": ["", "--all"],
    "lint": ["", "quiet"],
    "plan": ["", "--diff"],
    "probe": [""],
    "profile": ["check PROFILE"],
    "promote": ["--dry-run"],
    "render": ["--out OUT"],
    "rollback": ["--dry-run"],
    "run": ["--dry-run -- true"],
    "runtime": ["verify", "start --dry-run", "stop --dry-run"],
    "status": ["", "--json"],
    "trial": ["--dry-run"],
    "tune": ["--dry-run", "--status", "--resume --dry-run", "--abort --dry-run"],
    "verify": ["--duration 0s"],
    "watch": ["--once"],
}
#: These look at the boot loader, so they are tried with every kind.
LOADER = ("apply", "doctor", "promote", "rollback", "status", "trial", "tune")

#: These take no --root, or do not only read.
OTHERS = {"boot", "explain", "fleet", "measure", "rehearse", "report", "top"}

#: It needs no library: nothing else of /usr is there.
_MARK = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char path[256];
	snprintf(path, sizeof(path), "/ran/%s", strrchr(argv[0], '/') + 1);
	return open(path, O_CREAT | O_WRONLY, 0600) < 0;
}
"""
MAKERS = [make, make_fedora, make_debian, make_images, make_pi]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A /usr whose every program leaves a mark in /ran, and does nothing else."""
    usr = tmp_path_factory.mktemp("marks") / "usr"
    for folder in ("bin", "lib/systemd/system"):
        (usr / folder).mkdir(parents=True)
    source = usr / "mark.c"
    source.write_text(_MARK)
    subprocess.run(["cc", "-static", "-o", usr / "mark", source], check=True)
    names = {path.name for folder in ("bin", "sbin") for path in Path("/usr", folder).iterdir()}
    for name in names | {"bootctl", "vcmailbox", "lowlat-gen", "grub2-mkconfig", "grub2-probe"}:
        (usr / "bin" / name).hardlink_to(usr / "mark")
    (usr / "sbin").symlink_to("bin")
    return usr


def make_tried(maker: Callable[[Path, Namespace], Host], path: Path, namespace: Namespace) -> Host:
    """A host with applied entries and a trial that is set."""
    host = maker(path, namespace)
    host.done("apply")
    host.done("trial")
    host.live = False
    return host


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_what_reads_a_tree_runs_nothing_of_it(
    tmp_path: Path, namespace: Namespace, marks: Path, maker: Callable[[Path, Namespace], Host]
) -> None:
    assert {*READING, *OTHERS} == {*VERBS}
    host = make_tried(maker, tmp_path / "host", namespace)
    host.mount("--bind", marks, host.path / "usr")
    (host.path / "ran").mkdir()
    for folder in ("etc/grub.d", "etc/lowlat/health.d", "etc/kernel/postinst.d"):
        (host.path / folder).mkdir(parents=True, exist_ok=True)
        for name in ("10_linux", "42_mark"):
            (host.path / folder / name).unlink(missing_ok=True)
            (host.path / folder / name).symlink_to("/usr/bin/true")
    named = {"OUT": str(tmp_path / "out"), "PROFILE": str(tmp_path / "lowlat.conf")}
    (tmp_path / "lowlat.conf").write_text("[main]\nparent = lowlat\n")
    said = {}
    for verb in READING if maker is make else LOADER:
        for way in READING[verb]:
            words = [named.get(word, word) for word in way.split()]
            said[verb, way] = host.lowlat(verb, *words)
            assert [path.name for path in (host.path / "ran").iterdir()] == [], (verb, way)
    for verb, way in (("status", ""), ("apply", "--dry-run"), ("rollback", "--dry-run")):
        assert said[verb, way].status == 0, said[verb, way]
    by_grub = maker in (make, make_fedora)
    assert ("not checked: whether GRUB" in said["trial", "--dry-run"].out) == by_grub
    assert ("not checked: changes by others" in said["apply", "--dry-run"].out) == (maker is make)
    # What acts on the tree runs its programs: the marks work.
    host.lowlat("rollback")
    assert any((host.path / "ran").iterdir()) == (maker is not make_pi)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_a_dry_run_of_promote_names_what_changes(
    tmp_path: Path, namespace: Namespace, maker: Callable[[Path, Namespace], Host]
) -> None:
    host = make_tried(maker, tmp_path / "host", namespace)
    words = json.loads(host.read("var/lib/lowlat/trials.json"))["pending"]["words"]
    host.write("proc/cmdline", " ".join(words))
    host.done("boot", "record")
    for options in ([], ["--follow-kernels"], []):
        foreseen = host.done("promote", "--dry-run", *options)
        said = host.done_as_foreseen("promote", *options)
        assert foreseen_changes(foreseen.splitlines())
        assert said.splitlines()[0] in foreseen.replace("would be", "is").splitlines()
        again = host.lowlat("promote", "--dry-run", "--json", *options).json()
        assert not again["changed"] and not foreseen_changes(again["said"])


@pytest.mark.parametrize("later", [True, False])
def test_a_dry_run_of_promote_refuses_as_the_act(host: Host, later: bool) -> None:
    """The file of lowlat's does not win, or the generator reads none."""
    other = f"gnulinux-{OLDER}-advanced-0a1b-2c3d"
    if later:
        host.write("etc/default/grub.d/zzz.cfg", f"GRUB_DEFAULT='{other}'\n")
    else:
        _without_drop_ins(host)
    host.update_grub()
    name = f"lowlat>{apply_and_try(host)}"
    why = refusal(host, "promote")
    assert host.lowlat("promote", "--dry-run").refused() == why
    place = "etc/default/grub.d/zzz.cfg" if later else "etc/default/grub"
    assert place in why
    host.write(place, f"{host.read(place)}GRUB_DEFAULT='{name}'\n")
    host.done_as_foreseen("promote")
    assert host.status()["state"] == "promoted"


def _without_drop_ins(host: Host) -> None:
    """A grub-mkconfig as that of RHEL 7, which reads /etc/default/grub alone."""
    text = Path("/usr/sbin/grub-mkconfig").read_text()
    host.write("etc/mkconfig", text.replace("default/grub.d", "default/grub.no"))
    (host.path / "etc/mkconfig").chmod(0o755)
    host.mount("--bind", host.path / "etc/mkconfig", host.path / "usr/sbin/grub-mkconfig")


_CHANGES = """#!/bin/sh
for folder in /boot /etc /var/lib /run /dev /root /tmp; do
	touch $folder/mark 2>/dev/null && echo "# $folder"
done
echo "# caps $(sed -n 's/^CapEff:.//p' /proc/self/status)"
"""


def test_a_dry_run_gives_scripts_of_others_no_way_to_change_anything(host: Host) -> None:
    host.go_live()
    _script(host, "09_other", _CHANGES)
    (host.path / "root").mkdir()
    tops = ("boot", "etc", "var", "run", "root", "tmp")
    before = host.snapshot(tops)
    said = host.lowlat("apply", "--dry-run").out
    assert "+### BEGIN /etc/grub.d/09_other ###" in said and "+# caps 0000000000000000" in said
    assert [row for row in said.splitlines() if row.startswith("  +# /")] == [
        "  +# /run",
        "  +# /tmp",
    ]
    assert host.snapshot(tops) == before


def test_what_a_dry_run_cannot_check_is_named(host: Host) -> None:
    host.go_live()
    _script(host, "42_writes", "#!/bin/sh\nset -e\necho >/boot/seen\nrm /boot/seen\n")
    said = host.done("apply", "--dry-run", "--accept-pending")
    assert "not checked: changes by others" in said and "grub-mkconfig fails without rights" in said
    disk = next((host.path / "sys/dev/block").iterdir())
    (disk / "dm").mkdir()
    assert "grub-probe would need rights" in host.done("apply", "--dry-run")
    found = "menuentry 'Other' {\n}\n"
    head = "### BEGIN /etc/grub.d/30_os-prober ###\n"
    host.write("boot/grub/grub.cfg", host.config.replace(head, head + found))
    assert "os-prober would have to mount" in host.done("apply", "--dry-run")
    _script(host, "000_proxmox_boot_header", "#!/bin/sh\nproxmox-boot-tool refresh\n")
    said = host.done("apply", "--dry-run")
    assert "/etc/grub.d/000_proxmox_boot_header calls proxmox-boot-tool" in said


#: What the shell makes of these in a file of settings, and in a script of /etc/grub.d.
_BROKEN = {
    "a quote that does not end": 'GRUB_CMDLINE_LINUX="quiet\n',
    "an if that does not end": "if true; then\n",
    "words behind the quotes": 'GRUB_CMDLINE_LINUX="quiet" memmap=4G\\\\\\$8G no5lvl\n',
    "a command that is not there": "no-such-command\n",
    "a command that is not there, in a value": "GRUB_DISTRIBUTOR=`no-such-command`\n",
    "a command that fails": "set -e\nfalse\n",
    "an end": "echo it broke >&2\nexit 3\n",
}
_OF_SCRIPTS = {
    "no interpreter": "#!/no/such/program\n",
    "an interpreter that cannot run": "#!/etc/hostname\n",
}
_PLACES = ["etc/default/grub", "etc/default/grub.d/50-other.cfg", "etc/grub.d/42_other"]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, namespace: Namespace) -> Host:
    host = make(tmp_path_factory.mktemp("broken") / "host", namespace)
    host.write("etc/hostname", "node\n")
    host.go_live()
    return host


@pytest.mark.parametrize("place", _PLACES)
def test_what_breaks_the_generator_ends_a_dry_run_as_the_act(live: Host, place: str) -> None:
    """On the machine itself; below --root, of the settings, what their text tells."""
    path, script = live.path / place, place.endswith("other")
    before = path.read_text() if path.exists() else None
    for name, text in {**_BROKEN, **(_OF_SCRIPTS if script else {})}.items():
        shebang = "#!/bin/sh\nset -e\n" if name in _BROKEN and script else ""
        live.write(place, f"{shebang if script else before or ''}{text}")
        path.chmod(0o755)
        in_text = not script and name in [*_BROKEN][:3]
        for live.live in (True, False) if in_text else (True,):
            shown, done = live.lowlat("apply", "--dry-run"), live.lowlat("apply")
            assert (shown.status, shown.err) == (done.status, done.err), name
            assert done.status == 2 and not (live.path / "var/lib/lowlat").exists(), name
    path.unlink()
    if before is not None:
        path.write_text(before)


def test_before_anything_is_installed_a_dry_run_lists_the_same_files(
    host: Host, tmp_path: Path
) -> None:
    installed = foreseen_changes(host.done("apply", "--dry-run").splitlines())
    assert "etc/grub.d/99_lowlat" in installed
    tools = dict.fromkeys(("sbin/grub-mkconfig", "bin/grub-script-check"), "")
    usr = write_tree(tmp_path / "usr", {**tools, "lib/systemd/system/tmp.mount": ""})
    host.mount("--bind", usr, host.path / "usr")
    said = host.lowlat("apply", "--dry-run")
    assert foreseen_changes(said.out.splitlines()) == installed
    missing = [row for row in said.out.splitlines() if row.startswith("missing: ")]
    assert "TuneD is not installed" in missing[0] and "lowlat-gen is not installed" in missing[1]
    # As the act.
    assert said.status == 2 and said.err == f"lowlat-gen: {refusal(host, 'apply')}\n"
    without = host.lowlat("apply", "--dry-run", "--runtime", "none")
    assert without.status == 2 and "lowlat-gen is not installed" in without.err
    assert without.out.count("missing: ") == 1


def test_a_tree_s_programs_are_kept_from_this_machine_or_not_run(host: Host) -> None:
    """A container may give no namespaces; the way of the hint needs none."""
    words = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all")
    answer = host.namespace.program(*words, *GEN, "apply", "--root", host.path)
    said = answer.refused()
    assert "cannot be run apart from this machine" in said
    assert f"'chroot {host.path} lowlat-gen'" in said
    inside = host.namespace.program(*words, "chroot", host.path, "lowlat-gen", "apply")
    assert inside.status == 0, inside


def _script(host: Host, name: str, text: str) -> None:
    host.write(f"etc/grub.d/{name}", text)
    (host.path / "etc/grub.d" / name).chmod(0o755)
