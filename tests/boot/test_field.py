# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot set-ups as people have them (tests/support/field_trees.py), and what holds on each of them.
The gate has the few that are made quickly; the others are a proof."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

from support import boot_rules, field_trees, kernel_images
from support.cli import Answer
from support.cutting import Tell
from support.field_trees import TOPS, FieldHost
from support.hosttree import NEEDS, Namespace, plan_of
from support.powercut import NEEDS_CC, Cutting, calls, sampled

pytest_plugins = ["support.hosttree", "support.powercut"]
pytestmark = [*NEEDS, NEEDS_CC]

_GATE = ("gentoo-kernel-install", "rhel8-uefi")
_READING = ("status", "probe", "plan --brief", "lint", "cpus isolated", "status --json")
_STEP = re.compile(r"'lowlat-gen ((?:apply|trial|promote|rollback|status)[^']*)'")


class Walk:
    """The road of one case from apply to rollback: what each verb said, and the host's files
    after it. The verbs behind a refusal are left out."""

    def __init__(self, host: FieldHost) -> None:
        self.host = host
        self.said: dict[str, Answer] = {}
        self.files = {"pristine": host.snapshot(TOPS)}
        self.boots = {"pristine": host.boots()}
        self.lines: dict[str, list[str]] = {}
        self.planned: set[str] = set()
        self.stock = host.stock_words()
        host.keep("pristine")

    def ask(self, verb: str, name: str = "") -> bool:
        step = name or verb
        self.said[step] = self.host.lowlat(*verb.split())
        self.files[step] = self.host.snapshot(TOPS)
        self.boots[step] = self.host.boots()
        return self.said[step].status == 0

    def go(self) -> Walk:
        words = self.host.case.get("apply")
        for step in _READING:
            self.ask(step)
        self.ask(f"apply --dry-run {words}")
        if self.ask(f"apply {words}"):
            self.host.keep("applied")
            self._try()
            self.ask("status", "status after it")
            if self.ask("promote"):
                self.host.keep("promoted")
            self.ask("rollback")
        return self

    def _try(self) -> None:
        self.planned = {_name(word) for word in plan_of(self.host, self.host.case.kernels[0])}
        if self.by_hand:
            # As by kexec: the loader's files are as before.
            self.host.run_line(self.tuned_line(), "boot-1")
        elif self.ask("trial"):
            self.host.keep("trial")
            for entry in self._tuned():
                self.lines[entry] = self.host.line(entry)
            self.host.start(self.boots["trial"], "boot-1")
        self.ask("boot start")
        self.ask("boot record")

    def tuned_line(self) -> str:
        """The running line with the words of the plan."""
        line = self.host.read("proc/cmdline").split()
        planned = plan_of(self.host, self.host.case.kernels[0])
        return " ".join([*(word for word in line if _name(word) not in self.planned), *planned])

    def _tuned(self) -> list[str]:
        if self.host.case.get("loader") == "Raspberry Pi firmware":
            folder = self.host.path / "boot/firmware"
            return [path.name for path in folder.glob("cmdline*lowlat*")]
        generated = self.host.case.get("generated")
        return [name for name in (self.host.grub_entries if generated else self.host.entry_files)
                if "lowlat-" in name and not name.startswith("lowlat-stock")]  # fmt: skip

    @property
    def apply(self) -> str:
        return f"apply {self.host.case.get('apply')}"

    @property
    def by_hand(self) -> bool:
        before, after = (
            {
                path: held
                for path, held in self.files[step].items()
                if path.startswith(("boot/", "efi/"))
            }
            for step in ("pristine", self.apply)
        )
        return before == after


def _name(word: str) -> str:
    return word.partition("=")[0].replace("-", "_")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[] if name in _GATE else [pytest.mark.proof])
        for name in field_trees.NAMES
    ],
)
def walk(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    namespace: Namespace,
) -> Iterator[Walk]:
    case = field_trees.read(request.param)
    yield Walk(field_trees.build(case, tmp_path_factory.mktemp("field") / "host", namespace)).go()


def test_the_loader_is_the_one_that_boots(walk: Walk) -> None:
    row = re.search(r"^loader +(.*)$", walk.said["status"].out, re.MULTILINE)
    assert row and re.search(walk.host.case.get("loader"), row[1], re.IGNORECASE)


def test_each_refusal_is_one_line(walk: Walk) -> None:
    for answer in walk.said.values():
        assert answer.status in (0, 1) or answer.refused()


def test_no_reading_verb_changes_a_file(walk: Walk) -> None:
    for step in (*_READING, f"apply --dry-run {walk.host.case.get('apply')}"):
        assert walk.files[step] == walk.files["pristine"], step


def test_a_dry_run_tells_what_apply_does(walk: Walk) -> None:
    dry, done = walk.said[f"apply --dry-run {walk.host.case.get('apply')}"], walk.said[walk.apply]
    assert (dry.status, dry.err) == (done.status, done.err)
    assert dry.out.count("would add an entry") == done.out.count("added the entry")
    assert ("no boot entry" in dry.out) == ("no boot entry" in done.out)
    words = [word for word in re.findall(r"\S+=\S+", done.out) if "lowlat.plan=" in done.out]
    assert [word for word in words if word not in dry.out] == []


def test_a_dry_run_lists_every_file(walk: Walk) -> None:
    dry = walk.said[f"apply --dry-run {walk.host.case.get('apply')}"]
    before, after = walk.files["pristine"], walk.files[walk.apply]
    changed = [path for path in after if after[path] != before.get(path)]
    files = {f"/{path}" for path in changed if not stat.S_ISDIR(after[path][0])}
    told = set(re.findall(r"^would (?:add|change|generate) (/\S+)", dry.out, re.MULTILINE))
    assert files == told


def test_the_manual_names_each_file_that_changes(walk: Walk) -> None:
    page = (Path(__file__).parents[2] / "packaging/man/lowlat-gen.8.in").read_text("utf-8")
    section = page.split("\n.SH FILES\n")[1].split("\n.SH ")[0].replace("\\-", "-")
    named = re.findall(r"(?m)^\.I (/\S+)", section)
    patterns = [re.sub("NAME|/$", "*", name) for name in named]
    before = walk.files["pristine"]
    for step, after in walk.files.items():
        changed = (path for path in after if after[path] != before.get(path))
        files = {f"/{path}" for path in changed if not stat.S_ISDIR(after[path][0])}
        files.discard("/sys/firmware/flags")  # the stand-in for a Raspberry Pi's firmware
        lost = {path for path in files if not any(fnmatch(path, one) for one in patterns)}
        assert not lost, step


def test_apply_leads_on(walk: Walk) -> None:
    """Entries, or the road by hand."""
    assert walk.said[walk.apply].status == 0


def test_the_default_stays(walk: Walk) -> None:
    if walk.said[walk.apply].status == 0:
        assert walk.boots[walk.apply] == walk.boots["pristine"]


def test_no_tuned_entry_loses_a_word_of_the_running_line(walk: Walk) -> None:
    release = walk.host.case.kernels[0]
    for entry, words in walk.lines.items():
        if release in entry:
            replaced = walk.planned | ({"panic"} if "trial" in entry else set())
            kept = [word for word in walk.stock if _name(word) not in replaced]
            assert [word for word in kept if word not in words] == [], entry


def test_no_tuned_entry_goes_before_a_stock_one(walk: Walk) -> None:
    if not walk.host.case.get("block"):
        return  # not GRUB's order
    names = [path.rpartition("/")[2][: -len(".conf")] for path in walk.files[walk.apply]
             if path.startswith("boot/loader/entries/")]  # fmt: skip
    ours = ["lowlat-" in name for name in boot_rules.grub_order(names)]
    assert ours == sorted(ours)


def test_a_trial_is_for_one_boot_and_promote_for_all(walk: Walk) -> None:
    if walk.said[walk.apply].status == 0 and not walk.by_hand:
        assert "trial" in walk.boots["trial"] or "tryboot" in walk.boots["trial"]
        assert walk.boots["boot record"] == walk.boots["pristine"]
        promoted = walk.said["promote"]
        # A grub-mkconfig that reads one file alone leaves its line to the person.
        asked = promoted.status == 2 and "then promote again" in promoted.refused()
        assert asked or "lowlat-" in walk.boots["promote"]
        assert walk.boots["rollback"] == walk.boots["pristine"]


def test_a_line_added_by_hand_is_found(walk: Walk) -> None:
    """Before the boot into it and after it; and rollback names the file, each time."""
    if walk.said[walk.apply].status or not walk.by_hand:
        return
    host = walk.host
    host.restore("applied")
    host.add_words(plan_of(host, host.case.kernels[0]))
    name = f"/{host.case.get('hand').partition(' ')[0]}"
    assert host.lowlat("status").out.startswith("promoted: the boot loader's file has ")
    host.run_line(walk.tuned_line(), "boot-1")
    assert host.lowlat("status").out.startswith("promoted: this machine boots with the tuned line")
    for _ in range(2):
        done = host.lowlat("rollback")
        assert done.status == 1 and f"{name} has the words of plan" in done.err


def test_rollback_leaves_every_byte_as_before(walk: Walk) -> None:
    if walk.said[walk.apply].status == 0:
        assert walk.said["rollback"].status == (1 if walk.by_hand else 0)
        assert walk.files["rollback"] == walk.files["pristine"]


def test_each_step_that_is_named_is_not_refused(walk: Walk) -> None:
    for kept, steps in (("applied", (walk.apply,)), ("promoted", ("promote",))):
        for step in (step for step in steps if walk.said.get(step, Answer(2, "", "")).status == 0):
            walk.host.restore(kept)
            said = walk.said[step].out + walk.host.lowlat("status").out
            for named in dict.fromkeys(_STEP.findall(said)):
                words = [*named.split(), *([] if named.startswith("status") else ["--dry-run"])]
                answer = walk.host.lowlat(*words)
                # kexec is for the live system alone.
                assert answer.status != 2 or "leave --root out" in answer.err, (named, answer)


def test_each_file_that_a_step_names_is_there(walk: Walk) -> None:
    said = walk.said[walk.apply].out
    if walk.said[walk.apply].status == 0 and walk.by_hand:
        for path in re.findall(r"(/(?:boot|efi|etc)/[\w./+-]*[\w+-])", said):
            assert (walk.host.path / path.lstrip("/")).exists(), path


# --------------------------------------------------- quick enough for the gate


@pytest.mark.parametrize("name", ["opensuse-leap-uefi", "ubuntu-refind", "debian-xen"])
def test_what_boots_is_recognised_by_its_traces(
    name: str, tmp_path: Path, namespace: Namespace
) -> None:
    host = field_trees.build(field_trees.read(name), tmp_path / "host", namespace)
    row = re.search(r"^loader +(.*)$", host.lowlat("status").out, re.MULTILINE)
    assert row and re.search(host.case.get("loader"), row[1])


def test_grub_behind_another_loader_is_known_by_its_line(
    tmp_path: Path, namespace: Namespace
) -> None:
    host = field_trees.build(field_trees.read("ubuntu-refind"), tmp_path / "host", namespace)
    host.run_line(f"BOOT_IMAGE=/boot/vmlinuz-{host.case.kernels[0]} root=UUID=1 ro", "boot-1")
    assert re.search("^loader +GRUB$", host.lowlat("status").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "stock"),
    [
        ("arch-rescue-entry", "arch-0-"),
        ("debian-shared-esp", "c3c74a7e37de4ad1b274263255e8831c-0-"),
    ],
)
def test_of_two_entries_of_a_kernel_the_one_of_this_system_is_tuned(
    name: str, stock: str, tmp_path: Path, namespace: Namespace
) -> None:
    host = field_trees.build(field_trees.read(name), tmp_path / "host", namespace)
    host.done("apply")
    ours = [entry for entry in host.entry_files if "lowlat-" in entry]
    assert len(ours) == 2 and all(entry.startswith(stock) for entry in ours)
    assert not any("changed" in note for note in host.status()["notes"])
    host.done("rollback")


def test_an_entry_whose_image_was_replaced_is_told(tmp_path: Path, namespace: Namespace) -> None:
    case = field_trees.read("arch-rescue-entry")
    host = field_trees.build(case, tmp_path / "host", namespace)
    host.done("apply")
    fresh = kernel_images.x86_image("6.18.1-arch1-1")
    (host.path / "boot/vmlinuz-linux").write_bytes(fresh)
    notes = [note for note in host.status()["notes"] if "lowlat-6.17.8" in note]
    assert len(notes) == 2
    assert all(note.endswith("its image holds Linux 6.18.1-arch1-1 now") for note in notes)
    assert "6.18.1" in host.lowlat("trial").refused()


def test_a_second_image_of_a_kernel_gets_no_entry(tmp_path: Path, namespace: Namespace) -> None:
    """As "make install" leaves the one before, and Fedora one for rescue."""
    case = field_trees.read("debian-make-install")
    host = field_trees.build(case, tmp_path / "host", namespace)
    host.done("apply")
    ours = [entry for entry in host.grub_entries if re.match(r"lowlat-\d", entry)]
    assert len(ours) == 2 and all(host.config.count(f"'{entry}'") == 1 for entry in ours)
    assert not any("changed" in note for note in host.status()["notes"])


# ------------------------------------------------- files of other loaders

_MENU = """set default="0"
menuentry 'Old' --class os $menuentry_id_option 'gnulinux-simple-old' {
	linux	/boot/vmlinuz-5.10.0-9-amd64 root=/dev/sda9 ro
}
"""
_OLD = "title Old\nversion 5.10.0-9-amd64\nlinux /vmlinuz-5.10.0-9-amd64\noptions root=/dev/sda9\n"

#: What another loader may have left.
_LEFT: Mapping[str, Mapping[str, str]] = {
    "grub.cfg": {"boot/grub/grub.cfg": _MENU},
    "grub.cfg that reads entry files": {"boot/grub2/grub.cfg": "insmod blscfg\nblscfg\n"},
    "grub.cfg on the EFI partition": {"boot/efi/EFI/old/grub.cfg": _MENU},
    "entry files": {"boot/loader/entries/old.conf": _OLD},
    "entry files on the EFI partition": {
        "boot/efi/loader/loader.conf": "timeout 3\n",
        "boot/efi/loader/entries/old.conf": _OLD,
        "boot/efi/EFI/systemd/systemd-bootx64.efi": "image\n",
    },
    "unified image": {"boot/efi/EFI/Linux/old.efi": "image\n"},
    "cmdline.txt": {"boot/firmware/cmdline.txt": "root=old\n", "boot/firmware/config.txt": ""},
    "extlinux.conf": {"boot/extlinux/extlinux.conf": "DEFAULT old\nLABEL old\n  LINUX /old\n"},
    "extlinux.conf of syslinux": {"boot/extlinux.conf": "DEFAULT old\nLABEL old\n  LINUX /old\n"},
    "zipl.conf": {"etc/zipl.conf": "[defaultboot]\ndefault=old\n"},
    "limine.conf": {"boot/limine/limine.conf": "/old\ncmdline: root=old\n"},
    "syslinux.cfg": {"boot/syslinux/syslinux.cfg": "DEFAULT old\nLABEL old\n  LINUX /old\n"},
    "lilo.conf": {"etc/lilo.conf": "image=/boot/old\n"},
    "refind_linux.conf": {"boot/refind_linux.conf": '"Boot" "root=old"\n'},
}


@pytest.mark.parametrize("kind", _LEFT)
def test_what_another_loader_left_boots_nothing(walk: Walk, kind: str) -> None:
    """The same loader is named, or apply refuses and names both."""
    host = walk.host
    host.restore("pristine")
    left = {path: text for path, text in _LEFT[kind].items() if not (host.path / path).exists()}
    for path, text in left.items():
        (host.path / path).parent.mkdir(parents=True, exist_ok=True)
        (host.path / path).write_text(text)
    pattern = re.compile(rf"^loader +.*({host.case.get('loader')})", re.MULTILINE | re.IGNORECASE)
    said = host.lowlat("status")
    if not pattern.search(said.out):
        line = host.lowlat("apply", "--dry-run", *host.case.get("apply").split()).refused()
        named = [
            path for path in re.findall(r"/[\w./+-]+", line) if (host.path / path[1:]).exists()
        ]
        assert len(set(named)) > 1, (said.out, line)


# --------------------------------------------------------- forms of a default


def _forms(host: FieldHost) -> Iterator[str]:
    """Numbers, ids and titles; some mean nothing."""
    yield from ("0", "1", "99", "", "gone")
    if host.entry_files:
        older = boot_rules.grub_order(host.entry_files)[1]
        yield from (older, f"{older}.conf", host.entry_files[older]["title"])
    else:
        top = boot_rules.grub_menu(host.config)
        menu = next(item for item in top if item.items)
        entry = menu.items[-1]
        yield from (f"{menu.id}>{entry.id}", f"{menu.title}>{entry.title}", f"{menu.id}>0", "1>1")


@pytest.mark.proof
def test_each_form_of_the_default_stays(walk: Walk) -> None:
    """What boots before apply also boots after it, or apply refuses."""
    host = walk.host
    host.restore("pristine")
    menu = host.case.get("generated")
    reads_it = "${saved_entry}" in host.read(menu) if menu else host.entry_files
    if not host.case.get("block") or not reads_it:
        return
    for form in _forms(host):
        host.restore("pristine")
        host.set_block("saved_entry", form or None)
        before, files = host.boots(), host.snapshot(TOPS)
        if host.lowlat("apply").status == 0:
            assert host.boots() == before, form
            host.done("rollback")
        assert host.snapshot(TOPS) == files, form


def test_a_variable_takes_no_word_away(walk: Walk) -> None:
    """The tuned entry keeps what runs, or apply refuses."""
    host = walk.host
    host.restore("pristine")
    for path in host.path.glob("**/loader/entries/*.conf"):
        more = re.sub(r"(?m)^(options.*)$", r"\1 $kernelopts $x ${x} a=$x", path.read_text())
        path.write_text(more)
    if not host.entry_files or host.lowlat("apply").status:
        return
    names = {_name(word) for word in plan_of(host, host.case.kernels[0])}
    for entry in (name for name in host.entry_files if _is_ours(name, host.case.kernels[0])):
        words = host.line(entry)
        assert [word for word in walk.stock if word not in words and _name(word) not in names] == []


def _is_ours(entry: str, release: str) -> bool:
    return "lowlat-" in entry and f"-{release}-" in entry


# ------------------------------------------------------------------ edits


#: All rows of an entry, in a file of its own or in GRUB's configuration.
_ANY = r"(?!#|submenu|\}|(?:if|else|fi)\b)\S"


@pytest.mark.proof
@pytest.mark.parametrize("rows", ["options|linux.*lowlat.plan=", "linux|initrd|efi", _ANY])
def test_each_edited_word_is_told(walk: Walk, rows: str) -> None:
    """Of each tuned entry, status says so before the next boot."""
    host = walk.host
    if "promote" not in walk.said or walk.by_hand or walk.said["promote"].status:
        return
    host.restore("promoted")
    said, silent = host.done("status"), []
    for path in _files_of_the_loader(host):
        text = path.read_text()
        begin = text.find("### BEGIN /etc/grub.d/99_lowlat") if path.name == "grub.cfg" else 0
        for row in re.finditer(rf"^[ \t]*(?:{rows}).*$", text[begin:], re.MULTILINE):
            if rows == _ANY or "panic=30" not in row[0]:
                words = _edited(path, begin + row.start(), row[0], rows == _ANY)
                silent += [word for word in words if host.lowlat("status").out == said]
        path.write_text(text)
    assert silent == []


def _files_of_the_loader(host: FieldHost) -> list[Path]:
    folders = [host.path / top for top in ("boot", "efi")]
    names = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in names if path.name == "grub.cfg" or path.suffix in (".conf", ".txt")
            and "lowlat-" in path.name]  # fmt: skip


def _edited(path: Path, at: int, row: str, first: bool) -> Iterator[str]:
    """The words of a row, the ``first`` too or not, each when the file has it with one more
    sign."""
    text = path.read_text()
    for word in list(re.finditer(r"\S+", row))[0 if first else 1 :]:
        end = at + word.end()
        path.write_text(f"{text[:end]}9{text[end:]}")
        yield word[0]
    path.write_text(text)


@pytest.mark.proof
def test_each_edited_and_each_removed_file_is_told(walk: Walk) -> None:
    host, before = walk.host, walk.files["pristine"]
    if walk.said[walk.apply].status:
        return
    host.restore("applied")
    said = host.done("status")
    for path in (host.path / name for name in host.snapshot(["etc"]) if name not in before):
        if path.is_file():
            text = path.read_text()
            path.write_text(f"{text}\nedited\n")
            assert host.lowlat("status").out != said, path
            path.unlink()
            assert host.lowlat("status").out != said, path
            path.write_text(text)


def test_each_damaged_record_is_told(walk: Walk) -> None:
    """But for the plan of this boot, which is written again at the next one."""
    host, state = walk.host, walk.host.path / "var/lib/lowlat"
    if walk.said[walk.apply].status:
        return
    host.restore("applied")
    host.lowlat("boot", "start")
    said = host.done("status")
    for path in (path for path in sorted(state.rglob("*.json")) if path.name != "plan.json"):
        text = path.read_text()
        path.write_text("{")
        told = host.lowlat("status")
        assert told.out != said and path.name in " ".join(f"{told.out}{told.err}".split()), path
        path.write_text(text)


# ------------------------------------------------------------------ another plan, and back


@pytest.mark.parametrize("stage", ["trial", "promoted"])
def test_another_plan_cancels_the_trial_and_the_one_before_comes_back(
    walk: Walk, stage: str
) -> None:
    host = walk.host
    if not host.path.with_name(f"{host.path.name}-{stage}").exists():
        return
    host.restore("applied")
    applied = _outside_the_record(host)
    host.restore(stage)
    before = _outside_the_record(host)
    if host.lowlat(*walk.apply.split(), "--disable", "isolcpus", "--dry-run").status:
        return
    host.done_as_foreseen(*walk.apply.split(), "--disable", "isolcpus")
    assert stage == "promoted" or host.boots() == walk.boots["pristine"]
    assert host.status()["next"] is None
    host.done_as_foreseen("apply", "--previous")
    assert stage == "trial" or walk.by_hand or host.done("promote")
    assert _outside_the_record(host) == (applied if stage == "trial" else before)


def _outside_the_record(host: FieldHost) -> dict[str, object]:
    """Every file but lowlat's own state, and what is read only while the firmware's flag is set."""
    held, other = host.snapshot(TOPS), ("var/lib/lowlat/", "boot/firmware/tryboot.txt")
    return {path: held[path] for path in held if not path.startswith(other)}


# ------------------------------------------------------------------ lost records


@pytest.mark.parametrize("stage", ["applied", "trial", "promoted"])
def test_without_a_record_nothing_of_lowlats_is_left(walk: Walk, stage: str) -> None:
    """Of each file of the state, and of all: rollback removes what is lowlat's."""
    host = walk.host
    if not host.path.with_name(f"{host.path.name}-{stage}").exists():
        return
    host.restore(stage)
    state = host.path / "var/lib/lowlat"
    files = sorted(path.relative_to(state) for path in state.rglob("*.json"))
    for lost in (*([file] for file in files), files):
        for over in (False, True):
            host.restore(stage)
            for file in lost:
                (state / file).unlink()
            _check_taken_back(walk, [str(file) for file in lost], over)


def _check_taken_back(walk: Walk, lost: list[str], over: bool) -> None:
    """Roll back without these files, and ``over`` another apply."""
    host = walk.host
    told = host.lowlat("status").out
    if "journal.json" in lost:
        assert "journal.json is gone" in told and "'lowlat-gen rollback'" in told, (lost, told)
    if over and host.lowlat(*walk.apply.split()).status:
        return
    dry, before = host.lowlat("rollback", "--dry-run"), host.snapshot(TOPS)
    done, after = host.lowlat("rollback"), host.snapshot(TOPS)
    by_hand = walk.by_hand and "has the words of plan" in done.err
    assert by_hand or (done.status, done.err) == (0, ""), (lost, over, done)
    changed = {
        path: held for path, held in after.items() if held != walk.files["pristine"].get(path)
    }
    ours = [path for path, held in changed.items() if "lowlat" in path or _names_lowlat(held[2])]
    if "journal.json" in lost:  # people copy profiles of TuneD
        ours = [path for path in ours if not path.startswith("etc/tuned/")]
    assert ours == [], (lost, over)
    boots = host.boots()
    known = "default.json" not in lost  # else the stock entry of the tuned kernel
    assert boots == walk.boots["pristine"] if known else "lowlat" not in boots, (lost, over)
    files = {path for path, held in before.items() if not stat.S_ISDIR(held[0])}
    gone = {path for path in files.difference(after) if not path.startswith("sys/")}
    removed = set(re.findall(r"^would remove /(\S+)", dry.out, re.MULTILINE))
    assert gone == removed, (lost, over)
    assert host.status()["state"] == "none", (lost, over)


def _names_lowlat(held: object) -> bool:
    return isinstance(held, bytes) and b"lowlat" in held.replace(b"\0", b"")


# ------------------------------------------------------------------ power cuts


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "verb"),
    [
        *(("rhel8-uefi", verb) for verb in ("apply", "trial", "promote", "rollback")),
        ("ubuntu-cloud-partuuid", "trial"),
        ("jetson-extlinux-rt", "apply"),
        ("jetson-extlinux-rt", "rollback"),
    ],
)
def test_every_cut_leaves_what_boots(
    tmp_path: Path, cutting: Cutting, tell: Tell, name: str, verb: str
) -> None:
    """The stock entry boots after each cut, or the one that was promoted, and rollback restores
    every byte."""
    host = field_trees.build(field_trees.read(name), tmp_path / "host", cutting)
    before, defaults = host.snapshot(TOPS), {host.boots()}
    if verb != "apply":
        host.done("apply")
    if name == "rhel8-uefi" and verb in ("promote", "rollback"):
        host.done("trial")
        host.start(host.boots(), "boot-1")
        host.done("boot", "record")
        if verb == "rollback":
            host.done("promote")
            defaults.add(host.boots())
    host.keep("before")
    assert cutting.run(host, -1, verb).status == 0
    count = calls(host)
    defaults.add(host.boots())
    tried = sampled(range(1, count + 1), 12)
    for at in tried:
        host.restore("before")
        assert cutting.run(host, at, verb).status == -9, at
        assert host.boots() in defaults, at
        assert host.status()["state"], at
        host.done("rollback")
        assert host.snapshot(TOPS) == before, at
    tell(f"{name}, {verb}: {len(tried)} cuts in {count} calls tried, {len(tried)} survived")
