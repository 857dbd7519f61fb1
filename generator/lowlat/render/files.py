# SPDX-License-Identifier: GPL-2.0-or-later
"""A Plan as files, with their paths below /."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Callable

from lowlat.base import encode, resources
from lowlat.base.errors import Refused
from lowlat.base.files import reporting_errors
from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Tunable
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.host.tuned import LOCAL
from lowlat.model.launch import Launch
from lowlat.model.plan import Plan
from lowlat.plan import profile
from lowlat.plan.profile import Profile
from lowlat.plan.store import PLAN, plan_path
from lowlat.render import hooks
from lowlat.render.hooks import RenderedFile

_HINT = "name a folder you can write"


def render(plan: Plan, root: Root, program: str = hooks.PROGRAM) -> tuple[RenderedFile, ...]:
    """Every file of a plan. ``root`` has the user's profiles, and tells where the installed TuneD
    looks for its own; ``program`` is the lowlat-gen that all files call."""
    document = plan.text()
    return (
        RenderedFile(PLAN, 0o644, document),
        RenderedFile("/etc/lowlat/cmdline", 0o644, f"{plan.boot_line}\n"),
        *hooks.grub(program),
        *([RenderedFile(plan_path(plan.kernel), 0o644, document)] if plan.kernel else []),
        *tuned_files(plan, root, program),
    )


def tuned_files(
    plan: Plan, root: Root, program: str, *, by_plugin: bool = False
) -> Iterator[RenderedFile]:
    """This machine's profile, ``by_plugin`` with the line for TuneD's bootloader plugin, and the
    profile that it includes: in TuneD's first folder (/usr/lib) if it is packaged, in its last one
    (/etc) if it is the user's."""
    wanted = profile.load(plan.profile, root)
    folders = tuned.profile_folders(root)
    script = hooks.template("tuned/script.sh", program)
    sections = _local_sections(plan, wanted)
    known = {"plan": plan, "sections": sections, "by_plugin": by_plugin}
    local = expand("tuned/lowlat-local.conf.j2", encode.ini, **known)
    yield RenderedFile(f"{folders[-1]}/{LOCAL}/tuned.conf", 0o644, local)
    yield RenderedFile(f"{folders[-1]}/{LOCAL}/script.sh", 0o755, script)
    packaged = plan.profile in profile.packaged_names()
    own = not packaged or wanted != profile.load_packaged(plan.profile)
    folder = f"{folders[-1 if own else 0]}/{plan.profile}"
    yield RenderedFile(f"{folder}/tuned.conf", 0o644, tuned_profile(wanted, program))
    yield RenderedFile(f"{folder}/script.sh", 0o755, script)


def tuned_profile(wanted: Profile, program: str = hooks.PROGRAM) -> str:
    """The TuneD form of a profile; for a packaged profile, the committed tuned.conf."""
    sections: dict[str, dict[str, str]] = {}
    for entry in _native(wanted):
        sections.setdefault(str(entry.tuned), {})[entry.name] = entry.rows[0].value
    known = {"profile": wanted, "program": encode.path(program), "sections": sections}
    return expand("tuned/profile.conf.j2", encode.ini, **known)


def systemd_drop_in(where: Launch) -> str:
    """A systemd drop-in (for NAME.service.d) that puts the service on these CPUs."""
    return expand("systemd/workload.conf.j2", encode.unit, place=where)


def _local_sections(plan: Plan, wanted: Profile) -> dict[str, dict[str, str]]:
    """The plan's settings that TuneD supports natively; any others of the profile are dropped."""
    sections: dict[str, dict[str, str]] = {}
    for setting in plan.runtime:
        section = lookup(setting.name).tuned
        if section:
            sections.setdefault(section, {})[setting.name] = setting.value
    for entry in _native(wanted):
        options = sections.setdefault(str(entry.tuned), {})
        if entry.name not in options:
            options["drop"] = ", ".join(filter(None, (options.get("drop"), entry.name)))
    return sections


def _native(wanted: Profile) -> Iterator[Tunable]:
    """The entries of a profile that TuneD supports natively."""
    on = (name for name, value in wanted.settings.items() if value != "off")
    return (entry for name in on if (entry := lookup(name)).tuned is not None)


def write(files: Iterable[RenderedFile], out: str) -> list[str]:
    """Write the files below a folder; returns their paths. The files are staged beside the folder:
    a new folder appears complete or not at all, and existing files are replaced only once all files
    are staged. Raises Refused if that fails."""
    kept, target = tuple(files), Path(out)
    with reporting_errors(f"--out {out}", _HINT):
        _check_target(target, kept, out)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as name:
            staging = Path(name) / "files"
            staging.mkdir()
            staging.chmod(0o755)
            for file in kept:
                _write(staging, file)
            if not target.exists():
                staging.rename(target)
            else:
                for file in kept:
                    destination = file.below(target)
                    _folder(destination.parent, target)
                    file.below(staging).replace(destination)
    return [str(file.below(target)) for file in kept]


def _check_target(target: Path, files: Iterable[RenderedFile], out: str) -> None:
    """Raises Refused, before any write, if only some of the files could be replaced."""
    if not out or os.path.realpath(target) == "/":
        raise Refused(f"--out '{out}': is this machine's own tree", hint=_HINT)
    if not os.path.lexists(target):
        return
    for file in files:
        path = file.below(target)
        if path.is_dir() or path.is_symlink():
            raise Refused(f"--out {out}: {path} is there and is not a regular file", hint=_HINT)
        for folder in list(path.parents)[: len(path.relative_to(target).parts)]:
            if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
                raise Refused(f"--out {out}: {folder} is there and is no folder", hint=_HINT)
            if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
                raise Refused(f"--out {out}: {folder} cannot be written", hint=_HINT)


def _write(folder: Path, file: RenderedFile) -> None:
    path = file.below(folder)
    _folder(path.parent, folder)
    path.write_text(file.content, "utf-8")
    path.chmod(file.mode)


def _folder(folder: Path, top: Path) -> None:
    """Make a folder and those above it below ``top``, readable by all whatever the umask."""
    if folder != top and not folder.exists():
        _folder(folder.parent, top)
        folder.mkdir()
        folder.chmod(0o755)


def expand(name: str, encoded: Callable[[object], str], **values: object) -> str:
    """A filled template; every inserted value goes through its grammar's encoder."""
    import jinja2  # a plan alone does not need it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(resources.templates())),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  # configuration files, not HTML
        finalize=encoded,
    )
    return environment.get_template(name).render(**values)
