# SPDX-License-Identifier: GPL-2.0-or-later
"""Rollback and the package's removal work whatever version wrote the state."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_bls import DEBIAN, FEDORA, ID, debian, fedora, try_entry

from lowlat import __version__
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk
from lowlat.boot.transaction import roll_back
from lowlat.host.root import Root
from support.cli import lowlat
from support.hosttree import NEEDS, REPOSITORY, Host, apply_and_try, refusal

pytest_plugins = ["support.hosttree"]
pytestmark = [*NEEDS, pytest.mark.security]

__all__ = ["debian", "fedora"]

_STATE = "var/lib/lowlat"


def promoted(kind: str, request: pytest.FixtureRequest) -> tuple[Host, dict[str, Any]]:
    """A host with a promoted entry, and its files before the apply."""
    host: Host = request.getfixturevalue(kind)
    before = host.snapshot()
    if kind == "host":
        apply_and_try(host)
    else:
        try_entry(host, FEDORA if kind == "fedora" else DEBIAN)
    host.done("promote")
    return host, before


def state_files(host: Host) -> list[Path]:
    return sorted((host.path / _STATE).rglob("*.json"))


def write_as(host: Host, schema: str, **more: object) -> None:
    """Imitate a state from another version, which would have journalled its own writes."""
    journal_path = host.path / _STATE / "journal.json"
    journal = json.loads(journal_path.read_text())
    for path in state_files(host):
        document = {**json.loads(path.read_text()), **more}
        document["schema"] = document["schema"].replace("/1", schema)
        path.write_text(json.dumps(document))
        entry = journal["entries"].get(f"/{path.relative_to(host.path)}")
        if entry is not None:
            kind = f"{path.stat().st_mode & 0o7777:o} {path.stat().st_uid} {path.stat().st_gid}"
            digest = hashlib.sha256(kind.encode() + b"\0" + path.read_bytes()).hexdigest()
            entry["ours"] = [digest]
    schema = journal["schema"].replace("/1", schema)
    journal_path.write_text(json.dumps({**journal, **more, "schema": schema}))


def test_every_state_file_tells_who_wrote_it(host: Host) -> None:
    apply_and_try(host)
    documents = {path.name: json.loads(path.read_text()) for path in state_files(host)}
    assert {"journal.json", "decision.json", "trials.json", "plan.json"} < set(documents)
    for name, document in documents.items():
        assert re.fullmatch(r"lowlat\.[a-z]+/1", document["schema"]), name
        assert document["writer"] == __version__, name


@pytest.mark.parametrize("kind", ["host", "fedora", "debian"])
def test_state_of_a_later_version_is_named_and_rolled_back(
    kind: str, request: pytest.FixtureRequest
) -> None:
    host, before = promoted(kind, request)
    write_as(host, "/2", writer="9.9.9", more={"of": "it"})
    for verb in ("apply", "trial", "promote", "status"):
        assert "written by a newer lowlat (9.9.9)" in refusal(host, verb)
    host.done("rollback", "--dry-run")
    assert host.done("rollback").startswith("the boot is as it was before lowlat")
    assert host.snapshot() == before


@pytest.mark.parametrize("kind", ["host", "fedora", "debian"])
def test_keys_that_a_later_version_added_are_nobodys_fault(
    kind: str, request: pytest.FixtureRequest
) -> None:
    host, before = promoted(kind, request)
    status = host.status()
    write_as(host, "/1", writer="0.9.9", more={"of": "it"})
    assert host.status() == status
    host.done("promote")
    host.done("apply")
    host.done("rollback")
    assert host.snapshot() == before


def test_what_a_person_gives_stays_strict(host: Host) -> None:
    plan = json.loads(host.done("plan", "--json"))
    host.write("tmp/plan.json", json.dumps({**plan, "runtime": [{"name": "x", "more": 1}]}))
    answer = host.lowlat("runtime", "start", "--plan", host.path / "tmp/plan.json")
    assert "not a plan" in answer.refused()


def rescue(host: Host) -> None:
    """Imitate a rescue system with the host's disk at its place: other kernel, line and boot."""
    host.write("proc/cmdline", "BOOT_IMAGE=/live/vmlinuz boot=live\n")
    host.write("proc/sys/kernel/osrelease", "6.1.0-99-rescue\n")
    host.write("proc/sys/kernel/random/boot_id", "rescue\n")


@pytest.mark.parametrize("kind", ["host", "fedora", "debian"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_rescue_system_rolls_back_a_promoted_entry(
    kind: str, inside: bool, request: pytest.FixtureRequest
) -> None:
    host, before = promoted(kind, request)
    rescue(host)
    answer = host.chroot("lowlat-gen", "rollback") if inside else host.lowlat("rollback")
    assert (answer.status, answer.err) == (0, ""), answer
    assert host.snapshot() == before
    assert "chroot /mnt lowlat-gen rollback\n" in lowlat("explain", "undo").out


@pytest.mark.parametrize("kind", ["host", "fedora", "debian"])
def test_without_lowlat_gen_one_file_less_boots_stock_again(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """What 'explain undo' and boot.md say to remove by hand."""
    host, before = promoted(kind, request)
    assert host.status()["default"]["ours"]
    told = lowlat("explain", "undo").out
    if kind == "host":
        assert "rm /etc/grub.d/99_lowlat, then update-grub" in told
        (host.path / "etc/grub.d/99_lowlat").unlink()
        host.update_grub()
        assert host.config.encode() == before["boot/grub/grub.cfg"][2]
    else:
        assert "rm *[-~]lowlat-* in loader/entries" in told
        gone = list((host.path / (FEDORA if kind == "fedora" else DEBIAN)).glob("*[-~]lowlat-*"))
        assert gone
        for path in gone:
            path.unlink()
    default = host.status()["default"]
    assert not default["ours"] and "lowlat" not in default["entry"]
    host.done("rollback")
    assert host.snapshot() == before


def removal_script(kind: str) -> str:
    """The script that the package runs before its removal, for dpkg and for rpm."""
    if kind == "deb":
        return (REPOSITORY / "packaging/debian/lowlat.prerm").read_text()
    spec = (REPOSITORY / "packaging/rpm/lowlat.spec").read_text()
    return spec.partition("%preun\n")[2].partition("%systemd_preun")[0]


@pytest.mark.parametrize(("kind", "word"), [("deb", "remove"), ("rpm", "0")])
def test_the_package_can_be_removed_with_state_of_a_later_version(
    host: Host, kind: str, word: str
) -> None:
    before = host.snapshot()
    apply_and_try(host)
    host.done("promote")
    write_as(host, "/2", writer="9.9.9")
    host.write("tmp/script", removal_script(kind))
    answer = host.chroot("sh", "/tmp/script", word)
    assert (answer.status, answer.err) == (0, ""), answer
    assert host.snapshot() == before


def test_what_rollback_needs_of_the_journal_is_frozen(tmp_path: Path) -> None:
    """The test writes the journal by hand, as packaging/doc/boot.md describes it: no later version
    may change this format."""
    ours, theirs = tmp_path / "etc/ours", tmp_path / "etc/theirs"
    (tmp_path / "etc/made").mkdir(parents=True)
    (tmp_path / "var/lib/lowlat").mkdir(parents=True)
    for path in (ours, theirs):
        path.write_text("ours\n")
        path.chmod(0o644)
    held = ours.stat()
    kind = f"644 {held.st_uid} {held.st_gid}"
    digest = hashlib.sha256(f"{kind}\0ours\n".encode()).hexdigest()
    snapshot = {
        "content": base64.b64encode(b"by hand\n").decode(),
        "mode": 0o640,
        "uid": held.st_uid,
        "gid": held.st_gid,
        "xattrs": {},
        "link": False,
        "later": 1,
    }
    entries = {
        "/etc/ours": {"before": None, "ours": [digest], "later": 1},
        "/etc/theirs": {"before": snapshot, "ours": ["something", digest]},
    }
    document = {"schema": "lowlat.journal/7", "entries": entries, "folders": ["/etc/made"]}
    (tmp_path / "var/lib/lowlat/journal.json").write_text(json.dumps({**document, "later": []}))
    disk = Disk(Root(str(tmp_path)))
    assert roll_back(disk, journals.read(disk)) == []
    assert not ours.exists() and not (tmp_path / "etc/made").exists()
    assert theirs.read_text() == "by hand\n" and theirs.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["decision.json", "plan.json", "trials.json"])
def test_one_rollback_is_enough_where_the_state_is_damaged(host: Host, name: str) -> None:
    before = host.snapshot()
    host.done("apply")
    host.done("trial")
    host.write(f"var/lib/lowlat/{name}", "{")
    doctor = host.lowlat("doctor", "status", "promote")
    told = f"{name} is damaged" in " ".join(doctor.out.split())
    assert told is (doctor.status == 1) is (name != "plan.json"), doctor
    host.done("rollback")
    assert host.snapshot() == before


# ------------------------------------------------------------ without a record


def forget_state(host: Host) -> None:
    shutil.rmtree(host.path / _STATE)


def ours(host: Host) -> set[str]:
    """lowlat's files, without TuneD's profiles, of which people have copies."""
    return {
        path
        for path in host.snapshot()
        if "lowlat" in path and not path.startswith("etc/tuned/lowlat")
    }


@pytest.mark.parametrize("kind", ["host", "fedora", "debian"])
def test_without_its_state_lowlat_knows_what_it_wrote(
    kind: str, request: pytest.FixtureRequest
) -> None:
    host, before = promoted(kind, request)
    forget_state(host)
    said = host.done("status")
    assert said.startswith("lowlat's record of its changes is lost") and "journal.json" in said
    rolled = host.done_as_foreseen("rollback")
    assert rolled.startswith("nothing of lowlat's is left\nnote: /var/lib/lowlat/journal.json")
    assert ("the default before lowlat" in rolled) is (kind != "host")
    assert not host.status()["default"]["ours"]
    assert not ours(host) - before.keys()
    assert host.status()["state"] == "none" and host.done("rollback") == "nothing is applied\n"


@pytest.mark.parametrize("kind", ["host", "fedora", "debian"])
def test_apply_does_not_take_lowlats_older_files_for_somebodys(
    kind: str, request: pytest.FixtureRequest
) -> None:
    host, before = promoted(kind, request)
    forget_state(host)
    host.done("apply")
    host.done("rollback")
    assert not ours(host) - before.keys()
    assert not host.status()["default"]["ours"]


@pytest.mark.parametrize(("kind", "word"), [("deb", "remove"), ("rpm", "0")])
def test_the_packages_removal_needs_no_record(host: Host, kind: str, word: str) -> None:
    host.done("apply")
    forget_state(host)
    host.write("tmp/script", removal_script(kind))
    answer = host.chroot("sh", "/tmp/script", word)
    assert (answer.status, answer.err) == (0, ""), answer
    assert "lowlat" not in host.config and not (host.path / "etc/grub.d/99_lowlat").exists()


def test_an_entry_alone_is_known_unless_it_is_another_systems(fedora: Host) -> None:
    fedora.done("apply")
    entries = {path: path.read_text() for path in (fedora.path / FEDORA).glob("*~lowlat-*")}
    fedora.done("rollback")
    for path, text in entries.items():
        path.write_text(text)
    fedora.write("etc/machine-id", f"{'7' * 32}\n")
    assert fedora.status()["state"] == "none"
    assert fedora.done("rollback") == "nothing is applied\n"
    fedora.write("etc/machine-id", f"{ID}\n")
    assert fedora.status()["state"] == "interrupted"
    fedora.done("rollback")
    assert not list((fedora.path / FEDORA).glob("*lowlat*"))


def test_an_edited_file_without_a_record_is_kept_and_named(host: Host) -> None:
    host.done("apply")
    forget_state(host)
    host.write("etc/grub.d/99_lowlat", f"{host.read('etc/grub.d/99_lowlat')}# by hand\n")
    assert "99_lowlat was edited since lowlat wrote it" in host.done("status")
    assert "/etc/grub.d/99_lowlat was edited" in refusal(host, "apply")
    answer = host.lowlat("rollback")
    assert answer.status == 1 and "kept because it was edited since: /etc/grub.d" in answer.err
    assert ours(host) == {"etc/grub.d/99_lowlat"} and "lowlat.plan=" not in host.config
    assert answer.out.startswith("the rest of lowlat's is gone\nnote: ")
    (host.path / "etc/grub.d/99_lowlat").unlink()
    host.update_grub()
    assert host.done("rollback") == "nothing is applied\n"


def test_profiles_of_somebodys_stay(host: Host) -> None:
    """One that was rendered and installed by hand before, and a copy that was changed since."""
    host.done("apply")
    made = host.snapshot()
    host.done("rollback")
    for name in ("tuned.conf", "script.sh"):
        host.write(f"etc/tuned/lowlat/{name}", made[f"etc/tuned/lowlat/{name}"][2].decode())
    before = host.snapshot()
    host.done("apply")
    copy = host.read("etc/tuned/lowlat/tuned.conf") + "[sysctl]\nvm.swappiness=1\n"
    host.write("etc/tuned/mine/tuned.conf", copy)
    host.done("rollback")
    assert host.read("etc/tuned/mine/tuned.conf") == copy
    (host.path / "etc/tuned/mine/tuned.conf").unlink()
    (host.path / "etc/tuned/mine").rmdir()
    assert host.snapshot() == before


def test_what_a_person_made_stays_where_the_record_is_lost(host: Host) -> None:
    host.done("apply")
    profile = "etc/tuned/lowlat-rt/tuned.conf"
    host.write(profile, host.read("etc/tuned/lowlat/tuned.conf") + "[sysctl]\nvm.swappiness=1\n")
    (host.path / "var/lib/lowlat/journal.json").unlink()
    said = host.done("rollback")
    assert "profiles of TuneD stay" in " ".join(said.split()) and "lowlat-rt" in said
    assert (host.path / profile).exists()


def test_notes_under_a_name_of_lowlats_are_no_edit(host: Host) -> None:
    host.write("etc/lowlat/boot.conf", "# my notes on lowlat\n")
    wants = host.path / "etc/systemd/system/tuned.service.wants"
    wants.mkdir(parents=True)
    (wants / "lowlat-boot.service").symlink_to("/usr/lib/systemd/system/lowlat-boot.service")
    before = host.snapshot()
    assert "note" not in host.done("status").replace("notes on", "")
    host.done("apply")
    host.done("rollback")
    assert host.snapshot() == before


def test_what_only_sounds_like_lowlats_is_not_taken(host: Host) -> None:
    """A package's unit that a person masked or changed, and files of a person's by such names."""
    (host.path / "etc/systemd/system").mkdir(parents=True)
    (host.path / "etc/systemd/system/lowlat-boot.service").symlink_to("/dev/null")
    host.write("etc/default/grub.d/zz-lowlat.cfg", "GRUB_TIMEOUT=3\n")
    host.write("etc/tuned/mine/tuned.conf", "[main]\ninclude=lowlat-local\n")
    before = host.snapshot()
    assert host.status()["state"] == "none"
    assert host.done("rollback") == "nothing is applied\n"
    assert host.snapshot() == before
