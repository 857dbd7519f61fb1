# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in a guest: one boot's steps on the way from the stock boot to the tuned one and back.

    python3 steps.py FOLDER NAME STEP...

FOLDER/NAME.json has the results of the steps.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

#: In seconds: a kernel's package builds an initramfs, on an emulated CPU.
_LIMIT_S = 600.0

#: Folders that every boot changes, and those that are not on the disk.
_MOVING = (
    *("/dev", "/proc", "/run", "/sys", "/tmp", "/boot/efi"),
    *("/var/cache", "/var/lib/dpkg", "/var/lib/systemd", "/var/log", "/var/tmp"),
)

#: Belong to kernel packages, which come and go here, and to the loader's generator.
_KERNELS = ("/boot", "/usr/lib/modules", "/var/lib/initramfs-tools")
_OF_A_KERNEL = ("linux-image-", "/vmlinuz", "/initrd.img")

#: Settings of the administrator's TuneD profile in addition to lowlat's.
_ADMINISTRATOR = ("/proc/sys/vm/swappiness", "/proc/sys/vm/dirty_ratio")

#: A worker of a CPU or of an unbound pool; names with kworker/R- exist all the time.
_WORKER = re.compile(r"kworker/(\d|u)")

_GRUB = (
    *("grub-efi-amd64", "grub-efi-amd64-bin", "grub-efi-amd64-unsigned"),
    *("grub2-common", "grub-common"),
)

#: For tar: the folders in which lowlat writes, and GRUB's files. Kernels and modules are too large.
_KEPT = (
    *("--exclude=boot/efi/*", "--exclude=*.mod", "--exclude=boot/*-[0-9]*"),
    *("boot", "etc", "--no-recursion", "var/lib"),
)

#: cut.so counts a process only if these names appear after its start.
_RECORDED = """import os, sys
from lowlat import cli
os.environ.update({names})
sys.argv[0] = "/usr/bin/lowlat-gen"
sys.exit(cli.main(sys.argv[1:]))
"""

_WATCH = "/usr/bin/lowlat-gen watch"

#: The mask of unbound work: planned, and set by lowlat itself instead of TuneD.
_UNBOUND = Path("/sys/devices/virtual/workqueue/cpumask")

#: Programs that lowlat-gen starts get another environment; this one of them writes.
_EDITENV = Path("/usr/local/sbin/grub-editenv")
_EDITENV_TEXT = """#!/bin/sh
{rows}export LOWLAT_CUT_ROOT=
exec /usr/bin/grub-editenv "$@"
"""

Said = tuple[int, str]


def run(*argv: str) -> Said:
    ended = subprocess.run(
        argv,
        check=False,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
    )
    said = (ended.stdout + ended.stderr).strip()
    print(f"{' '.join(argv)}: {ended.returncode}", flush=True)
    return ended.returncode, said


def lowlat(*words: str) -> Said:
    return run("lowlat-gen", *words)


def recorded(folder: Path, *words: str) -> Said:
    """Run lowlat and log all its writes by cut.so, if the host left that there: for
    tests/boot/replay.py, with the state before the writes."""
    if not (folder / "cut.so").exists():
        return lowlat(*words)
    names = {
        "LD_PRELOAD": str((folder / "cut.so").resolve()),
        "LOWLAT_CUT_AT": "-1",
        "LOWLAT_CUT_COUNT": "/run/cut.count",
        "LOWLAT_CUT_DEV": str(Path("/").stat().st_dev),
        "LOWLAT_CUT_LOG": "/run/cut.log",
    }
    for name in ("LOWLAT_CUT_COUNT", "LOWLAT_CUT_LOG"):
        Path(names[name]).unlink(missing_ok=True)
    _EDITENV.write_text(_EDITENV_TEXT.format(rows="".join(map(_exported, names.items()))))
    _EDITENV.chmod(0o755)
    ours = ("--recursion", "var/lib/lowlat") if Path("/var/lib/lowlat").is_dir() else ()
    run("tar", "--create", f"--file={folder}/{words[0]}.tar", "--directory=/", *_KEPT, *ours)
    argv = ("python3", "-c", _RECORDED.format(names=names), *words)
    said = run("env", f"LD_PRELOAD={names['LD_PRELOAD']}", *argv)
    print(said[1], flush=True)
    _EDITENV.unlink()
    (folder / f"{words[0]}.log").write_bytes(Path(names["LOWLAT_CUT_LOG"]).read_bytes())
    return said


def _exported(pair: tuple[str, str]) -> str:
    return f"export {pair[0]}={pair[1]}\n"


def told(*words: str) -> Any:
    """The JSON output of a verb."""
    status, text = lowlat(*words, "--json")
    try:
        return json.loads(text)
    except ValueError:
        return {"status": status, "said": text}


# ------------------------------------------------------------------- the boot


def boot() -> dict[str, Any]:
    """This boot: its line and its TuneD profile."""
    _settle()
    return {
        "line": Path("/proc/cmdline").read_text().split(),
        "kernel": os.uname().release,
        "tuned": (run("systemctl", "is-active", "tuned")[1], run("tuned-adm", "active")[1]),
    }


def _settle() -> None:
    """Wait for TuneD's profile, and for a trial's record."""
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        units = run("systemctl", "is-active", "tuned.service", "lowlat-trial.service")[1].split()
        if "activating" not in units and "Current active profile" in run("tuned-adm", "active")[1]:
            return
        time.sleep(2)


def values() -> dict[str, Any]:
    """Every run-time value of the profile's plan, by path; for kernel threads, by name.

    Workers come and go with the work; the masks of work queues show where they run."""
    import cycle  # Needs lowlat, which is not installed at first.

    named: dict[str, Any] = {}
    for path in (path for row in cycle.planned("lowlat") for path in cycle.paths(row)):
        value = cycle.value(path)
        named.update(_of_thread(path, value) if path.startswith("kthread:") else {path: value})
    return {**named, **{path: Path(path).read_text().strip() for path in _ADMINISTRATOR}}


def _of_thread(path: str, value: str | None) -> dict[str, str | None]:
    """By name, since PIDs change with every boot; a thread that has ended does not count."""
    _, pid, what = path.split(":")
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return {}
    return {} if _WORKER.match(name) else {f"kthread:{name}:{what}": value}


# ------------------------------------------------------------------- the disk


def files() -> dict[str, str]:
    """All files by path: their kind, and for an administrator's files their content."""
    return {str(path): _state(path) for path in _walk(Path("/")) if not _of_a_kernel(str(path))}


def _of_a_kernel(path: str) -> bool:
    return _below(path, _KERNELS) or any(part in path for part in _OF_A_KERNEL)


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if not _below(str(path), _MOVING):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from _walk(path)


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in folders)


def _state(path: Path) -> str:
    status = path.lstat()
    kind = f"{status.st_mode:o} {status.st_uid}:{status.st_gid}"
    if path.is_symlink():
        return f"{kind} -> {path.readlink()}"
    if str(path).startswith("/etc/") and path.is_file():
        return f"{kind} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return kind


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, list[str | None]]:
    paths = before.keys() | after.keys()
    pairs = {path: [before.get(path), after.get(path)] for path in sorted(paths)}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def loader() -> dict[str, str]:
    """The files that the boot loader will read: GRUB's two, or systemd-boot's entries; and the
    names of all files in its folders."""
    grub = {"config": Path("/boot/grub/grub.cfg"), "environment": Path("/boot/grub/grubenv")}
    entries = {path.name: path for path in Path("/boot/efi/loader").rglob("*.conf")}
    found = {name: path.read_text() for name, path in {**grub, **entries}.items() if path.exists()}
    return {**found, "names": "\n".join(sorted(map(str, _beside_kernels())))}


def _beside_kernels() -> Iterator[Path]:
    """The files where a crash could leave one."""
    folders = ("/boot", "/boot/grub", "/boot/efi/loader/entries", "/boot/efi/EFI/Linux")
    return (path for folder in folders for path in Path(folder).glob("*"))


# ---------------------------------------------------------------------- steps


def setup(folder: Path) -> dict[str, Any]:
    """Install the package."""
    before, was = files(), loader()
    found = {
        "setup": run("dpkg", "--install", *map(str, folder.glob("lowlat_*.deb"))),
        "installed": changed(before, files()),
        "units": run("systemctl", "list-unit-files", "--no-legend", "--no-pager", "lowlat*"),
        "loader at first": was,
    }
    (folder / "files.json").write_text(json.dumps(before))
    return found


def look(folder: Path) -> dict[str, Any]:
    """This boot, with the values of all that a plan sets."""
    return {"boot": {**boot(), "values": values()}, "status": told("status"), "loader": loader()}


def glance(folder: Path) -> dict[str, Any]:
    return {"boot": boot(), "status": told("status")}


def after(step: str) -> dict[str, Any]:
    """What the next boot will be."""
    return {f"status after {step}": told("status"), f"loader after {step}": loader()}


def apply(folder: Path) -> dict[str, Any]:
    before = files()
    (folder / "installed.json").write_text(json.dumps(before))
    said = recorded(folder, "apply", "--profile", "lowlat")
    return {"apply": said, "applied": changed(before, files()), **after("apply")}


def bootctl(folder: Path) -> dict[str, Any]:
    """Replace GRUB by systemd-boot."""
    packages = (str(path) for path in folder.glob("*.deb") if not path.name.startswith("lowlat"))
    line = Path("/proc/cmdline").read_text().split()
    kept = " ".join(word for word in line if not word.startswith("BOOT_IMAGE="))
    Path("/etc/kernel").mkdir(exist_ok=True)
    Path("/etc/kernel/cmdline").write_text(f"{kept}\n")
    return {
        # These install the loader, and an entry for each kernel.
        "packages": run("dpkg", "--install", *packages),
        "grub": run("dpkg", "--purge", *_GRUB),
        "loader": loader(),
    }


def images(folder: Path) -> dict[str, Any]:
    """Replace the entry files by unified kernel images, which new kernels get too."""
    kernel = os.uname().release
    removed = run("kernel-install", "remove", kernel)
    Path("/etc/kernel/install.conf").write_text("layout=uki\nuki_generator=ukify\n")
    added = run("kernel-install", "add", kernel, f"/boot/vmlinuz-{kernel}")
    return {"images": [removed, added], "loader": loader()}


def repair(folder: Path) -> dict[str, Any]:
    """Check the EFI partition, as most machines do at every boot."""
    device = run("findmnt", "--noheadings", "--output=SOURCE", "/boot/efi")[1]
    argv = (("umount", "/boot/efi"), ("fsck.fat", "-a", device), ("mount", "/boot/efi"))
    return {"repair": [run(*words) for words in argv]}


def trial(folder: Path) -> dict[str, Any]:
    return {"trial": lowlat("trial"), **after("trial")}


def health(folder: Path) -> dict[str, Any]:
    """An administrator adds a check of trials that needs more rights than the unit's sandbox."""
    check = Path("/etc/lowlat/health.d/50-up")
    check.parent.mkdir(parents=True)
    check.write_text("#!/bin/sh\ntouch /var/tmp/healthy && systemctl is-active multi-user.target\n")
    check.chmod(0o755)
    return {}


def told_of_trial(folder: Path) -> dict[str, Any]:
    argv = ("journalctl", "--no-pager", "--output=cat", "--unit=lowlat-trial")
    return {"log of trial": run(*argv)[1]}


def kexec(folder: Path) -> dict[str, Any]:
    """Load the trial for kexec, which changes no file of the boot."""
    before = _boot_files()
    said = lowlat("trial", "--kexec")
    return {"trial": said, "changed": changed(before, _boot_files()), **after("trial")}


def _boot_files() -> dict[str, str]:
    """The digest of every file of the boot."""
    paths = (path for top in ("/boot", "/etc") for path in Path(top).rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def panic(folder: Path) -> dict[str, Any]:
    """Panic a moment after the step has reported."""
    argv = ["sh", "-c", "sleep 20; sync; echo c >/proc/sysrq-trigger"]
    subprocess.Popen(argv, start_new_session=True)
    return {}


def nixos(folder: Path) -> dict[str, Any]:
    """As if a loader that lowlat does not write had booted this machine; GRUB still does."""
    Path("/etc/NIXOS").touch()
    return {}


def by_hand(folder: Path) -> dict[str, Any]:
    """A person follows promote's instructions."""
    said = lowlat("promote")
    words = said[1].partition("[ ")[2].partition(" ]")[0].replace('"', "")
    line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {words}"\n'
    Path("/etc/default/grub.d/person.cfg").write_text(line)
    return {"promote": said, "generated": run("update-grub"), "status after": told("status")}


def verify(folder: Path) -> dict[str, Any]:
    return {"verify": told("verify", "--duration", "5s"), "runtime": lowlat("runtime", "verify")}


def watch(folder: Path) -> dict[str, Any]:
    """The watch unit: an administrator undoes a setting, which watch reports; with the drop-in from
    the unit's comment, watch also restores it."""
    return {"watch": {"tells": _watched(""), "restores": _watched(_restoring())}}


def _watched(drop_in: str) -> dict[str, Any]:
    place = Path("/run/systemd/system/lowlat-watch.service.d/guest.conf")
    place.parent.mkdir(parents=True, exist_ok=True)
    start = drop_in or f"[Service]\nExecStart=\nExecStart={_WATCH}\n"
    place.write_text(start.replace(_WATCH, f"{_WATCH} --interval 1s"))
    run("systemctl", "daemon-reload")
    planned = _UNBOUND.read_text()
    found: dict[str, Any] = {"started": run("systemctl", "start", "lowlat-watch")}
    _logged("checking the run-time settings")
    _UNBOUND.write_text("f")
    # By then it has also restored the setting, if it ever does.
    found["log"] = _logged("workqueue.cpumask: ")
    found["active"] = run("systemctl", "is-active", "lowlat-watch")[1]
    found["kept"] = _UNBOUND.read_text() == planned
    found["stopped"] = run("systemctl", "stop", "lowlat-watch")
    _UNBOUND.write_text(planned)
    place.unlink()
    run("systemctl", "daemon-reload")
    return found


def _logged(wanted: str) -> str:
    """The log of the watch unit since it was started, as soon as it has these words."""
    show = ("systemctl", "show", "--property=InvocationID", "--value", "lowlat-watch")
    which = f"_SYSTEMD_INVOCATION_ID={run(*show)[1]}"
    deadline = time.monotonic() + _LIMIT_S
    while True:
        said = run("journalctl", "--no-pager", "--output=cat", which)[1]
        if wanted in said or time.monotonic() > deadline:
            return said
        time.sleep(1)


def _restoring() -> str:
    """The first drop-in in the unit's comment."""
    rows = Path("/usr/lib/systemd/system/lowlat-watch.service").read_text().splitlines()
    start = rows.index("#   [Service]")
    return "".join(f"{row[1:].strip()}\n" for row in rows[start : rows.index("#", start)])


def promote(folder: Path) -> dict[str, Any]:
    return {"promote": recorded(folder, "promote"), **after("promote")}


def install(folder: Path) -> dict[str, Any]:
    """Install another kernel."""
    packages = map(str, folder.glob("linux-image-*.deb"))
    return {"install": run("dpkg", "--install", *packages), **after("install")}


def remove(folder: Path) -> dict[str, Any]:
    """Remove the running kernel. The other one cannot reach the host's folder, so the files that it
    needs and its task are left on the disk."""
    question = "linux-base linux-base/removing-running-kernel boolean false"
    run("sh", "-c", f"echo '{question}' | debconf-set-selections")
    names = ("linux-image-amd64", f"linux-image-{os.uname().release}")
    found = {"remove": run("dpkg", "--purge", *names), **after("remove")}
    left = Path("/var/tmp/share")
    left.mkdir()
    for path in (*folder.glob("*.py"), *folder.glob("*.json"), folder / "alone"):
        (left / path.name).write_bytes(path.read_bytes())
    (left / "alone").rename(left / "task")
    return found


def roll_back(folder: Path) -> dict[str, Any]:
    found = {"rollback": recorded(folder, "rollback"), **after("rollback")}
    installed = json.loads((folder / "installed.json").read_text())
    return {**found, "rolled back": changed(installed, files())}


def purge(folder: Path) -> dict[str, Any]:
    """Purge the package, then run the loader's generator without it."""
    said = run("dpkg", "--purge", "lowlat")
    before = json.loads((folder / "files.json").read_text())
    return {
        "purge": said,
        "purged": changed(before, files()),
        "units": run("systemctl", "list-unit-files", "--no-legend", "--no-pager", "lowlat*"),
        "generated": run("sh", "-c", "grub-mkconfig 2>/dev/null"),
        "loader at last": loader(),
    }


def main() -> int:
    folder, name, steps = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    found: dict[str, Any] = {}
    for step in steps:
        begin = time.monotonic()
        found.update(globals()[step](folder))
        print(f"steps: {step}: {time.monotonic() - begin:.0f} s", flush=True)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
