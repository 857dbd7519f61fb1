# SPDX-License-Identifier: GPL-2.0-or-later
"""grub.cfg on disk: generated, checked and then renamed, never edited, even while a kernel's
package generates it too."""

import errno
import os
import time
from pathlib import Path
from typing import Callable, Optional, TypeVar

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.base.process import Finished
from lowlat.boot import programs
from lowlat.boot.disk import Disk, FileSnapshot, digest
from lowlat.boot.loaders import grub_cfg, grub_language, grub_settings
from lowlat.boot.loaders.interface import Unwritable
from lowlat.boot.programs import Unchecked
from lowlat.boot.transaction import PATIENT_S
from lowlat.host.root import Root

T = TypeVar("T")

_SCRIPTS = "/etc/grub.d"

#: A manager of the boot partitions, which a script in that folder has write them.
_MANAGER = "proxmox-boot-tool"

#: Where grub-customizer puts 10_linux: a proxy of its own runs it.
_MOVED = ("/etc/grub.d/proxifiedScripts/linux", "/etc/grub.d/proxifiedScripts/10_linux")

#: How often the configuration is generated again while other programs do so too.
_TRIES = 5

#: The shell's exit status for a command that cannot be run, and for one that is not there.
_NO_COMMAND = (126, 127)

#: What the kernel answers if a right is lacking.
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


def check_unsigned(root: Root, folder: str) -> None:
    """Raises Unwritable if GRUB's files have signatures, which new ones would lack (GRUB's manual,
    "Using digital signatures in GRUB")."""
    path = f"{folder}/grub.cfg"
    if root.exists(f"{path}.sig"):
        raise Unwritable(f"{path} is signed, and lowlat has no key for what it would write")


def check_sourced(root: Root, folder: str, config: str) -> None:
    """Raises Refused if a person's custom.cfg, which grub.cfg reads last (41_custom), chooses what
    boots: no trial and no promoted entry would."""
    path = f"{folder}/custom.cfg"
    if "custom.cfg" in config and grub_cfg.sets_default(root.read(path) or ""):
        why = f"{path} sets the default after grub.cfg did: neither a trial nor a promoted entry"
        raise Refused(f"{why} would boot", hint=f"take 'set default=' out of {path}")


class GrubConfig:
    """``folder`` holds grub.cfg; ``mkconfig`` and ``check`` are GRUB's tools for it."""

    def __init__(self, root: Root, folder: str, mkconfig: str, check: str) -> None:
        self._root = root
        self._disk = Disk(root)
        self.mkconfig = mkconfig
        self._checker = check
        self.folder = folder
        self.path = f"{folder}/grub.cfg"

    def live(self) -> str:
        held = self._disk.get(self.path)
        if held is None:
            raise Refused(f"{self.path}: is not there", hint="is /boot mounted?")
        if held.link:
            hint = f'cp --remove-destination "$(readlink -f {self.path})" {self.path}'
            raise Refused(f"{self.path} is a link: {self.mkconfig} does not write it", hint=hint)
        return held.content.decode("utf-8", "replace")

    def check_script(self, path: str) -> None:
        """Raises Refused unless this script of /etc/grub.d makes entries."""
        folder, _, name = path.rpartition("/")
        held = self._disk.get(path)
        if held is not None and (held.link or held.mode & 0o111):
            return
        if held is not None:
            raise Refused(
                f"{path} is not executable: GRUB has no entries of it", hint=f"chmod +x {path}"
            )
        moved = (
            *_MOVED,
            *(f"{folder}/{each}" for each in self._root.names(folder) if _is_of(each, name)),
        )
        found = next(filter(self._root.exists, moved), None)
        if found is not None:
            why = f"{path} was moved away by another program or a person"
            raise Refused(why, hint=f"mv {found} {path} && chmod +x {path}")
        raise Refused(f"{path}: is not there", hint="restore it from the package that has GRUB")

    def generate(self) -> str:
        """The output of grub-mkconfig for /etc/grub.d and /etc/default, in the language of the
        present configuration."""
        grub_settings.check(self._root, self.mkconfig)
        done = programs.run(self._root, [self.mkconfig], language=self._language())
        return self._output(done)

    def _language(self) -> str:
        return grub_language.of(self._root.read(self.path) or "")

    def preview(self) -> str:
        """The same for a dry run, in which no script can change anything. Raises Unchecked where
        that would not tell what generate() returns, Refused as generate() does."""
        grub_settings.check(self._root, self.mkconfig)
        why = self._why_no_preview()
        if why:
            raise Unchecked(f"{self.mkconfig} is not run: {why}")
        done = programs.run_confined(self._root, [self.mkconfig], self._language())
        if done.status != 0 and self._lacks_rights(done.status):
            raise Unchecked(f"{self.mkconfig} fails without rights: {done.last_words}")
        return self._output(done)

    def _lacks_rights(self, status: int) -> bool:
        """Whether generate() may work although the confined generator ended with this status: the
        kernel refused it something. Root is refused that by the confinement alone."""
        if status in _NO_COMMAND:
            return False
        said = programs.run_confined(self._root, ["env", "LC_ALL=C", self.mkconfig]).stderr
        return any(os.strerror(number) in said for number in _DENIED)

    def _output(self, done: Finished) -> str:
        if done.status != 0:
            raise Refused(f"{self.mkconfig} fails: {done.last_words}")
        if "\ufffd" in done.stdout:
            raise Refused(f"{self.mkconfig} writes a text that is no UTF-8")
        return done.stdout

    def can_preview(self) -> bool:
        return self._root.live and not self._why_no_preview()

    def _why_no_preview(self) -> str:
        for name in self._root.names(_SCRIPTS):
            if _MANAGER in (self._root.read(f"{_SCRIPTS}/{name}") or ""):
                return f"{_SCRIPTS}/{name} calls {_MANAGER}"
        others = self.live().partition(f"{_SCRIPTS}/30_os-prober ###\n")[2].partition("###")[0]
        if "menuentry " in others:
            return "os-prober would have to mount other systems"
        if self._root.live and not all(map(self._is_plain, ("/", self.folder))):
            return "grub-probe would need rights to see what the file systems lie on"
        return ""

    def _is_plain(self, path: str) -> bool:
        """Whether a file system lies on one disk or partition, without device mapper or RAID."""
        number = Path(self._root.host(path)).stat().st_dev
        device = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
        layers = (f"{at}/{kind}" for at in (device, f"{device}/..") for kind in ("dm", "md"))
        return self._root.exists(device) and not any(map(self._root.exists, layers))

    def put(self, make: Callable[[], tuple[str, T]]) -> T:
        """Install the configuration that ``make`` generates. It is generated again if another
        program, mostly a kernel's package, did so meanwhile: else one of the two would be lost."""
        for _ in range(_TRIES):
            seen = self._settled()
            try:
                text, made = make()
            except Refused:
                if self._unchanged(seen):
                    raise
                continue
            if self._install(text.encode(), seen):
                return made
        raise Refused(f"{self.path}: others generate it again and again")

    def _settled(self) -> Optional[FileSnapshot]:
        """The configuration, once no other program generates it."""
        until = time.monotonic() + PATIENT_S
        while self._others():
            if time.monotonic() >= until:
                raise Refused(f"{self.mkconfig} is at work and does not end")
            time.sleep(files.LOOK_S)
        return self._disk.get(self.path)

    def _others(self) -> bool:
        """Whether another grub-mkconfig runs: its output goes to this file."""
        return programs.has_output(self._root.host(f"{self.path}.new"))

    def _install(self, content: bytes, seen: Optional[FileSnapshot]) -> bool:
        """Check the configuration with GRUB's own parser, then rename it into place. False if
        another program replaced it since ``seen``, or is about to."""
        path = self.path
        if seen is None or seen.content != content:
            owner = FileSnapshot(content, 0o600) if seen is None else seen
            held = FileSnapshot(content, owner.mode, owner.uid, owner.gid, owner.xattrs)
            done = programs.run(self._root, [self._checker, self._disk.stage(path, held)])
            if done.status != 0:
                self._disk.unstage(path)
                raise Refused(f"grub-script-check: {done.last_words}")
            if not self._unchanged(seen):
                self._disk.unstage(path)
                return False
            self._disk.commit(path)
            seen = held
        return self._unchanged(seen)

    def _unchanged(self, seen: Optional[FileSnapshot]) -> bool:
        return not self._others() and digest(self._disk.get(self.path)) == digest(seen)

    def tidy(self) -> None:
        """Remove a temporary file that a crash left."""
        self._disk.unstage(self.path)


def _is_of(each: str, name: str) -> bool:
    """Whether a file's name is another one with an addition, as editors and packages make them."""
    return each.startswith((f"{name}.", f"{name}~", f"{name}-"))
