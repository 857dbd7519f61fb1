# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels from packages: which packages make up a kernel, and the files after unpacking."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import pytest

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.rehearse.kernel import newest
from lowlat.rehearse.packages import _ARCH, needed, unpack
from support import needs
from support.waits import GUARD_S

RELEASE = "7.2.13+deb14-amd64"


def test_one_package_holds_all_of_an_older_kernel() -> None:
    shown = "Package: linux-image-6.12.107+deb13-amd64\nDepends: kmod, linux-base (>= 4.12~)\n"
    assert needed("6.12.107+deb13-amd64", shown) == []


def test_a_kernel_in_several_packages_is_taken_whole() -> None:
    shown = (
        f"Package: linux-image-{RELEASE}\n"
        f"Depends: dracut | initramfs-tools, linux-base-{RELEASE} (= 7.2.13-1), "
        f"linux-binary-{RELEASE} (= 7.2.13-1), linux-modules-{RELEASE} (= 7.2.13-1)\n"
        f"Suggests: linux-doc-{RELEASE}, linux-perf-{RELEASE}-dbg\n"
    )
    parts = [f"linux-{part}-{RELEASE}" for part in ("base", "binary", "modules")]
    assert needed(RELEASE, shown) == parts


def test_kernels_with_larger_pages_are_taken_by_name_only() -> None:
    releases = ["6.12.107+deb13-arm64", "6.12.107+deb13-arm64-16k"]
    assert newest("6.12", releases) == releases[0]


def _package(folder: Path, name: str, files: dict[str, str]) -> Path:
    tree = folder / name
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n"
    )
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    package = folder / f"{name}.deb"
    ended = process.run(["dpkg-deb", "-b", str(tree), str(package)], timeout=GUARD_S)
    assert ended.status == 0, ended.stderr
    return package


needs_dpkg = needs.that(all(map(process.find, ("dpkg-deb", "depmod"))), "no dpkg-deb or no depmod")


@needs_dpkg
@pytest.mark.parametrize(
    "files",
    [
        [{f"boot/vmlinuz-{RELEASE}": "K", f"boot/config-{RELEASE}": "C", "lib/modules/M/x": ""}],
        [
            {
                f"boot/vmlinuz-{RELEASE}": "K",
                f"boot/config-{RELEASE}": "C",
                "usr/lib/modules/M/x": "",
            }
        ],
        [
            {"usr/lib/modules/M/vmlinuz": "K"},
            {"usr/lib/modules/M/config": "C", "usr/lib/modules/M/modules.order": ""},
        ],
    ],
    ids=["in lib", "in usr", "beside the modules"],
)
def test_every_layout_is_unpacked_alike(files: list[dict[str, str]], tmp_path: Path) -> None:
    packages = [
        _package(
            tmp_path,
            f"p{number}",
            {path.replace("/M/", f"/{RELEASE}/"): text for path, text in part.items()},
        )
        for number, part in enumerate(files)
    ]
    tree = unpack(packages, RELEASE, tmp_path / "tree")
    modules = tree / "lib/modules" / RELEASE
    assert (tree / f"boot/vmlinuz-{RELEASE}").read_text() == "K"
    assert (tree / f"boot/config-{RELEASE}").read_text() == "C"
    assert (modules / "config").read_text() == "C"
    assert (modules / "modules.dep").is_file()
    assert not (tree / "usr").exists()


@needs_dpkg
def test_packages_without_a_kernel_are_refused(tmp_path: Path) -> None:
    package = _package(tmp_path, "modules", {f"usr/lib/modules/{RELEASE}/config": "C"})
    with pytest.raises(LowlatError, match="holds no kernel"):
        unpack([package], RELEASE, tmp_path / "tree")


@needs_dpkg
@pytest.mark.parametrize("argv", [("xz",), ("zstd", "-q", "--rm")], ids=["xz", "zst"])
def test_modules_are_kept_as_they_are_loaded(argv: tuple[str, ...], tmp_path: Path) -> None:
    if process.find(argv[0]) is None:
        needs.absent(f"{argv[0]} is not installed")
    folder = f"usr/lib/modules/{RELEASE}"
    # More packages than fit into one call of the program.
    names = [f"m{number}.ko" for number in range(501)]
    source = tmp_path / "source"
    source.mkdir()
    for name in names:
        (source / name).write_bytes(b"\x7fELF\xff" + name.encode())
    ended = process.run([*argv, *(str(source / name) for name in names)], timeout=GUARD_S)
    assert ended.status == 0, ended.stderr
    files = {f"{folder}/vmlinuz": "K", f"{folder}/config": "C"}
    _package(tmp_path, "p", files)
    kept = tmp_path / "p" / folder / "kernel"
    shutil.copytree(source, kept)
    ended = process.run(
        ["dpkg-deb", "-b", str(tmp_path / "p"), str(tmp_path / "p.deb")], timeout=GUARD_S
    )
    assert ended.status == 0, ended.stderr

    tree = unpack([tmp_path / "p.deb"], RELEASE, tmp_path / "tree")
    found = {path.name: path.read_bytes() for path in tree.rglob("*.ko*")}
    assert found == {name: b"\x7fELF\xff" + name.encode() for name in names}


#: Fetches a kernel from an unsigned archive and prints the result; {signed} is an option for apt on
#: the archive's line.
FETCH = """\
import platform, sys
from pathlib import Path
from lowlat.base.errors import LowlatError
from lowlat.rehearse import packages
packages.SIGNED = {signed}
arch = packages._ARCH[platform.machine()]
archive = packages.Distribution(
    "local", "sid", "file:{archive}", "file:{archive}", Path("/nonexistent"), arch
)
try:
    print(packages.fetch("9.9.9-{arch}", Path("{cache}"), archive))
except LowlatError as error:
    print(error)
"""

#: An apt configuration of a careless administrator on this host.
CARELESS = """\
APT::Get::AllowUnauthenticated "true";
Acquire::AllowInsecureRepositories "true";
Acquire::AllowDowngradeToInsecureRepositories "true";
"""


@needs_dpkg
@pytest.mark.security
@pytest.mark.root
@pytest.mark.parametrize("careless", [False, True])
def test_no_setting_of_the_host_lets_an_unsigned_kernel_in(careless: bool, tmp_path: Path) -> None:
    settings = tmp_path / "apt.conf.d"
    settings.mkdir()
    (settings / "99careless").write_text(CARELESS)
    mount = f'mount --bind {settings} /etc/apt/apt.conf.d && exec "$@"'
    bound = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if os.geteuid() != 0 or process.run([*bound, "true"], timeout=GUARD_S).status:
        needs.absent("mounts the settings of a host's apt: needs root, and apt")
    if process.find("dpkg-scanpackages") is None:
        needs.absent("makes an archive with dpkg-scanpackages (dpkg-dev)")
    arch = _ARCH[platform.machine()]
    release = f"9.9.9-{arch}"
    pool = tmp_path / "archive"
    lists = pool / f"dists/sid/main/binary-{arch}"
    lists.mkdir(parents=True)
    kernel = {f"boot/vmlinuz-{release}": "K", f"lib/modules/{release}/x": ""}
    shutil.copy(_package(tmp_path, f"linux-image-{release}", kernel), pool)
    (lists / "Packages").write_text(
        process.run(["dpkg-scanpackages", "-m", "."], timeout=GUARD_S, cwd=str(pool)).stdout
    )
    (pool / "dists/sid/Release").write_text(
        f"Suite: sid\nArchitectures: {arch}\nComponents: main\n"
    )
    signed = "()" if careless else "packages.SIGNED"
    cache = tmp_path / "cache"
    script = FETCH.format(signed=signed, archive=pool, arch=arch, cache=cache)
    told = process.run([*bound, sys.executable, "-c", script], timeout=3 * GUARD_S).stdout
    assert (cache / release).exists() == careless, told
