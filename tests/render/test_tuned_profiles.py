# SPDX-License-Identifier: GPL-2.0-or-later
"""TuneD's own code judges lowlat's profiles, and TuneD's files are read as TuneD reads them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lowlat.base import resources
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.plan import profile, store
from lowlat.runtime import settings
from support import needs
from support.cli import SHELL_GEN, lowlat
from support.machines import machine, write_tree
from support.tuned_oracle import SYSTEM_PYTHON, TunedOracle, oracle
from support.waits import GUARD_S

pytestmark = pytest.mark.slow

ROOT_ONLY = needs.root("mounts in a namespace")

PROFILES = profile.packaged_names()


@pytest.fixture(params=["installed", "Debian 13"])
def judge(request: pytest.FixtureRequest) -> TunedOracle:
    return oracle(request.param)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "host", machine())


# -------------------------------------------------------- reading its files


def test_a_profile_and_its_parents_come_in_tuneds_order(judge: TunedOracle) -> None:
    root = Root(str(judge.tree or "/"))
    folders = [root.host(path) for path in tuned.profile_folders(root)]
    assert tuned.profile_folders(root)[0] == judge.stock_profiles
    files = sorted(Path(folders[0]).glob("*/tuned.conf"))
    # TuneD's own first computation (virt_check) cannot be set from outside.
    computed = {file.parent.name for file in files if re.search(r"include=.*\$", file.read_text())}
    names = [file.parent.name for file in files]
    answers, _ = judge.load(names, folders)
    orders = {name: answer["order"] for name, answer in answers.items() if "order" in answer}
    told = {name: order for name, order in orders.items() if not computed.intersection(order)}
    assert len(told) > 20
    assert {name: [item.name for item in tuned.chain(root, name)] for name in told} == told


INCLUDES = {
    "etc/tuned/one/tuned.conf": "[main]\ninclude=balanced , -missing;two\n[sysctl]\na=1 # why\n",
    "usr/lib/tuned/two/tuned.conf": "[main]\ninclude=one\n[sysctl]\na=2\n",
    "usr/lib/tuned/balanced/tuned.conf": "[main]\nsummary=packaged\n",
    # A profile that shadows the packaged one of its name, and includes it.
    "etc/tuned/balanced/tuned.conf": "[main]\ninclude=balanced\n[vm]\nx=$y\n",
    "etc/tuned/lost/tuned.conf": "[main]\ninclude=missing\n",
    "etc/tuned/damaged/tuned.conf": "no section\n",
}


@pytest.mark.parametrize("name", ["one", "two", "balanced", "lost", "damaged", "missing"])
def test_odd_includes_are_followed_as_tuned_does(
    judge: TunedOracle, tmp_path: Path, name: str
) -> None:
    root = Root(str(write_tree(tmp_path, INCLUDES)))
    folders = [root.host(path) for path in tuned.profile_folders(root)]
    answer = judge.load([name], folders)[0][name]
    assert [item.name for item in tuned.chain(root, name)] == answer.get("order", [])


def test_a_profile_is_given_as_it_is_written(tmp_path: Path) -> None:
    chain = tuned.chain(Root(str(write_tree(tmp_path, INCLUDES))), "one")
    assert [item.path for item in chain] == [
        "/usr/lib/tuned/balanced/tuned.conf",
        "/etc/tuned/balanced/tuned.conf",
        "/usr/lib/tuned/two/tuned.conf",
        "/etc/tuned/one/tuned.conf",
    ]
    assert chain[-1].sections["sysctl"] == {"a": "1"}
    assert chain[1].sections["vm"] == {"x": "$y"}


def test_the_active_profiles_are_told_with_the_one_loaded_after(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    assert tuned.active_profiles(root) == ()
    write_tree(tmp_path, {"etc/tuned/active_profile": "balanced mine\n"})
    assert tuned.active_profiles(root) == ("balanced", "mine")
    # Not a text at all: no file can have this name.
    write_tree(tmp_path, {"etc/tuned/active_profile": "bal\0anced\n"})
    assert tuned.chain(root, *tuned.active_profiles(root)) == ()
    write_tree(tmp_path, {"etc/tuned/active_profile": "balanced mine\n"})
    write_tree(tmp_path, {"etc/tuned/post_loaded_profile": "late\n"})
    assert tuned.active_profiles(root) == ("balanced", "mine", "late")


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        ({}, ("/usr/lib/tuned", "/etc/tuned")),
        # lowlat's profiles alone in the new place do not make TuneD 2.20 search there.
        (
            {"usr/lib/tuned/balanced/x": "", "usr/lib/tuned/profiles/lowlat/x": ""},
            ("/usr/lib/tuned", "/etc/tuned"),
        ),
        (
            {"usr/lib/tuned/profiles/balanced/x": ""},
            ("/usr/lib/tuned/profiles", "/etc/tuned/profiles"),
        ),
        (
            {
                "usr/lib/tuned/profiles/balanced/x": "",
                "etc/tuned/tuned-main.conf": "daemon = 1\nprofile_dirs = /a/b/, /c;/d/../e # x\n",
            },
            ("/a/b", "/c", "/e"),
        ),
        (
            {
                "usr/lib/tuned/profiles/balanced/x": "",
                "etc/tuned/tuned-main.conf": "profile_dirs = ../etc\n",
            },
            ("/usr/lib/tuned/profiles", "/etc/tuned/profiles"),
        ),
    ],
)
def test_the_folders_are_those_of_the_installed_tuned(
    tmp_path: Path, files: dict[str, str], folders: tuple[str, ...]
) -> None:
    assert tuned.profile_folders(Root(str(write_tree(tmp_path, files)))) == folders


# ---------------------------------------------------------- our profiles


@dataclass(frozen=True)
class ProfileStage:
    """A mount namespace with a lowlat-gen in /usr/bin, and with TuneD's own folders empty."""

    folder: Path

    def prefix(self, program: str) -> list[str]:
        """The words before a command that runs in the namespace; "" means no lowlat-gen at all."""
        stand_in = self.folder / "lowlat-gen"
        stand_in.write_text(program)
        stand_in.chmod(0o755)
        script = (
            "mount -t tmpfs none /run && mkdir /run/upper /run/work && "
            "mount -t overlay none /usr/bin "
            "-o lowerdir=/usr/bin,upperdir=/run/upper,workdir=/run/work && "
            'rm -f /usr/bin/lowlat-gen && { [ ! -s "$0" ] || cp "$0" /usr/bin/lowlat-gen; } && '
            'exec "$@"'
        )
        return ["unshare", "-m", "sh", "-c", script, str(stand_in)]


@pytest.fixture
def stage(tmp_path: Path) -> ProfileStage:
    return ProfileStage(tmp_path)


def real(host: Path) -> str:
    """The real lowlat-gen, for a machine of files."""
    return f'#!/bin/sh\nexec {SHELL_GEN} "$@" --root {host}\n'


def natively(loaded: dict[str, Any]) -> dict[str, str]:
    """The settings of a loaded profile that TuneD sets itself."""
    sections = {name: options for name, options in loaded["units"].items() if name != "script"}
    assert set(sections) <= {"sysctl"}, "a section that not every TuneD and kernel has"
    return {name: value for options in sections.values() for name, value in options.items()}


def assert_together_exactly(loaded: dict[str, Any], document: dict[str, Any], plan: Path) -> None:
    """TuneD's settings and its script's settings together are the plan's settings, without
    duplicates."""
    native = natively(loaded)
    script = {item.name for item in settings.ours(store.read(str(plan), Root()), Root())}
    assert not native.keys() & script
    assert native.keys() | script == {item["name"] for item in document["runtime"]}
    planned = {item["name"]: item["value"] for item in document["runtime"]}
    assert native == {name: planned[name] for name in native}
    [path] = loaded["scripts"]
    assert os.access(path, os.X_OK)


def assert_quiet(log: str) -> None:
    assert not re.search(r"WARN|ERROR|CRITICAL|Traceback", log), log


@ROOT_ONLY
def test_every_packaged_profile_loads_and_is_the_plan(
    judge: TunedOracle, host: Path, stage: ProfileStage
) -> None:
    loaded, log = judge.load(PROFILES, [resources.profiles()], stage.prefix(real(host)))
    assert_quiet(log)
    for name in PROFILES:
        answer = lowlat("plan", "--profile", name, "--root", host, "--json")
        path = host.parent / "plan.json"
        path.write_text(answer.out)
        assert_together_exactly(loaded[name], answer.json(), path)
        cores = "isolated" if answer.json()["cpus"]["isolated"] else "housekeeping"
        known = loaded[name]["variables"]
        assert known[f"TUNED_{cores}_cores"] == answer.json()["cpus"][cores]
        [script] = loaded[name]["scripts"]
        assert Path(script).parent.name == name


@pytest.mark.parametrize("name", PROFILES)
def test_the_profile_of_one_machine_is_its_plan(
    judge: TunedOracle, host: Path, tmp_path: Path, name: str
) -> None:
    """lowlat-local contains everything: TuneD needs no lowlat-gen to load it."""
    out = tmp_path / "out"
    assert lowlat("render", "--root", host, "--profile", name, "--out", out).status == 0
    folders = [out / path.strip("/") for path in tuned.profile_folders(Root(str(host)))]
    answers, log = judge.load(["lowlat-local"], folders)
    assert_quiet(log)
    loaded = answers["lowlat-local"]
    assert loaded["order"] == [name, "lowlat-local"]
    plan = out / "var/lib/lowlat/plan.json"
    assert_together_exactly(loaded, json.loads(plan.read_text()), plan)
    # TuneD runs the script of lowlat-local, not the included one: it sets the stored plan.
    assert loaded["scripts"] == [str(folders[-1] / "lowlat-local/script.sh")]


def test_it_lies_where_the_installed_tuned_looks(host: Path, tmp_path: Path) -> None:
    write_tree(host, {"usr/lib/tuned/profiles/balanced/tuned.conf": "[main]\n"})
    lowlat("render", "--root", host, "--out", tmp_path / "out")
    files = {str(path.relative_to(tmp_path / "out")) for path in tmp_path.glob("out/**/tuned.conf")}
    assert files == {
        "usr/lib/tuned/profiles/lowlat/tuned.conf",
        "etc/tuned/profiles/lowlat-local/tuned.conf",
    }


def test_a_profile_of_the_users_own(judge: TunedOracle, tmp_path: Path, host: Path) -> None:
    own = "[main]\nparent = lowlat\nsummary = mine\n"
    write_tree(host, {"etc/lowlat/profiles/mine/lowlat.conf": own})
    answer = lowlat("render", "--root", host, "--profile", "mine", "--out", tmp_path / "out")
    assert answer.status == 0, answer.err
    loaded, log = judge.load(["lowlat-local"], [tmp_path / "out/etc/tuned"])
    assert_quiet(log)
    assert natively(loaded["lowlat-local"]) == {"kernel.timer_migration": "1"}


def test_what_was_disabled_is_not_set(judge: TunedOracle, tmp_path: Path, host: Path) -> None:
    out = tmp_path / "out"
    off = ("--disable", "kernel.timer_migration")
    assert lowlat("render", "--root", host, *off, "--out", out).status == 0
    loaded, log = judge.load(["lowlat-local"], [out / "usr/lib/tuned", out / "etc/tuned"])
    assert_quiet(log)
    assert natively(loaded["lowlat-local"]) == {}


@ROOT_ONLY
def test_a_tuned_profile_may_include_ours(
    judge: TunedOracle, host: Path, stage: ProfileStage, tmp_path: Path
) -> None:
    mine = "[main]\ninclude=lowlat-poll\n[sysctl]\nkernel.timer_migration=0\nvm.swappiness=1\n"
    files = {"profiles/mine/tuned.conf": mine}
    for name in ("tuned.conf", "script.sh"):
        files[f"profiles/lowlat-poll/{name}"] = (
            resources.profiles() / "lowlat-poll" / name
        ).read_text()
    folder = write_tree(tmp_path, files) / "profiles"
    (folder / "lowlat-poll/script.sh").chmod(0o755)
    answers, log = judge.load(["mine"], [folder], stage.prefix(real(host)))
    assert_quiet(log)
    loaded = answers["mine"]
    assert loaded["units"]["sysctl"] == {"kernel.timer_migration": "0", "vm.swappiness": "1"}
    # The script of the shadowed profile still names that profile, and lowlat chooses the CPUs.
    [script] = loaded["scripts"]
    assert Path(script).parent.name == "lowlat-poll"
    assert loaded["variables"]["TUNED_isolated_cores"] == "1-3"


# ------------------------------------------- the program, once, without daemon

#: Records its calls and answers as configured.
STAND_IN = """#!/bin/sh
echo "$*" >>{calls}
case "$1" in
cpus) {cpus} ;;
runtime) {runtime} ;;
esac
"""

#: $1: the test's folder. TuneD finds only lowlat's profiles, and a sysctl file that is not the
#: host's.
ONE_SHOT = """
cd "$1" && echo 0 >migration && mount --bind migration /proc/sys/kernel/timer_migration &&
mount --bind etc /etc/tuned && shift && exec "$@"
"""


@dataclass(frozen=True)
class Applied:
    """The results of one run of the program: its log, lowlat-gen's calls, TuneD's own sysctl."""

    log: str
    calls: Sequence[str]
    migration: str

    @property
    def errors(self) -> str:
        found = [line for line in self.log.splitlines() if re.search("WARN|ERROR|CRITICAL", line)]
        return "\n".join(line for line in found if "one shot no daemon mode" not in line)


def apply(judge: TunedOracle, stage: ProfileStage, name: str, program: str) -> Applied:
    """Have TuneD apply a packaged profile once, in a separate namespace."""
    folder = stage.folder
    profiles = folder / "etc" / judge.user_profiles[len("/etc/tuned") :].lstrip("/")
    files = [path for path in resources.profiles().glob("lowlat*/*") if path.suffix != ".pyc"]
    write_tree(profiles, {f"{file.parent.name}/{file.name}": file.read_text() for file in files})
    for script in profiles.glob("*/script.sh"):
        script.chmod(0o755)
    (folder / "etc/tuned-main.conf").write_text(
        "daemon = 0\ndynamic_tuning = 0\nreapply_sysctl = 0\nrecommend_command = 0\n"
    )
    words = [SYSTEM_PYTHON, judge.program, "--no-dbus", "--no-socket", "--profile", name]
    done = subprocess.run(
        [*stage.prefix(program), "sh", "-c", ONE_SHOT, "sh", str(folder), *words],
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        env=judge.environment,
        check=False,
    )
    calls = folder / "calls"
    return Applied(
        done.stdout + done.stderr,
        calls.read_text().splitlines() if calls.exists() else [],
        (folder / "migration").read_text().strip(),
    )


def stand_in(folder: Path, cpus: str, run: str = "exit 0") -> str:
    return STAND_IN.format(calls=folder / "calls", cpus=cpus, runtime=run)


@ROOT_ONLY
@pytest.mark.parametrize(
    ("name", "which"), [("lowlat", "isolated"), ("lowlat-desktop", "housekeeping")]
)
def test_tuned_applies_a_packaged_profile(
    judge: TunedOracle, stage: ProfileStage, tmp_path: Path, name: str, which: str
) -> None:
    applied = apply(judge, stage, name, stand_in(tmp_path, "echo 2-3"))
    assert f"static tuning from profile '{name}' applied" in applied.log, applied.log
    assert applied.errors == ""
    assert applied.calls == [f"cpus {which} --profile {name}", f"runtime start --profile {name}"]
    assert applied.migration == ("1" if name == "lowlat" else "0")


REFUSALS = {
    "refused": ("echo 'lowlat-gen: one core' >&2; exit 2", "one core"),
    "empty": ("echo", "lowlat-gen names the"),
    "no list": ("echo all", "lowlat-gen names the"),
    "missing": (None, "lowlat-gen names the"),
}


@ROOT_ONLY
@pytest.mark.parametrize("name", ["lowlat", "lowlat-desktop"])
@pytest.mark.parametrize("why", REFUSALS)
def test_tuned_refuses_a_profile_without_its_cpus_and_writes_nothing(
    judge: TunedOracle, stage: ProfileStage, tmp_path: Path, name: str, why: str
) -> None:
    cpus, said = REFUSALS[why]
    applied = apply(judge, stage, name, stand_in(tmp_path, cpus) if cpus else "")
    assert "No tunings will be enabled" in applied.errors, applied.log
    assert said in applied.errors
    assert "static tuning" not in applied.log
    assert not any(call.startswith("runtime") for call in applied.calls)
    assert applied.migration == "0"


@ROOT_ONLY
def test_tuned_refuses_a_profile_on_a_machine_of_one_cpu(
    judge: TunedOracle, stage: ProfileStage, tmp_path: Path
) -> None:
    one = write_tree(tmp_path / "one", machine(cpus=1))
    applied = apply(judge, stage, "lowlat", real(one))
    assert "No tunings will be enabled" in applied.errors, applied.log
    assert "one core online" in applied.errors
    assert applied.migration == "0"


@ROOT_ONLY
def test_a_script_that_fails_is_in_tuneds_log(
    judge: TunedOracle, stage: ProfileStage, tmp_path: Path
) -> None:
    failing = "echo '/proc/irq/9 (f) is not 1'; exit 1"
    applied = apply(judge, stage, "lowlat", stand_in(tmp_path, "echo 2-3", failing))
    assert "error output: '/proc/irq/9 (f) is not 1'" in applied.errors
    assert "returned error code: 1" in applied.errors


# ----------------------------------------------------------------- the script


@ROOT_ONLY
@pytest.mark.parametrize(
    ("folder", "words", "call"),
    [
        ("lowlat-rt", ["start"], "runtime start --profile lowlat-rt"),
        ("lowlat-rt", ["stop", "full_rollback"], "runtime stop --profile lowlat-rt"),
        ("lowlat-rt", ["verify", "ignore_missing"], "runtime verify --profile lowlat-rt"),
        ("lowlat-local", ["start"], "runtime start"),
        ("lowlat", ["other"], None),
    ],
)
def test_the_script_passes_its_profile_on(
    stage: ProfileStage, tmp_path: Path, folder: str, words: Iterable[str], call: str
) -> None:
    source = (resources.templates() / "tuned/script.sh").read_text()
    script = write_tree(tmp_path, {f"{folder}/script.sh": source}) / folder / "script.sh"
    script.chmod(0o755)
    prefix = stage.prefix(stand_in(tmp_path, "", "echo all is well"))
    done = subprocess.run([*prefix, script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if call else 2)
    assert done.stdout == "" and done.stderr == ""
    calls = tmp_path / "calls"
    assert (calls.read_text() if calls.exists() else "") == (f"{call}\n" if call else "")
