# SPDX-License-Identifier: GPL-2.0-or-later
"""noise.ini: each known source of noise is seen by its signs, and told with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lowlat.catalogue import BY_NAME
from lowlat.catalogue.names import ALIASES, ELSEWHERE, NEVER
from lowlat.explain import guides
from lowlat.host import noise
from lowlat.host.daemons import MANAGERS
from lowlat.host.noise import SOURCES
from lowlat.host.root import Root
from lowlat.verbs import VERBS
from support.cli import lowlat
from support.machines import machine, write_tree

TELEGRAF = "[[inputs.cpu]]\n  totalcpu = true\n[[inputs.intel_powerstat]]\n"
WANTS = "etc/systemd/system/timers.target.wants"
GPU = "sys/bus/pci/drivers/i915/0000:00:02.0/power/control"
OMSA = "sys/devices/platform/dcdbas/smi_data"
GOOGLE = {"usr/bin/google_set_multiqueue": "", "etc/default/instance_configs.cfg": ""}


def runs(*programs: str) -> dict[str, str]:
    """As the kernel names them: 15 characters at most."""
    return {f"proc/{70 + n}/comm": f"{name[:15]}\n" for n, name in enumerate(programs)}


#: The files by which each source is seen, and the sign that is told.
SIGNS: dict[str, tuple[dict[str, str], str]] = {
    "fwupd-refresh.timer": (
        {f"{WANTS}/fwupd-refresh.timer": ""},
        f"/{WANTS}/fwupd-refresh.timer is there",
    ),
    "dsm_sa_datamgrd": (
        {**runs("dsm_sa_datamgrd"), OMSA: ""},
        "dsm_sa_datamgrd runs, /sys/devices/platform/dcdbas is there",
    ),
    "i915": ({GPU: "auto\n"}, f"/{GPU} has auto"),
    "turbostat": (runs("turbostat"), "turbostat runs"),
    "pcm": (runs("pcm-sensor-server"), "pcm-sensor-server runs"),
    "intel_powerstat": (
        {**runs("telegraf"), "etc/telegraf/telegraf.d/power.conf": TELEGRAF},
        "telegraf runs, /etc/telegraf/telegraf.d/power.conf has [[inputs.intel_powerstat]]",
    ),
    "netdata": (runs("netdata"), "netdata runs"),
    "stalld": (runs("stalld"), "stalld runs"),
    "rngd": (runs("rngd"), "rngd runs"),
    "google_set_multiqueue": (GOOGLE, "/usr/bin/google_set_multiqueue is there"),
    "thermald": (
        {**runs("thermald"), "sys/module/intel_powerclamp/initstate": "live\n"},
        "thermald runs, /sys/module/intel_powerclamp is there",
    ),
    "numad": (runs("numad"), "numad runs"),
}

#: What looks like it and is none.
HARMLESS = {
    "masked": {f"{WANTS}/fwupd-refresh.timer": "", "etc/systemd/system/fwupd-refresh.timer": ""},
    "a driver without its agent": {OMSA: ""},
    "an agent without its driver": runs("dsm_sa_datamgrd", "thermald"),
    "on": {GPU: "on\n"},
    "not configured": {
        **runs("telegraf"),
        "etc/telegraf/telegraf.conf": "# [[inputs.intel_powerstat]]\n",
    },
    "configured, and stopped": {"etc/telegraf/telegraf.conf": TELEGRAF},
    "switched off": {**GOOGLE, "etc/default/instance_configs.cfg": "set_multiqueue = false\n"},
    "others": runs("systemd", "sshd", "irqbalance", "turbostatd", "NetworkManager"),
}


def test_every_source_that_can_be_seen_has_its_signs_here() -> None:
    assert set(SIGNS) == {one.name for one in SOURCES.values() if one.visible}
    for one in SOURCES.values():
        assert one.mend and one.source, one.name


@pytest.mark.parametrize("name", SIGNS)
def test_a_source_is_seen_by_its_signs_alone(tmp_path: Path, name: str) -> None:
    files, sign = SIGNS[name]
    assert noise.here(Root(str(write_tree(tmp_path, files)))) == {name: sign}


@pytest.mark.parametrize("files", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_it_is_not_told(tmp_path: Path, files: dict[str, str]) -> None:
    assert noise.here(Root(str(write_tree(tmp_path, files)))) == {}


def test_a_name_has_one_page() -> None:
    names = list(noise.names())
    others = {*guides.names(), *BY_NAME, *NEVER, *ELSEWHERE, *ALIASES, *VERBS}
    assert len(names) == len(set(names)) and not others & set(names)
    for one in SOURCES.values():
        for name in (one.name, *one.names):
            page = " ".join(lowlat("explain", name).out.split())
            assert one.mend in page and one.source in page


def test_explain_tells_what_can_be_seen() -> None:
    assert "Here no file shows it." in " ".join(lowlat("explain", "edac").out.split())
    assert "did you mean turbostat?" in lowlat("explain", "turbostt").err


def test_doctor_tells_them_where_cpus_are_isolated(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(), **runs("stalld", "turbostat")})
    (row,) = lowlat("doctor", "run", "--root", root, "--json").json()["verbs"]
    told = {lack["what"]: lack for lack in row["missing"] if "CPUs without" in lack["what"]}
    assert list(told) == ["CPUs without turbostat", "CPUs without stalld"]
    assert "turbostat runs: turbostat reads registers" in told["CPUs without turbostat"]["mend"]
    assert row["ready"] and not any(lack["needed"] for lack in told.values())
    assert lowlat("doctor", "run", "--root", root).out.count("CPUs without") == 2


def test_who_interferes_is_a_manager() -> None:
    assert set(noise.INTERFERING) < MANAGERS
    assert {"irqbalance", "tuned", "thermald"} < MANAGERS
