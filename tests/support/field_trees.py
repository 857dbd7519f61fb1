# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot set-ups as people have them: one text file each in tests/boot/field, and the host that it
describes.

A file begins with comments and rows "key: value"; a key may come again. "== PATH [MODE]" stands
before a file's text, and "== PATH -> TARGET" makes a link. {id} and {uuid} stand for a machine id
and a file system; what has {kernel} in its path is there for each kernel. The keys:

    loader     a pattern of the name that status shall print
    kernels    the releases; the first one runs
    config     where the running kernel's configuration lies, instead of boot/config-RELEASE
    images     kernels and other files of one word; PATH=RELEASE is an image whose name hides it
    line       the running line; or boots: the entry of the generated grub.cfg that runs
    generated  the grub.cfg that grub-mkconfig writes before lowlat comes
    block      GRUB's environment block, and set: a variable in it
    efi        a loader's variable in the firmware, and program: what the firmware started
    modules    RELEASE=PACKAGE below /usr/lib/modules
    hand       where a person adds words: a file, and a pattern of the text before them
    cpus, mailbox (of a Raspberry Pi), apply (words for that verb)

(PYTEST_DONT_REWRITE)
"""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from support import boot_rules, grub_script, kernel_images, pi_firmware
from support.boot_rules import MenuItem
from support.hosttree import Host, Namespace, furnish
from support.machines import CONFIG, machine

FOLDER = Path(__file__).resolve().parents[1] / "boot/field"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))

_TOKENS = {
    "{id}": "c3c74a7e37de4ad1b274263255e8831c",
    "{uuid}": "5b2e1c7a-9d0f-4e83-a6b1-3c4d5e6f7a8b",
}
_VARIABLES = "sys/firmware/efi/efivars"
_LOADER = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"

#: What lowlat may change: all but programs and what the kernel shows.
TOPS = ("boot", "efi", "etc", "var", "run", "sys/firmware")


@dataclass(frozen=True)
class FieldCase:
    """``files`` by path: mode (0 for a link) and text, or a link's target."""

    name: str
    keys: Mapping[str, tuple[str, ...]]
    files: Mapping[str, tuple[int, str]]

    def get(self, key: str) -> str:
        return " ".join(self.keys.get(key, ()))

    def pairs(self, key: str) -> dict[str, str]:
        return dict(row.split("=", 1) for row in self.keys.get(key, ()))

    @property
    def kernels(self) -> list[str]:
        return self.get("kernels").split()


def read(name: str) -> FieldCase:
    text = (FOLDER / f"{name}.txt").read_text()
    for token, value in _TOKENS.items():
        text = text.replace(token, value)
    head, *parts = re.split(r"^== ", text, flags=re.MULTILINE)
    keys: dict[str, tuple[str, ...]] = {}
    for row in (row for row in head.splitlines() if not row.startswith("#")):
        key, _, value = row.partition(": ")
        keys[key] = (*keys.get(key, ()), value)
    files: dict[str, tuple[int, str]] = {}
    for part in parts:
        place, _, content = part.partition("\n")
        for release in keys["kernels"][0].split() if "{kernel}" in place else [""]:
            path, mode, text = _file(place, content)
            files[path.replace("{kernel}", release)] = (mode, text.replace("{kernel}", release))
    return FieldCase(name, keys, files)


def _file(place: str, content: str) -> tuple[str, int, str]:
    path, link, target = place.partition(" -> ")
    if link:
        return path, 0, target
    path, _, mode = place.partition(" ")
    return path, int(mode or "644", 8), content


class FieldHost(Host):
    """The host of a case."""

    def __init__(self, path: Path, namespace: Namespace, case: FieldCase) -> None:
        super().__init__(path, namespace)
        self.case = case

    def snapshot(self, tops: Iterable[str] = TOPS[:-2]) -> dict[str, tuple[Any, ...]]:
        return super().snapshot(tops)

    @property
    def config(self) -> str:
        return self.read(self.case.get("generated") or "boot/grub/grub.cfg")

    @property
    def environment_block(self) -> dict[str, str]:
        listed = self.chroot("grub-editenv", f"/{self.case.get('block')}", "list")
        return dict(row.split("=", 1) for row in listed.out.splitlines())

    def set_block(self, name: str, value: Optional[str]) -> None:
        word = ["unset", name] if value is None else ["set", f"{name}={value}"]
        done = self.chroot("grub-editenv", f"/{self.case.get('block')}", *word)
        assert done.status == 0, done

    @property
    def grub_entries(self) -> dict[str, MenuItem]:
        return boot_rules.all_entries(boot_rules.grub_menu(self.config))

    @property
    def entry_files(self) -> dict[str, dict[str, str]]:
        """The keys of each entry file by its name without ".conf"; systemd-boot reads FAT alone."""
        fstab = (self.path / "etc/fstab").read_text() if (self.path / "etc/fstab").exists() else ""
        other = re.findall(r"^\S+ /(\S+) (?:ext4|btrfs|xfs) ", fstab, re.MULTILINE)
        places = {"boot", "efi", "boot/efi"} - (set(other) if self.case.get("efi") else set())
        paths = (
            path for each in places for path in self.path.glob(f"{each}/loader/entries/*.conf")
        )
        return {path.name[: -len(".conf")]: _keys(path.read_text()) for path in paths}

    def variable(self, name: str) -> Optional[str]:
        path = self.path / _VARIABLES / f"{name}-{_LOADER}"
        return path.read_bytes()[4:].decode("utf-16-le").strip("\0") if path.exists() else None

    def boots(self) -> str:
        """The entry that the loader boots next, by its own rules; on a Raspberry Pi the file of
        the line; else what the loader reads."""
        case = self.case
        if case.get("generated") and (
            "LoaderInfo" not in case.get("efi") or case.get("loader").startswith("GRUB")
        ):
            return self._grub_boot().path[-1]
        if case.get("efi") and self.entry_files:
            names = ("LoaderEntryOneShot", "LoaderEntryDefault", "LoaderEntryLastBooted")
            held = {name[len("LoaderEntry") :]: self.variable(name) or "" for name in names}
            [config] = self.path.glob("**/loader/loader.conf")
            return boot_rules.systemd_boots(self.entry_files, config.read_text(), held)
        if self.entry_files:
            return boot_rules.blscfg_boots(self.entry_files, self.environment_block)
        if case.get("loader") == "Raspberry Pi firmware":
            return self._pi_file(pi_firmware.is_armed(self))
        return hashlib.sha256(repr(self.snapshot(["boot"])).encode()).hexdigest()

    def _pi_file(self, tried: bool) -> str:
        folder = self.path / "boot/firmware"
        return pi_firmware.choose(lambda name: (folder / name).read_text(), tried).cmdline

    def line(self, entry: str) -> list[str]:
        """The words that the kernel gets from an entry, without those of an unset variable."""
        if self.case.get("loader") == "Raspberry Pi firmware":
            return self.read(f"boot/firmware/{entry}").split()
        if entry in self.entry_files:
            held = self.environment_block if self.case.get("block") else {}
            options = self.entry_files[entry]["options"]
            if held:
                options = re.sub(r"\$\{?(\w+)\}?", lambda found: held.get(found[1], ""), options)
            return options.split()
        row = re.sub(r"\s\$\S+", "", self.grub_entries[entry].lines[0])
        return kernel_words(grub_script.passed(row))[1:]

    def _image(self, entry: str) -> str:
        if entry in self.entry_files:
            return f"(hd0,gpt2){self.entry_files[entry]['linux']}"
        return self.grub_entries[entry].lines[0].split()[0]

    def start(self, entry: str, boot_id: str) -> None:
        """Imitate the next boot, which is of this entry: /proc has its line, and what was set for
        one boot is used up."""
        self.run(entry, boot_id)
        if self.case.get("mailbox"):
            pi_firmware.take_flag(self)
        if self.case.get("generated"):
            left = self._grub_boot().left
            for name in (name for name in self.environment_block if name not in left):
                self.set_block(name, None)
            for name, value in left.items():
                self.set_block(name, value)
        elif self.case.get("block"):
            self.set_block("next_entry", None)
        (self.path / _VARIABLES / f"LoaderEntryOneShot-{_LOADER}").unlink(missing_ok=True)

    def _grub_boot(self) -> grub_script.Boot:
        return grub_script.boot(self.config, self.environment_block, self.path / "tmp")

    def run(self, entry: str, boot_id: str) -> None:
        """The kernel that runs has the line of this entry."""
        words: Iterable[str] = (f'"{word}"' if " " in word else word for word in self.line(entry))
        if self.case.get("block"):
            words = (f"BOOT_IMAGE={self._image(entry)}", *words)
        self.run_line(" ".join(words), boot_id)

    def run_line(self, line: str, boot_id: str) -> None:
        self.write("proc/cmdline", f"{line}\n")
        self.write("proc/sys/kernel/random/boot_id", f"{boot_id}\n")

    def stock_words(self) -> list[str]:
        """The words of the running line, without those that the loader put there."""
        if self.case.get("loader") == "Raspberry Pi firmware":
            return self.line(self.boots())
        words = kernel_words(self.read("proc/cmdline"))
        return [word for word in words if not word.startswith(("BOOT_IMAGE=", "initrd="))]

    def add_words(self, words: Iterable[str]) -> None:
        """The person's step, where lowlat does not write the loader."""
        name, _, pattern = self.case.get("hand").partition(" ")
        text = self.read(name)
        found = re.search(pattern, text)
        assert found, name
        self.write(name, f"{text[: found.end()]} {' '.join(words)}{text[found.end() :]}")

    def keep(self, name: str) -> None:
        _replace(self.path, self._kept(name))

    def restore(self, name: str) -> None:
        _replace(self._kept(name), self.path)

    def _kept(self, name: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{name}")


def _replace(source: Path, target: Path) -> None:
    for top in (*TOPS, "proc"):
        if (target / top).exists():
            shutil.rmtree(target / top)
        if (source / top).exists():
            shutil.copytree(source / top, target / top, symlinks=True)


def _keys(text: str) -> dict[str, str]:
    rows = (row.split(None, 1) for row in text.splitlines() if not row.startswith("#"))
    return {row[0]: row[1].strip() for row in rows if len(row) == 2}


def kernel_words(line: str) -> list[str]:
    """The words of a line as the kernel splits it: double quotes keep blanks together."""
    return [word.replace('"', "") for word in re.findall(r'(?:"[^"]*"|\S)+', line)]


def build(case: FieldCase, path: Path, namespace: Namespace) -> FieldHost:
    """The host of a case, as its distribution left it."""
    release = case.kernels[0]
    files = {**machine(int(case.get("cpus") or 8), release=release, config=None)}
    files["proc/sys/kernel/random/boot_id"] = "boot-0\n"
    files["sys/firmware/acpi/pm_profile"] = "2\n"
    files["proc/cmdline"] = f"{case.get('line')}\n"
    files |= {each: text for each, (mode, text) in case.files.items() if mode}
    if not case.get("config"):
        files |= {f"boot/config-{each}": CONFIG for each in case.kernels}
    furnish(path, namespace, files)
    host = FieldHost(path, namespace, case)
    for name, (mode, text) in case.files.items():
        if mode:
            (path / name).chmod(mode)
        else:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).symlink_to(text)
    if case.get("config"):
        (path / case.get("config")).write_bytes(gzip.compress(CONFIG.encode(), mtime=0))
    _add_images(host)
    _add_firmware(host)
    _add_grub(host)
    for held, package in case.pairs("modules").items():
        folder = f"/usr/lib/modules/{held}"
        host.chroot("sh", "-c", f"mkdir -p {folder} && echo {package} >{folder}/pkgbase")
    if case.get("mailbox"):
        pi_firmware.add_mailbox(host)
        # The mailbox is that of the machine that runs.
        host.live = case.get("loader") == "Raspberry Pi firmware"
    return host


def _add_images(host: FieldHost) -> None:
    for word in host.case.get("images").split():
        for release in host.case.kernels if "{kernel}" in word else host.case.kernels[:1]:
            name, _, hidden = word.replace("{kernel}", release).partition("=")
            path = host.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            is_kernel = hidden or re.search("vmlinuz-[0-9]|/linux$", name)
            path.write_bytes(
                kernel_images.x86_image(hidden or release) if is_kernel else b"image\n"
            )


def _add_firmware(host: FieldHost) -> None:
    folder, case = host.path / _VARIABLES, host.case
    found = {
        f"{name}-{_LOADER}": f"{text}\0".encode("utf-16-le")
        for name, text in case.pairs("efi").items()
    }
    if case.get("program"):
        found |= started(case.get("program"))
    for name, data in found.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\7\0\0\0" + data)


def started(program: str) -> dict[str, bytes]:
    """The firmware's variables, without attributes, after it started this program (UEFI 3.1.3)."""
    file = f"{program}\0".encode("utf-16-le")
    node = b"\4\4" + (4 + len(file)).to_bytes(2, "little") + file
    described = "system\0".encode("utf-16-le")
    option = b"\1\0\0\0" + len(node).to_bytes(2, "little") + described + node
    return {f"BootCurrent-{_GLOBAL}": b"\1\0", f"Boot0001-{_GLOBAL}": option}


def _add_grub(host: FieldHost) -> None:
    case, block = host.case, f"/{host.case.get('block')}"
    if case.get("block"):
        assert (
            host.chroot("sh", "-c", "mkdir -p ${0%/*} && grub-editenv $0 create", block).status == 0
        )
        for name, value in case.pairs("set").items():
            host.set_block(name, value)
    if not case.get("generated"):
        return
    scripts = host.path / "etc/grub.d"
    scripts.mkdir(exist_ok=True)
    (host.path / "run").mkdir()
    for path in Path("/etc/grub.d").iterdir():
        if not (scripts / path.name).exists():
            shutil.copy2(path, scripts)
    made = host.chroot("grub-mkconfig", "-o", f"/{case.get('generated')}")
    assert made.status == 0, made
    if case.get("boots"):
        host.run(case.get("boots"), "boot-0")
