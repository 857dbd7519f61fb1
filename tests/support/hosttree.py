# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole host below a folder, on which GRUB's own generator runs.

/usr is this host's, under an overlay with programs of the tests: lowlat-gen, and stand-ins for
grub-probe and grub-mkrelpath, which find no file system of its own below a folder. All other parts
of GRUB are real: grub-mkconfig, its scripts in /etc/grub.d, grub-editenv, grub-script-check. /boot,
/etc, /var, /proc and /sys are plain folders. The mounts live in their own namespace and end with
it. (PYTEST_DONT_REWRITE)
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar, cast

import pytest

from support import needs
from support.cli import SHELL_GEN, Answer
from support.machines import CONFIG, machine, write_tree
from support.waits import GUARD_S

T = TypeVar("T")

RELEASE = "6.12.107-test"
OLDER = "6.1.0-9-amd64"

#: The id of the default entry, which boots the running kernel.
STOCK = "gnulinux-simple-0a1b-2c3d"
GRUB_LINUX = Path("/etc/grub.d/10_linux")
REPOSITORY = Path(__file__).resolve().parents[2]

_SERVER = Path(__file__).with_name("forkserver.py")

NEEDS = [
    needs.file(GRUB_LINUX, "package grub-common"),
    needs.program("grub-mkconfig", "package grub-common"),
    needs.root("chroot and mounts in a namespace of its own"),
]

#: Mounted in every host at the same path: the sources, and the Python that runs them.
_SOURCES = {str(REPOSITORY), os.path.realpath(sys.prefix)}

#: The folders of a host that change; /usr and /dev are mounted.
_TOPS = ("boot", "efi", "etc", "proc", "run", "sys", "tmp", "var")

PROBE = """#!/bin/sh
for word; do
	case $word in
	--target=*) target=${word#--target=} ;;
	-t) target=next ;;
	*) [ "$target" = next ] && target=$word ;;
	esac
done
[ -e "/etc/probe/$target" ] && exec cat "/etc/probe/$target"
case $target in
device) echo /dev/vda1 ;;
fs) echo ext2 ;;
fs_uuid) echo 0a1b-2c3d ;;
partuuid) echo 11-01 ;;
partmap) echo gpt ;;
drive) echo "(hd0,gpt1)" ;;
*) ;;
esac
"""

#: A bootctl with the functions that lowlat uses: it stores settings in place of the firmware.
_BOOTCTL = """#!/bin/sh
case $1 in
set-default) name=Default ;;
set-preferred) name=Preferred ;;
set-oneshot) name=OneShot ;;
*) exit 1 ;;
esac
file=/sys/firmware/efi/efivars/LoaderEntry$name-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f
if [ -n "$2" ]; then
	{ printf '\\007\\0\\0\\0'; printf '%s' "$2" | iconv -t utf-16le; printf '\\0\\0'; } >"$file"
else
	rm -f "$file"
fi
"""

#: A vcmailbox with the functions that lowlat uses: the firmware's flags are a file and the answer's
#: sixth word.
_VCMAILBOX = """#!/bin/sh
flags=/sys/firmware/flags
[ "$1" = 0x00038064 ] && echo "$4" >$flags
echo "0x0000001c 0x80000000 $1 0x00000004 0x80000004 0x0000000$(cat $flags) 0x00000000"
"""

SETTINGS = """GRUB_DEFAULT=0
GRUB_TIMEOUT=5
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="net.ifnames=0"
GRUB_TERMINAL=console
"""


class Namespace:
    """A mount namespace with a server in it; all trees share one /usr, mounted once."""

    #: Modules that the server imports once for all calls, besides those of the boot.
    preloaded: Sequence[str] = ()

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._server: Optional[subprocess.Popen[str]] = None
        #: The output of GRUB's generator for the first host; equal hosts would get the same.
        self.grub: Optional[Path] = None
        #: For once(): by function and state, the resulting tree and return value.
        self.led: dict[tuple[Any, ...], tuple[Path, Any]] = {}

    def start(self, env: Optional[Mapping[str, str]] = None) -> Namespace:
        words = [f"{name}={value}" for name, value in (env or {}).items()]
        server = [sys.executable, str(_SERVER), *self.preloaded]
        inside = ["env", "PYTHONDONTWRITEBYTECODE=1", *words, *server]
        self._server = subprocess.Popen(
            self._enter(inside), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._join_usr()
        return self

    def _enter(self, server: Sequence[str]) -> list[str]:
        """The command line that starts the server in the mount namespace."""
        return ["unshare", "-m", *server]

    def stop(self) -> None:
        assert self._server is not None and self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=GUARD_S)

    def ask(self, **question: Any) -> Answer:
        server = self._server
        assert server is not None and server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(question) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        return Answer(answer["status"], answer["out"], answer["err"])

    def program(self, *words: object, stdin: str = "") -> Answer:
        return self.ask(program=[str(word) for word in words], stdin=stdin)

    def beside(self, *words: object) -> subprocess.Popen[str]:
        """Start a program that runs while ask() runs others."""
        assert self._server is not None
        inside = ["nsenter", "--mount", f"--target={self._server.pid}", *map(str, words)]
        return subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def must(self, *words: object) -> str:
        answer = self.program(*words)
        assert answer.status == 0, (words, answer)
        return answer.out

    def _join_usr(self) -> None:
        upper = self._folder
        self.must("mount", "-t", "tmpfs", "none", upper)
        for name in ("up/bin", "up/sbin", "work", "usr"):
            (self.must("mkdir", "-p", upper / name))
        script = f'#!/bin/sh\nexec {SHELL_GEN} "$@"\n'
        ours = {"bin/lowlat-gen": script, "sbin/grub-probe": PROBE, "bin/bootctl": _BOOTCTL}
        ours["bin/vcmailbox"] = _VCMAILBOX
        for name in ("bin/grub-editenv", "bin/grub-script-check", "sbin/grub-mkconfig"):
            ours[name.replace("grub-", "grub2-")] = f'#!/bin/sh\nexec /usr/{name} "$@"\n'
        ours["sbin/grub2-probe"] = PROBE
        ours["bin/grub-mkrelpath"] = '#!/bin/sh\nfor path; do :; done\nexec realpath -m "$path"\n'
        for path, text in ((f"up/{name}", text) for name, text in ours.items()):
            self.program("sh", "-c", 'cat >"$1" && chmod 755 "$1"', "sh", upper / path, stdin=text)
        options = f"lowerdir=/usr,upperdir={upper}/up,workdir={upper}/work"
        self.must("mount", "-t", "overlay", "none", "-o", options, upper / "usr")

    def join(self, tree: Path) -> None:
        """Mount what a chroot needs into the tree: /proc, /dev and similar."""
        shared = {str(self._folder / "usr"): "usr", "/dev": "dev"}
        for source, name in (*shared.items(), *((path, path.lstrip("/")) for path in _SOURCES)):
            self.must("mkdir", "-p", tree / name)
            self.must("mount", "--bind", source, tree / name)


class Host:
    """One tree, and the actions on it from outside; or with ``live`` on the machine whose / it
    is."""

    live = False

    def __init__(self, path: Path, namespace: Namespace) -> None:
        self.path = path
        self.namespace = namespace

    def lowlat(self, verb: str, *words: object, **env: str) -> Answer:
        argv = [verb, "--root", str(self.path), *map(str, words)]
        if verb == "boot":
            argv = [verb, str(words[0]), "--root", str(self.path)]
        if self.live:
            argv = [verb, *map(str, words)]
        answer = self.namespace.ask(argv=argv, env=env, root=str(self.path) if self.live else "/")
        assert "Traceback" not in answer.err, answer.err
        return answer

    def done(self, verb: str, *words: object) -> str:
        answer = self.lowlat(verb, *words)
        assert (answer.status, answer.err) == (0, ""), answer
        return answer.out

    def done_as_foreseen(self, verb: str, *words: object) -> str:
        """done(). Assert that a dry run named exactly the files that it changed, and how."""
        foreseen, before = self.done(verb, "--dry-run", *words), self.snapshot()
        said = self.done(verb, *words)
        told, seen = foreseen_changes(foreseen.splitlines()), changes(before, self.snapshot())
        assert told == seen, set(told.items()) ^ set(seen.items())
        return said

    def status(self) -> Any:
        return json.loads(self.done("status", "--json"))

    def chroot(self, *words: object) -> Answer:
        return self.namespace.program("chroot", self.path, *words)

    def update_grub(self) -> str:
        answer = self.chroot("grub-mkconfig", "-o", "/boot/grub/grub.cfg")
        assert answer.status == 0, answer.err
        return answer.err

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def write(self, name: str, text: str) -> None:
        write_tree(self.path, {name: text})

    @property
    def config(self) -> str:
        return self.read("boot/grub/grub.cfg")

    def environment(self) -> dict[str, str]:
        rows = self.read("boot/grub/grubenv").splitlines()
        return dict(row.split("=", 1) for row in rows if "=" in row)

    def boot(self, entry: str, boot_id: str) -> None:
        """Imitate a boot of an entry by GRUB: /proc has its line, and its one-shot entry is used
        up."""
        self.boot_line(" ".join(linux_lines(self.config)[entry]), boot_id)
        self.chroot("grub-editenv", "/boot/grub/grubenv", "unset", "next_entry")

    def boot_line(self, line: str, boot_id: str) -> None:
        """Imitate a boot with this line; its first word is the image."""
        release = RELEASE if RELEASE in line.split()[0] else OLDER
        self.write("proc/cmdline", f"BOOT_IMAGE={line}\n")
        self.write("proc/sys/kernel/osrelease", f"{release}\n")
        self.write("proc/sys/kernel/random/boot_id", f"{boot_id}\n")

    def snapshot(self, tops: Iterable[str] = ("boot", "etc", "var")) -> dict[str, tuple[Any, ...]]:
        """Every file below these folders with its mode, owner and content."""
        found: dict[str, tuple[Any, ...]] = {}
        for top in tops:
            for path in sorted((self.path / top).rglob("*")):
                held = path.lstat()
                content: object = path.read_bytes() if path.is_file() else ""
                if path.is_symlink():
                    content = path.readlink()
                found[str(path.relative_to(self.path))] = (held.st_mode, held.st_uid, content)
        return found

    def inner(self) -> str:
        """Like snapshot(), but as the namespace sees the files."""
        script = (
            "cd \"$1\" && find boot etc var ! -type f -printf '%p %m %l\\n' | sort && "
            "find boot etc var -type f -printf '%p %m\\n' | sort && "
            "find boot etc var -type f -print0 | sort -z | xargs -0 sha256sum"
        )
        return self.namespace.must("sh", "-c", script, "sh", self.path)

    def go_live(self) -> None:
        """From now on verbs run on the machine whose / this tree is, on a disk of its own."""
        (self.path / "run").mkdir(exist_ok=True)
        self.mount("--rbind", self.path, self.path)
        disk = self.path.stat().st_dev
        self.write(f"sys/dev/block/{os.major(disk)}:{os.minor(disk)}/ro", "0\n")
        self.live = True

    def mount(self, *words: object) -> None:
        self.namespace.must("mount", *words)


def set_variable(host: Host, name: str, value: str) -> None:
    """Set a variable of the boot loader in the firmware."""
    path = host.path / f"sys/firmware/efi/efivars/{name}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\6\0\0\0" + f"{value}\0".encode("utf-16-le"))


def foreseen_changes(said: Iterable[str]) -> dict[str, str]:
    """By file, what a dry run says of it."""
    found = (re.fullmatch(r"would (\w+) /(\S+)( again)?", row) for row in said)
    ways = {match[2]: match[1] for match in found if match}
    return {path: "change" if way == "restore" else way for path, way in ways.items()}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """By file, what happened to it between two snapshots; grub.cfg is generated."""
    ways = {}
    for path in before.keys() | after.keys():
        one, other = before.get(path), after.get(path)
        if one != other and not stat.S_ISDIR((one or other or [0])[0]):
            ways[path] = "add" if one is None else "remove" if other is None else "change"
    return {path: "generate" if path.endswith("grub.cfg") else way for path, way in ways.items()}


def linux_lines(config: str) -> dict[str, list[str]]:
    """By entry id, the image and the parameters; parsed without lowlat's code."""
    found: dict[str, list[str]] = {}
    ident = ""
    for row in config.splitlines():
        if row.strip().startswith("menuentry "):
            ident = row.rsplit("'", 2)[1]
        elif row.strip().startswith("linux\t"):
            found[ident] = row.split()[1:]
    return found


def make(path: Path, namespace: Namespace, extra: Optional[Mapping[str, str]] = None) -> Host:
    """A Debian host with two kernels, GRUB and TuneD, but without lowlat."""
    host = bare(path, namespace, {"etc/default/grub": SETTINGS, **(extra or {})})
    shutil.copytree("/etc/grub.d", path / "etc/grub.d")
    if namespace.grub and not extra:
        shutil.copytree(namespace.grub, path / "boot/grub")
        return host
    (path / "boot/grub").mkdir()
    assert host.chroot("grub-editenv", "/boot/grub/grubenv", "create").status == 0
    host.update_grub()
    if not extra:
        namespace.grub = path.parent / "grub-at-first"
        shutil.copytree(path / "boot/grub", namespace.grub)
    return host


def bare(path: Path, namespace: Namespace, extra: Mapping[str, str]) -> Host:
    """The same host as Debian's, without a boot loader."""
    return furnish(path, namespace, {**two_kernels(), **extra})


def furnish(path: Path, namespace: Namespace, extra: Mapping[str, str]) -> Host:
    """A host with TuneD and these files."""
    files = {
        "etc/default/locale": "LANG=C.UTF-8\n",
        "etc/tuned/active_profile": "balanced\n",
        "etc/tuned/profile_mode": "auto\n",
        "etc/tuned/bootcmdline": 'TUNED_BOOT_CMDLINE=""\nTUNED_BOOT_INITRD_ADD=""\n',
        **extra,
    }
    write_tree(path, files)
    for name in ("bin", "sbin", "lib", "lib64"):
        (path / name).symlink_to(f"usr/{name}")
    for name in ("tmp", "var/lib", "etc/default/grub.d"):
        (path / name).mkdir(parents=True, exist_ok=True)
    namespace.join(path)
    return Host(path, namespace)


def two_kernels() -> dict[str, str]:
    """A machine, and the files of two kernels in /boot."""
    names = [
        f"{name}-{release}" for release in (RELEASE, OLDER) for name in ("vmlinuz", "initrd.img")
    ]
    return {
        **machine(),
        f"boot/config-{OLDER}": CONFIG,
        "proc/sys/kernel/random/boot_id": "boot-0\n",
        "proc/sys/kernel/hostname": "node\n",
        **{f"boot/{name}": "image\n" for name in names},
    }


@pytest.fixture(scope="session")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    started = Namespace(tmp_path_factory.mktemp("usr")).start()
    yield started
    started.stop()


@pytest.fixture
def host(tmp_path: Path, namespace: Namespace) -> Host:
    return make(tmp_path / "host", namespace)


def once(way: Callable[..., T]) -> Callable[..., T]:
    """Run a function only once for equal host states; later calls copy the stored result."""

    @functools.wraps(way)
    def walk(host: Host, *words: object) -> T:
        led = host.namespace.led
        key = (way, words, _state(host))
        if key in led:
            kept, found = led[key]
            _copy(kept, host.path)
            return cast("T", found)
        found = way(host, *words)
        kept = host.path.with_name(f"{host.path.name}-led-{len(led)}")
        _copy(host.path, kept)
        led[key] = (kept, found)
        return found

    return walk


def _copy(source: Path, target: Path) -> None:
    for path in _parts(target):
        path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path)
    for path in _parts(source):
        folder = target / path.relative_to(source).parent
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "--archive", path, folder], check=True)


def _parts(tree: Path) -> Iterator[Path]:
    """The content of the folders that change, without mounts and the folders above these."""
    mounted = tuple(f"{path}/" for path in _SOURCES)
    for top in _TOPS:
        for path in sorted((tree / top).iterdir() if (tree / top).is_dir() else ()):
            if not any(each.startswith(f"/{path.relative_to(tree)}/") for each in mounted):
                yield path


def _state(host: Host) -> str:
    """A digest of everything that the function may depend on."""
    parts = list(_parts(host.path))
    paths = [each for part in parts for each in (part, *sorted(part.rglob("*")))]
    told = [_of(path, path.relative_to(host.path)) for path in paths]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _of(path: Path, name: Path) -> tuple[object, ...]:
    held = path.lstat()
    if path.is_symlink():
        return (name, path.readlink())
    return (name, held.st_mode, held.st_uid, path.read_bytes() if path.is_file() else "")


@once
def apply_and_try(host: Host, *words: object) -> str:
    """Apply, boot the trial and record it; returns the id of the tried entry."""
    host.done("apply", *words)
    host.done("trial")
    trial = host.status()["next"]["entry"]
    host.boot(trial, "boot-1")
    host.done("boot", "start")
    host.done("boot", "record")
    return str(trial).replace("-trial", "")


def plan_of(host: Host, release: str) -> list[str]:
    """The words that the plan for a kernel adds to its line."""
    plan = json.loads(host.read(f"var/lib/lowlat/plans/{release}.json"))
    return [*plan["cmdline"]["text"].split(), f"lowlat.plan={plan['id']}"]


def entries_of(host: Host) -> dict[str, str]:
    """The tuned entry of each kernel."""
    return {item["kernel"]: item["entry"] for item in host.status()["kernels"]}


def section(config: str) -> str:
    """The part of GRUB's configuration that lowlat's script wrote."""
    begin = config.index("### BEGIN /etc/grub.d/99_lowlat ###")
    return config[begin : config.index("### END /etc/grub.d/99_lowlat ###")]


def refusal(host: Host, verb: str, *words: object) -> str:
    """Assert that the verb is refused and changes nothing; returns its one line."""
    before = host.snapshot()
    line = host.lowlat(verb, *words).refused()
    assert host.snapshot() == before
    return line
