# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: the files, read by their real consumers: /bin/sh, GRUB's tools, TuneD's loader."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lowlat import profile, render
from lowlat.process import find
from lowlat.root import Root
from trees import CPU, lowlat, machine, write_tree

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts in a namespace")

SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "host", machine())


@pytest.fixture
def out(tmp_path: Path, host: Path) -> Path:
    answer = lowlat("render", "--root", host, "--out", tmp_path / "out")
    assert answer.status == 0, answer.err
    return tmp_path / "out"


def plan_of(out: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((out / "var/lib/lowlat/plan.json").read_text())
    return document


def test_every_path_is_printed_and_lies_below_the_folder(tmp_path: Path, host: Path) -> None:
    answer = lowlat("render", "--root", host, "--out", tmp_path / "out")
    files = sorted(str(path) for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert sorted(answer.out.split()) == files
    assert (tmp_path / "out/etc/grub.d/99_lowlat").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


def test_the_stored_plan_is_the_plan(out: Path, host: Path) -> None:
    assert plan_of(out) == lowlat("plan", "--root", host, "--json").json()


def test_a_stored_plan_renders_the_same(tmp_path: Path, out: Path) -> None:
    again = tmp_path / "again"
    lowlat("render", "--plan", out / "var/lib/lowlat/plan.json", "--out", again)
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        assert (again / path.relative_to(out)).read_bytes() == path.read_bytes()


def test_the_shell_reads_the_values_that_were_planned(out: Path) -> None:
    script = '. "$1" && printf "%s\\n%s\\n" "$LOWLAT_CMDLINE" "$LOWLAT_KERNEL"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", out / "etc/lowlat/boot.conf"],
        capture_output=True,
        text=True,
        check=True,
    )
    plan = plan_of(out)
    line, kernel = done.stdout.splitlines()
    assert line == f"{plan['cmdline']['text']} lowlat.plan={plan['id']}"
    assert kernel == plan["kernel"]
    assert (out / "etc/lowlat/cmdline").read_text() == f"{line}\n"


def test_rendering_again_replaces(out: Path, host: Path) -> None:
    assert lowlat("render", "--root", host, "--isolate", "3", "--out", out).status == 0
    assert plan_of(out)["cpus"]["isolated"] == "3"
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]


def test_an_unwritable_folder_is_refused_and_nothing_is_left(tmp_path: Path, host: Path) -> None:
    (tmp_path / "file").write_text("")
    lowlat("render", "--root", host, "--out", tmp_path / "file").refused()
    lowlat("render", "--root", host, "--out", tmp_path / "file" / "below").refused()
    lowlat("render", "--root", host, "--out", "/proc/lowlat").refused()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "host"]


@ROOT_ONLY
def test_a_read_only_file_system_is_refused(tmp_path: Path, host: Path) -> None:
    script = (
        f'mount -t tmpfs -o ro none "$1" && exec {sys.executable} -m lowlat render '
        '--root "$2" --out "$1/out"'
    )
    folder = tmp_path / "ro"
    folder.mkdir()
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", folder, host],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Read-only" in done.stderr


# -------------------------------------------------------------------- GRUB

GRUB_LINUX = Path("/etc/grub.d/10_linux")

GRUB = pytest.mark.skipif(
    not (GRUB_LINUX.exists() and find("grub-script-check")),
    reason="GRUB's tools are not installed (grub-common)",
)


def grub_entries(out: Path, script: str) -> str:
    """What a script of /etc/grub.d writes into grub.cfg."""
    return run_grub(out, script).stdout


def run_grub(out: Path, script: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a script of /etc/grub.d as grub-mkconfig would, with two kernels in /boot."""
    prepare = (
        "mount -t tmpfs none /boot && mkdir /boot/grub && "
        "touch /boot/vmlinuz-6.12.107-test /boot/vmlinuz-6.1.0-9-amd64 "
        "/boot/initrd.img-6.12.107-test && exec "
    )
    environment = {
        **os.environ,
        "pkgdatadir": "/usr/share/grub",
        "GRUB_DEVICE": "/dev/vda",
        "GRUB_DEVICE_BOOT": "/dev/vda",
        "GRUB_DEVICE_UUID": "11-22",
        "GRUB_FS": "ext4",
        "GRUB_DISTRIBUTOR": "Debian",
        "GRUB_CMDLINE_LINUX": "net.ifnames=0",
        "GRUB_CMDLINE_LINUX_DEFAULT": "quiet",
        "LOWLAT_BOOT_CONF": str(out / "etc/lowlat/boot.conf"),
        **settings,
    }
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{prepare}{out}/etc/grub.d/{script}"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@GRUB
@ROOT_ONLY
def test_grub_accepts_the_entry_and_it_carries_the_line(out: Path, tmp_path: Path) -> None:
    shutil.copy(GRUB_LINUX, out / "etc/grub.d/10_linux")
    stock = grub_entries(out, "10_linux")
    ours = grub_entries(out, "99_lowlat")
    (tmp_path / "grub.cfg").write_text(stock + ours)
    checked = subprocess.run(
        [str(find("grub-script-check")), tmp_path / "grub.cfg"], capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    plan = plan_of(out)
    lines = [line.split() for line in ours.splitlines() if line.strip().startswith("linux\t")]
    assert len(lines) == 1, ours
    planned = [*plan["cmdline"]["text"].split(), f"lowlat.plan={plan['id']}"]
    assert lines[0][-len(planned) :] == planned
    assert "net.ifnames=0" in lines[0] and "quiet" in lines[0]
    assert lines[0][1].endswith("/vmlinuz-6.12.107-test")


@GRUB
@ROOT_ONLY
def test_grub_ids_are_our_own_and_the_stock_entries_stay(out: Path) -> None:
    shutil.copy(GRUB_LINUX, out / "etc/grub.d/10_linux")
    before = grub_entries(out, "10_linux")
    ours = grub_entries(out, "99_lowlat")
    assert grub_entries(out, "10_linux") == before
    assert "--id lowlat {" in ours and "'lowlat-6.12.107-test-advanced-" in ours
    assert "'gnulinux-" not in ours


@GRUB
@ROOT_ONLY
def test_grub_gets_no_entry_without_a_plan_or_its_kernel(out: Path) -> None:
    shutil.copy(GRUB_LINUX, out / "etc/grub.d/10_linux")
    settings = out / "etc/lowlat/boot.conf"
    settings.write_text(settings.read_text().replace("6.12.107-test", "6.13.0-gone"))
    assert grub_entries(out, "99_lowlat") == ""
    settings.unlink()
    assert grub_entries(out, "99_lowlat") == ""


@GRUB
@ROOT_ONLY
def test_grub_does_not_make_the_chosen_entry_the_default(out: Path) -> None:
    shutil.copy(GRUB_LINUX, out / "etc/grub.d/10_linux")
    stock = run_grub(out, "10_linux", GRUB_SAVEDEFAULT="true").stdout
    ours = run_grub(out, "99_lowlat", GRUB_SAVEDEFAULT="true").stdout
    assert "savedefault" in stock
    assert "menuentry" in ours and "savedefault" not in ours


@GRUB
@ROOT_ONLY
def test_grub_errors_are_seen_and_what_was_found_is_not_said_twice(out: Path) -> None:
    stock = out / "etc/grub.d/10_linux"
    told = "grub-probe: error: cannot find a GRUB drive for /dev/vda.  Check your device.map."
    french = "Image Linux trouvée : /boot/vmlinuz-6.12"
    stock.write_text(
        f'#!/bin/sh\necho "{told}" >&2\necho "{french}" >&2\n. {GRUB_LINUX.as_posix()}\n'
    )
    stock.chmod(0o755)
    assert "Found linux image: /boot/" in run_grub(out, "10_linux", LC_ALL="C").stderr
    ours = run_grub(out, "99_lowlat", LC_ALL="C")
    assert told in ours.stderr.splitlines()
    assert french not in ours.stderr and "Found " not in ours.stderr
    assert ours.stderr.splitlines()[-1].startswith("lowlat: adding the tuned entry")
    assert "menuentry" in ours.stdout


# ------------------------------------------------------------------- TuneD

LOADER = """
import json, sys
from tuned.profiles import factory, loader, locator, merger, variables
known = variables.Variables()
folders = locator.Locator(sys.argv[1:-1])
load = loader.Loader(folders, factory.Factory(), merger.Merger(), None, known)
profile = load.load(sys.argv[-1])
units = {
    name: {key: known.expand(value) for key, value in unit.options.items() if key != "script"}
    for name, unit in profile.units.items()
}
scripts = [unit.options["script"] for unit in profile.units.values() if "script" in unit.options]
print(json.dumps({"units": units, "scripts": scripts, "variables": known.get_env()}))
"""


def tuned_installed() -> bool:
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import tuned.profiles"], capture_output=True, check=False
    )
    return done.returncode == 0


TUNED = pytest.mark.skipif(not tuned_installed(), reason="TuneD is not installed")


def tuned_load(*folders: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SYSTEM_PYTHON, "-c", LOADER, *folders, name],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@TUNED
def test_tuned_expands_the_local_profile_to_the_plan(out: Path) -> None:
    done = tuned_load(out / "usr/lib/tuned", out / "etc/tuned", name="lowlat-local")
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr and "WARNING" not in done.stderr, done.stderr
    loaded = json.loads(done.stdout)
    plan = plan_of(out)
    assert loaded["variables"]["TUNED_isolated_cores"] == plan["cpus"]["isolated"]
    # What TuneD sets by itself and what the script sets are together exactly the plan's settings.
    from lowlat import planfile, runtime

    script = {
        item.name
        for item in runtime.ours(planfile.read(str(out / "var/lib/lowlat/plan.json"), Root()))
    }
    native = loaded["units"]["sysctl"]
    assert native.keys() | script == {item["name"] for item in plan["runtime"]}
    assert not native.keys() & script
    for item in plan["runtime"]:
        if item["name"] in native:
            assert native[item["name"]] == item["value"]
    assert set(loaded["units"]) == {"sysctl", "script"}
    [[script_path]] = loaded["scripts"]
    assert os.access(script_path, os.X_OK)


@TUNED
def test_tuned_refuses_the_packaged_profile_when_no_cpus_can_be_had(tmp_path: Path) -> None:
    if Path("/usr/bin/lowlat-gen").exists():
        pytest.skip("lowlat-gen is installed in /usr/bin: its absence cannot be shown")
    shutil.copytree("profiles/lowlat", tmp_path / "lowlat")
    done = tuned_load(tmp_path, name="lowlat")
    assert done.returncode != 0
    assert "lowlat-gen names the isolated CPUs" in done.stderr


@TUNED
@ROOT_ONLY
@pytest.mark.parametrize(
    ("program", "accepted"),
    [
        ("#!/bin/sh\necho 2-3\n", True),
        ("#!/bin/sh\necho\n", False),
        ("#!/bin/sh\nexit 2\n", False),
        ("#!/bin/sh\necho all\n", False),
    ],
)
def test_tuned_takes_the_cpus_from_lowlat_gen(tmp_path: Path, program: str, accepted: bool) -> None:
    """The packaged profile alone, with a stand-in for /usr/bin/lowlat-gen in a mount namespace."""
    shutil.copytree("profiles/lowlat", tmp_path / "profiles/lowlat")
    stand_in = tmp_path / "lowlat-gen"
    stand_in.write_text(program)
    stand_in.chmod(0o755)
    loader = tmp_path / "loader.py"
    loader.write_text(LOADER)
    script = (
        'mkdir "$1/upper" "$1/work" && mount -t tmpfs none "$1/upper" && '
        'mkdir "$1/upper/u" "$1/upper/w" && '
        "mount -t overlay none /usr/bin "
        '-o "lowerdir=/usr/bin,upperdir=$1/upper/u,workdir=$1/upper/w" && '
        'cp "$1/lowlat-gen" /usr/bin/ && '
        'exec /usr/bin/python3 "$1/loader.py" "$1/profiles" lowlat'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is accepted, done.stderr
    if accepted:
        assert json.loads(done.stdout)["variables"]["TUNED_isolated_cores"] == "2-3"


# ---------------------------------------------------------------- products


def test_the_committed_tuned_profiles_are_fresh() -> None:
    for name in profile.names(Root()):
        folder = Path("profiles") / name
        assert (folder / "tuned.conf").read_text() == render.tuned_profile(profile.load(name)), (
            "run packaging/produce"
        )
        assert (folder / "script.sh").read_text() == Path("templates/tuned/script.sh").read_text()


def test_cpus_prints_the_bare_list(tmp_path: Path, host: Path) -> None:
    assert lowlat("cpus", "isolated", "--root", host).out == "1-3\n"
    assert lowlat("cpus", "housekeeping", "--root", host).out == "0\n"
    (host / CPU / "isolated").write_text("2-3\n")
    assert lowlat("cpus", "isolated", "--root", host).out == "2-3\n"
    assert lowlat("cpus", "housekeeping", "--root", host).out == "0-1\n"
    one = write_tree(tmp_path / "one", machine(cpus=1))
    lowlat("cpus", "isolated", "--root", one).refused()


def test_cpus_follows_the_applied_plan_in_a_boot_of_ours(host: Path, out: Path) -> None:
    plan = plan_of(out)
    shutil.copytree(out / "var", host / "var")
    (host / CPU / "isolated").write_text("2\n")
    (host / "proc/cmdline").write_text(f"quiet lowlat.plan={plan['id']}\n")
    assert lowlat("cpus", "isolated", "--root", host).out == "1-3\n"
    (host / "proc/cmdline").write_text("quiet lowlat.plan=other\n")
    assert lowlat("cpus", "isolated", "--root", host).out == "2\n"


@TUNED
def test_tuned_loads_a_profile_of_the_users_own(tmp_path: Path, host: Path) -> None:
    own = "[main]\nparent = lowlat\nsummary = mine\n"
    write_tree(host, {"etc/lowlat/profiles/mine/lowlat.conf": own})
    answer = lowlat("render", "--root", host, "--profile", "mine", "--out", tmp_path / "out")
    assert answer.status == 0, answer.err
    done = tuned_load(tmp_path / "out/etc/tuned", name="lowlat-local")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["units"]["sysctl"] == {"kernel.timer_migration": "1"}


@TUNED
def test_tuned_does_not_set_what_was_disabled(tmp_path: Path, host: Path) -> None:
    out = tmp_path / "out"
    off = ("--disable", "kernel.timer_migration")
    assert lowlat("render", "--root", host, *off, "--out", out).status == 0
    done = tuned_load(out / "usr/lib/tuned", out / "etc/tuned", name="lowlat-local")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["units"]["sysctl"] == {}


def test_what_could_only_be_half_replaced_is_refused_before_anything_is(
    tmp_path: Path, host: Path, out: Path
) -> None:
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    shutil.rmtree(out / "etc/tuned/lowlat-local")
    (out / "etc/tuned/lowlat-local").write_text("in the way")
    again = ("render", "--root", host, "--isolate", "3", "--out")
    assert "no folder" in lowlat(*again, out).refused()
    kept = out / "var/lib/lowlat/plan.json"
    assert kept.read_bytes() == before[kept]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/etc").symlink_to(tmp_path / "elsewhere")
    lowlat(*again, tmp_path / "linked").refused()
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("out", ["", "/", "/../"])
def test_this_machines_own_tree_is_refused(host: Path, out: str) -> None:
    lowlat("render", "--root", host, "--out", out).refused()


def test_the_umask_does_not_hide_the_files(tmp_path: Path, host: Path) -> None:
    words = ("render", "--root", str(host), "--out", str(tmp_path / "out"))
    command = [sys.executable, "-m", "lowlat", *words]
    subprocess.run(command, check=True, capture_output=True, umask=0o077)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_dir()}
    assert modes == {0o755}
