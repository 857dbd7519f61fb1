# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian 13 machine with the GRUB settings that people posted, on the road with its own firmware
and GRUB: the trial boots once, stock after it is as before, promote keeps the tuned entry, and
rollback gives back what was there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import field_trees, initrdfail
from support.boot_rules import all_entries, grub_menu
from support.guest import boots, results
from support.guest.journey import Journey, packages_or_skip
from support.guest.road import TRIAL

pytestmark = [pytest.mark.vm, pytest.mark.proof]

#: The guest has one kernel, a serial console and less memory than a huge page of 1 GiB needs.
_EDITS = {"1>2": "1>0", "hugepages=4": "hugepages=0"}
_GUEST = """GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX console=ttyS0 no_timer_check tsc=nowatchdog"
GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX systemd.show_status=no"
GRUB_TERMINAL=console
"""

#: The files of the case, with the root file system and the kernel of this machine.
_SETTINGS = """set -e
here() { sed "s/0a1b-2c3d/$(findmnt --noheadings --output=UUID /)/g; s/@KERNEL@/$(uname -r)/g"; }
set_block() { grub-editenv - set "$(echo "$1" | here)"; }
cd settings
find . -type f | while read -r file; do
	mkdir -p "/${file%/*}"
	here <"$file" >"/$file"
	chmod "$(stat -c %a "$file")" "/$file"
done
cd ..
update-grub
"""

_CLOUD = """set -e
python3 - <<'END'
from pathlib import Path
import initrdfail
header, linux = (Path("/etc/grub.d", name) for name in ("00_header", "10_linux"))
text = initrdfail.header(header.read_text())
assert text.count("initrdfail") == 8
header.write_text(text)
linux.rename("/etc/stock_10_linux")
linux.write_text(initrdfail.LINUX)
linux.chmod(0o755)
END
update-grub
"""

_CASES = ["debian-09-favourite", "debian-quoting", "mint-separate-boot"]


def _lay_out(case: str, share: Path) -> str:
    """Put the case's files of GRUB into the shared folder; the script that installs them."""
    read = field_trees.read(case)
    settings = ("etc/default/grub", "etc/grub.d/")
    files = {name: it for name, it in read.files.items() if name.startswith(settings)}
    files["etc/default/grub.d/zz-guest.cfg"] = (0o644, _GUEST)
    for name, (mode, text) in files.items():
        path = share / "settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_for_guest(text, read.kernels))
        path.chmod(mode)
    rows = (f"{name}={value}" for name, value in read.pairs("set").items())
    stored = (f"set_block '{_for_guest(row, read.kernels)}'\n" for row in rows)
    return _SETTINGS + "".join(stored)


def _for_guest(text: str, kernels: list[str]) -> str:
    for old, new in (*_EDITS.items(), *((kernel, "@KERNEL@") for kernel in kernels)):
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module", params=_CASES)
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def road(case: str) -> Iterator[Journey]:
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0])
        guest = boots.installed_or_skip(Path(name))
        script = _lay_out(case, made.share)
        guest = made.go(guest, "stock", "setup apply trial", before=script)
        guest = made.go(guest, "tuned", "look verify")
        guest = made.go(guest, "returned", "look promote")
        made.go(guest, "promoted", "look roll_back")
        yield made


@pytest.fixture(scope="module")
def cloud() -> Iterator[Journey]:
    """Ubuntu's cloud images: a stock boot fails without its initrd, and the next one has it."""
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0])
        shutil.copy(initrdfail.__file__, made.share)
        guest = boots.installed_or_skip(Path(name))
        guest = made.go(guest, "stock", "setup apply trial", before=_CLOUD)
        guest = made.go(guest, "tuned", "look verify")
        made.after["without initrd"] = guest = guest.boot(made.share)
        # Their grub-initrd-fallback.service does so once the machine is up.
        clears = "grub-editenv - unset initrdfail\n"
        guest = made.go(guest, "returned", "look promote", before=clears)
        made.go(guest, "promoted", "look roll_back")
        yield made


def _check(road: Journey) -> None:
    stock, tuned, back, last = (
        road.found[name] for name in ("stock", "tuned", "returned", "promoted")
    )
    assert stock["apply"][0] == stock["trial"][0] == 0, (stock["apply"], stock["trial"])
    before = stock["status after apply"]["default"]
    assert not before["ours"]

    # One boot with the tuned line, which has all that the stock line has, or another value of it.
    assert road.marker("tuned") and set(tuned["boot"]["line"]) >= TRIAL
    assert _names(back["boot"]["line"]) <= _names(tuned["boot"]["line"])
    assert tuned["status"]["state"] == "tried" and tuned["status"]["running"]["trial"]

    # The next one is the default of before, by the line that GRUB's own menu has for it.
    assert road.marker("returned") is None
    assert back["status"]["default"] == before
    menu = all_entries(grub_menu(stock["loader at first"]["config"]))
    lines = [line.split()[1:] for line in menu[before["entry"].rpartition(">")[2]].lines]
    got = [word for word in back["boot"]["line"] if not word.startswith("BOOT_IMAGE=")]
    assert _unquoted(got) in [_unquoted(line) for line in lines]

    assert back["promote"][0] == 0, back["promote"]
    assert road.marker("promoted") == road.marker("tuned")
    assert not TRIAL.intersection(last["boot"]["line"])

    assert last["rollback"][0] == 0, last["rollback"]
    assert last["rolled back"] == {}
    after = last["loader after rollback"]
    assert after["config"] == stock["loader at first"]["config"]
    assert last["status after rollback"]["default"] == before


def _names(words: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in words}


def _unquoted(words: list[str]) -> list[str]:
    return [word.replace('"', "").replace("'", "").replace("\\", "") for word in words]


def test_the_road_with_settings_that_people_posted(road: Journey, case: str) -> None:
    _check(road)
    kernel = road.found["tuned"]["boot"]["kernel"]
    results.add(kernel, "lowlat", "all", f"GRUB with the settings of {case}, the whole road")


def test_a_first_boot_without_initrd_is_no_second_trial(cloud: Journey) -> None:
    _check(cloud)
    failed = cloud.after["without initrd"].console
    assert "Unable to mount root fs" in failed
    assert "lowlat.plan=" not in failed
    kernel = cloud.found["tuned"]["boot"]["kernel"]
    results.add(kernel, "lowlat", "all", "GRUB of Ubuntu's cloud images, the whole road")
